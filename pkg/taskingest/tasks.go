package taskingest

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"net/http"
	"strings"
	"time"
)

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

// maxKey bounds an Idempotency-Key, in bytes.
const maxKey = 255

// tasksGrace is how long a client of the API may take to begin with its body.
const tasksGrace = 5 * time.Second

// tasks is POST /v1/tasks.
func (h *Handler) tasks(w http.ResponseWriter, r *http.Request, x *exchange) *answer {
	if !h.authorized(r) {
		return refuse(http.StatusUnauthorized, "a bearer token is needed: Authorization: Bearer TOKEN").with("WWW-Authenticate", "Bearer")
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
	if err := h.admit(w, r, x); err != nil {
		return asAnswer(err)
	}
	body, err := readBody(r, x, h.cfg.MaxBody, pace{time.Now(), h.cfg.ReadTimeout, tasksGrace})
	if err != nil {
		return asAnswer(err)
	}
	tasks, err := decodeBody(media, body, x.pass, h.cfg.MaxTasks)
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

// asAnswer is an error that says what to answer.
func asAnswer(err error) *answer {
	var a *answer
	if errors.As(err, &a) {
		return a
	}
	return &answer{code: http.StatusInternalServerError, body: refusal{Error: "internal error"}, err: err}
}
