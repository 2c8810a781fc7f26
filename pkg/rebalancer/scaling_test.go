package rebalancer

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "simulate large fleets too, and write the tables of docs/scaling.md")

// simulation is a fleet on a virtual clock and on a node that takes as long for a
// request as a tablet of one thread may.
type simulation struct {
	*fleet
	node    *fakeNode
	workers []*member
	plans   sync.Map // plans that were made, by a hash of their members
	seed    maphash.Seed
	peak    int // the most partitions that a worker had since it was last set to 0
}

// size is one fleet to simulate.
type size struct {
	partitions, workers int
	wave                int // workers that a rolling restart restarts at once
	waves               int // how many waves are simulated; 0: all
}

var (
	small = size{partitions: 256, workers: 10, wave: 1}
	sizes = []size{small, {partitions: 1024, workers: 100, wave: 5}, {partitions: 4096, workers: 1000, wave: 25, waves: 4}}
)

// cost is what an event took.
type cost struct {
	took     time.Duration
	requests int
	bytes    int
	moved    int
}

// figures are what a simulation found.
type figures struct {
	size
	start, join, roll cost
	share             int           // of the one that joined
	crash             time.Duration // of one worker, until all is owned again
	restarted         int
	least             int // partitions that the rolling restart had to move
	slowest           time.Duration
	peak              int
}

func simulate(t *testing.T, z size) (f figures) {
	synctest.Test(t, func(t *testing.T) {
		s := &simulation{
			fleet: newFleet(t, z.partitions), node: newFakeNode(), seed: maphash.MakeSeed(),
		}
		s.node.tablet = &tablet{change: time.Millisecond, read: 100 * time.Microsecond, perKiB: 10 * time.Microsecond}
		f = s.run(z)
	})
	return f
}

func (s *simulation) run(z size) figures {
	f := figures{size: z}
	f.start = s.measure(func() {
		for i := range z.workers {
			s.add(fmt.Sprintf("worker-%04d", i))
		}
	})
	f.join = s.measure(func() { s.add("newcomer") })
	f.share = s.partitions / len(s.workers)
	f.crash = s.crash(0)
	s.peak = 0
	f.roll = s.rolling(&f)
	f.peak = s.peak
	s.end()
	return f
}

// add starts a worker, as one of many that start within a second.
func (s *simulation) add(id string) {
	cfg := s.config(id)
	cfg.Version = "v1.0.0"
	m := s.join(cfg, func(ctx context.Context) (session, error) {
		<-time.After(rand.N(time.Second))
		return s.node.open(ctx)
	})
	m.r.plan = s.memo
	s.workers = append(s.workers, m)
}

// memo makes every plan once for the whole fleet.
func (s *simulation) memo(members []Member, partitions int) []string {
	var h maphash.Hash
	h.SetSeed(s.seed)
	for _, m := range members {
		fmt.Fprintf(&h, "%s %d\n", m.ID, m.Weight)
	}
	key := h.Sum64()
	if plan, ok := s.plans.Load(key); ok {
		return plan.([]string)
	}
	plan := Plan(members, partitions)
	s.plans.Store(key, plan)
	return plan
}

// measure tells what an event costs until the fleet is balanced again, and what
// follows within ten seconds from then.
func (s *simulation) measure(event func()) cost {
	s.node.mu.Lock()
	requests, bytes := s.node.requests, s.node.bytes
	s.node.mu.Unlock()
	s.mu.Lock()
	raised := s.raised
	s.mu.Unlock()
	began := time.Now()
	event()
	took := s.settle(began)
	<-time.After(10 * time.Second)
	s.node.mu.Lock()
	defer s.node.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	return cost{took: took, requests: s.node.requests - requests, bytes: s.node.bytes - bytes, moved: s.raised - raised}
}

// settle waits until the fleet is balanced.
func (s *simulation) settle(began time.Time) time.Duration {
	s.t.Helper()
	balanced := s.balanced(s.workers...)
	for deadline := began.Add(10 * time.Minute); ; <-time.After(20 * time.Millisecond) {
		s.mu.Lock()
		ok := balanced()
		for _, n := range s.loads() {
			s.peak = max(s.peak, n)
		}
		s.mu.Unlock()
		if ok {
			return time.Since(began)
		}
		require.True(s.t, time.Now().Before(deadline), "not balanced after ten minutes")
	}
}

// crash ends a worker at once; the server finds out at the session's timeout.
func (s *simulation) crash(i int) time.Duration {
	dead := s.workers[i]
	s.workers = append(s.workers[:i:i], s.workers[i+1:]...)
	began := time.Now()
	lost := dead.session().(*fakeSession)
	lost.lose()
	dead.abort()
	time.AfterFunc(dead.r.cfg.SessionTimeout, func() { s.node.expire(lost) })
	return s.settle(began)
}

