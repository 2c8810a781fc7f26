package taskworker

import (
	"errors"
	"fmt"
	"time"

	"github.com/taskfleet/taskfleet/pkg/migrate"
)

// What Open can find in a folder; its error says what to run. None is worth a retry.
var (
	ErrNoSchema    = migrate.ErrNoSchema    // there is no fleet
	ErrOlderSchema = migrate.ErrOlderSchema // the schema has to be migrated first
	ErrNewerSchema = migrate.ErrNewerSchema // this program is too old for the schema
)

// Why a handler's context ended: the cause that context.Cause returns.
var (
	// ErrTimeout: the attempt took longer than the task allows.
	ErrTimeout = errors.New("taskworker: the task's timeout has passed")
	// ErrRevoked: the partition goes to another worker and its drain deadline has passed.
	ErrRevoked = errors.New("taskworker: the task's partition was revoked")
	// ErrStopped: the worker stops and its grace period is over.
	ErrStopped = errors.New("taskworker: the worker was stopped")
)

// errAbandoned is the error of an attempt whose handler did not heed its context.
var errAbandoned = errors.New("the handler did not return when its context ended")

// neverError is what Never returns.
type neverError struct{ err error }

func (e *neverError) Error() string { return e.err.Error() }
func (e *neverError) Unwrap() error { return e.err }

// Never tells that no further attempt can succeed: the task goes to the dead
// tasks at once, with err as the reason.
func Never(err error) error {
	if err == nil {
		err = errors.New("the handler rejected the task")
	}
	return &neverError{err}
}

// retryError is what RetryAfter returns.
type retryError struct {
	err   error
	after time.Duration
}

func (e *retryError) Error() string { return e.err.Error() }
func (e *retryError) Unwrap() error { return e.err }

// RetryAfter fails the attempt with err and asks for the next one after d
// instead of the usual delay. The attempt counts, and the last one ends the task.
func RetryAfter(d time.Duration, err error) error {
	if err == nil {
		err = fmt.Errorf("the handler asked for another attempt after %s", d)
	}
	return &retryError{err, max(d, 0)}
}
