package coordsvc

import (
	"fmt"
	"path"
	"strings"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	pb "github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Coordination"
	"google.golang.org/protobuf/proto"
)

// cleanPath takes doubled and trailing slashes away.
func cleanPath(p string) string {
	if p == "" {
		return ""
	}
	return path.Clean(p)
}

func checkPath(p string) (string, error) {
	clean := cleanPath(p)
	if !strings.HasPrefix(clean, "/") || clean == "/" || strings.ContainsRune(clean, 0) {
		return "", &Error{Ydb.StatusIds_SCHEME_ERROR, fmt.Sprintf("Invalid path %q", p)}
	}
	return clean, nil
}

func notFound(p string) error {
	return &Error{Ydb.StatusIds_SCHEME_ERROR, fmt.Sprintf("Path does not exist or is not a coordination node: %s", p)}
}

// CreateNode makes a node at path, and the directories above it. A node that is
// there already stays as it is. It may be repeated.
func (s *Service) CreateNode(p string, config *pb.Config) error {
	p, err := checkPath(p)
	if err != nil {
		return err
	}
	if err := checkConfig(config); err != nil {
		return err
	}
	s.scheme.Lock()
	defer s.scheme.Unlock()
	s.mu.Lock()
	closed, exists := s.closed, s.nodes[p] != nil
	s.mu.Unlock()
	if closed {
		return &Error{Ydb.StatusIds_UNAVAILABLE, "Server is shutting down"}
	}
	if exists {
		return nil
	}
	config = merge(defaultConfig(), config)
	if err := s.erase(p); err != nil { // left over from a drop that did not come to its end
		return err
	}
	m := newMachine()
	m.changed.counters = true
	b := m.takeBatch(nodePrefix(p))
	if err := s.opts.Store.MetaBatch(b.puts, b.deletes); err != nil {
		return fmt.Errorf("coordsvc: creating node %s: %w", p, err)
	}
	if err := s.putConfig(p, config); err != nil {
		return err
	}
	n := newNode(p, config, m, s.opts)
	s.mu.Lock()
	s.nodes[p] = n
	s.mu.Unlock()
	go n.run()
	return nil
}

// AlterNode changes the settings of a node that config names.
func (s *Service) AlterNode(p string, config *pb.Config) error {
	if err := checkConfig(config); err != nil {
		return err
	}
	s.scheme.Lock()
	defer s.scheme.Unlock()
	n, err := s.node(p)
	if err != nil {
		return err
	}
	n.mu.Lock()
	config = merge(n.config, config)
	n.mu.Unlock()
	if err := s.putConfig(n.path, config); err != nil {
		return err
	}
	n.mu.Lock()
	n.config = config
	n.mu.Unlock()
	return nil
}

// DropNode removes a node with everything in it. Streams of its sessions end.
func (s *Service) DropNode(p string) error {
	s.scheme.Lock()
	defer s.scheme.Unlock()
	n, err := s.node(p)
	if err != nil {
		return err
	}
	if err := s.opts.Store.DropNode(n.path); err != nil {
		return fmt.Errorf("coordsvc: dropping node %s: %w", n.path, err)
	}
	s.mu.Lock()
	delete(s.nodes, n.path)
	s.mu.Unlock()
	n.shut(kesusNotFound())
	return s.erase(n.path)
}

// DescribeNode returns the settings of a node.
func (s *Service) DescribeNode(p string) (*pb.Config, error) {
	n, err := s.node(p)
	if err != nil {
		return nil, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return proto.Clone(n.config).(*pb.Config), nil
}

func (s *Service) node(p string) (*node, error) {
	p, err := checkPath(p)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.nodes[p]
	if n == nil || s.closed {
		return nil, notFound(p)
	}
	return n, nil
}

func (s *Service) putConfig(p string, config *pb.Config) error {
	raw, err := proto.Marshal(config)
	if err != nil {
		return fmt.Errorf("coordsvc: config of node %s: %w", p, err)
	}
	if err := s.opts.Store.PutNode(p, raw); err != nil {
		return fmt.Errorf("coordsvc: writing node %s: %w", p, err)
	}
	return nil
}

// erase deletes all records of a node.
func (s *Service) erase(p string) error {
	var keys []string
	err := s.opts.Store.MetaScan(nodePrefix(p), func(key string, _ []byte) error {
		keys = append(keys, key)
		return nil
	})
	if err == nil && len(keys) > 0 {
		err = s.opts.Store.MetaBatch(nil, keys)
	}
	if err != nil {
		return fmt.Errorf("coordsvc: erasing node %s: %w", p, err)
	}
	return nil
}
