// Package httphandler is a stock handler of the worker binary: it delivers a task
// by sending an HTTP request to the URL that its payload names.
//
// A payload is a JSON object:
//
//	{"url": "https://example.com/hook", "n": 1}
//
// POSTs the payload as it is. Further fields change the request:
//
//	method            GET, HEAD, POST, PUT, PATCH or DELETE; POST by default
//	headers           an object of strings
//	body              what is sent instead of the payload: a string as it is, other JSON as JSON
//	timeout           of this request, as "10s"; the task's own timeout holds too
//	follow_redirects  true: up to 5 redirects within the URL's scheme, host and port
//	sign              a credential's reference, or a list of them: see below
//
// # What an answer means
//
//	2xx                  the task is done
//	408, 425, 429, 5xx   again later, after Retry-After if there is one (1s..1h)
//	3xx, no answer       again later
//	other 4xx            the task is dead
//	a refused URL        the task is dead, a redirect to another host too
//
// # Signatures
//
// With sign, a request carries the headers of Standard Webhooks: webhook-id (as
// X-Task-ID, the same at every attempt), webhook-timestamp, and webhook-signature,
// one v1 HMAC-SHA256 for each secret, over id, timestamp and body.
package httphandler

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/taskfleet/taskfleet/internal/outbound"
	"github.com/taskfleet/taskfleet/internal/webhook"
	"github.com/taskfleet/taskfleet/pkg/task"
	"github.com/taskfleet/taskfleet/pkg/taskworker"
	"github.com/taskfleet/taskfleet/pkg/taskworker/internal/delivery"
)

// Provider is what asks Config.Credentials for a secret.
const Provider = "http"

// maxRedirects is how many redirects a payload may ask to follow.
const maxRedirects = 5

// Client is the HTTP client that keeps to an operator's rules: see NewClient.
type Client = outbound.Client

// ClientConfig are the rules of a Client, and its limits.
type ClientConfig = outbound.Config

// NewClient returns a client that reaches public hosts only, unless cfg says
// otherwise. Several handlers may share it.
func NewClient(cfg ClientConfig) (*Client, error) { return outbound.New(cfg) }

// Config configures a handler. Zero values mean the defaults.
type Config struct {
	// Client sends the requests. Another client than one of NewClient sends them
	// wherever a payload says. Default: NewClient with the default rules.
	Client interface {
		Do(*http.Request) (*http.Response, error)
	}
	// Credentials gives out the secrets that payloads sign with: by reference, for
	// Provider, the place "sign" and the URL of the request. Default: there are none.
	Credentials interface {
		Secret(ref, provider, in string, to *url.URL) (string, error)
	}
	// RecordAnswers lets errors hold the start of what a server answers to a signed
	// request, without the secrets. Default: the status alone.
	RecordAnswers bool
	// UserAgent is sent with every request. Default "taskfleet-worker".
	UserAgent string
}

type handler struct{ cfg Config }

// New returns a handler that sends the request that a payload describes. A
// payload that it cannot use kills the task at once. A request takes at most as
// long as the task allows: it ends with the handler's context.
func New(cfg Config) taskworker.Handler {
	if cfg.Client == nil {
		client, err := outbound.New(outbound.Config{})
		if err != nil {
			panic(err) // the default rules are right
		}
		cfg.Client = client
	}
	if cfg.UserAgent == "" {
		cfg.UserAgent = "taskfleet-worker"
	}
	return (&handler{cfg: cfg}).handle
}

func (h *handler) handle(ctx context.Context, t *task.Task) error {
	p, err := decode(t.Payload)
	if err != nil {
		return taskworker.Never(err)
	}
	if p.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, p.timeout, fmt.Errorf("no answer within the payload's timeout %s", p.timeout))
		defer cancel()
	}
	if p.FollowRedirects {
		ctx = outbound.FollowRedirects(ctx, maxRedirects)
	}
	r, err := h.request(ctx, t, p)
	if err != nil {
		return taskworker.Never(err)
	}
	secrets, err := h.sign(r, p)
	if err != nil {
		return err
	}
	_, err = delivery.Send(h.cfg.Client, r, delivery.Secrets{Texts: secrets, RecordAnswers: h.cfg.RecordAnswers})
	return err
}

func (h *handler) request(ctx context.Context, t *task.Task, p *payload) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, p.Method, p.target.String(), bytes.NewReader(p.body))
	if err != nil {
		return nil, fmt.Errorf("payload: %w", err)
	}
	if len(p.body) > 0 {
		r.Header.Set("Content-Type", p.contentType)
	}
	r.Header.Set("User-Agent", h.cfg.UserAgent)
	if err := delivery.Headers(r.Header, p.Headers); err != nil {
		return nil, err
	}
	r.Header.Set("X-Task-ID", delivery.HeaderValue(t.ID))
	r.Header.Set("X-Task-Attempt", strconv.FormatUint(uint64(t.Attempt), 10))
	return r, nil
}

// sign adds the signature headers, and returns the secrets that no error may show.
func (h *handler) sign(r *http.Request, p *payload) ([]string, error) {
	if len(p.Sign) == 0 {
		return nil, nil
	}
	if h.cfg.Credentials == nil {
		return nil, taskworker.Never(fmt.Errorf("payload: sign: this worker has no credentials"))
	}
	secrets := make([]string, len(p.Sign))
	for i, ref := range p.Sign {
		var err error
		if secrets[i], err = h.cfg.Credentials.Secret(ref, Provider, "sign", r.URL); err != nil {
			return nil, delivery.Refused("sign", err)
		}
	}
	if err := webhook.Sign(r.Header, secrets, r.Header.Get("X-Task-ID"), time.Now(), p.body); err != nil {
		return nil, fmt.Errorf("payload: sign: %w", err)
	}
	return secrets, nil
}

// payload is what a task's payload asks for.
type payload struct {
	URL             *string            `json:"url"`
	Method          string             `json:"method"`
	Headers         map[string]string  `json:"headers"`
	Body            json.RawMessage    `json:"body"`
	Timeout         string             `json:"timeout"`
	FollowRedirects bool               `json:"follow_redirects"`
	Sign            delivery.OneOrMore `json:"sign"`

	target      target
	body        []byte
	contentType string
	timeout     time.Duration
}
