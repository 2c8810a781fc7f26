package taskingest_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/taskfleet/taskfleet/pkg/task"
	"github.com/taskfleet/taskfleet/pkg/taskingest"
	"github.com/taskfleet/taskfleet/pkg/taskproducer"
)

// site is a handler behind connections in memory, for tests on the virtual clock.
// It stores nothing.
type site struct {
	*front
	pipes  *pipes
	mu     sync.Mutex
	opened []net.Conn
}

// pipes is a listener of connections in memory.
type pipes struct {
	conns  chan net.Conn
	once   sync.Once
	closed chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { p.once.Do(func() { close(p.closed) }); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

func (p *pipes) dial() net.Conn {
	here, there := net.Pipe()
	p.conns <- there
	return here
}

// accepting is a producer that acknowledges everything.
type accepting struct{}

func (accepting) EnqueueAll(_ context.Context, _ string, tasks ...task.Task) (taskproducer.Result, error) {
	return taskproducer.Result{IDs: make([]string, len(tasks)), Enqueued: len(tasks)}, nil
}

// newSite starts a handler; change may change its config. It must be called in a
// bubble, and stopped in it.
func newSite(t *testing.T, change func(*taskingest.Config)) (*site, func()) {
	t.Helper()
	hooks, err := taskingest.ReadHooks(hooksFile(t, ""))
	require.NoError(t, err)
	s := &site{front: &front{url: "http://site", seen: &seen{}}, pipes: &pipes{conns: make(chan net.Conn), closed: make(chan struct{})}}
	cfg := taskingest.Config{Producer: accepting{}, Tokens: []string{token}, Hooks: hooks, Observer: s.seen}
	if change != nil {
		change(&cfg)
	}
	handler, err := taskingest.New(cfg)
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- handler.Serve(ctx, s.pipes, time.Minute) }()
	s.client = &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext:       func(context.Context, string, string) (net.Conn, error) { return s.pipes.dial(), nil },
	}}
	return s, func() {
		t.Helper()
		s.mu.Lock()
		for _, c := range s.opened {
			_ = c.Close()
		}
		s.mu.Unlock()
		stop()
		require.NoError(t, <-ended)
		require.Zero(t, s.seen.inFlight.Load())
		require.Zero(t, s.seen.bytes.Load())
	}
}

// open opens a connection and sends a text.
func (s *site) open(t *testing.T, text string) net.Conn {
	t.Helper()
	c := s.pipes.dial()
	s.mu.Lock()
	s.opened = append(s.opened, c)
	s.mu.Unlock()
	if text != "" {
		_, err := io.WriteString(c, text)
		require.NoError(t, err)
	}
	return c
}

// answer reads an answer's code; 0 stands for none.
func answer(t *testing.T, c net.Conn) int {
	t.Helper()
	r, err := http.ReadResponse(bufio.NewReader(c), nil)
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrClosedPipe) {
		return 0
	}
	require.NoError(t, err)
	defer r.Body.Close()
	_, err = io.Copy(io.Discard, r.Body)
	require.NoError(t, err)
	return r.StatusCode
}

// head is the head of a request whose body has length bytes.
func head(path string, length int, headers ...string) string {
	text := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: site\r\nContent-Type: application/json\r\nContent-Length: %d\r\n", path, length)
	for i := 0; i < len(headers); i += 2 {
		text += headers[i] + ": " + headers[i+1] + "\r\n"
	}
	return text + "\r\n"
}

func tasksHead(length int) string {
	return head("/v1/tasks", length, "Authorization", "Bearer "+token)
}

func hookHead(length int) string {
	return head("/hooks/github", length, "X-GitHub-Event", "push", "X-GitHub-Delivery", "d", "X-Hub-Signature-256", "sha256="+strings.Repeat("0", 64))
}

// serves requires that tasks and webhooks that are genuine are taken.
func (s *site) serves(t *testing.T) {
	t.Helper()
	require.Equal(t, http.StatusAccepted, s.post(t, `[{},{}]`).code)
	for _, service := range []string{"github", "gitea"} {
		r := s.hook(t, service, "push", "d-1", example(t, service+"/push"))
		require.Equal(t, http.StatusAccepted, r.code, r.body)
	}
	r := s.hook(t, "gitlab", "Push Hook", "d-1", example(t, "gitlab/push"))
	require.Equal(t, http.StatusAccepted, r.code, r.body)
	synctest.Wait()
}
