package taskjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/taskfleet/taskfleet/pkg/task"
)

const fieldNames = "kind, payload, priority, delay, run_at, key, id, max_attempts, timeout, headers"

// fields set a field of a task from its JSON, which is valid. Their errors say
// what must be.
var fields = map[string]func(t *task.Task, value []byte) error{
	"kind":         func(t *task.Task, v []byte) error { return setString(&t.Kind, v, task.MaxKind) },
	"key":          func(t *task.Task, v []byte) error { return setString(&t.PartitionKey, v, task.MaxKey) },
	"id":           func(t *task.Task, v []byte) error { return setString(&t.ID, v, task.MaxID) },
	"delay":        func(t *task.Task, v []byte) error { return setDuration(&t.Delay, v) },
	"timeout":      func(t *task.Task, v []byte) error { return setDuration(&t.Timeout, v) },
	"payload":      setPayload,
	"priority":     setPriority,
	"max_attempts": setMaxAttempts,
	"run_at":       setRunAt,
	"headers":      setHeaders,
}

// maxScalar bounds a number, a time and a duration: longer ones are not looked at.
const maxScalar = 64

func setPriority(t *task.Task, v []byte) error {
	n, err := number(v, 8)
	if err != nil {
		return errors.New("must be 0..255")
	}
	t.Priority = uint8(n)
	return nil
}

func setMaxAttempts(t *task.Task, v []byte) error {
	n, err := number(v, 32)
	if err != nil || n > task.MaxAttempts {
		return fmt.Errorf("must be 0..%d", task.MaxAttempts)
	}
	t.MaxAttempts = uint32(n)
	return nil
}

func number(v []byte, bits int) (uint64, error) {
	if len(v) > maxScalar {
		return 0, strconv.ErrRange
	}
	return strconv.ParseUint(string(v), 10, bits)
}

func setRunAt(t *task.Task, v []byte) error {
	var text string
	at, err := time.Time{}, scalar(v, &text)
	if err == nil {
		at, err = time.Parse(time.RFC3339, text)
	}
	if err != nil || at.IsZero() {
		return errors.New(`must be a time such as "2030-01-31T12:00:00Z"`)
	}
	t.RunAt = at
	return nil
}

// scalar decodes a short value.
func scalar(v []byte, into any) error {
	if len(v) > maxScalar {
		return strconv.ErrRange
	}
	return json.Unmarshal(v, into)
}

// maxSeconds keeps seconds within what a duration holds; limits are checked later.
const maxSeconds = 1e9

// setDuration takes "1m30s", or a number of seconds.
func setDuration(to *time.Duration, v []byte) (err error) {
	var text string
	if scalar(v, &text) == nil {
		if *to, err = time.ParseDuration(text); err == nil {
			return nil
		}
	}
	var seconds float64
	if scalar(v, &seconds) == nil && seconds >= -maxSeconds && seconds <= maxSeconds {
		*to = time.Duration(seconds * float64(time.Second))
		return nil
	}
	return errors.New(`must be a duration such as "1m30s", or seconds`)
}

// setPayload takes a string as it is, and anything else as its JSON. One that is
// too large is measured, and not copied.
func setPayload(t *task.Task, v []byte) error {
	if v[0] != '"' {
		if t.Payload = v; len(v) <= task.MaxPayload {
			t.Payload = bytes.Clone(v)
		}
		return nil
	}
	var text string
	err := setString(&text, v, task.MaxPayload)
	t.Payload = []byte(text)
	return err
}

// setString decodes a string of at most limit bytes. One that may fit is decoded,
// and measured by Validate.
func setString(to *string, v []byte, limit int) error {
	switch {
	case v[0] != '"':
		return errors.New("must be a string")
	case len(v) > 2+6*limit: // longer than with every byte escaped
		return fmt.Errorf("must have at most %d bytes", limit)
	}
	return json.Unmarshal(v, to)
}

func setHeaders(t *task.Task, v []byte) error {
	if v[0] != '{' {
		return errors.New("must be an object of strings")
	}
	headers, size := map[string]string{}, 0
	for quotedName, quotedValue := range members(v) {
		var name, value string
		if quotedValue[0] != '"' {
			return errors.New("must be an object of strings")
		}
		if err := errors.Join(setString(&name, quotedName, task.MaxHeaders), setString(&value, quotedValue, task.MaxHeaders)); err != nil {
			return fmt.Errorf("must have at most %d bytes", task.MaxHeaders)
		}
		if _, twice := headers[name]; twice {
			return fmt.Errorf("%q is given twice", short(name))
		}
		if size += len(name) + len(value); size > task.MaxHeaders {
			return fmt.Errorf("must have at most %d bytes", task.MaxHeaders)
		}
		headers[name] = value
	}
	t.Headers = headers
	return nil
}
