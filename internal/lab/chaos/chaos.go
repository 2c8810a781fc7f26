package chaos

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/taskfleet/taskfleet/internal/lab/fleet"
	"github.com/taskfleet/taskfleet/internal/taskstore"
	"github.com/taskfleet/taskfleet/internal/ydbconn"
	"github.com/taskfleet/taskfleet/pkg/migrate"
)

// Config says how a run is made.
type Config struct {
	Seed   uint64
	Length time.Duration // of the faults
	Bin    string        // folder of the programs; empty: that of the running one
	// Slack is added to the bound on takeovers, for a machine that is busy.
	Slack time.Duration
	// Keep is a folder that gets the history, as JSON, and the logs of all
	// processes; empty: they are dropped.
	Keep string
	// Progress shows the run to people, and tells what is wrong.
	Progress io.Writer
}

// What a fleet of a run is like.
const (
	partitions     = 64
	sessionTimeout = 3 * time.Second
	drainTimeout   = 2 * time.Second // shorter than the slowest delivery
	tasksPerSecond = 75              // of each producer
	maxOffset      = 30 * time.Second
	longestDelay   = 30 * time.Second // of a task, as producers make them
)

func planConfig(length time.Duration) PlanConfig {
	return PlanConfig{
		Length: length, SessionTimeout: sessionTimeout, MaxOffset: maxOffset,
		Workers: 4, MinWorkers: 3, MaxWorkers: 6, Producers: 2,
	}
}

const (
	// settleTimeout bounds how long the fleet may take to form at the begin.
	settleTimeout = time.Minute
	// stalled is how long nothing may move at the end before the run is judged as
	// it stands.
	stalled = 45 * time.Second
	poll    = 200 * time.Millisecond
)

// run is the state of one run.
type run struct {
	Config
	fleet    *fleet.Fleet
	machines *machines
	record   *Recorder
	store    *taskstore.Store
}

// Run runs the fault test. An error says that the test itself failed, or that a
// program ended that should run; the verdict says what the history showed.
func Run(ctx context.Context, cfg Config) (Verdict, error) {
	return carryOut(ctx, cfg, NewPlan(cfg.Seed, planConfig(cfg.Length)))
}

func carryOut(ctx context.Context, cfg Config, plan Plan) (verdict Verdict, err error) {
	bin, err := fleet.FindBinaries(cfg.Bin, "ydbembed", "producer", "worker")
	if err != nil {
		return Verdict{}, err
	}
	fmt.Fprintf(cfg.Progress, "seed %d: %s of faults\n", cfg.Seed, cfg.Length)
	r := &run{Config: cfg, record: NewRecorder(partitions)}
	if r.fleet, err = fleet.Start(ctx, bin); err != nil {
		return Verdict{}, err
	}
	defer func() { err = errors.Join(err, r.fleet.Close()) }()
	r.fleet.Sink.Answer(r.answer)
	end, err := r.open(ctx)
	if err != nil {
		return Verdict{}, err
	}
	defer end()
	r.machines = &machines{
		fleet: r.fleet, bin: bin, logs: r.Keep, record: r.record, running: map[string]*machine{},
		worker: []string{
			"--session-timeout", sessionTimeout.String(), "--drain-timeout", drainTimeout.String(), "--concurrency", "16",
		},
		producer: []string{
			"--target-url", r.fleet.Sink.URL(), "--rate", fmt.Sprint(tasksPerSecond), "--report-interval", "0",
		},
	}
	if r.Length < longestDelay { // nobody would wait for them
		r.machines.producer = append(r.machines.producer, "--delayed-share", "0")
	}
	defer func() { err = errors.Join(err, r.machines.close()) }()
	return r.main(ctx, plan)
}

