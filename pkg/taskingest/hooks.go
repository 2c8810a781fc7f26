package taskingest

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"time"

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

// Kinds are the kinds of the tasks that the rules make, in order.
func (h *Hooks) Kinds() []string {
	kinds := map[string]bool{}
	for _, rule := range h.config.Rules {
		kinds[rule.Kind] = true
	}
	return slices.Sorted(maps.Keys(kinds))
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

// hookGrace is how long a service may take to begin with the body of a delivery.
const hookGrace = 2 * time.Second

// hook is POST /hooks/{service}.
func (h *Handler) hook(s *githook.Service) func(http.ResponseWriter, *http.Request, *exchange) *answer {
	return func(w http.ResponseWriter, r *http.Request, x *exchange) *answer {
		outcome, a := h.receive(w, r, x, s)
		if outcome != "" {
			x.note("outcome", outcome)
			h.cfg.Observer.Hook(s.Name, outcome)
		}
		return a
	}
}

// receive reads a delivery, and handles it if it is genuine. There is no outcome
// of a delivery of which that is not known.
func (h *Handler) receive(w http.ResponseWriter, r *http.Request, x *exchange, s *githook.Service) (outcome string, a *answer) {
	if _, err := contentType(r, typeJSON); err != nil {
		return "", asAnswer(err)
	}
	refused := func(err error) *answer {
		return &answer{code: http.StatusUnauthorized, body: refusal{Error: err.Error()}}
	}
	proof, err := s.Proof(r.Header, h.cfg.Hooks.secrets[s.Name])
	if err != nil {
		return "refused", refused(err)
	}
	pace := pace{time.Now(), h.cfg.HookTimeout, min(hookGrace, h.cfg.HookTimeout)}
	if proof.NeedsBody() {
		err = h.admitUnverified(w, x, pace)
	} else {
		err = h.admit(w, r, x)
	}
	if err != nil {
		return "", asAnswer(err)
	}
	body, err := readBody(r, x, h.cfg.MaxHookBody, pace)
	if err != nil {
		return "", asAnswer(err)
	}
	if proof.NeedsBody() {
		for _, chunk := range body.chunks {
			proof.Write(chunk)
		}
		if err := proof.Check(); err != nil {
			return "refused", refused(err)
		}
		if err := h.admit(w, r, x); err != nil {
			return "", asAnswer(err)
		}
	}
	e, err := readEvent(r.Header, x.pass, s, body)
	var ignored *githook.Ignored
	var ofGate *answer
	switch {
	case err == nil:
		return h.deliver(r, x, e)
	case errors.As(err, &ofGate):
		return "", ofGate
	case errors.Is(err, githook.ErrPing):
		return "ping", &answer{code: http.StatusOK, body: delivered{Ping: true}}
	case errors.As(err, &ignored):
		return "ignored", &answer{code: http.StatusAccepted, body: delivered{Ignored: ignored.Reason}}
	}
	return "bad", refuse(http.StatusBadRequest, "%v", err)
}

// readEvent reads the body of a genuine delivery and lets it go.
func readEvent(header http.Header, p *pass, s *githook.Service, b *body) (*githook.Event, error) {
	text, err := b.join(p)
	if err != nil {
		return nil, err
	}
	defer p.give(b.size)
	if err := p.take(b.size); err != nil { // a text of it may be as large
		return nil, err
	}
	defer p.give(b.size)
	return s.Event(header, text)
}

// admitUnverified lets a webhook in whose body must be read to know whether it is
// genuine. It may be evicted meanwhile, if the server can end its reading.
func (h *Handler) admitUnverified(w http.ResponseWriter, x *exchange, pace pace) error {
	deadline := http.NewResponseController(w).SetReadDeadline
	x.pass = h.unverified.enter(deadline, deadline(pace.deadline(0)) == nil)
	if x.pass == nil {
		return busy("requests")
	}
	return nil
}

// deliver makes tasks of what happened and stores them.
func (h *Handler) deliver(r *http.Request, x *exchange, e *githook.Event) (outcome string, a *answer) {
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
	for i := range tasks {
		if err := x.pass.take(decodedBytes(&tasks[i])); err != nil {
			return "failed", asAnswer(err)
		}
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
