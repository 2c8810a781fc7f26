package citrigger

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strconv"

	"github.com/taskfleet/taskfleet/pkg/taskworker"
	"github.com/taskfleet/taskfleet/pkg/taskworker/internal/delivery"
)

// generic sends a request whose header values and body hold placeholders:
// ${env:NAME} and ${file:NAME} for credentials, ${task.id} and ${task.attempt}.
type generic struct {
	head
	URL     string            `json:"url"`
	Method  string            `json:"method"` // default POST
	Headers map[string]string `json:"headers"`
	Body    json.RawMessage   `json:"body"` // sent as JSON
	Form    map[string]string `json:"form"` // sent as a form instead

	target *url.URL
}

var placeholder = regexp.MustCompile(`\$\{([^{}]*)\}`)

func (p *generic) check() (err error) {
	if p.target, err = delivery.URL("url", p.URL); err != nil {
		return err
	}
	switch p.Method {
	case "":
		p.Method = http.MethodPost
	case http.MethodPost, http.MethodPut, http.MethodPatch:
	case http.MethodGet, http.MethodDelete:
		if p.Body != nil || p.Form != nil {
			return fmt.Errorf("payload: body: a %s has none here", p.Method)
		}
	default:
		return fmt.Errorf("payload: method %.20q: must be GET, POST, PUT, PATCH or DELETE", p.Method)
	}
	if p.Body != nil && p.Form != nil {
		return errors.New("payload: body cannot stand with form")
	}
	if err := bounded("form", len(p.Form), maxVariables); err != nil {
		return err
	}
	return delivery.Headers(http.Header{}, p.Headers)
}

func (p *generic) start(ctx context.Context, s *sender) error {
	fill := &filler{sender: s, target: p.target}
	var body []byte
	contentType := ""
	switch {
	case p.Form != nil:
		form := url.Values{}
		for name, value := range p.Form {
			form.Set(name, fill.text("form", value))
		}
		body, contentType = []byte(form.Encode()), "application/x-www-form-urlencoded"
	case p.Body != nil:
		body, contentType = fill.json(p.Body), "application/json"
	}
	headers := make(map[string]string, len(p.Headers))
	for name, value := range p.Headers {
		headers[name] = fill.text("headers", value)
	}
	if fill.err != nil {
		return fill.err
	}
	r, err := newRequest(ctx, p.Method, p.target, body)
	if err != nil {
		return taskworker.Never(err)
	}
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	r.Header.Set("X-Task-ID", delivery.HeaderValue(s.task.ID))
	r.Header.Set("X-Task-Attempt", strconv.FormatUint(uint64(s.task.Attempt), 10))
	if err := delivery.Headers(r.Header, headers); err != nil {
		return taskworker.Never(err)
	}
	_, err = s.send(r)
	return err
}

// filler replaces placeholders. Its first error stays.
type filler struct {
	*sender
	target *url.URL
	err    error
}

func (f *filler) text(field, text string) string {
	return placeholder.ReplaceAllStringFunc(text, func(found string) string {
		name := found[2 : len(found)-1]
		switch name {
		case "task.id":
			return f.task.ID
		case "task.attempt":
			return strconv.FormatUint(uint64(f.task.Attempt), 10)
		}
		secret, err := f.secret(field, name, f.target)
		if err != nil && f.err == nil {
			f.err = err
		}
		return secret
	})
}

// json fills the strings of a document, so that what is filled in cannot change
// its form.
func (f *filler) json(document []byte) []byte {
	decoder := json.NewDecoder(bytes.NewReader(document))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		f.err = errors.Join(f.err, taskworker.Never(fmt.Errorf("payload: body: %w", err)))
		return nil
	}
	filled, err := json.Marshal(f.walk(value))
	if err != nil {
		f.err = errors.Join(f.err, taskworker.Never(fmt.Errorf("payload: body: %w", err)))
	}
	return filled
}

func (f *filler) walk(value any) any {
	switch v := value.(type) {
	case string:
		return f.text("body", v)
	case []any:
		for i := range v {
			v[i] = f.walk(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = f.walk(v[name])
		}
	}
	return value
}
