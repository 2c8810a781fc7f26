// Package delivery sends the requests of the stock handlers and decides what an
// answer means for the task: done, again later, or never.
package delivery

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/taskfleet/taskfleet/internal/credential"
	"github.com/taskfleet/taskfleet/internal/outbound"
	"github.com/taskfleet/taskfleet/pkg/taskworker"
)

const (
	// MaxExcerpt is how much of an answer's body goes into an error, in bytes.
	MaxExcerpt = 2 << 10
	// maxStart is how much of it is read: secrets are taken out before it is cut.
	maxStart = 4 * MaxExcerpt
	// maxDiscard is how much of an answer is read so that its connection can be
	// used again; a longer answer costs its connection.
	maxDiscard = 64 << 10
	// minRetryAfter and maxRetryAfter bound what a Retry-After may ask for.
	minRetryAfter = time.Second
	maxRetryAfter = time.Hour
)

// Doer sends a request: *outbound.Client, or a client of the caller's own.
type Doer interface {
	Do(*http.Request) (*http.Response, error)
}

// Credentials gives out the secret that a reference names, for a provider that
// puts it into a place of a request to a URL: see credential.Example. An error
// that wraps credential.ErrNotGranted ends the task.
type Credentials interface {
	Secret(ref, provider, in string, to *url.URL) (string, error)
}

// Answer is a 2xx answer.
type Answer struct {
	Header http.Header
	Body   []byte // its first bytes, 8 KiB at most
}

// Secrets are those that a request uses.
type Secrets struct {
	Texts []string
	// RecordAnswers lets errors hold what a server answered, without the secrets.
	// Without it, an error of a request that uses secrets holds the status alone.
	RecordAnswers bool
}

// silent reports whether nothing that a server sent may be recorded.
func (s Secrets) silent() bool { return len(s.Texts) > 0 && !s.RecordAnswers }

// Send sends a request. An answer that is not 2xx is an error which ends the task
// or asks for another attempt, as the status says; so is no answer. No error holds
// one of the secrets, or the URL's query.
func Send(d Doer, r *http.Request, s Secrets) (*Answer, error) {
	response, err := d.Do(r)
	if err != nil {
		return nil, failed(r, err, s)
	}
	body, whole := readStart(response)
	if response.StatusCode/100 == 2 {
		return &Answer{Header: response.Header, Body: body}, nil
	}
	// The status in our words: the reason in the answer is a text of the server's.
	text := strings.TrimSpace(fmt.Sprintf("%s: status %d %s", Describe(r), response.StatusCode, http.StatusText(response.StatusCode)))
	err = errors.New(credential.Scrub(text, s.Texts...) + excerpt(body, whole, s))
	if !Retryable(response.StatusCode) {
		return nil, taskworker.Never(err)
	}
	if after, ok := retryAfter(response.Header.Get("Retry-After"), time.Now()); ok {
		return nil, taskworker.RetryAfter(after, err)
	}
	return nil, err
}

// excerpt returns what an error holds of an answer's body.
func excerpt(body []byte, whole bool, s Secrets) string {
	switch {
	case len(body) == 0:
		return ""
	case s.silent():
		return ": " + notRecorded
	}
	text := Excerpt(string(body), whole, s.Texts...)
	if text == "" {
		return ""
	}
	return ": " + text
}

const notRecorded = "the answer is not recorded, since the request used a credential (--record-answers)"

// Excerpt returns the first MaxExcerpt bytes of a text, without secrets. The text
// is whole, or the start of a longer one.
func Excerpt(text string, whole bool, secrets ...string) string {
	if len(text) > maxStart {
		text, whole = text[:maxStart], false
	}
	if whole {
		text = credential.Scrub(text, secrets...)
	} else {
		text = credential.ScrubStart(text, secrets...)
	}
	text = strings.ToValidUTF8(text, "\uFFFD")
	// Cut only now: half a secret would not be found.
	return strings.TrimSpace(strings.ToValidUTF8(text[:min(len(text), MaxExcerpt)], ""))
}

// Retryable reports whether another attempt may go better than one with this
// status: it is no client's mistake, or one that passes.
func Retryable(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return true
	}
	return status/100 != 4
}

// Describe names a request: its method and its URL without query and user.
func Describe(r *http.Request) string {
	u := url.URL{Scheme: r.URL.Scheme, Host: r.URL.Host, Path: r.URL.Path, RawPath: r.URL.RawPath}
	return r.Method + " " + u.String()
}

// failed makes the error of a request without an answer.
func failed(r *http.Request, err error, s Secrets) error {
	var outer *url.Error
	if errors.As(err, &outer) {
		err = outer.Err // the outer one repeats the URL with its query
	}
	var refused *outbound.RefusedError
	never := errors.As(err, &refused)
	switch text := err.Error(); {
	case s.silent() && !ours(err):
		err = errors.New("no valid answer: " + notRecorded)
	case len(text) > MaxExcerpt || credential.Scrub(text, s.Texts...) != text:
		err = errors.New(Excerpt(text, true, s.Texts...))
	}
	if cause := context.Cause(r.Context()); cause != nil && !errors.Is(err, cause) {
		err = fmt.Errorf("%w: %w", cause, err)
	}
	err = fmt.Errorf("%s: %w", credential.Scrub(Describe(r), s.Texts...), err)
	if never {
		return taskworker.Never(err)
	}
	return err
}

// ours reports whether an error holds no text that a server sent: protocol errors
// quote the line that is wrong.
func ours(err error) bool {
	var refused *outbound.RefusedError
	var open *outbound.OpenError
	var network *net.OpError
	var name *net.DNSError
	var certificate *tls.CertificateVerificationError
	return errors.As(err, &refused) || errors.As(err, &open) || errors.As(err, &network) || errors.As(err, &name) ||
		errors.As(err, &certificate) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// Refused makes the error of a credential that was asked for in vain.
func Refused(field string, err error) error {
	err = fmt.Errorf("payload: %.200s: %w", field, err)
	if errors.Is(err, credential.ErrNotGranted) {
		return taskworker.Never(err)
	}
	return err
}

// readStart reads the start of an answer's body, and as much of the rest as frees
// the connection.
func readStart(response *http.Response) (start []byte, whole bool) {
	defer response.Body.Close()
	start, err := io.ReadAll(io.LimitReader(response.Body, maxStart))
	if err != nil {
		return start, false
	}
	_, _ = io.CopyN(io.Discard, response.Body, maxDiscard) // the answer counts, not its end
	return start, len(start) < maxStart
}

// retryAfter reads a Retry-After: seconds or a date.
func retryAfter(text string, now time.Time) (time.Duration, bool) {
	if text == "" {
		return 0, false
	}
	var after time.Duration
	if seconds, err := strconv.ParseUint(text, 10, 63); err == nil {
		after = time.Duration(min(seconds, uint64(maxRetryAfter/time.Second))) * time.Second
	} else if at, err := http.ParseTime(text); err == nil {
		after = at.Sub(now)
	} else {
		return 0, false
	}
	return min(max(after, minRetryAfter), maxRetryAfter), true
}
