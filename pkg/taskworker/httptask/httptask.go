// Package httptask is the handler that delivers tasks over HTTP: it POSTs the
// payload, a JSON object, to the URL that the object's field "url" names.
//
// An answer of 200..299 completes the task. Any other answer, and none, fails
// the attempt; Retry-After of a 429 or 503 is heeded. A payload that can never
// be delivered, because it is not JSON or has no usable url, ends the task at
// once. Receivers see X-Task-ID, to recognize a task that comes twice, and
// X-Task-Attempt.
package httptask

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
	"unicode"

	"github.com/taskfleet/taskfleet/pkg/task"
	"github.com/taskfleet/taskfleet/pkg/taskworker"
)

// The headers of a delivery.
const (
	HeaderID      = "X-Task-ID"
	HeaderAttempt = "X-Task-Attempt"
)

// Options configure the handler.
type Options struct {
	// Client sends the requests. Default: NewClient(64).
	Client *http.Client
	// UserAgent of the requests. Default: taskfleet.
	UserAgent string
	// Observe, when set, is told of every delivery that was tried: the status
	// code, 0 when there was no answer, and how long it took.
	Observe func(code int, took time.Duration)
}

const (
	excerptBytes  = 512      // of an answer, for the task's error
	drainBytes    = 64 << 10 // of an answer, so that its connection can be used again
	maxRedirects  = 5
	maxRetryAfter = time.Hour
)

// NewClient returns a client for deliveries, with connections to keep for so
// many requests at once to one host. It follows a redirect only where the
// payload is sent again (307, 308) and the target is http or https.
func NewClient(concurrency int) *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			Proxy:                  http.ProxyFromEnvironment,
			DialContext:            (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
			TLSHandshakeTimeout:    10 * time.Second,
			ForceAttemptHTTP2:      true,
			MaxIdleConns:           4 * concurrency,
			MaxIdleConnsPerHost:    concurrency,
			IdleConnTimeout:        90 * time.Second,
			MaxResponseHeaderBytes: 64 << 10,
		},
		CheckRedirect: func(req *http.Request, via []*http.Request) error {
			if len(via) > maxRedirects || req.Method != http.MethodPost || check(req.URL) != nil {
				return http.ErrUseLastResponse // the redirect itself is the answer
			}
			return nil
		},
	}
}

// New returns the handler.
func New(opts Options) taskworker.Handler {
	if opts.Client == nil {
		opts.Client = NewClient(64)
	}
	if opts.UserAgent == "" {
		opts.UserAgent = "taskfleet"
	}
	if opts.Observe == nil {
		opts.Observe = func(int, time.Duration) {}
	}
	return func(ctx context.Context, t *task.Task) error {
		target, err := Target(t.Payload)
		if err != nil {
			return taskworker.Never(err)
		}
		return opts.deliver(ctx, target, t)
	}
}

// Target returns the URL that a payload names, or why it cannot be delivered.
func Target(payload []byte) (*url.URL, error) {
	var fields struct {
		URL *string `json:"url"`
	}
	if err := json.Unmarshal(payload, &fields); err != nil {
		return nil, fmt.Errorf("httptask: payload is not a JSON object with a text field url: %w", err)
	}
	if fields.URL == nil || *fields.URL == "" {
		return nil, errors.New("httptask: payload has no url")
	}
	target, err := url.Parse(*fields.URL)
	if err != nil {
		return nil, errors.New("httptask: url cannot be parsed") // the cause would repeat it, with what is secret in it
	}
	return target, check(target)
}

func check(u *url.URL) error {
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return fmt.Errorf("httptask: url has scheme %q: must be http or https", u.Scheme)
	case u.Hostname() == "":
		return errors.New("httptask: url has no host")
	case u.User != nil:
		return errors.New("httptask: url has credentials: they do not belong there")
	}
	return nil
}

func (o *Options) deliver(ctx context.Context, target *url.URL, t *task.Task) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, target.String(), bytes.NewReader(t.Payload))
	if err != nil {
		return taskworker.Never(fmt.Errorf("httptask: %w", err))
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", o.UserAgent)
	req.Header.Set(HeaderID, headerText(t.ID))
	req.Header.Set(HeaderAttempt, strconv.FormatUint(uint64(t.Attempt), 10))
	begin := time.Now()
	resp, err := o.Client.Do(req)
	if err != nil {
		o.Observe(0, time.Since(begin))
		var sent *url.Error
		if errors.As(err, &sent) {
			err = sent.Err // without the URL
		}
		return fmt.Errorf("httptask: POST to %s: %w", target.Host, err)
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(resp.Body, drainBytes))
	o.Observe(resp.StatusCode, time.Since(begin))
	if resp.StatusCode >= 200 && resp.StatusCode <= 299 {
		return nil
	}
	err = fmt.Errorf("httptask: %s answered %s%s", target.Host, resp.Status, excerpt(body))
	if d, ok := retryAfter(resp); ok {
		return taskworker.RetryAfter(d, err)
	}
	return err
}

// headerText is a task's id as a header can carry it: as it is, or percent
// encoded where it has control characters.
func headerText(id string) string {
	if strings.ContainsFunc(id, unicode.IsControl) {
		return url.PathEscape(id)
	}
	return id
}

// excerpt is the beginning of an answer on one line, for people.
func excerpt(body []byte) string {
	text := strings.ToValidUTF8(string(body[:min(len(body), excerptBytes)]), "")
	text = strings.Join(strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }), " ")
	if text == "" {
		return ""
	}
	return ": " + text
}

// retryAfter reads when the receiver wants to be asked again.
func retryAfter(resp *http.Response) (time.Duration, bool) {
	if resp.StatusCode != http.StatusTooManyRequests && resp.StatusCode != http.StatusServiceUnavailable {
		return 0, false
	}
	value := resp.Header.Get("Retry-After")
	d := time.Duration(-1)
	if seconds, err := strconv.ParseUint(value, 10, 31); err == nil {
		d = time.Duration(seconds) * time.Second
	} else if at, err := http.ParseTime(value); err == nil {
		d = max(time.Until(at), 0)
	}
	return min(d, maxRetryAfter), d >= 0
}
