package coord

import (
	"errors"
	"fmt"
	"strings"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Issue"
)

var (
	// ErrSessionLost: the session is over, and everything that it held with it.
	// The request may or may not have been carried out; that no longer matters,
	// because the server drops what a lost session holds.
	ErrSessionLost = errors.New("session lost")
	// ErrClosed: the session was closed by its owner. It is a kind of ErrSessionLost.
	ErrClosed = fmt.Errorf("session closed: %w", ErrSessionLost)
	// ErrTimeout: the semaphore was not granted in time; nothing waits for it any more.
	ErrTimeout = errors.New("semaphore not granted in time")
	// ErrNotFound: there is no such semaphore. An ephemeral one exists only while
	// somebody holds it.
	ErrNotFound = errors.New("no such semaphore")
	// ErrBusy: this session holds the semaphore already, or is acquiring it.
	ErrBusy = errors.New("semaphore is held or being acquired by this session")
	// ErrNoAnswer: the server did not answer within CallTimeout.
	ErrNoAnswer = errors.New("no answer in time")
	// ErrNodeMissing: there is no coordination node at the path.
	ErrNodeMissing = errors.New("no such coordination node")
)

// StatusError is a request or a session that the server refused.
type StatusError struct {
	Status Ydb.StatusIds_StatusCode
	Issues string // the server's words
}

func (e *StatusError) Error() string {
	if e.Issues == "" {
		return e.Status.String()
	}
	return e.Status.String() + ": " + e.Issues
}

// Is makes a NOT_FOUND match ErrNotFound.
func (e *StatusError) Is(target error) bool {
	return target == ErrNotFound && e.Status == Ydb.StatusIds_NOT_FOUND
}

func newStatusError(status Ydb.StatusIds_StatusCode, issues []*Ydb_Issue.IssueMessage) *StatusError {
	var texts []string
	for _, issue := range issues {
		texts = append(texts, issue.GetMessage())
	}
	return &StatusError{Status: status, Issues: strings.Join(texts, "; ")}
}

// endsSession tells whether a failed stream means that the session is over. The
// other statuses are troubles of the way there, and the stream is opened again.
func endsSession(status Ydb.StatusIds_StatusCode) bool {
	switch status {
	case Ydb.StatusIds_UNAVAILABLE, Ydb.StatusIds_OVERLOADED, Ydb.StatusIds_TIMEOUT,
		Ydb.StatusIds_INTERNAL_ERROR, Ydb.StatusIds_UNDETERMINED, Ydb.StatusIds_ABORTED,
		Ydb.StatusIds_CANCELLED, Ydb.StatusIds_SESSION_BUSY:
		return false
	}
	return true
}
