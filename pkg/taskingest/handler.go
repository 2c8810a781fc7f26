package taskingest

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"time"

	"github.com/taskfleet/taskfleet/pkg/task"
	"github.com/taskfleet/taskfleet/pkg/taskproducer"
)

// Handler serves the API and the webhooks. It may be used concurrently.
type Handler struct {
	cfg      Config
	tokens   [][sha256.Size]byte
	gate     *gate
	routes   *http.ServeMux
	ready    readiness
	draining atomic.Bool
}

// New returns a handler. It starts nothing. Its error names everything that is
// wrong with the config, and shows no token.
func New(cfg Config) (*Handler, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("taskingest: %w", err)
	}
	h := &Handler{
		cfg:   cfg,
		gate:  &gate{maxRequests: cfg.MaxRequests, maxBytes: cfg.MaxBytes, observer: cfg.Observer},
		ready: readiness{check: cfg.Ready},
	}
	for _, token := range cfg.Tokens {
		h.tokens = append(h.tokens, sha256.Sum256([]byte(token)))
	}
	h.routes = http.NewServeMux()
	h.routes.Handle("/v1/tasks", h.route("tasks", http.MethodPost, h.tasks))
	for _, s := range h.cfg.Hooks.services() {
		h.routes.Handle("/hooks/"+s.Name, h.route("hooks/"+s.Name, http.MethodPost, h.hook(s)))
	}
	h.routes.Handle("/healthz", h.route("healthz", http.MethodGet, h.healthz))
	h.routes.Handle("/readyz", h.route("readyz", http.MethodGet, h.readyz))
	h.routes.Handle("/", h.route("other", "", func(http.ResponseWriter, *http.Request, *exchange) *answer {
		return refuse(http.StatusNotFound, "there is nothing here: see POST /v1/tasks; a webhook is served when it has a secret")
	}))
	return h, nil
}

// ServeHTTP answers a request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) { h.routes.ServeHTTP(w, r) }

// exchange is what is known of a request for the log and the observer.
type exchange struct {
	pass  *pass
	tasks int
	log   []slog.Attr
}

func (x *exchange) note(key string, value any) { x.log = append(x.log, slog.Any(key, value)) }

// route makes a handler of a function: it checks the method, and tells log and
// observer of the answer. A panic is an answer 500.
func (h *Handler) route(name, method string, f func(http.ResponseWriter, *http.Request, *exchange) *answer) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begin := time.Now()
		x := &exchange{pass: &pass{}}
		a := h.guard(method, f, w, r, x)
		a.write(w)
		took := time.Since(begin)
		h.cfg.Observer.Request(Request{Route: name, Code: a.code, Bytes: x.pass.bytes, Tasks: x.tasks, Took: took})
		h.log(r, name, a, x, took)
	})
}

func (h *Handler) guard(method string, f func(http.ResponseWriter, *http.Request, *exchange) *answer, w http.ResponseWriter, r *http.Request, x *exchange) (a *answer) {
	defer func() {
		if p := recover(); p != nil {
			h.cfg.Logger.Error("panic", "error", p, "stack", string(debug.Stack()))
			a = refuse(http.StatusInternalServerError, "internal error; it is not known whether anything was stored")
		}
	}()
	if method != "" && r.Method != method && (method != http.MethodGet || r.Method != http.MethodHead) {
		a := refuse(http.StatusMethodNotAllowed, "method: must be %s", method)
		a.header = map[string]string{"Allow": method}
		return a
	}
	return f(w, r, x)
}

func (h *Handler) log(r *http.Request, route string, a *answer, x *exchange, took time.Duration) {
	level := slog.LevelInfo
	switch {
	case a.code >= http.StatusInternalServerError:
		level = slog.LevelWarn
	case route == "healthz" || route == "readyz":
		level = slog.LevelDebug
	}
	attrs := append([]slog.Attr{
		slog.String("route", route), slog.Int("code", a.code), slog.Duration("took", took),
		slog.Int64("bytes", x.pass.bytes), slog.Int("tasks", x.tasks), slog.String("remote", r.RemoteAddr),
	}, x.log...)
	if a.err != nil {
		attrs = append(attrs, slog.Any("error", a.err))
	}
	h.cfg.Logger.LogAttrs(r.Context(), level, "request", attrs...)
}

