package delivery

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"

	"github.com/taskfleet/taskfleet/pkg/task"
)

const (
	maxHeaders     = 64       // of a payload
	maxHeaderBytes = 16 << 10 // of all names and values
	maxURL         = 8 << 10  // bytes
)

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

// forbidden are headers that belong to the connection, to the handler, or to the
// protocol of a metadata service.
var forbidden = map[string]bool{
	"Host": true, "Connection": true, "Content-Length": true, "Transfer-Encoding": true, "Te": true, "Trailer": true,
	"Upgrade": true, "Keep-Alive": true, "Expect": true, "Http2-Settings": true,
	"X-Task-Id": true, "X-Task-Attempt": true,
	"Metadata": true, "Metadata-Flavor": true, "X-Google-Metadata-Request": true,
}

var forbiddenPrefixes = []string{"Proxy-", "Webhook-", "X-Aws-Ec2-Metadata-"}

// Headers sets the headers of a payload.
func Headers(into http.Header, headers map[string]string) error {
	if len(headers) > maxHeaders {
		return fmt.Errorf("payload: headers: %d of them: must be at most %d", len(headers), maxHeaders)
	}
	size := 0
	for name, value := range headers {
		size += len(name) + len(value)
		canonical := http.CanonicalHeaderKey(name)
		switch {
		case !httpguts.ValidHeaderFieldName(name):
			return fmt.Errorf("payload: headers: %.40q is not a header's name", name)
		case !httpguts.ValidHeaderFieldValue(value):
			return fmt.Errorf("payload: headers: %s: the value must not hold control characters", canonical)
		case forbidden[canonical]:
			return fmt.Errorf("payload: headers: %s is not for a payload to set", canonical)
		}
		for _, prefix := range forbiddenPrefixes {
			if strings.HasPrefix(canonical, prefix) {
				return fmt.Errorf("payload: headers: %s is not for a payload to set", canonical)
			}
		}
		into.Set(canonical, value)
	}
	if size > maxHeaderBytes {
		return fmt.Errorf("payload: headers of %d bytes: must have at most %d", size, maxHeaderBytes)
	}
	return nil
}

// HeaderValue makes an id fit for a header, which may hold neither line breaks
// nor other control characters.
func HeaderValue(id string) string {
	if strings.ContainsFunc(id, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return url.PathEscape(id)
	}
	return id
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
