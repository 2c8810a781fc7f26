package citrigger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/taskfleet/taskfleet/pkg/taskworker/internal/delivery"
)

// jenkins queues a build.
type jenkins struct {
	head
	URL          string            `json:"url"`
	Job          string            `json:"job"` // folder/name
	Parameters   map[string]string `json:"parameters"`
	User         string            `json:"user"`
	Token        string            `json:"token"`         // of the user: API token or password
	TriggerToken string            `json:"trigger_token"` // of the job: "trigger builds remotely"
	// Crumb asks for one first: needed with a password, not with an API token. The
	// token must be granted for the crumb's URL too.
	Crumb bool `json:"crumb"`

	base *url.URL
	path []string
}

func (p *jenkins) check() (err error) {
	if p.base, err = base(p.URL, ""); err != nil {
		return err
	}
	if err := required(1024, "job", p.Job); err != nil {
		return err
	}
	for _, name := range strings.Split(p.Job, "/") {
		if err := segment("job", name); err != nil {
			return err
		}
		p.path = append(p.path, "job", name)
	}
	switch {
	case (p.User == "") != (p.Token == ""):
		return errors.New("payload: user and token: one stands without the other")
	case p.Token == "" && p.TriggerToken == "":
		return errors.New("payload: token is missing: give user and token, or trigger_token")
	case strings.Contains(p.User, ":"):
		return errors.New("payload: user: must not hold a colon")
	}
	return bounded("parameters", len(p.Parameters), maxVariables)
}

func (p *jenkins) start(ctx context.Context, s *sender) error {
	action := "build"
	if len(p.Parameters) > 0 {
		action = "buildWithParameters"
	}
	target := below(p.base, append(p.path, action)...)
	form := url.Values{}
	for name, value := range p.Parameters {
		form.Set(name, value)
	}
	if p.TriggerToken != "" {
		token, err := s.secret("trigger_token", p.TriggerToken, target)
		if err != nil {
			return err
		}
		form.Set("token", token)
	}
	r, err := post(ctx, target, "application/x-www-form-urlencoded", []byte(form.Encode()))
	if err != nil {
		return err
	}
	if err := p.authenticate(r, s); err != nil {
		return err
	}
	if p.Crumb {
		if err := p.crumb(ctx, s, r); err != nil {
			return err
		}
	}
	_, err = s.send(r)
	return err
}

// authenticate adds the user and their token, if there is one.
func (p *jenkins) authenticate(r *http.Request, s *sender) error {
	if p.Token == "" {
		return nil
	}
	password, err := s.secret("token", p.Token, r.URL)
	if err != nil {
		return err
	}
	r.SetBasicAuth(p.User, password)
	return nil
}

// crumb asks for a crumb and adds it to r, with the session that it belongs to.
func (p *jenkins) crumb(ctx context.Context, s *sender, r *http.Request) error {
	ask, err := newRequest(ctx, http.MethodGet, below(p.base, "crumbIssuer", "api", "json"), nil)
	if err != nil {
		return err
	}
	if err := p.authenticate(ask, s); err != nil {
		return err
	}
	answer, err := s.send(ask)
	if err != nil {
		return err
	}
	var got struct {
		Crumb string `json:"crumb"`
		Field string `json:"crumbRequestField"`
	}
	if json.Unmarshal(answer.Body, &got) != nil || got.Crumb == "" || got.Field == "" {
		return fmt.Errorf("%s: the answer holds no crumb", delivery.Describe(ask))
	}
	if err := delivery.Headers(r.Header, map[string]string{got.Field: got.Crumb}); err != nil {
		return fmt.Errorf("%s: the crumb is no header", delivery.Describe(ask))
	}
	s.secrets = append(s.secrets, got.Crumb)
	for _, cookie := range (&http.Response{Header: answer.Header}).Cookies() {
		r.AddCookie(&http.Cookie{Name: cookie.Name, Value: cookie.Value})
		s.secrets = append(s.secrets, cookie.Value)
	}
	return nil
}
