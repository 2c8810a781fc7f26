package task

import (
	"errors"
	"fmt"
	"time"
	"unicode/utf8"
)

// DefaultKind is the kind of a task that names none.
const DefaultKind = "http"

// The limits of a task. They keep a row well below YDB's limits and a batch
// below one message.
const (
	MaxID       = 128       // bytes
	MaxKind     = 64        // bytes
	MaxKey      = 512       // bytes of a partition key
	MaxPayload  = 256 << 10 // bytes
	MaxHeaders  = 16 << 10  // bytes of all names and values
	MaxNames    = 1000      // headers
	MaxError    = 4 << 10   // bytes of a recorded error
	MaxAttempts = 1000
	MaxTimeout  = 24 * time.Hour
	MaxDelay    = 366 * 24 * time.Hour
)

// The ends of YDB's Timestamp, which has microseconds: earliest is the first
// moment that it holds, latest the first that it does not.
var (
	earliest = time.Unix(0, 0)
	latest   = time.Date(2106, 1, 1, 0, 0, 0, 0, time.UTC)
)

// ErrInvalid is what every validation error wraps.
var ErrInvalid = errors.New("invalid task")

// FieldError names the field that is wrong and what it must be. It wraps ErrInvalid.
type FieldError struct {
	Field string // id, kind, payload, priority, ...
	Value string // what it was, short
	Limit string // what it must be, as in "must be 0..255"
}

func (e *FieldError) Error() string {
	if e.Value == "" {
		return e.Field + ": " + e.Limit
	}
	return e.Field + " " + e.Value + ": " + e.Limit
}

// Unwrap makes errors.Is(err, ErrInvalid) true.
func (e *FieldError) Unwrap() error { return ErrInvalid }

// Validate checks the limits of a task and returns every violation, joined;
// each is a *FieldError.
func (t *Task) Validate() error {
	var errs []error
	add := func(field, value, limit string, bad bool) {
		if bad {
			errs = append(errs, &FieldError{Field: field, Value: value, Limit: limit})
		}
	}
	size := func(n int) string { return fmt.Sprintf("of %d bytes", n) }
	add("id", size(len(t.ID)), fmt.Sprintf("must have at most %d bytes", MaxID), len(t.ID) > MaxID)
	add("id", "", "must be valid UTF-8", !utf8.ValidString(t.ID))
	add("kind", size(len(t.Kind)), fmt.Sprintf("must have at most %d bytes", MaxKind), len(t.Kind) > MaxKind)
	add("kind", "", "must be valid UTF-8", !utf8.ValidString(t.Kind))
	add("key", size(len(t.PartitionKey)), fmt.Sprintf("must have at most %d bytes", MaxKey), len(t.PartitionKey) > MaxKey)
	add("key", "", "must be valid UTF-8", !utf8.ValidString(t.PartitionKey))
	add("payload", size(len(t.Payload)), fmt.Sprintf("must have at most %d bytes", MaxPayload), len(t.Payload) > MaxPayload)
	add("max_attempts", fmt.Sprint(t.MaxAttempts), fmt.Sprintf("must be 0..%d", MaxAttempts), t.MaxAttempts > MaxAttempts)
	add("timeout", t.Timeout.String(), fmt.Sprintf("must be 0..%s", MaxTimeout), t.Timeout < 0 || t.Timeout > MaxTimeout)
	add("delay", t.Delay.String(), fmt.Sprintf("must be 0..%s", MaxDelay), t.Delay < 0 || t.Delay > MaxDelay)
	add("delay", "", "cannot stand with run_at", t.Delay != 0 && !t.RunAt.IsZero())
	add("run_at", t.RunAt.Format(time.RFC3339Nano), "must lie between 1970-01-01T00:00:00Z and 2105-12-31T23:59:59.999999Z",
		!t.RunAt.IsZero() && (t.RunAt.Before(earliest) || !t.RunAt.Before(latest)))
	headers, valid := 0, true
	for k, v := range t.Headers {
		headers += len(k) + len(v)
		valid = valid && k != "" && utf8.ValidString(k) && utf8.ValidString(v)
	}
	add("headers", size(headers), fmt.Sprintf("must have at most %d bytes", MaxHeaders), headers > MaxHeaders)
	add("headers", fmt.Sprintf("of %d names", len(t.Headers)), fmt.Sprintf("must have at most %d", MaxNames), len(t.Headers) > MaxNames)
	add("headers", "", "must have names, and be valid UTF-8", !valid)
	return errors.Join(errs...)
}