// authorized checks a bearer token against all tokens, in the same time for every
// wrong one.
func (h *Handler) authorized(r *http.Request) bool {
	if h.cfg.InsecureNoAuth {
		return true
	}
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	digest := sha256.Sum256([]byte(strings.TrimSpace(token)))
	ok := 0
	for i := range h.tokens {
		ok |= subtle.ConstantTimeCompare(digest[:], h.tokens[i][:])
	}
	return ok == 1 && strings.EqualFold(scheme, "Bearer")
}

// enter lets a request through the gate and reads its body. leave ends its stay.
func (h *Handler) enter(w http.ResponseWriter, r *http.Request, x *exchange, limit int64) (body []byte, leave func(), err error) {
	p := h.gate.enter()
	if p == nil {
		return nil, func() {}, busy("requests")
	}
	x.pass = p
	body, err = readBody(w, r, p, limit)
	return body, p.leave, err
}

// maxKey bounds an Idempotency-Key, in bytes.
const maxKey = 255

// tasks is POST /v1/tasks.
func (h *Handler) tasks(w http.ResponseWriter, r *http.Request, x *exchange) *answer {
	if !h.authorized(r) {
		a := refuse(http.StatusUnauthorized, "a bearer token is needed: Authorization: Bearer TOKEN")
		a.header = map[string]string{"WWW-Authenticate": "Bearer"}
		return a
	}
	media, err := contentType(r, typeJSON, typeNDJSON)
	if err != nil {
		return asAnswer(err)
	}
	keys := r.Header.Values("Idempotency-Key")
	key := strings.Join(keys, "")
	if len(keys) > 1 || len(keys) == 1 && (key == "" || len(key) > maxKey || !printable(key)) {
		return refuse(http.StatusBadRequest, "Idempotency-Key: must be one, of 1..%d printable ASCII characters without spaces; nothing was stored", maxKey)
	}
	body, leave, err := h.enter(w, r, x, h.cfg.MaxBody)
	defer leave()
	if err != nil {
		return asAnswer(err)
	}
	tasks, err := decodeTasks(media, body, h.cfg.MaxTasks)
	if err != nil {
		return asAnswer(err)
	}
	result, failure := h.store(r.Context(), x, key, tasks)
	if failure != nil {
		return failure
	}
	x.note("duplicates", result.Duplicates)
	x.note("replayed", result.Replayed)
	return &answer{code: http.StatusAccepted, body: struct {
		IDs        []string `json:"ids"`
		Enqueued   int      `json:"enqueued"`
		Duplicates int      `json:"duplicates"`
		Replayed   bool     `json:"replayed"`
	}{result.IDs, result.Enqueued, result.Duplicates, result.Replayed}}
}

// store stores tasks, or says why not.
func (h *Handler) store(ctx context.Context, x *exchange, key string, tasks []task.Task) (taskproducer.Result, *answer) {
	x.tasks = len(tasks)
	ctx, cancel := context.WithTimeout(ctx, h.cfg.StoreTimeout)
	defer cancel()
	result, err := h.cfg.Producer.EnqueueAll(ctx, key, tasks...)
	if err == nil {
		return result, nil
	}
	switch {
	case errors.Is(err, task.ErrInvalid):
		x.tasks = 0
		return result, badTasks(problemsOf(0, err))
	case errors.Is(err, taskproducer.ErrTooMany):
		x.tasks = 0
		return result, refuse(http.StatusRequestEntityTooLarge, "the tasks are too large to be stored at once: nothing was stored")
	case errors.Is(err, taskproducer.ErrKeyReused):
		x.tasks = 0
		return result, refuse(http.StatusUnprocessableEntity, "Idempotency-Key: was used before, with other tasks; nothing was stored")
	}
	const advice = "it is not known whether the tasks are stored; send the same again, with the same Idempotency-Key or ids"
	a := refuse(http.StatusInternalServerError, "the database failed: %s", advice)
	if ctx.Err() != nil {
		a = refuse(http.StatusServiceUnavailable, "the database did not answer in time: %s", advice).retryLater(afterOutage)
	}
	a.err = err
	return result, a
}

// asAnswer is an error that says what to answer.
func asAnswer(err error) *answer {
	var a *answer
	if errors.As(err, &a) {
		return a
	}
	return &answer{code: http.StatusInternalServerError, body: refusal{Error: "internal error"}, err: err}
}
