package outbound

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"
)

const (
	maxAnswerHeaders = 64 << 10
	idleTimeout      = 90 * time.Second
)

// Client sends requests under its Config's rules. Its methods may be called
// concurrently.
type Client struct {
	http      http.Client
	transport *http.Transport
	observer  Observer
}

// New returns a client. Its error names every setting that is wrong.
func New(cfg Config) (*Client, error) {
	cfg = cfg.withDefaults()
	p, proxy, err := cfg.policy()
	if err != nil {
		return nil, err
	}
	d := newDialer(p, cfg.Resolver)
	return newClient(cfg, p, d, func(t *http.Transport) {
		if proxy != nil {
			t.Proxy = http.ProxyURL(proxy)
			t.DialContext = nil // everything is dialled by the proxy
		}
	}), nil
}

func newClient(cfg Config, p *policy, d *dialer, adapt func(*http.Transport)) *Client {
	transport := &http.Transport{
		DialContext:            d.dial,
		TLSHandshakeTimeout:    dialTimeout,
		MaxIdleConnsPerHost:    cfg.PerHost,
		MaxIdleConns:           max(4*cfg.PerHost, 100),
		IdleConnTimeout:        idleTimeout,
		MaxResponseHeaderBytes: maxAnswerHeaders,
		ForceAttemptHTTP2:      true,
	}
	adapt(transport)
	return &Client{
		http: http.Client{
			Transport:     &guard{cfg: cfg, policy: p, hosts: newHosts(cfg), next: transport},
			CheckRedirect: checkRedirect,
		},
		transport: transport,
		observer:  cfg.Observer,
	}
}

// Do sends a request. The caller closes the answer's body. Redirects are not
// followed, unless the request's context is one of FollowRedirects. The error
// wraps a *RefusedError when the request must not be sent, and an *OpenError when
// its host is left alone for a while.
func (c *Client) Do(r *http.Request) (*http.Response, error) {
	response, err := c.http.Do(r)
	var refused *RefusedError
	if errors.As(err, &refused) {
		c.observer.Refused(refused.Reason)
	}
	return response, err
}

// CloseIdleConnections closes the connections that no request uses.
func (c *Client) CloseIdleConnections() { c.transport.CloseIdleConnections() }

type redirectsKey struct{}

// FollowRedirects returns a context whose requests follow up to limit redirects
// within the first URL's origin: scheme, host and port. Each is checked as the
// first request was. A redirect that leaves the origin is refused, since it would
// take the request's headers and body with it.
func FollowRedirects(ctx context.Context, limit int) context.Context {
	return context.WithValue(ctx, redirectsKey{}, limit)
}

func checkRedirect(r *http.Request, via []*http.Request) error {
	limit, _ := r.Context().Value(redirectsKey{}).(int)
	switch {
	case limit == 0:
		return http.ErrUseLastResponse
	case len(via) > limit:
		return refuse(ReasonRedirect, "more than %d redirects", limit)
	}
	from, err := Origin(via[0].URL)
	if err != nil {
		return err
	}
	to, err := Origin(r.URL)
	if err != nil {
		return err
	}
	if to != from {
		return refuse(ReasonRedirect, "a redirect from %s to %s: none is followed to another scheme, host or port", from, to)
	}
	r.Header.Del("Referer") // the URL's query is the payload's own
	return nil
}

// guard stands before the transport: every request passes it, a redirect's too.
type guard struct {
	cfg    Config
	policy *policy
	hosts  *hosts
	next   http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (g *guard) RoundTrip(r *http.Request) (*http.Response, error) {
	t, refused := g.policy.url(r.URL)
	if refused != nil {
		closeBody(r)
		return nil, refused
	}
	done, release, err := g.hosts.acquire(r.Context(), t.String())
	if err != nil {
		closeBody(r)
		return nil, err
	}
	began := time.Now()
	response, err := g.next.RoundTrip(r)
	done(outcome(r.Context(), response, err))
	if err != nil {
		release()
		if errors.As(err, &refused) {
			return nil, refused
		}
		g.cfg.Observer.HTTPResponse(0, time.Since(began))
		return nil, err
	}
	g.cfg.Observer.HTTPResponse(response.StatusCode, time.Since(began))
	response.Body = &body{ReadCloser: response.Body, limit: g.cfg.MaxAnswer, left: g.cfg.MaxAnswer, release: sync.OnceFunc(release)}
	return response, nil
}

func closeBody(r *http.Request) {
	if r.Body != nil {
		_ = r.Body.Close()
	}
}

// body bounds an answer and gives its host's turn to the next at its end.
type body struct {
	io.ReadCloser
	limit, left int64
	release     func()
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	if b.left <= 0 {
		// Only what is really there is too much.
		if n, err := b.ReadCloser.Read(make([]byte, 1)); n == 0 {
			return 0, err
		}
		return 0, fmt.Errorf("outbound: the answer is longer than %d bytes", b.limit)
	}
	n, err := b.ReadCloser.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}

// Close implements io.Closer.
func (b *body) Close() error {
	defer b.release()
	return b.ReadCloser.Close()
}