// rolling restarts the fleet wave by wave, each when the one before has settled.
func (s *simulation) rolling(f *figures) (total cost) {
	waves := f.waves
	if waves == 0 {
		waves = (len(s.workers) + f.wave - 1) / f.wave
	}
	for range waves {
		wave := s.workers[:min(f.wave, len(s.workers))]
		s.workers = s.workers[len(wave):]
		c := s.measure(func() {
			var leaving sync.WaitGroup
			for _, m := range wave {
				f.least += 2 * len(m.r.Owned())
				leaving.Go(m.leave)
			}
			leaving.Wait()
			for _, m := range wave {
				s.add(m.id)
			}
		})
		f.restarted += len(wave)
		f.slowest = max(f.slowest, c.took)
		total.requests += c.requests
		total.bytes += c.bytes
		total.moved += c.moved
	}
	return total
}

func (s *simulation) end() {
	var leaving sync.WaitGroup
	for _, m := range s.workers {
		leaving.Go(m.abort)
	}
	leaving.Wait()
	for _, m := range s.workers {
		s.node.expire(m.session().(*fakeSession))
	}
}

// TestScalingOfASmallFleet holds what docs/scaling.md says of the smallest size;
// the other sizes take minutes and are simulated with -update.
func TestScalingOfASmallFleet(t *testing.T) {
	t.Parallel()
	f := simulate(t, small)
	require.Less(t, f.join.moved, 3*f.share)
	require.Less(t, f.join.requests, 300)
	require.Less(t, f.crash, 12*time.Second, "session timeout plus two seconds")
	require.Less(t, f.roll.moved, f.least*2)
}

// TestScalingTables writes docs/scaling.md:
//
//	go test ./pkg/rebalancer -run TestScalingTables -update -timeout 60m
func TestScalingTables(t *testing.T) {
	const file = "../../docs/scaling.md"
	before, err := os.ReadFile(file)
	require.NoError(t, err)
	const begin, end = "<!-- simulation: begin -->\n", "<!-- simulation: end -->\n"
	head, rest, ok := bytes.Cut(before, []byte(begin))
	require.True(t, ok, "%s has no line %s", file, begin)
	_, tail, ok := bytes.Cut(rest, []byte(end))
	require.True(t, ok, "%s has no line %s", file, end)
	if !*update {
		return
	}
	var all []figures
	for _, z := range sizes {
		t.Run(fmt.Sprintf("%dx%d", z.partitions, z.workers), func(t *testing.T) {
			f := simulate(t, z)
			t.Logf("%+v", f)
			all = append(all, f)
		})
	}
	text := string(head) + begin + tables(all) + end + string(tail)
	require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
}

func tables(all []figures) string {
	var b strings.Builder
	table := func(title string, columns string, row func(f figures) string) {
		n := strings.Count(columns, "|") + 2
		fmt.Fprintf(&b, "\n%s\n\n| partitions × workers | %s |\n|%s\n", title, columns, strings.Repeat("---|", n))
		for _, f := range all {
			fmt.Fprintf(&b, "| %d × %d | %s |\n", f.partitions, f.workers, row(f))
		}
	}
	seconds := func(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }
	per := func(a, b int) float64 { return float64(a) / float64(b) }
	table("All workers start within a second:", "time to balance | requests per worker | partitions taken ÷ partitions", func(f figures) string {
		return fmt.Sprintf("%s | %.0f | %.2f", seconds(f.start.took), per(f.start.requests, f.workers), per(f.start.moved, f.partitions))
	})
	table("One worker joins:", "partitions moved (its share) | requests | read | time to balance", func(f figures) string {
		return fmt.Sprintf("%d (%d) | %d | %s | %s", f.join.moved, f.share, f.join.requests, amount(f.join.bytes), seconds(f.join.took))
	})
	table("One worker crashes (session timeout 10 s):", "until every partition has an owner and loads differ by at most one", func(f figures) string {
		return seconds(f.crash)
	})
	table("Rolling restart:", "workers restarted, at once | moved ÷ least possible | requests per restart | read per restart | slowest wave | most partitions of one worker ÷ its share", func(f figures) string {
		return fmt.Sprintf("%d, %d | %.2f | %.0f | %s | %s | %.2f", f.restarted, f.wave, per(f.roll.moved, f.least),
			per(f.roll.requests, f.restarted), amount(f.roll.bytes/f.restarted), seconds(f.slowest), float64(f.peak)*float64(f.workers)/float64(f.partitions))
	})
	return b.String()
}

func amount(bytes int) string {
	if bytes < 1<<20 {
		return fmt.Sprintf("%.1f KiB", float64(bytes)/1024)
	}
	return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20))
}
