package taskingest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/taskfleet/taskfleet/pkg/task"
	"github.com/taskfleet/taskfleet/pkg/taskproducer"
)

// answer is what a request is told.
type answer struct {
	code   int
	body   any
	header map[string]string
	err    error // for the log only
}

// refusal is the body of an answer that is no 2xx. Nothing of the request was
// stored, unless Error says otherwise.
type refusal struct {
	Error string    `json:"error"`
	Tasks []problem `json:"tasks,omitempty"`
	More  int       `json:"more,omitempty"` // problems that are left out
}

// problem is what is wrong with one field of one task of a request.
type problem struct {
	Index int    `json:"index"` // from 0
	Field string `json:"field,omitempty"`
	Error string `json:"error"`
}

// Error makes a refusal an error, so that reading and decoding can return it.
func (a *answer) Error() string { return fmt.Sprint(a.code) }

func refuse(code int, format string, args ...any) *answer {
	return &answer{code: code, body: refusal{Error: fmt.Sprintf(format, args...)}}
}

// closing ends the connection with the answer: what else the client sends is not
// waited for.
func (a *answer) closing() *answer { return a.with("Connection", "close") }

func (a *answer) with(name, value string) *answer {
	if a.header == nil {
		a.header = map[string]string{}
	}
	a.header[name] = value
	return a
}

// retryLater adds when to come back, in seconds.
func (a *answer) retryLater(seconds int) *answer {
	return a.with("Retry-After", strconv.Itoa(seconds))
}

// The seconds after which a refused client may come back.
const (
	afterBackpressure = 1
	afterOutage       = 5
)

func busy(what string) *answer {
	return refuse(http.StatusTooManyRequests, "too many %s in flight: nothing was stored; try again later", what).retryLater(afterBackpressure)
}

// maxProblems bounds what an answer lists.
const maxProblems = 100

// problems are what is wrong with the tasks of a request: the first ones, in
// order, and how many there are.
type problems struct {
	list  []problem
	count int
}

// add adds what an error says about a task.
func (p *problems) add(index int, err error) {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, one := range joined.Unwrap() {
			p.add(index, one)
		}
		return
	}
	var ofTask *taskproducer.TaskError
	if errors.As(err, &ofTask) {
		p.add(ofTask.Index, ofTask.Err)
		return
	}
	if p.count++; p.count <= maxProblems {
		p.list = append(p.list, problemOf(index, err))
	}
}

func problemOf(index int, err error) problem {
	var field *task.FieldError
	if !errors.As(err, &field) {
		return problem{Index: index, Error: err.Error()}
	}
	p := problem{Index: index, Field: field.Field, Error: field.Limit}
	if name, err := strconv.Unquote(p.Field); err == nil { // a field that there is not
		p.Field = name
	}
	if field.Value != "" {
		p.Error = field.Value + ": " + field.Limit
	}
	return p
}

// refuse refuses the request.
func (p *problems) refuse() *answer {
	return &answer{code: http.StatusBadRequest, body: refusal{
		Error: "nothing was stored: some tasks are bad", Tasks: p.list, More: p.count - len(p.list),
	}}
}

// linger is how long an answer waits for the rest of a body that was not read,
// which net/http reads first, in part: a client that is still sending would see
// a reset instead.
const linger = time.Second

func (a *answer) write(w http.ResponseWriter) {
	if a.code >= http.StatusBadRequest {
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(linger)) // a server may have none
	}
	h := w.Header()
	for name, value := range a.header {
		h.Set(name, value)
	}
	h.Set("Content-Type", "application/json")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	body, _ := json.Marshal(a.body) // texts and numbers: cannot fail
	body = append(body, '\n')
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(a.code)
	_, _ = w.Write(body) // whoever does not listen asks again
}
