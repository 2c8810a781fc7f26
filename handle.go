package taskfleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode"

	"github.com/taskfleet/taskfleet/pkg/task"
	"github.com/taskfleet/taskfleet/pkg/taskworker"
)

// Task is a task that runs, with its payload decoded. It is the handler's to read
// until it returns.
type Task[T any] struct {
	task.Task
	Args T
}

// HandlerMiddleware wraps a handler: what runs before and after it, for every task.
type HandlerMiddleware func(next taskworker.Handler) taskworker.Handler

// Kinder names the kind of its tasks. A type of arguments that does not implement it
// has the kind that its name makes: SendEmail is send-email.
type Kinder interface{ Kind() string }

// Handle lets handler run the tasks whose arguments are of type T. Call it before
// Start, once for each kind; what is wrong is the error of Start.
//
// The handler's error decides what becomes of the task. Nil completes it. Never(err)
// makes it dead at once, RetryAfter(d, err) runs it again after d. Any other error, a
// panic and the task's timeout run it again later, each time later, until its last
// attempt makes it dead. The context ends at the timeout, when the partition has to be
// given up, and when the fleet stops and Config.Grace is over: context.Cause is
// ErrTimeout, ErrRevoked or ErrStopped. Handlers run concurrently.
//
// A payload that is not JSON of T makes its task dead at once.
func Handle[T any](f *Fleet, handler func(ctx context.Context, t *Task[T]) error) {
	kind, err := kindOf(reflect.TypeFor[T]())
	if err != nil {
		f.handle("", nil, err)
		return
	}
	f.HandleKind(kind, func(ctx context.Context, t *task.Task) error {
		typed := Task[T]{Task: *t}
		if err := json.Unmarshal(t.Payload, &typed.Args); err != nil {
			return Never(fmt.Errorf("taskfleet: payload of kind %s: %w", kind, err))
		}
		return handler(ctx, &typed)
	})
}

// HandleKind is Handle for payloads that are no JSON, or that the handler decodes.
func (f *Fleet) HandleKind(kind string, handler taskworker.Handler) {
	var err error
	if kind == "" || len(kind) > task.MaxKind {
		err = fmt.Errorf("kind %.100q: must have 1..%d bytes", kind, task.MaxKind)
	}
	f.handle(kind, handler, err)
}

func (f *Fleet) handle(kind string, handler taskworker.Handler, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case err != nil:
	case handler == nil:
		err = fmt.Errorf("kind %s: the handler is nil", kind)
	case f.handlers[kind] != nil:
		err = fmt.Errorf("kind %s: there are two handlers", kind)
	case f.worker != nil:
		f.log.Error("a handler that comes after Start is not used", "kind", kind)
		return
	}
	if err != nil {
		f.wrong = append(f.wrong, err)
		return
	}
	f.handlers[kind] = handler
}

// wrapped returns the handlers behind the middleware.
func (f *Fleet) wrapped() map[string]taskworker.Handler {
	all := map[string]taskworker.Handler{}
	for kind, handler := range f.handlers {
		for _, m := range slices.Backward(f.cfg.HandlerMiddleware) {
			handler = m(handler)
		}
		all[kind] = handler
	}
	return all
}

// kindOf is the kind of tasks with arguments of a type.
func kindOf(t reflect.Type) (string, error) {
	base := t
	for base.Kind() == reflect.Pointer {
		base = base.Elem()
	}
	if k, ok := reflect.New(base).Interface().(Kinder); ok {
		kind := k.Kind()
		if kind == "" || len(kind) > task.MaxKind {
			return "", fmt.Errorf("%s.Kind() is %.100q: must have 1..%d bytes", t, kind, task.MaxKind)
		}
		return kind, nil
	}
	if base.Name() == "" || strings.ContainsAny(base.Name(), "[") {
		return "", fmt.Errorf("%s: give arguments a named type, or a method Kind() string", t)
	}
	return kebab(base.Name())
}

// kebab turns the name of a type into a kind: SendHTTPRequest is send-http-request.
func kebab(name string) (string, error) {
	var b strings.Builder
	runes := []rune(name)
	for i, r := range runes {
		starts := unicode.IsUpper(r) && i > 0 &&
			(!unicode.IsUpper(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1]))
		if starts {
			b.WriteByte('-')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	if b.Len() > task.MaxKind {
		return "", errors.New(name + ": the name is too long for a kind: give it a method Kind() string")
	}
	return b.String(), nil
}
