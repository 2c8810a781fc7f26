// Package delivery sends the requests of the stock handlers and tells what an
// answer means for the task: done, again later, or never.
package delivery

import (
	"context"
	"errors"
	"fmt"
	"io"
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

// Credentials gives out the secret that a reference names, for a request to host.
// An error that wraps credential.ErrNotGranted ends the task.
type Credentials interface {
	Secret(ref, host string) (string, error)
}

// Answer is a 2xx answer.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte // its first MaxExcerpt bytes
}

// Send sends a request. An answer that is not 2xx is an error which ends the task
// or asks for another attempt, as the status says; so is no answer. No error holds
// one of the secrets, or the URL's query.
func Send(d Doer, r *http.Request, secrets ...string) (*Answer, error) {
	response, err := d.Do(r)
	if err != nil {
		return nil, failed(r, err, secrets)
	}
	body := readStart(response)
	if response.StatusCode/100 == 2 {
		return &Answer{Status: response.StatusCode, Header: response.Header, Body: body}, nil
	}
	text := strings.TrimSpace(strings.ToValidUTF8(string(body), "\uFFFD"))
	if text != "" {
		text = ": " + text
	}
	err = errors.New(credential.Scrub(fmt.Sprintf("%s: status %s%s", Describe(r), response.Status, text), secrets...))
	if !Retryable(response.StatusCode) {
		return nil, taskworker.Never(err)
	}
	if after, ok := retryAfter(response.Header.Get("Retry-After"), time.Now()); ok {
		return nil, taskworker.RetryAfter(after, err)
	}
	return nil, err
}

// Retryable tells whether another attempt may go better than one with this
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
func failed(r *http.Request, err error, secrets []string) error {
	var outer *url.Error
	if errors.As(err, &outer) {
		err = outer.Err // the outer one repeats the URL with its query
	}
	var refused *outbound.RefusedError
	never := errors.As(err, &refused)
	if text := err.Error(); credential.Scrub(text, secrets...) != text {
		err = errors.New(credential.Scrub(text, secrets...))
	}
	if cause := context.Cause(r.Context()); cause != nil && !errors.Is(err, cause) {
		err = fmt.Errorf("%w: %w", cause, err)
	}
	err = fmt.Errorf("%s: %w", Describe(r), err)
	if never {
		return taskworker.Never(err)
	}
	return err
}

// Refused makes the error of a credential that was asked for in vain.
func Refused(field string, err error) error {
	err = fmt.Errorf("payload: %s: %w", field, err)
	if errors.Is(err, credential.ErrNotGranted) {
		return taskworker.Never(err)
	}
	return err
}

// readStart reads the start of an answer's body, and as much of the rest as frees
// the connection.
func readStart(response *http.Response) []byte {
	defer response.Body.Close()
	start, err := io.ReadAll(io.LimitReader(response.Body, MaxExcerpt))
	if err == nil {
		_, _ = io.CopyN(io.Discard, response.Body, maxDiscard) // the answer counts, not its end
	}
	return start
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
