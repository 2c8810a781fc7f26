package citrigger

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"

	"github.com/taskfleet/taskfleet/pkg/task"
	"github.com/taskfleet/taskfleet/pkg/taskworker"
	"github.com/taskfleet/taskfleet/pkg/taskworker/httphandler"
	"github.com/taskfleet/taskfleet/pkg/taskworker/internal/delivery"
)

// Kind is the kind of the tasks that the worker binary gives to this handler.
const Kind = "ci-trigger"

// Config configures a handler.
type Config struct {
	// Client sends the requests. Default: httphandler.NewClient with the default rules.
	Client interface {
		Do(*http.Request) (*http.Response, error)
	}
	// Credentials gives out the secrets that payloads refer to: for a payload's
	// provider, the field that names the secret, and the URL of the request. A field
	// of a template is header:NAME, form:NAME or body:POINTER, a JSON pointer.
	// Required.
	Credentials interface {
		Secret(ref, provider, in string, to *url.URL) (string, error)
	}
	// RecordAnswers lets errors hold the start of what a server answers to a request
	// with a credential, without the secrets. Default: the status alone.
	RecordAnswers bool
	// UserAgent is sent with every request. Default "taskfleet-worker".
	UserAgent string
}

type handler struct{ cfg Config }

// New returns a handler that starts the pipeline that a payload describes. A
// payload that it cannot use kills the task at once.
func New(cfg Config) (taskworker.Handler, error) {
	if cfg.Credentials == nil {
		return nil, fmt.Errorf("citrigger: Credentials is nil")
	}
	if cfg.Client == nil {
		client, err := httphandler.NewClient(httphandler.ClientConfig{})
		if err != nil {
			return nil, fmt.Errorf("citrigger: %w", err)
		}
		cfg.Client = client
	}
	if cfg.UserAgent == "" {
		cfg.UserAgent = "taskfleet-worker"
	}
	return (&handler{cfg: cfg}).handle, nil
}

// provider is what the payload of one CI system says.
type provider interface {
	// name is the payload's own name of it.
	name() string
	// check reports what is wrong with the payload, and fills defaults in.
	check() error
	// start sends what starts the pipeline.
	start(ctx context.Context, s *sender) error
}

// providers by name.
var providers = map[string]func() provider{
	"gitlab":          func() provider { return &gitlab{} },
	"github_dispatch": func() provider { return &githubDispatch{} },
	"github_workflow": func() provider { return &githubWorkflow{} },
	"jenkins":         func() provider { return &jenkins{} },
	"generic":         func() provider { return &generic{} },
}

func (h *handler) handle(ctx context.Context, t *task.Task) error {
	p, err := decode(t.Payload)
	if err != nil {
		return taskworker.Never(err)
	}
	return p.start(ctx, &sender{handler: h, task: t, provider: p.name()})
}

// decode reads a payload. Its error names the field that is wrong.
func decode(payload []byte) (provider, error) {
	var head struct {
		Provider string `json:"provider"`
	}
	if err := delivery.Decode(payload, &head, false); err != nil {
		return nil, err
	}
	make, ok := providers[head.Provider]
	if !ok {
		return nil, fmt.Errorf("payload: provider %.40q: must be gitlab, github_dispatch, github_workflow, jenkins or generic", head.Provider)
	}
	p := make()
	if err := delivery.Decode(payload, p, true); err != nil {
		return nil, err
	}
	return p, p.check()
}

// head is in every payload.
type head struct {
	Provider string `json:"provider"`
}

func (h head) name() string { return h.Provider }

// sender sends the requests of one task.
type sender struct {
	*handler
	task     *task.Task
	provider string
	secrets  []string // that no error may show
}

// secret asks for the credential that a field names, for a request to a URL.
func (s *sender) secret(field, ref string, to *url.URL) (string, error) {
	secret, err := s.cfg.Credentials.Secret(ref, s.provider, field, to)
	if err != nil {
		return "", delivery.Refused(field, err)
	}
	s.secrets = append(s.secrets, secret)
	return secret, nil
}

// send sends a request; 2xx is success.
func (s *sender) send(r *http.Request) (*delivery.Answer, error) {
	r.Header.Set("User-Agent", s.cfg.UserAgent)
	return delivery.Send(s.cfg.Client, r, delivery.Secrets{Texts: s.secrets, RecordAnswers: s.cfg.RecordAnswers})
}

// post makes a request with a body.
func post(ctx context.Context, u *url.URL, contentType string, body []byte) (*http.Request, error) {
	r, err := newRequest(ctx, http.MethodPost, u, body)
	if err != nil {
		return nil, taskworker.Never(err)
	}
	r.Header.Set("Content-Type", contentType)
	return r, nil
}

// postJSON makes a request with a JSON body.
func postJSON(ctx context.Context, u *url.URL, body any) (*http.Request, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return nil, taskworker.Never(fmt.Errorf("payload: %w", err))
	}
	return post(ctx, u, "application/json", text)
}
