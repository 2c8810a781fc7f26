package httphandler

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/taskfleet/taskfleet/pkg/taskworker/internal/delivery"
)

type target = *url.URL

// maxSecrets is how many secrets a request may be signed with: the old one and
// the new one, while receivers change over.
const maxSecrets = 4

// decode reads a payload. Its error names the field that is wrong.
func decode(text []byte) (*payload, error) {
	p := &payload{}
	if err := delivery.Decode(text, p, false); err != nil {
		return nil, err
	}
	var err error
	if p.URL == nil {
		return nil, errors.New("payload: url is missing")
	}
	if p.target, err = delivery.URL("url", *p.URL); err != nil {
		return nil, err
	}
	if p.timeout, err = delivery.Timeout(p.Timeout); err != nil {
		return nil, err
	}
	if len(p.Sign) > maxSecrets {
		return nil, fmt.Errorf("payload: sign: %d references: must be at most %d", len(p.Sign), maxSecrets)
	}
	if len(p.Sign) > 0 && p.FollowRedirects {
		return nil, errors.New("payload: sign cannot stand with follow_redirects: a signature is for one host")
	}
	return p, p.setBody(text)
}

func (p *payload) setBody(text []byte) error {
	bodyless := false
	switch p.Method {
	case "":
		p.Method = http.MethodPost
	case http.MethodGet, http.MethodHead:
		bodyless = true
	case http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete:
	default:
		return fmt.Errorf("payload: method %.20q: must be GET, HEAD, POST, PUT, PATCH or DELETE", p.Method)
	}
	p.contentType = "application/json"
	var plain string
	switch {
	case bodyless && p.Body != nil:
		return fmt.Errorf("payload: body: a %s has none", p.Method)
	case bodyless:
	case p.Body == nil:
		p.body = text
	case json.Unmarshal(p.Body, &plain) == nil && p.Body[0] == '"':
		p.body, p.contentType = []byte(plain), "text/plain; charset=utf-8"
	default:
		p.body = p.Body
	}
	return nil
}
