package outbound

import (
	"context"
	"errors"
	"net/http"
	"sync"

	"github.com/sony/gobreaker/v2"
)

// maxHosts bounds the hosts that are remembered: tasks name them.
const maxHosts = 4096

// hosts are the limits and breakers by host and port.
type hosts struct {
	cfg    Config
	mu     sync.Mutex
	byName map[string]*host
	openMu sync.Mutex
}

type host struct {
	name    string
	slots   chan struct{}
	breaker *gobreaker.TwoStepCircuitBreaker[struct{}]
	users   int  // under hosts.mu
	open    bool // under hosts.openMu
}

func newHosts(cfg Config) *hosts { return &hosts{cfg: cfg, byName: map[string]*host{}} }

// acquire waits for a turn. The caller must call release, and done as soon as it
// knows the outcome; done does not wait for the answer's end.
func (hs *hosts) acquire(ctx context.Context, name string) (done func(error), release func(), err error) {
	h := hs.use(name)
	select {
	case h.slots <- struct{}{}:
	case <-ctx.Done():
		hs.leave(h)
		return nil, nil, context.Cause(ctx)
	}
	release = func() {
		<-h.slots
		hs.leave(h)
	}
	if h.breaker == nil {
		return func(error) {}, release, nil
	}
	done, err = h.breaker.Allow()
	if err != nil {
		release()
		hs.cfg.Observer.NotSent()
		return nil, nil, &OpenError{Host: name, After: hs.cfg.BreakFor}
	}
	return done, release, nil
}

func (hs *hosts) use(name string) *host {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	h := hs.byName[name]
	if h == nil {
		if len(hs.byName) >= maxHosts {
			hs.forget()
		}
		h = &host{name: name, slots: make(chan struct{}, hs.cfg.PerHost)}
		if hs.cfg.BreakAfter > 0 {
			h.breaker = gobreaker.NewTwoStepCircuitBreaker[struct{}](hs.settings(h))
		}
		hs.byName[name] = h
	}
	h.users++
	return h
}

func (hs *hosts) leave(h *host) {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	h.users--
}

// forget drops every host that nobody uses. The caller holds mu.
func (hs *hosts) forget() {
	for name, h := range hs.byName {
		if h.users == 0 {
			delete(hs.byName, name)
			hs.setOpen(h, false)
		}
	}
}

func (hs *hosts) settings(h *host) gobreaker.Settings {
	return gobreaker.Settings{
		Name:        h.name,
		MaxRequests: 1,
		Timeout:     hs.cfg.BreakFor,
		ReadyToTrip: func(c gobreaker.Counts) bool { return c.ConsecutiveFailures >= uint32(hs.cfg.BreakAfter) },
		IsExcluded:  func(err error) bool { return errors.Is(err, errNoVerdict) },
		OnStateChange: func(_ string, _, to gobreaker.State) {
			hs.setOpen(h, to != gobreaker.StateClosed)
		},
	}
}

func (hs *hosts) setOpen(h *host, open bool) {
	hs.openMu.Lock()
	defer hs.openMu.Unlock()
	if h.open != open {
		h.open = open
		hs.cfg.Observer.Breaker(open)
	}
}

var (
	// errNoVerdict is what done takes when an attempt says nothing of the host.
	errNoVerdict = errors.New("outbound: the attempt says nothing of the host")
	errFailed    = errors.New("outbound: the host failed")
)

// outcome tells what an attempt says of its host.
func outcome(ctx context.Context, response *http.Response, err error) error {
	var refused *RefusedError
	switch {
	case errors.As(err, &refused), err != nil && errors.Is(ctx.Err(), context.Canceled):
		return errNoVerdict
	case err != nil:
		return errFailed
	}
	switch response.StatusCode {
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return errFailed
	}
	return nil
}
