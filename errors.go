package taskfleet

import (
	"errors"
	"time"

	"github.com/taskfleet/taskfleet/pkg/migrate"
	"github.com/taskfleet/taskfleet/pkg/taskworker"
)

// What Open can find in a folder. Its error says what to run; none is worth a retry.
var (
	ErrNoSchema    = migrate.ErrNoSchema    // there is no fleet: migrate.Up makes it
	ErrOlderSchema = migrate.ErrOlderSchema // the schema has to be migrated first
	ErrNewerSchema = migrate.ErrNewerSchema // this program is too old for the schema
)

// ErrNoHandlers is wrapped by the error of a Start or Run without handlers: a Fleet
// that only enqueues is not started.
var ErrNoHandlers = errors.New("there are no handlers: call Handle before Start")

// Why a handler's context ended: what context.Cause returns.
var (
	ErrTimeout = taskworker.ErrTimeout // the task's timeout has passed
	ErrRevoked = taskworker.ErrRevoked // the partition moves, and Config.Grace is over
	ErrStopped = taskworker.ErrStopped // the fleet stops, and Config.Grace is over
)

// RetryAfter fails the attempt with err and asks for the next one after d instead of
// the usual delay. The attempt counts, and the last one makes the task dead.
func RetryAfter(d time.Duration, err error) error { return taskworker.RetryAfter(d, err) }

// Never says that no further attempt can succeed: the task is dead at once, with err
// as the reason.
func Never(err error) error { return taskworker.Never(err) }
