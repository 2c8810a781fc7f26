package outbound

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// names is a resolver: each look takes the next answer of a name, the last one
// stays.
type names struct {
	mu      sync.Mutex
	answers map[string][][]string
	looks   int
}

func (n *names) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.looks++
	answers := n.answers[host]
	if len(answers) == 0 {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	if len(answers) > 1 {
		n.answers[host] = answers[1:]
	}
	var addrs []netip.Addr
	for _, a := range answers[0] {
		addrs = append(addrs, netip.MustParseAddr(a))
	}
	return addrs, nil
}

// told records what an observer is told.
type told struct {
	mu      sync.Mutex
	codes   []int
	refused []Reason
	notSent int
	open    []bool
}

func (o *told) HTTPResponse(code int, _ time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.codes = append(o.codes, code)
}

func (o *told) Refused(r Reason) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.refused = append(o.refused, r)
}

func (o *told) NotSent() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.notSent++
}

func (o *told) Breaker(open bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.open = append(o.open, open)
}

// errReached is the error of a connection that would have been made.
var errReached = errors.New("reached")

// bundle is a client that does not leave the machine: the addresses that it
// would connect to are recorded.
type bundle struct {
	*Client
	told    *told
	mu      sync.Mutex
	reached []string
	// onConnect, when set, makes the connection.
	onConnect func(ctx context.Context) (net.Conn, error)
}

func setup(t *testing.T, cfg Config) *bundle {
	t.Helper()
	b := &bundle{told: &told{}}
	cfg.Observer = b.told
	cfg = cfg.withDefaults()
	p, _, err := cfg.policy()
	require.NoError(t, err)
	d := newDialer(p, cfg.Resolver)
	d.connect = func(ctx context.Context, _, address string) (net.Conn, error) {
		b.mu.Lock()
		b.reached = append(b.reached, address)
		b.mu.Unlock()
		if b.onConnect != nil {
			return b.onConnect(ctx)
		}
		return nil, errReached
	}
	b.Client = newClient(cfg, p, d, func(*http.Transport) {})
	t.Cleanup(b.CloseIdleConnections)
	return b
}

// local is a client with real connections.
func local(t *testing.T, cfg Config) (*Client, *told) {
	t.Helper()
	o := &told{}
	cfg.Observer = o
	c, err := New(cfg)
	require.NoError(t, err)
	t.Cleanup(c.CloseIdleConnections)
	return c, o
}

type doer interface {
	Do(*http.Request) (*http.Response, error)
}

// get reads an answer to its end.
func get(ctx context.Context, c doer, url string) (code int, body string, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, "", err
	}
	response, err := c.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return response.StatusCode, strings.TrimSpace(string(text)), err
}

// refusedFor returns the reason of a refusal, and fails without one.
func refusedFor(t *testing.T, err error, what string) Reason {
	t.Helper()
	var refused *RefusedError
	require.ErrorAs(t, err, &refused, what)
	return refused.Reason
}
