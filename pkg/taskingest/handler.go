package taskingest

import (
	"crypto/sha256"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"sync/atomic"
	"time"
)

// Handler serves the API and the webhooks. It may be used concurrently.
type Handler struct {
	cfg    Config
	tokens [][sha256.Size]byte
	// verified is for requests that are known to be genuine, unverified for those
	// whose body must be read to know.
	verified, unverified *gate
	routes               *http.ServeMux
	ready                readiness
	draining             atomic.Bool
	active               active
}

// New returns a handler. It starts nothing. Its error names everything that is
// wrong with the config, and shows no token.
func New(cfg Config) (*Handler, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("taskingest: %w", err)
	}
	h := &Handler{
		cfg:        cfg,
		verified:   newGate("", cfg.MaxRequests, cfg.verifiedBytes(), cfg.Observer),
		unverified: newGate("unverified_", cfg.MaxUnverified, cfg.MaxUnverifiedBytes, cfg.Observer),
	}
	h.active.idle.L = &h.active.mu
	h.ready = readiness{check: cfg.Ready, active: &h.active}
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

// exchange is a request: what it holds, and what is known of it for the log and
// the observer.
type exchange struct {
	holders atomic.Int32 // goroutines that work on it
	pass    *pass
	release func() // of the connection
	read    int64  // bytes of the body
	tasks   int
	log     []slog.Attr
}

func (x *exchange) note(key string, value any) { x.log = append(x.log, slog.Any(key, value)) }

// admit lets a genuine request in, with what it holds already, and keeps its
// connection.
func (h *Handler) admit(w http.ResponseWriter, r *http.Request, x *exchange) error {
	if x.pass == nil {
		if x.pass = h.verified.enter(http.NewResponseController(w).SetReadDeadline, false); x.pass == nil {
			return busy("requests")
		}
	} else {
		moved, err := x.pass.move(h.verified)
		if err != nil {
			return err
		}
		x.pass = moved
	}
	x.release = keepConn(r.Context())
	return nil
}

// hold keeps what the request holds until leave was called once more.
func (x *exchange) hold() { x.holders.Add(1) }

func (x *exchange) leave() {
	if x.holders.Add(-1) > 0 {
		return
	}
	if x.pass != nil {
		x.pass.leave()
	}
	if x.release != nil {
		x.release()
	}
}

// route makes a handler of a function: it checks the method, and reports the
// answer to log and observer. A panic is an answer 500. What a request holds, it
// holds until the answer is sent and nothing works on it any more.
func (h *Handler) route(name, method string, f func(http.ResponseWriter, *http.Request, *exchange) *answer) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.active.begin()
		defer h.active.end()
		begin := time.Now()
		x := &exchange{}
		x.hold()
		defer x.leave()
		a := h.guard(method, f, w, r, x)
		a.write(w)
		took := time.Since(begin)
		h.cfg.Observer.Request(Request{Route: name, Code: a.code, Bytes: x.read, Tasks: x.tasks, Took: took})
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
		return refuse(http.StatusMethodNotAllowed, "method: must be %s", method).with("Allow", method)
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
		slog.Int64("bytes", x.read), slog.Int("tasks", x.tasks), slog.String("remote", r.RemoteAddr),
	}, x.log...)
	if a.err != nil {
		attrs = append(attrs, slog.Any("error", a.err))
	}
	h.cfg.Logger.LogAttrs(r.Context(), level, "request", attrs...)
}
