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
	"strings"

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
	fill := &filler{sender: s, target: p.target, room: maxFilled}
	var body []byte
	contentType := ""
	switch {
	case p.Form != nil:
		form := url.Values{}
		for name, value := range p.Form {
			form.Set(name, fill.text("form:", name, value))
		}
		body, contentType = []byte(form.Encode()), "application/x-www-form-urlencoded"
	case p.Body != nil:
		body, contentType = fill.json(p.Body), "application/json"
	}
	headers := make(map[string]string, len(p.Headers))
	for name, value := range p.Headers {
		headers[name] = fill.text("header:", http.CanonicalHeaderKey(name), value)
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

// maxFilled bounds what is filled into one request, in bytes: a small payload may
// name a long secret many times.
const maxFilled = 1 << 20

// filler replaces placeholders. Its first error stays.
type filler struct {
	*sender
	target *url.URL
	room   int
	path   []string // to the value of the body that is filled, for a JSON pointer
	err    error
}

// text fills a text that stands in a named part of the request.
func (f *filler) text(kind, name, text string) string {
	return placeholder.ReplaceAllStringFunc(text, func(found string) string {
		if f.err != nil {
			return ""
		}
		var value string
		switch ref := found[2 : len(found)-1]; ref {
		case "task.id":
			if value = f.task.ID; kind == "header:" {
				value = delivery.HeaderValue(value)
			}
		case "task.attempt":
			value = strconv.FormatUint(uint64(f.task.Attempt), 10)
		default:
			value, f.err = f.secret(kind+name+f.pointer(), ref, f.target)
		}
		if f.room -= len(value); f.room < 0 {
			f.err = taskworker.Never(fmt.Errorf("payload: placeholders stand for more than %d bytes", maxFilled))
		}
		return value
	})
}

// json fills the strings of a document, so that what is filled in cannot change
// its form.
func (f *filler) json(document []byte) []byte {
	decoder := json.NewDecoder(bytes.NewReader(document))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		f.err = taskworker.Never(fmt.Errorf("payload: body: %w", err))
		return nil
	}
	value = f.walk(value)
	if f.err != nil {
		return nil
	}
	filled, err := json.Marshal(value)
	if err != nil {
		f.err = taskworker.Never(fmt.Errorf("payload: body: %w", err))
	}
	return filled
}

// walk fills a value of the body.
func (f *filler) walk(value any) any {
	switch v := value.(type) {
	case string:
		return f.text("body:", "", v)
	case []any:
		for i := range v {
			v[i] = f.below(strconv.Itoa(i), v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = f.below(name, v[name])
		}
	}
	return value
}

func (f *filler) below(name string, value any) any {
	f.path = append(f.path, name)
	value = f.walk(value)
	f.path = f.path[:len(f.path)-1]
	return value
}

var pointerEscape = strings.NewReplacer("~", "~0", "/", "~1")

// pointer returns the JSON pointer of the value that is filled. It is made only
// when a credential asks for it: bodies may be deep.
func (f *filler) pointer() string {
	var out strings.Builder
	for _, name := range f.path {
		out.WriteString("/" + pointerEscape.Replace(name))
	}
	return out.String()
}
