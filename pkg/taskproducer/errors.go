package taskproducer

import (
	"errors"
	"fmt"

	"github.com/taskfleet/taskfleet/pkg/migrate"
	"github.com/taskfleet/taskfleet/pkg/task"
)

// What Open can find in a folder; its error says what to run. None is worth a retry.
var (
	ErrNoSchema    = migrate.ErrNoSchema    // there is no fleet
	ErrOlderSchema = migrate.ErrOlderSchema // the schema has to be migrated first
	ErrNewerSchema = migrate.ErrNewerSchema // this program is too old for the schema
)

// TaskError says what is wrong with one task of a call. It wraps the
// *task.FieldError of every field that is wrong.
type TaskError struct {
	Index int // in the call's tasks, from 0
	Err   error
}

func (e *TaskError) Error() string { return fmt.Sprintf("task %d: %v", e.Index, e.Err) }

// Unwrap returns Err.
func (e *TaskError) Unwrap() error { return e.Err }

// TaskErrors returns the errors of single tasks in the error of an enqueue, in
// their order.
func TaskErrors(err error) []*TaskError {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var all []*TaskError
		for _, one := range joined.Unwrap() {
			all = append(all, TaskErrors(one)...)
		}
		return all
	}
	if ofTask, ok := err.(*TaskError); ok {
		return []*TaskError{ofTask}
	}
	return nil
}

// BatchError holds what a call did not get stored. The first of Pending may be
// stored all the same, its answer lost; to be exact, pass each of them to
// EnqueueBatch, instead of calling Enqueue again.
type BatchError struct {
	Pending []task.Batch
	Err     error
}

func (e *BatchError) Error() string {
	return fmt.Sprintf("taskproducer: enqueuing a batch of %d tasks: %v", len(e.Pending[0].Tasks), e.Err)
}

// Unwrap returns Err.
func (e *BatchError) Unwrap() error { return e.Err }

// firstField is the field that an invalid task names first.
func firstField(err error) string {
	var field *task.FieldError
	if errors.As(err, &field) {
		return field.Field
	}
	return ""
}
