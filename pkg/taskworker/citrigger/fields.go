package citrigger

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/taskfleet/taskfleet/pkg/taskworker/internal/delivery"
)

// maxVariables is how many variables or parameters a pipeline may be given.
const maxVariables = 256

func newRequest(ctx context.Context, method string, u *url.URL, body []byte) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, method, u.String(), bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("payload: url: %w", err)
	}
	return r, nil
}

// base reads the URL of a CI system; it may have a path, and no query.
func base(text, byDefault string) (*url.URL, error) {
	if text == "" {
		text = byDefault
	}
	u, err := delivery.URL("url", text)
	if err != nil {
		return nil, err
	}
	if u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, errors.New("payload: url: must have neither user nor query: credentials go by reference")
	}
	return u, nil
}

// below appends path segments, each of which may hold any character.
func below(u *url.URL, segments ...string) *url.URL {
	path, raw := strings.TrimRight(u.Path, "/"), strings.TrimRight(u.EscapedPath(), "/")
	for _, s := range segments {
		path += "/" + s
		raw += "/" + url.PathEscape(s)
	}
	made := *u
	made.Path, made.RawPath = path, raw
	return &made
}

// required checks that texts are there, at most limit bytes long and of one line.
func required(limit int, fields ...string) error {
	for i := 0; i < len(fields); i += 2 {
		name, value := fields[i], fields[i+1]
		switch {
		case value == "":
			return fmt.Errorf("payload: %s is missing", name)
		case len(value) > limit:
			return fmt.Errorf("payload: %s of %d bytes: must have at most %d", name, len(value), limit)
		case strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r == 0x7f }):
			return fmt.Errorf("payload: %s: must not hold control characters", name)
		}
	}
	return nil
}

// segment checks a text that becomes a part of a path: "..", for one, would lead
// elsewhere.
func segment(field, value string) error {
	if value == "." || value == ".." || strings.ContainsAny(value, "/\\") {
		return fmt.Errorf("payload: %s %.40q: must not be a path", field, value)
	}
	return required(255, field, value)
}

func bounded(field string, n, limit int) error {
	if n > limit {
		return fmt.Errorf("payload: %s: %d of them: must be at most %d", field, n, limit)
	}
	return nil
}
