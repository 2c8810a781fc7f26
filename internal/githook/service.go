package githook

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
)

// Service is one of the hosting services.
type Service struct {
	Name string
	// proof is the header that shows that a delivery is genuine: the secret itself,
	// or behind a prefix the HMAC-SHA256 of the body, in hex.
	proof    string
	isSecret bool
	prefix   string
	// event is the header that names the event, delivery those that identify a
	// delivery, the first that is there.
	event    string
	delivery []string
	parse    func(event string, body []byte) (*Event, error)
}

// Services are all of them.
var Services = []*Service{
	{
		Name:     "github",
		proof:    "X-Hub-Signature-256",
		prefix:   "sha256=",
		event:    "X-GitHub-Event",
		delivery: []string{"X-GitHub-Delivery"},
		parse:    parseGitHub,
	},
	{
		Name:     "gitlab",
		proof:    "X-Gitlab-Token",
		isSecret: true,
		event:    "X-Gitlab-Event",
		delivery: []string{"Idempotency-Key", "X-Gitlab-Event-UUID"},
		parse:    parseGitLab,
	},
	{
		Name:     "gitea",
		proof:    "X-Gitea-Signature",
		event:    "X-Gitea-Event",
		delivery: []string{"X-Gitea-Delivery"},
		parse:    parseGitea,
	},
}

// maxDelivery bounds the id of a delivery, in bytes.
const maxDelivery = 64

// Event reads a genuine delivery. The error is ErrPing, an *Ignored, or wraps
// ErrPayload.
func (s *Service) Event(header http.Header, body []byte) (*Event, error) {
	name := header.Get(s.event)
	if name == "" {
		return nil, bad("%s is missing", s.event)
	}
	e, err := s.parse(name, body)
	if err != nil {
		return nil, err
	}
	e.Service = s.Name
	if err := e.check(); err != nil {
		return nil, err
	}
	for _, name := range s.delivery {
		if e.Delivery = header.Get(name); e.Delivery != "" {
			break
		}
	}
	if e.Delivery == "" {
		return nil, bad("%s is missing", strings.Join(s.delivery, " or "))
	}
	if len(e.Delivery) > maxDelivery || strings.ContainsFunc(e.Delivery, notWord) {
		return nil, bad("the id of the delivery must have at most %d letters, digits, '-' and '_'", maxDelivery)
	}
	return e, nil
}

func notWord(r rune) bool {
	return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && r != '-' && r != '_'
}

// decode reads the fields of a payload that into names.
func decode(body []byte, into any) error {
	err := json.Unmarshal(body, into)
	var field *json.UnmarshalTypeError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &field) && field.Field != "":
		return bad("field %s has a value of the wrong type: %s", field.Field, kindOf(field))
	case errors.As(err, &field):
		return bad("not a JSON object: %s", kindOf(field))
	}
	return bad("not a JSON object: %v", err)
}

// kindOf is the type of a value; encoding/json adds a number's digits, all of them.
func kindOf(err *json.UnmarshalTypeError) string {
	kind, _, _ := strings.Cut(err.Value, " ")
	return kind
}
