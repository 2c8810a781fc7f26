package taskworker

import (
	"context"
	"fmt"
	"time"
)

// stopGrace is what Stop grants for recording outcomes when its context has
// ended and every handler has returned or was abandoned.
const stopGrace = 10 * time.Second

// Stop ends the worker in this order: it claims nothing more; gives back what
// has not started, no attempt spent; lets handlers finish until ctx ends, then
// ends their contexts and gives their tasks back; records every outcome;
// returns. An error says how many outcomes could not be recorded: those tasks
// run again when their partitions have a new owner. Further calls wait for the
// first, and the end of any of their contexts ends the grace of all.
func (w *Worker) Stop(ctx context.Context) error {
	w.mu.Lock()
	w.stopping = true
	started := w.started
	w.mu.Unlock()
	if !started {
		return nil
	}
	defer context.AfterFunc(ctx, func() { w.endHandlers(ErrStopped) })()
	w.stopOnce.Do(func() {
		go func() {
			defer close(w.stopped)
			w.stopErr = w.stop()
		}()
	})
	<-w.stopped
	return w.stopErr
}

// stop does the work of Stop; the context of the handlers ends with the grace
// period. A claim that is on its way is waited for, and what it brings is given
// back: settled closes only when the claim loop has ended.
func (w *Worker) stop() error {
	w.setUrgent(1)
	w.releaseWaiting(nil)
	_ = w.loops.Stop(w.handlers)

	select {
	case <-w.settled:
	case <-w.handlers.Done():
		last := time.NewTimer(w.cfg.AbandonAfter + stopGrace)
		defer last.Stop()
		select {
		case <-w.settled:
		case <-last.C:
		}
	}
	w.endStore()
	w.endHandlers(ErrStopped)
	_ = w.loops.Stop(context.Background())
	_ = w.recorder.Stop(context.Background())
	w.runs.Wait()

	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range w.partitions {
		p.unhook()
	}
	w.partitions, w.order = map[uint16]*partition{}, nil
	if n := len(w.unrecorded); n > 0 {
		return fmt.Errorf("taskworker: stop: %d outcomes were not recorded", n)
	}
	return nil
}

// releaseWaiting gives back what waits for a handler, of one partition or, when p
// is nil, of all.
func (w *Worker) releaseWaiting(p *partition) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, a := range w.live {
		if a.state == waiting && (p == nil || a.part == p) {
			w.waiting--
			w.toBeRecorded(a, released(a))
		}
	}
	w.recordBell.ring()
}

// setUrgent adds to the number of callers that wait for records: while there are
// any, outcomes do not wait for others to be recorded with.
func (w *Worker) setUrgent(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.urgent += n
	w.recordBell.ring()
}

// checkSettled lets Stop go on when no claim is made any more and nothing is
// live. The caller holds mu.
func (w *Worker) checkSettled() {
	if w.claiming || len(w.live) > 0 {
		return
	}
	select {
	case <-w.settled:
	default:
		close(w.settled)
	}
}
