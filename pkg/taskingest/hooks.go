package taskingest

import (
	"errors"
	"fmt"
	"net/http"
	"os"

	"github.com/taskfleet/taskfleet/internal/derived"
	"github.com/taskfleet/taskfleet/internal/githook"
)

// Hooks are the webhooks of hosting services, with their secrets and rules.
type Hooks struct {
	config  *githook.Config
	secrets map[string][][]byte
}

// ReadHooks reads a file of secrets and rules, and the secrets that it refers to.
// With an empty name there are the default rules and the secrets of the
// environment: TASKFLEET_GITHUB_SECRET, TASKFLEET_GITLAB_TOKEN,
// TASKFLEET_GITEA_SECRET. Its errors show no secret.
func ReadHooks(name string) (*Hooks, error) {
	config, err := githook.Default(os.Getenv), error(nil)
	if name != "" {
		if config, err = githook.ReadFile(name); err != nil {
			return nil, err
		}
	}
	secrets, err := config.Resolve(os.Getenv)
	if err != nil {
		return nil, err
	}
	return &Hooks{config: config, secrets: secrets}, nil
}

// Services names the services that have a secret, and so are served.
func (h *Hooks) Services() []string {
	var names []string
	for _, s := range h.services() {
		names = append(names, s.Name)
	}
	return names
}

func (h *Hooks) services() (served []*githook.Service) {
	if h == nil {
		return nil
	}
	for _, s := range githook.Services {
		if len(h.secrets[s.Name]) > 0 {
			served = append(served, s)
		}
	}
	return served
}

// delivered is the answer to a webhook.
type delivered struct {
	Delivery  string   `json:"delivery,omitempty"`
	Event     string   `json:"event,omitempty"`
	Action    string   `json:"action,omitempty"`
	IDs       []string `json:"ids,omitempty"`
	Duplicate bool     `json:"duplicate"` // it came before, and nothing was stored now
	Ignored   string   `json:"ignored,omitempty"`
	Ping      bool     `json:"ping,omitempty"`
}

// hook is POST /hooks/{service}.
func (h *Handler) hook(s *githook.Service) func(http.ResponseWriter, *http.Request, *exchange) *answer {
	return func(w http.ResponseWriter, r *http.Request, x *exchange) *answer {
		if _, err := contentType(r, typeJSON); err != nil {
			return asAnswer(err)
		}
		body, leave, err := h.enter(w, r, x, h.cfg.MaxHookBody)
		defer leave()
		if err != nil {
			return asAnswer(err)
		}
		outcome, a := h.deliver(r, x, s, body)
		x.note("outcome", outcome)
		h.cfg.Observer.Hook(s.Name, outcome)
		return a
	}
}

// deliver makes tasks of a delivery and stores them.
func (h *Handler) deliver(r *http.Request, x *exchange, s *githook.Service, body []byte) (outcome string, a *answer) {
	if err := s.Verify(r.Header, body, h.cfg.Hooks.secrets[s.Name]); err != nil {
		return "refused", &answer{code: http.StatusUnauthorized, body: refusal{Error: err.Error()}}
	}
	e, err := s.Event(r.Header, body)
	var ignored *githook.Ignored
	switch {
	case errors.Is(err, githook.ErrPing):
		return "ping", &answer{code: http.StatusOK, body: delivered{Ping: true}}
	case errors.As(err, &ignored):
		return "ignored", &answer{code: http.StatusAccepted, body: delivered{Ignored: ignored.Reason}}
	case err != nil:
		return "bad", refuse(http.StatusBadRequest, "%v", err)
	}
	x.note("delivery", e.Delivery)
	x.note("event", e.Event)
	x.note("repository", e.Repository)
	done := delivered{Delivery: e.Delivery, Event: e.Event, Action: e.Action}
	tasks, err := h.cfg.Hooks.config.Tasks(e)
	if err != nil {
		return "bad", refuse(http.StatusUnprocessableEntity, "%v", err)
	}
	if len(tasks) == 0 {
		done.Ignored = fmt.Sprintf("no rule fits %s, %s", e.Event, e.Action)
		return "ignored", &answer{code: http.StatusAccepted, body: done}
	}
	result, failure := h.store(derived.Allow(r.Context()), x, "", tasks)
	if failure != nil {
		return "failed", failure
	}
	done.IDs, done.Duplicate = result.IDs, result.Enqueued == 0
	if done.Duplicate {
		return "duplicate", &answer{code: http.StatusAccepted, body: done}
	}
	return "stored", &answer{code: http.StatusAccepted, body: done}
}
