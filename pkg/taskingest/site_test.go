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

	"github.com/stretchr/testify/require"

	"github.com/taskfleet/taskfleet/pkg/task"
	"github.com/taskfleet/taskfleet/pkg/taskingest"
	"github.com/taskfleet/taskfleet/pkg/taskproducer"
)

// pipes is a listener of connections in memory, with a client. Like most, it keeps its
// connections: only then the server reads the bodies that it has refused to the end,
// which a client without a buffer waits for before it sees the answer.
type pipes struct {
	client *http.Client
	conns  chan net.Conn
	once   sync.Once
	closed chan struct{}
}

func newPipes() *pipes {
	p := &pipes{conns: make(chan net.Conn), closed: make(chan struct{})}
	p.client = &http.Client{Transport: &http.Transport{
		DialContext: func(context.Context, string, string) (net.Conn, error) { return p.dial() },
	}}
	return p
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

func (p *pipes) dial() (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case p.conns <- there:
		return here, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

// accepting is a producer that acknowledges everything.
type accepting struct{}

func (accepting) EnqueueAll(_ context.Context, _ string, tasks ...task.Task) (taskproducer.Result, error) {
	return taskproducer.Result{IDs: make([]string, len(tasks)), Enqueued: len(tasks)}, nil
}

// newSite starts a server that stores nothing; change may change its config.
func newSite(t *testing.T, change func(*taskingest.Config)) *front {
	t.Helper()
	return serve(t, taskingest.Config{Producer: accepting{}}, change)
}

// hangUp closes the connections that the test has opened.
func (s *front) hangUp() {
	s.pipes.client.CloseIdleConnections()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.opened {
		_ = c.Close()
	}
}

// open opens a connection and sends a text.
func (s *front) open(t *testing.T, text string) net.Conn {
	t.Helper()
	c, err := s.pipes.dial()
	require.NoError(t, err)
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
func (s *front) serves(t *testing.T) {
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
