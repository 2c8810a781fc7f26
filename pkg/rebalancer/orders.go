package rebalancer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/taskfleet/taskfleet/internal/coord"
)

// drainedName is the persistent semaphore whose data names the workers that an
// operator has drained. Every worker watches it for its own name.
const drainedName = "drained-workers"

// drained are the drained workers, and since when.
type drained map[string]time.Time

func readDrained(data []byte) (drained, error) {
	d := drained{}
	if len(data) == 0 {
		return d, nil
	}
	if err := json.Unmarshal(data, &d); err != nil {
		return drained{}, fmt.Errorf("rebalancer: the data of semaphore %s: %w", drainedName, err)
	}
	return d, nil
}

// orders follows what an operator and the worker itself (Pause) want of it.
type orders struct {
	t       *term
	state   string
	changed <-chan struct{} // closed when to read again; nil when that is due
}

// read finds out which state the worker is to have. The semaphore is made by
// whoever first misses it.
func (o *orders) read(ctx context.Context) error {
	data, changed, err := o.t.session.Data(ctx, drainedName)
	if errors.Is(err, coord.ErrNotFound) {
		if err = o.t.session.Ensure(ctx, drainedName); err == nil {
			data, changed, err = o.t.session.Data(ctx, drainedName)
		}
	}
	if err != nil {
		return err
	}
	o.changed = changed
	d, err := readDrained(data)
	if err != nil {
		// What nobody can read must not stop the fleet.
		o.t.r.log.Error("cannot read which workers are drained; none is", "error", err)
	}
	state := stateActive
	if o.t.r.Paused() {
		state = statePaused
	}
	if _, is := d[o.t.r.cfg.WorkerID]; is {
		state = stateDrained
	}
	if state != o.state {
		o.t.r.log.Info("worker state", "state", state)
	}
	o.state = state
	return nil
}
