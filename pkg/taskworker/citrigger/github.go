package citrigger

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"strings"
)

const (
	githubAPI        = "https://api.github.com"
	githubAPIVersion = "2022-11-28"
	// The limits that GitHub documents.
	maxEventType     = 100 // characters
	maxClientPayload = 10  // top-level properties
	maxInputs        = 25
)

// github is what both ways to start a workflow have.
type github struct {
	head
	URL        string `json:"url"`        // of the API; default https://api.github.com
	Repository string `json:"repository"` // owner/name
	Token      string `json:"token"`

	base        *url.URL
	owner, repo string
}

func (p *github) check() (err error) {
	if p.base, err = base(p.URL, githubAPI); err != nil {
		return err
	}
	var ok bool
	if p.owner, p.repo, ok = strings.Cut(p.Repository, "/"); !ok {
		return errors.New("payload: repository: must be owner/name")
	}
	return errors.Join(segment("repository", p.owner), segment("repository", p.repo), required(255, "token", p.Token))
}

func (p *github) send(ctx context.Context, s *sender, body any, path ...string) error {
	target := below(p.base, append([]string{"repos", p.owner, p.repo}, path...)...)
	token, err := s.secret("token", p.Token, target)
	if err != nil {
		return err
	}
	r, err := postJSON(ctx, target, body)
	if err != nil {
		return err
	}
	r.Header.Set("Accept", "application/vnd.github+json")
	r.Header.Set("X-GitHub-Api-Version", githubAPIVersion)
	r.Header.Set("Authorization", "Bearer "+token)
	_, err = s.send(r)
	return err
}

// githubDispatch raises a repository_dispatch event.
type githubDispatch struct {
	github
	EventType     string                     `json:"event_type"`
	ClientPayload map[string]json.RawMessage `json:"client_payload"`
}

func (p *githubDispatch) check() error {
	return errors.Join(p.github.check(), required(maxEventType, "event_type", p.EventType),
		bounded("client_payload", len(p.ClientPayload), maxClientPayload))
}

func (p *githubDispatch) start(ctx context.Context, s *sender) error {
	body := map[string]any{"event_type": p.EventType}
	if p.ClientPayload != nil {
		body["client_payload"] = p.ClientPayload
	}
	return p.send(ctx, s, body, "dispatches")
}

// githubWorkflow raises a workflow_dispatch event.
type githubWorkflow struct {
	github
	Workflow string            `json:"workflow"` // file name or id
	Ref      string            `json:"ref"`
	Inputs   map[string]string `json:"inputs"`
}

func (p *githubWorkflow) check() error {
	return errors.Join(p.github.check(), segment("workflow", p.Workflow), required(255, "ref", p.Ref),
		bounded("inputs", len(p.Inputs), maxInputs))
}

func (p *githubWorkflow) start(ctx context.Context, s *sender) error {
	body := map[string]any{"ref": p.Ref}
	if p.Inputs != nil {
		body["inputs"] = p.Inputs
	}
	return p.send(ctx, s, body, "actions", "workflows", p.Workflow, "dispatches")
}

var _, _ provider = (*githubDispatch)(nil), (*githubWorkflow)(nil)