// open connects to the database and makes the fleet's folder.
func (r *run) open(ctx context.Context) (end func(), err error) {
	flags := ydbconn.Flags{Endpoint: r.fleet.DSN, Folder: ydbconn.DefaultFolder}
	cfg, err := flags.Config(func(string) string { return "" })
	if err != nil {
		return nil, err
	}
	db, err := ydbconn.Open(ctx, cfg)
	if err != nil {
		return nil, err
	}
	end = func() { _ = db.Close(context.WithoutCancel(ctx)) }
	if _, err := migrate.Up(ctx, db, migrate.Options{Partitions: partitions}); err != nil {
		end()
		return nil, err
	}
	r.store = taskstore.New(db, taskstore.Options{})
	return end, nil
}

// main forms the fleet, breaks it, lets it recover and judges.
func (r *run) main(ctx context.Context, plan Plan) (Verdict, error) {
	for _, s := range plan.Begin {
		if err := r.machines.start(s); err != nil {
			return Verdict{}, err
		}
	}
	if err := r.owned(ctx, settleTimeout); err != nil {
		return Verdict{}, err
	}
	if r.record.Owned() < partitions {
		return Verdict{}, fmt.Errorf("chaos: the fleet does not form within %s", settleTimeout)
	}
	begin := time.Now()
	n := &nemesis{machines: r.machines, record: r.record, progress: r.Progress}
	if err := r.harm(ctx, n, plan); err != nil {
		return Verdict{}, err
	}
	if err := r.drain(ctx); err != nil {
		return Verdict{}, err
	}
	// Watched until all is owned, or for so long that the check finds what is not.
	if err := r.owned(ctx, sessionTimeout+takeoverMargin+r.Slack+time.Second); err != nil {
		return Verdict{}, err
	}
	end := time.Now()
	if err := r.machines.leaveAll(func(Spec) bool { return true }); err != nil {
		return Verdict{}, err
	}
	h := r.record.History()
	h.Begin, h.End = begin, end
	findings := Check(h, Limits{SessionTimeout: sessionTimeout, Slack: r.Slack})
	if err := h.save(r.Keep); err != nil {
		return Verdict{}, err
	}
	printSummary(r.Progress, findings)
	printViolations(r.Progress, r.Seed, h, findings)
	return newVerdict(r.Seed, n.done, findings), nil
}

// harm lets the nemesis work, and looks into the tables meanwhile.
func (r *run) harm(ctx context.Context, n *nemesis, plan Plan) error {
	looking, stop := context.WithCancel(ctx)
	looks := make(chan struct{})
	go func() {
		defer close(looks)
		every := max(5*time.Second, r.Length/40)
		for pause(looking, every) == nil {
			_ = r.look(looking) // the server may be down: the next look counts, and the last
		}
	}()
	err := n.run(ctx, plan)
	stop()
	<-looks
	return errors.Join(err, r.machines.check())
}

// drain ends the producers, waits until every task is finished or nothing moves
// any more, and takes the last look.
func (r *run) drain(ctx context.Context) error {
	if err := r.machines.leaveAll(func(s Spec) bool { return s.Producer }); err != nil {
		return err
	}
	left, moved := -1, time.Now()
	for {
		stats, err := r.store.Stats(ctx)
		if err != nil {
			return err
		}
		now := int(stats.Pending + stats.Locked + stats.Delayed)
		if now != left {
			left, moved = now, time.Now()
		}
		if left == 0 || time.Since(moved) > stalled {
			return r.look(ctx)
		}
		if err := errors.Join(pause(ctx, time.Second), r.machines.check()); err != nil {
			return err
		}
	}
}

// look takes a snapshot of the tables.
func (r *run) look(ctx context.Context) error {
	look := Look{Begin: time.Now()}
	places, err := r.store.Places(ctx)
	if err != nil {
		return err
	}
	look.End = time.Now()
	for _, p := range places {
		look.Places = append(look.Places, Place{Task: p.ID, Partition: p.Partition, Status: string(p.Status), Lock: p.LockValue})
	}
	r.record.Look(look)
	return nil
}

// owned waits until every partition has an owner, but not longer than limit.
func (r *run) owned(ctx context.Context, limit time.Duration) error {
	for deadline := time.Now().Add(limit); r.record.Owned() < partitions && time.Now().Before(deadline); {
		if err := errors.Join(pause(ctx, poll), r.machines.check()); err != nil {
			return err
		}
	}
	return nil
}
