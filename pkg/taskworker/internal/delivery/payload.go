package delivery

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"time"

	"github.com/taskfleet/taskfleet/pkg/task"
)

const maxURL = 8 << 10 // bytes

// Decode reads a JSON object into fields. Its error says which field is wrong.
func Decode(payload []byte, fields any, strict bool) error {
	decoder := json.NewDecoder(bytes.NewReader(payload))
	if strict {
		decoder.DisallowUnknownFields()
	}
	trimmed := bytes.TrimLeft(payload, " \t\r\n")
	if len(trimmed) == 0 || trimmed[0] != '{' {
		return errors.New("payload: must be a JSON object")
	}
	if err := decoder.Decode(fields); err != nil {
		var wrong *json.UnmarshalTypeError
		if errors.As(err, &wrong) {
			return fmt.Errorf("payload: %s: must not be a %s", wrong.Field, wrong.Value)
		}
		return fmt.Errorf("payload: must be a JSON object: %s", strings.TrimPrefix(err.Error(), "json: "))
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("payload: must be one JSON object")
	}
	return nil
}

// URL reads an absolute http or https URL; what it may lead to is the client's
// concern.
func URL(field, text string) (*url.URL, error) {
	if text == "" {
		return nil, fmt.Errorf("payload: %s is missing", field)
	}
	if len(text) > maxURL {
		return nil, fmt.Errorf("payload: %s of %d bytes: must have at most %d", field, len(text), maxURL)
	}
	u, err := url.Parse(text)
	if err != nil {
		var outer *url.Error
		if errors.As(err, &outer) {
			err = outer.Err // without the URL, which may hold a password
		}
		return nil, fmt.Errorf("payload: %s: %w", field, err)
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("payload: %s %q: must be http://host/... or https://host/...", field, u.Redacted())
	}
	return u, nil
}

// Timeout reads a duration such as "10s"; empty is none.
func Timeout(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 || d > task.MaxTimeout {
		return 0, fmt.Errorf("payload: timeout %.40q: must be a duration such as \"10s\", above 0 and at most %s", text, task.MaxTimeout)
	}
	return d, nil
}

// OneOrMore is a JSON string or a list of strings.
type OneOrMore []string

// UnmarshalJSON implements json.Unmarshaler.
func (o *OneOrMore) UnmarshalJSON(text []byte) error {
	var one string
	if json.Unmarshal(text, &one) == nil {
		*o = nil
		if one != "" {
			*o = OneOrMore{one}
		}
		return nil
	}
	var more []string
	if err := json.Unmarshal(text, &more); err != nil {
		return errors.New("must be a string or a list of strings")
	}
	*o = more
	return nil
}
