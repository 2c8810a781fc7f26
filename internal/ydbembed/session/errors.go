package session

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"google.golang.org/grpc/status"

	"github.com/taskfleet/taskfleet/internal/ydbembed/issue"
	"github.com/taskfleet/taskfleet/internal/ydbembed/store"
)

func errStopping() error {
	return issue.New(Ydb.StatusIds_UNAVAILABLE, 0, "The server is stopping")
}

func errTooManySessions() error {
	return issue.Overloaded("Too many active sessions, limit: %d", maxSessions)
}

func errAttached(id string) error {
	return issue.BadRequest("Session is attached already: %s", id)
}

func errMode(m Mode) error {
	return issue.BadRequest("Transaction mode %s is not enabled", modeNames[m])
}

func errCommitRequired(m Mode) error {
	return issue.BadRequest("Transaction mode %s needs commit_tx with its only query", modeNames[m])
}

// answer turns an error of the layers below into the one that the client gets.
func answer(err error) error {
	var conflict *store.ConflictError
	var transport interface{ GRPCStatus() *status.Status }
	switch {
	case err == nil:
		return nil
	case errors.As(err, &transport): // an injected fault
		return err
	case errors.As(err, &conflict):
		return issue.LocksInvalidated(conflict.Table)
	case errors.Is(err, store.ErrSchemeChanged):
		return issue.New(Ydb.StatusIds_ABORTED, issue.CodeSchemeMismatch, "Table scheme changed while the transaction ran")
	case errors.Is(err, store.ErrReadOnly):
		return issue.ReadOnly()
	case errors.Is(err, store.ErrClosed):
		return errStopping()
	case errors.Is(err, errEnded):
		return issue.New(Ydb.StatusIds_BAD_SESSION, 0, "Session was closed while the query ran")
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	}
	return From(err)
}

// From returns err as the client gets it: what the disk is to blame for in a
// short text without a path, anything else as issue.From does.
func From(err error) *issue.Error {
	var file *store.FileError
	switch {
	case errors.Is(err, store.ErrUndetermined):
		return issue.New(Ydb.StatusIds_UNDETERMINED, 0, "The outcome of the commit is not known: %s", diskProblem(err))
	case errors.Is(err, store.ErrNoSpace), errors.Is(err, store.ErrStalled), errors.Is(err, store.ErrFailed):
		return issue.New(Ydb.StatusIds_UNAVAILABLE, issue.CodeOutOfSpace, "Nothing was written: %s", diskProblem(err))
	case errors.As(err, &file):
		return issue.New(Ydb.StatusIds_INTERNAL_ERROR, 0, "Stored data cannot be read: file %s %s", file.File, file.Problem)
	}
	return issue.From(err)
}

func diskProblem(err error) string {
	switch {
	case errors.Is(err, store.ErrNoSpace):
		return "the disk is full"
	case errors.Is(err, store.ErrStalled):
		return "the disk fails"
	}
	return "the disk failed, and the server must be started again"
}

// guard runs f and turns a panic into INTERNAL_ERROR: a query must not end the
// server.
func guard(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &PanicError{Value: p, Stack: debug.Stack()}
		}
	}()
	return f()
}

// PanicError is a panic while a call ran. Clients see INTERNAL_ERROR; the stack
// is for the log.
type PanicError struct {
	Value any
	Stack []byte
}

func (e *PanicError) Error() string { return fmt.Sprintf("session: panic: %v", e.Value) }

// As makes the error the INTERNAL_ERROR that the client gets.
func (e *PanicError) As(target any) bool {
	out, ok := target.(**issue.Error)
	if ok {
		*out = &issue.Error{
			Status: Ydb.StatusIds_INTERNAL_ERROR,
			Issues: []issue.Issue{{Message: fmt.Sprintf("Internal error: %v", e.Value), Severity: issue.Fatal}},
		}
	}
	return ok
}
