package coordsvc

import (
	"maps"
	"slices"
	"strings"
	"sync"
)

// Storage is what the service needs of a disk. Writes are durable when they
// return, and MetaBatch is atomic. Methods may be called from several
// goroutines.
type Storage interface {
	// PutNode creates a node's scheme entry, or changes the config of one that
	// exists. It fails when the path holds something else.
	PutNode(path string, config []byte) error
	// Node returns the config of the node at path; false when there is none.
	Node(path string) (config []byte, ok bool, err error)
	DropNode(path string) error
	MetaBatch(puts map[string][]byte, deletes []string) error
	// MetaScan calls f for every record whose key begins with prefix, in key order.
	MetaScan(prefix string, f func(key string, value []byte) error) error
}

// Memory is a Storage that forgets everything with the process. It is for tests;
// two services that are given the same Memory one after the other see what a
// restart would.
type Memory struct {
	mu    sync.Mutex
	nodes map[string][]byte
	meta  map[string][]byte
}

// NewMemory returns an empty Memory.
func NewMemory() *Memory {
	return &Memory{nodes: make(map[string][]byte), meta: make(map[string][]byte)}
}

// PutNode creates or changes an entry.
func (s *Memory) PutNode(path string, config []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.nodes[path] = slices.Clone(config)
	return nil
}

// Node returns an entry.
func (s *Memory) Node(path string) ([]byte, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	config, ok := s.nodes[path]
	return config, ok, nil
}

// DropNode removes an entry; one that does not exist is no error.
func (s *Memory) DropNode(path string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.nodes, path)
	return nil
}

// MetaBatch applies all puts and deletes at once.
func (s *Memory) MetaBatch(puts map[string][]byte, deletes []string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.Copy(s.meta, puts)
	for _, key := range deletes {
		delete(s.meta, key)
	}
	return nil
}

// MetaScan visits a copy of the matching records, so f may write.
func (s *Memory) MetaScan(prefix string, f func(key string, value []byte) error) error {
	s.mu.Lock()
	found := make(map[string][]byte)
	for key, value := range s.meta {
		if strings.HasPrefix(key, prefix) {
			found[key] = value
		}
	}
	s.mu.Unlock()
	for _, key := range slices.Sorted(maps.Keys(found)) {
		if err := f(key, found[key]); err != nil {
			return err
		}
	}
	return nil
}
