package chaos

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// Kind of a fault.
type Kind string

// The faults. Those of the network need a target behind a proxy.
const (
	KillWorker    Kind = "worker killed"
	RestartWorker Kind = "worker killed and started again" // under the same id, at once
	StallWorker   Kind = "worker stalled"
	Join          Kind = "worker joins"
	Leave         Kind = "worker leaves" // SIGTERM
	KillProducer  Kind = "producer killed"
	StallProducer Kind = "producer stalled"
	KillServer    Kind = "server killed"
	Cut           Kind = "connections cut"
	Outage        Kind = "connections cut and refused" // until sessions have expired
	BlackHole     Kind = "traffic swallowed"           // until sessions have expired
	Held          Kind = "traffic held back"           // so long, too; then it arrives
	Slow          Kind = "traffic delayed"
	LoseAnswers   Kind = "answers dropped" // requests arrive, commits happen, then a cut
)

var kinds = []Kind{
	KillWorker, RestartWorker, StallWorker, Join, Leave, KillProducer, StallProducer,
	KillServer, Cut, Outage, BlackHole, Held, Slow, LoseAnswers,
}

// Spec is a process to start.
type Spec struct {
	Name     string        // unique in a run
	ID       string        // of a worker: what a restart keeps
	Producer bool          // or a worker
	Proxied  bool          // its connections to the database go through a proxy
	Offset   time.Duration // of its clock
}

// Step is one fault.
type Step struct {
	At     time.Duration // since the begin
	For    time.Duration // until it is taken back; zero: there is nothing to take back
	Kind   Kind
	Target string        // name of the process; empty for the server
	Start  *Spec         // a process that starts with it, perhaps the target
	Delay  time.Duration // of Slow
}

// Plan is what a nemesis does in one run.
type Plan struct {
	Begin []Spec // what runs before the first fault
	Steps []Step // by At
}

// PlanConfig bounds a plan.
type PlanConfig struct {
	Length         time.Duration // all faults are over by then
	SessionTimeout time.Duration
	Workers        int // at the begin
	MinWorkers     int
	MaxWorkers     int
	Producers      int
	MaxOffset      time.Duration // of a clock, either way
}

// The pauses between faults. Every calmEvery-th is longer by calm than a takeover
// may take, so that a fleet that does not recover by itself is found.
const (
	minPause  = 800 * time.Millisecond
	maxPause  = 3500 * time.Millisecond
	calmEvery = 5
	calm      = 4 * time.Second
)

// NewPlan makes the plan of a seed: the same one every time.
func NewPlan(seed uint64, cfg PlanConfig) Plan {
	p := &planner{cfg: cfg, rng: rand.New(rand.NewPCG(seed, 0x7461736b)), busy: map[string]time.Duration{}}
	for range cfg.Workers {
		p.plan.Begin = append(p.plan.Begin, *p.worker(""))
	}
	for range cfg.Producers {
		p.plan.Begin = append(p.plan.Begin, *p.producer())
	}
	for n := 1; ; n++ {
		pause := p.between(minPause, maxPause)
		if n%calmEvery == 0 {
			pause = cfg.SessionTimeout + takeoverMargin + calm
		}
		p.at += pause
		if p.at >= cfg.Length {
			return p.plan
		}
		p.draw()
	}
}

// planner follows what the plan does to the fleet.
type planner struct {
	cfg PlanConfig
	rng *rand.Rand

	plan      Plan
	at        time.Duration
	deck      []Kind
	workers   []Spec // that run
	producers []Spec
	started   [2]int                   // workers and producers so far
	busy      map[string]time.Duration // until when a process suffers from a fault; "" is the server
}

func (p *planner) between(low, high time.Duration) time.Duration {
	return low + time.Duration(p.rng.Int64N(int64(high-low)))
}

// timeouts is a time of low to high session timeouts.
func (p *planner) timeouts(low, high float64) time.Duration {
	t := float64(p.cfg.SessionTimeout)
	return p.between(time.Duration(low*t), time.Duration(high*t))
}

func (p *planner) worker(id string) *Spec {
	p.started[0]++
	name := fmt.Sprintf("worker-%d", p.started[0])
	if id == "" {
		id = name
	}
	s := Spec{Name: name, ID: id, Proxied: p.started[0]%3 != 0, Offset: p.offset()}
	p.workers = append(p.workers, s)
	return &s
}

func (p *planner) producer() *Spec {
	p.started[1]++
	s := Spec{Name: fmt.Sprintf("producer-%d", p.started[1]), Producer: true, Proxied: p.started[1]%2 == 1, Offset: p.offset()}
	p.producers = append(p.producers, s)
	return &s
}

func (p *planner) offset() time.Duration {
	if p.cfg.MaxOffset <= 0 {
		return 0
	}
	return p.between(-p.cfg.MaxOffset, p.cfg.MaxOffset).Truncate(time.Millisecond)
}

func (p *planner) healthy(name string) bool { return p.busy[name] <= p.at }

// spare lists the healthy workers, if so many are healthy that one may suffer.
func (p *planner) spare(fit func(Spec) bool) []Spec {
	healthy := slices.DeleteFunc(slices.Clone(p.workers), func(s Spec) bool { return !p.healthy(s.Name) })
	if len(healthy) < 3 {
		return nil
	}
	return slices.DeleteFunc(healthy, func(s Spec) bool { return !fit(s) })
}

func (p *planner) remove(from *[]Spec, name string) {
	*from = slices.DeleteFunc(*from, func(s Spec) bool { return s.Name == name })
}
