package citrigger

import (
	"context"
	"errors"
	"net/url"
	"strings"

	"github.com/taskfleet/taskfleet/pkg/taskworker"
)

// gitlab runs a pipeline by its trigger token.
type gitlab struct {
	head
	URL       string            `json:"url"`     // default https://gitlab.com
	Project   string            `json:"project"` // path or id
	Ref       string            `json:"ref"`
	Variables map[string]string `json:"variables"`
	Token     string            `json:"token"`

	base *url.URL
}

func (p *gitlab) check() (err error) {
	p.base, err = base(p.URL, "https://gitlab.com")
	for _, name := range strings.Split(p.Project, "/") {
		err = errors.Join(err, segment("project", name))
	}
	return errors.Join(err,
		required(1024, "project", p.Project, "ref", p.Ref, "token", p.Token),
		bounded("variables", len(p.Variables), maxVariables))
}

func (p *gitlab) start(ctx context.Context, s *sender) error {
	target := below(p.base, "api", "v4", "projects", p.Project, "trigger", "pipeline")
	token, err := s.secret("token", p.Token, target)
	if err != nil {
		return err
	}
	// In the body, since access logs show queries.
	form := url.Values{"token": {token}, "ref": {p.Ref}}
	for name, value := range p.Variables {
		if name == "" {
			return taskworker.Never(errors.New("payload: variables: a name is empty"))
		}
		form.Set("variables["+name+"]", value)
	}
	r, err := post(ctx, target, "application/x-www-form-urlencoded", []byte(form.Encode()))
	if err != nil {
		return err
	}
	_, err = s.send(r)
	return err
}
