// Package taskjson reads tasks from their JSON form, the same in lines of a file
// and in requests.
package taskjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/taskfleet/taskfleet/pkg/task"
)

// Decode reads a task from one JSON object. It takes nothing silently: an
// unknown or repeated field, a value out of range and anything behind the object
// are errors. All that is wrong with the fields is reported, joined.
func Decode(line []byte) (task.Task, error) {
	var t task.Task
	if !utf8.Valid(line) {
		return t, errors.New("not valid UTF-8")
	}
	decoder := json.NewDecoder(bytes.NewReader(line))
	start, err := decoder.Token()
	if err != nil {
		return t, notJSON(err)
	}
	if start != json.Delim('{') {
		return t, errors.New(`not a JSON object: a task looks like {"payload":{"url":"http://localhost:8080/hook"},"priority":200}`)
	}
	var errs []error
	seen := map[string]bool{}
	for decoder.More() {
		token, err := decoder.Token()
		if err != nil {
			return t, notJSON(err)
		}
		name, _ := token.(string) // a name is a string, or the decoder complains
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return t, notJSON(err)
		}
		switch set, known := fields[name]; {
		case !known:
			errs = append(errs, &task.FieldError{Field: strconv.Quote(short(name)), Limit: "unknown field; there are " + fieldNames})
		case seen[name]:
			errs = append(errs, &task.FieldError{Field: name, Limit: "given twice"})
		case string(value) == "null": // as if it were not there
		default:
			if err := set(&t, value); err != nil {
				errs = append(errs, &task.FieldError{Field: name, Value: short(string(value)), Limit: err.Error()})
			}
		}
		seen[name] = true
	}
	if _, err := decoder.Token(); err != nil { // the closing brace
		return t, notJSON(err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return t, errors.New("there is something behind the JSON object: one line holds one task")
	}
	if len(errs) == 0 {
		errs = append(errs, t.Validate())
	}
	return t, errors.Join(errs...)
}

// Field is the field that an error of Decode names first, "" if it names none
// that a task has.
func Field(err error) string {
	var field *task.FieldError
	if errors.As(err, &field) && fields[field.Field] != nil {
		return field.Field
	}
	return ""
}

const fieldNames = "kind, payload, priority, delay, run_at, key, id, max_attempts, timeout, headers"

// fields set a field of a task from its JSON. Their errors say what must be.
var fields = map[string]func(t *task.Task, value json.RawMessage) error{
	"kind":    func(t *task.Task, v json.RawMessage) error { return setString(&t.Kind, v) },
	"key":     func(t *task.Task, v json.RawMessage) error { return setString(&t.PartitionKey, v) },
	"id":      func(t *task.Task, v json.RawMessage) error { return setString(&t.ID, v) },
	"delay":   func(t *task.Task, v json.RawMessage) error { return setDuration(&t.Delay, v) },
	"timeout": func(t *task.Task, v json.RawMessage) error { return setDuration(&t.Timeout, v) },
	"priority": func(t *task.Task, v json.RawMessage) error {
		n, err := strconv.ParseUint(string(v), 10, 8)
		if err != nil {
			return errors.New("must be 0..255")
		}
		t.Priority = uint8(n)
		return nil
	},
	"max_attempts": func(t *task.Task, v json.RawMessage) error {
		n, err := strconv.ParseUint(string(v), 10, 32)
		if err != nil || n > task.MaxAttempts {
			return fmt.Errorf("must be 0..%d", task.MaxAttempts)
		}
		t.MaxAttempts = uint32(n)
		return nil
	},
	"run_at": func(t *task.Task, v json.RawMessage) error {
		var text string
		at, err := time.Time{}, json.Unmarshal(v, &text)
		if err == nil {
			at, err = time.Parse(time.RFC3339, text)
		}
		if err != nil || at.IsZero() {
			return errors.New(`must be a time such as "2030-01-31T12:00:00Z"`)
		}
		t.RunAt = at
		return nil
	},
	"payload": func(t *task.Task, v json.RawMessage) error {
		if v[0] != '"' {
			t.Payload = v
			return nil
		}
		var text string
		err := setString(&text, v)
		t.Payload = []byte(text)
		return err
	},
	"headers": func(t *task.Task, v json.RawMessage) error {
		var headers map[string]*string
		err := json.Unmarshal(v, &headers)
		t.Headers = make(map[string]string, len(headers))
		for name, value := range headers {
			if value == nil {
				err = errors.New("null")
				break
			}
			t.Headers[name] = *value
		}
		if err != nil {
			return errors.New("must be an object of strings")
		}
		return nil
	},
}

func setString(to *string, value json.RawMessage) error {
	if err := json.Unmarshal(value, to); err != nil {
		return errors.New("must be a string")
	}
	return nil
}

// maxSeconds keeps seconds within what a duration holds; limits are checked later.
const maxSeconds = 1e9

// setDuration takes "1m30s", or a number of seconds.
func setDuration(to *time.Duration, value json.RawMessage) (err error) {
	var text string
	if json.Unmarshal(value, &text) == nil {
		if *to, err = time.ParseDuration(text); err == nil {
			return nil
		}
	}
	var seconds float64
	if json.Unmarshal(value, &seconds) == nil && seconds >= -maxSeconds && seconds <= maxSeconds {
		*to = time.Duration(seconds * float64(time.Second))
		return nil
	}
	return errors.New(`must be a duration such as "1m30s", or seconds`)
}

func notJSON(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("not a JSON object: it ends too early")
	}
	return fmt.Errorf("not a JSON object: %w", err)
}

// short cuts a value for an error text.
func short(text string) string {
	const limit = 40
	if len(text) > limit {
		return strings.ToValidUTF8(text[:limit], "") + "..."
	}
	return text
}

// Describe is an error of Decode in one line: what is wrong, joined by "; ".
func Describe(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }
