package githook

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
)

// Service is one of the hosting services.
type Service struct {
	Name string
	// proof is the header that shows that a delivery is genuine; valid tells
	// whether it is, for one secret. It takes the same time for every wrong proof.
	proof string
	valid func(proof string, body, secret []byte) bool
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
		valid:    signedWith("sha256="),
		event:    "X-GitHub-Event",
		delivery: []string{"X-GitHub-Delivery"},
		parse:    parseGitHub,
	},
	{
		Name:     "gitlab",
		proof:    "X-Gitlab-Token",
		valid:    sameToken,
		event:    "X-Gitlab-Event",
		delivery: []string{"Idempotency-Key", "X-Gitlab-Event-UUID"},
		parse:    parseGitLab,
	},
	{
		Name:     "gitea",
		proof:    "X-Gitea-Signature",
		valid:    signedWith(""),
		event:    "X-Gitea-Event",
		delivery: []string{"X-Gitea-Delivery"},
		parse:    parseGitea,
	},
}

// signedWith checks a HMAC-SHA256 of the body, in hex behind a prefix.
func signedWith(prefix string) func(proof string, body, secret []byte) bool {
	return func(proof string, body, secret []byte) bool {
		mac := hmac.New(sha256.New, secret)
		mac.Write(body)
		want := make([]byte, 0, 2*sha256.Size)
		want = hex.AppendEncode(want, mac.Sum(nil))
		return hmac.Equal([]byte(strings.ToLower(proof)), append([]byte(prefix), want...))
	}
}

// sameToken compares digests, so that not even the length can be measured.
func sameToken(proof string, _, secret []byte) bool {
	got, want := sha256.Sum256([]byte(proof)), sha256.Sum256(secret)
	return subtle.ConstantTimeCompare(got[:], want[:]) == 1
}

// ErrProof says that a delivery is not known to be genuine.
var ErrProof = errors.New("not genuine")

// Verify checks the proof of a delivery against every secret, in a time that does
// not depend on which of them fits. Its error wraps ErrProof.
func (s *Service) Verify(header http.Header, body []byte, secrets [][]byte) error {
	proof := header.Get(s.proof)
	if proof == "" {
		return errors.Join(ErrProof, errors.New(s.proof+" is missing: give the hook a secret"))
	}
	ok := false
	for _, secret := range secrets {
		ok = s.valid(proof, body, secret) || ok
	}
	if !ok {
		return errors.Join(ErrProof, errors.New(s.proof+" does not fit: the hook has another secret"))
	}
	return nil
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
		return bad("field %s has a value of the wrong type: %s", field.Field, field.Value)
	case errors.As(err, &field):
		return bad("not a JSON object: %s", field.Value)
	}
	return bad("not a JSON object: %v", err)
}
