package taskingest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/taskfleet/taskfleet/pkg/task"
	"github.com/taskfleet/taskfleet/pkg/taskproducer"
)

// storeLead is how long before the answer is due the storing is told to end, so
// that the answer can still say why it did.
const storeLead = 100 * time.Millisecond

// errNoEnd says that the producer did not return although its context had ended.
var errNoEnd = errors.New("the producer has not returned yet")

// store stores tasks, or says why not. It returns within StoreTimeout, whatever the
// producer does: the driver of a silent database closes its session before it
// gives up, and that has a timeout of its own. The request then holds its place
// until the producer returns.
func (h *Handler) store(ctx context.Context, x *exchange, key string, tasks []task.Task) (taskproducer.Result, *answer) {
	if err := x.pass.take(storedBytes(tasks)); err != nil {
		return taskproducer.Result{}, asAnswer(err)
	}
	x.tasks = len(tasks)
	ctx, cancel := context.WithTimeout(ctx, h.cfg.StoreTimeout-min(storeLead, h.cfg.StoreTimeout/10))
	defer cancel()
	due := time.NewTimer(h.cfg.StoreTimeout)
	defer due.Stop()
	type outcome struct {
		result taskproducer.Result
		err    error
	}
	ended, returned := make(chan outcome), make(chan struct{})
	defer close(returned)
	h.active.begin()
	x.hold()
	go func() {
		defer h.active.end()
		defer x.leave()
		result, err := h.enqueue(ctx, key, tasks)
		select {
		case ended <- outcome{result, err}:
		case <-returned:
			h.cfg.Logger.Warn("the producer returned after the answer", "error", err)
		}
	}()
	select {
	case o := <-ended:
		return o.result, refuseStored(ctx, x, o.err)
	case <-due.C:
		return taskproducer.Result{}, refuseStored(ctx, x, errNoEnd)
	}
}

// enqueue makes an error of a panic.
func (h *Handler) enqueue(ctx context.Context, key string, tasks []task.Task) (_ taskproducer.Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			h.cfg.Logger.Error("panic", "error", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return h.cfg.Producer.EnqueueAll(ctx, key, tasks...)
}

// refuseStored is the answer to tasks that are not known to be stored, nil without
// an error.
func refuseStored(ctx context.Context, x *exchange, err error) *answer {
	var bad problems
	switch {
	case err == nil:
		return nil
	case errors.Is(err, task.ErrInvalid):
		x.tasks = 0
		bad.add(0, err)
		return bad.refuse()
	case errors.Is(err, taskproducer.ErrTooMany):
		x.tasks = 0
		return refuse(http.StatusRequestEntityTooLarge, "the tasks are too large to be stored at once: nothing was stored")
	case errors.Is(err, taskproducer.ErrKeyReused):
		x.tasks = 0
		return refuse(http.StatusUnprocessableEntity, "Idempotency-Key: was used before, with other tasks; nothing was stored")
	}
	const advice = "it is not known whether the tasks are stored; send the same again, with the same Idempotency-Key or ids"
	a := refuse(http.StatusInternalServerError, "the database failed: %s", advice)
	if ctx.Err() != nil || errors.Is(err, errNoEnd) {
		a = refuse(http.StatusServiceUnavailable, "the database did not answer in time: %s", advice).retryLater(afterOutage)
	}
	a.err = err
	return a
}
