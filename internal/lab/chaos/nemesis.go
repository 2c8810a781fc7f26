package chaos

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"syscall"
	"time"

	"github.com/taskfleet/taskfleet/internal/lab/proxy"
)

// nemesis carries a plan out.
type nemesis struct {
	machines *machines
	record   *Recorder
	progress io.Writer
	done     int // faults
}

// action is what is due at a time: a fault, or what takes it back.
type action struct {
	at time.Duration
	do func(ctx context.Context) error
}

// run does everything in order. An action that takes long delays the others.
func (n *nemesis) run(ctx context.Context, plan Plan) error {
	begin := time.Now()
	var actions []action
	for _, s := range plan.Steps {
		var end func(ctx context.Context) error
		actions = append(actions, action{s.At, func(ctx context.Context) (err error) {
			fmt.Fprintf(n.progress, "%6.1fs  %s\n", s.At.Seconds(), s)
			end, err = n.harm(s)
			n.done++
			return err
		}})
		actions = append(actions, action{s.At + s.For, func(ctx context.Context) error { return end(ctx) }})
	}
	slices.SortStableFunc(actions, func(a, b action) int { return cmp.Compare(a.at, b.at) })
	for _, a := range actions {
		if err := pause(ctx, time.Until(begin.Add(a.at))); err != nil {
			return err
		}
		if err := a.do(ctx); err != nil {
			return err
		}
	}
	return nil
}

// harm begins a fault and returns what ends it.
func (n *nemesis) harm(s Step) (end func(ctx context.Context) error, err error) {
	noted := n.record.Fault(s.Kind, s.Target)
	undo := func(context.Context) error { return nil }
	switch s.Kind {
	case KillServer:
		n.machines.fleet.KillServer()
		undo = n.machines.fleet.StartServer
	case Join:
		err = n.machines.start(*s.Start)
	case KillWorker, RestartWorker, KillProducer:
		if err = n.machines.kill(s.Target); err == nil && s.Start != nil {
			err = n.machines.start(*s.Start)
		}
	case Leave:
		err = n.machines.leave(s.Target)
	default:
		undo, err = n.hinder(s)
	}
	if err != nil {
		return nil, fmt.Errorf("chaos: %s: %w", s, err)
	}
	return func(ctx context.Context) error {
		err := undo(ctx)
		noted()
		return err
	}, nil
}

// hinder begins a fault that its target survives.
func (n *nemesis) hinder(s Step) (undo func(context.Context) error, err error) {
	victim, err := n.machines.find(s.Target)
	if err != nil {
		return nil, err
	}
	switch s.Kind {
	case StallWorker, StallProducer:
		victim.process.Signal(syscall.SIGSTOP)
		return func(context.Context) error { victim.process.Signal(syscall.SIGCONT); return nil }, nil
	}
	net := victim.proxy
	if net == nil {
		return nil, fmt.Errorf("%s has no proxy", s.Target)
	}
	switch s.Kind {
	case Cut:
		net.Cut()
	case Outage:
		net.Set(proxy.Weather{Refuse: true})
		net.Cut()
	case BlackHole:
		net.Set(proxy.Weather{LoseRequests: true, LoseAnswers: true})
	case Held:
		net.Set(proxy.Weather{Hold: true})
	case Slow:
		net.Set(proxy.Weather{Delay: s.Delay})
	case LoseAnswers:
		net.Set(proxy.Weather{LoseAnswers: true})
	default:
		return nil, fmt.Errorf("there is no fault %q", s.Kind)
	}
	return func(context.Context) error {
		net.Set(proxy.Weather{})
		if s.Kind == BlackHole || s.Kind == LoseAnswers {
			net.Cut() // what was lost leaves holes in the streams
		}
		return nil
	}, nil
}

// String tells it to people.
func (s Step) String() string {
	text := string(s.Kind)
	if s.Target != "" {
		text += ": " + s.Target
	}
	if s.For > 0 {
		text += fmt.Sprintf(" for %.1fs", s.For.Seconds())
	}
	if s.Delay > 0 {
		text += fmt.Sprintf(" by %dms", s.Delay.Milliseconds())
	}
	if s.Start != nil && s.Start.Name != s.Target {
		text += ", " + s.Start.Name + " starts"
	}
	return text
}

// pause waits for d, or returns why ctx ended.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(max(d, 0))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
