// Package httphandler is the stock handler of the worker binary: it delivers a
// task by POSTing its payload to the URL that the payload names.
package httphandler

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/taskfleet/taskfleet/pkg/task"
	"github.com/taskfleet/taskfleet/pkg/taskworker"
)

const (
	// dialTimeout bounds connecting and the TLS handshake, each.
	dialTimeout = 10 * time.Second
	// maxExcerpt is how much of an answer's body goes into an error.
	maxExcerpt = 512
	// maxDiscard is how much of an answer is read so that its connection can be
	// used again; a longer answer costs its connection.
	maxDiscard = 64 << 10
)

// Config configures a handler. Zero values mean the defaults.
type Config struct {
	// MaxConnections is how many idle connections are kept per host; the worker's
	// concurrency is a good value. Default 64.
	MaxConnections int
	// UserAgent is sent with every request. Default "taskfleet-worker".
	UserAgent string
	// Observe is told of every request: its status code, 0 when there was no
	// answer, and how long it took. It must not block. Default: nobody is.
	Observe func(code int, took time.Duration)
}

type handler struct {
	cfg    Config
	client *http.Client
}

// New returns a handler that POSTs the payload of a task, a JSON object, to the
// http or https URL in its field "url". An answer 2xx completes the task; any
// other one, a redirect among them, and no answer fail the attempt. A payload
// without a usable URL kills the task at once. A request takes at most as long
// as the task allows: it ends with the handler's context.
func New(cfg Config) taskworker.Handler {
	if cfg.MaxConnections <= 0 {
		cfg.MaxConnections = 64
	}
	if cfg.UserAgent == "" {
		cfg.UserAgent = "taskfleet-worker"
	}
	if cfg.Observe == nil {
		cfg.Observe = func(int, time.Duration) {}
	}
	h := &handler{cfg: cfg, client: &http.Client{
		Transport: &http.Transport{
			Proxy:               http.ProxyFromEnvironment,
			DialContext:         (&net.Dialer{Timeout: dialTimeout, KeepAlive: 30 * time.Second}).DialContext,
			TLSHandshakeTimeout: dialTimeout,
			MaxIdleConnsPerHost: cfg.MaxConnections,
			MaxIdleConns:        4 * cfg.MaxConnections,
			IdleConnTimeout:     90 * time.Second,
			ForceAttemptHTTP2:   true,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	return h.handle
}

func (h *handler) handle(ctx context.Context, t *task.Task) error {
	target, err := targetOf(t.Payload)
	if err != nil {
		return taskworker.Never(err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, target.String(), bytes.NewReader(t.Payload))
	if err != nil {
		return taskworker.Never(fmt.Errorf("payload: url: %w", err))
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", h.cfg.UserAgent)
	request.Header.Set("X-Task-ID", headerValue(t.ID))
	request.Header.Set("X-Task-Attempt", strconv.FormatUint(uint64(t.Attempt), 10))

	began := time.Now()
	response, err := h.client.Do(request)
	if err != nil {
		h.cfg.Observe(0, time.Since(began))
		return err // names method and URL, without a password
	}
	excerpt := readExcerpt(response)
	h.cfg.Observe(response.StatusCode, time.Since(began))
	if response.StatusCode/100 == 2 {
		return nil
	}
	if excerpt != "" {
		excerpt = ": " + excerpt
	}
	return fmt.Errorf("POST %s: status %s%s", target.Redacted(), response.Status, excerpt)
}

// targetOf finds the URL in a payload.
func targetOf(payload []byte) (*url.URL, error) {
	var fields struct {
		URL *string `json:"url"`
	}
	if err := json.Unmarshal(payload, &fields); err != nil {
		return nil, fmt.Errorf("payload: must be a JSON object with a string url: %w", err)
	}
	if fields.URL == nil || *fields.URL == "" {
		return nil, errors.New("payload: url is missing")
	}
	u, err := url.Parse(*fields.URL)
	if err != nil {
		return nil, fmt.Errorf("payload: url: %w", err)
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("payload: url %q: must be http://host/... or https://host/...", u.Redacted())
	}
	return u, nil
}

// headerValue makes an id fit for a header, which may hold neither line breaks
// nor other control characters.
func headerValue(id string) string {
	if strings.ContainsFunc(id, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return url.PathEscape(id)
	}
	return id
}

// readExcerpt reads the start of an answer's body for an error, and as much of
// the rest as frees the connection.
func readExcerpt(response *http.Response) string {
	defer response.Body.Close()
	start, err := io.ReadAll(io.LimitReader(response.Body, maxExcerpt))
	if err == nil {
		_, _ = io.CopyN(io.Discard, response.Body, maxDiscard) // the answer counts, not its end
	}
	return strings.TrimSpace(strings.ToValidUTF8(string(start), "\uFFFD"))
}
