package fleet

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// Sink is an HTTP server that counts deliveries by task id. Its methods are
// safe for concurrent use.
type Sink struct {
	url    string
	server *http.Server
	served chan error

	mu      sync.Mutex
	arrived map[string]bool // by task id
	total   int
	last    time.Time
	held    chan struct{} // deliveries wait until it is closed; nil: they do not
	answer  Answer
}

// Answer decides about the delivery of a task: it may wait, and returns the
// status of the answer. It is called concurrently.
type Answer func(ctx context.Context, id string, attempt int) (status int)

// StartSink serves on a free port of the loopback interface.
func StartSink() (*Sink, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &Sink{
		url:     "http://" + listener.Addr().String() + "/",
		served:  make(chan error, 1),
		arrived: map[string]bool{},
	}
	s.server = &http.Server{Handler: http.HandlerFunc(s.receive), ReadHeaderTimeout: 5 * time.Second}
	go func() { s.served <- s.server.Serve(listener) }()
	return s, nil
}

// URL is where tasks are to be posted.
func (s *Sink) URL() string { return s.url }

func (s *Sink) receive(w http.ResponseWriter, r *http.Request) {
	id := r.Header.Get("X-Task-ID")
	if _, err := io.Copy(io.Discard, http.MaxBytesReader(w, r.Body, 1<<20)); err != nil || id == "" {
		http.Error(w, "want a body below 1 MiB and the header X-Task-ID", http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	s.arrived[id] = true
	s.total++
	s.last = time.Now()
	held, answer := s.held, s.answer
	s.mu.Unlock()
	if held != nil {
		select {
		case <-held:
		case <-r.Context().Done():
		}
	}
	status := http.StatusNoContent
	if answer != nil {
		attempt, _ := strconv.Atoi(r.Header.Get("X-Task-Attempt")) // 0: not told
		status = answer(r.Context(), id, attempt)
	}
	w.WriteHeader(status)
}

// Answer makes answer decide about every delivery from now on; nil accepts all.
func (s *Sink) Answer(answer Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = answer
}

// Counts returns how many distinct tasks arrived, how many deliveries there
// were in all, and when the last one came.
func (s *Sink) Counts() (distinct, total int, last time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.arrived), s.total, s.last
}

// Hold makes the answers to deliveries wait until LetGo, so that tasks stay
// running.
func (s *Sink) Hold() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held == nil {
		s.held = make(chan struct{})
	}
}

// LetGo ends Hold.
func (s *Sink) LetGo() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held != nil {
		close(s.held)
		s.held = nil
	}
}

// Close stops the server and waits for it.
func (s *Sink) Close() error {
	s.LetGo()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	err := s.server.Shutdown(ctx)
	if served := <-s.served; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}
