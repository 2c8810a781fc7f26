package rebalancer

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Every member keeps what it has, as far as its share goes, and shares are exact.
func TestReplanMovesTheLeast(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		partitions := rapid.IntRange(1, 600).Draw(t, "partitions")
		before := drawMembers(t, 1)
		after := drawMembers(t, 1)
		for _, m := range before { // some stay
			if rapid.Bool().Draw(t, "stays") {
				after = append(after, m)
			}
		}
		after = distinct(after)
		previous := Plan(before, partitions)
		owners := Replan(previous, after, partitions)
		require.Len(t, owners, partitions)
		total, had, has, kept := 0, loads(previous), loads(owners), make(map[string]int)
		for _, m := range after {
			total += m.Weight
		}
		for p := range owners {
			if owners[p] == previous[p] {
				kept[owners[p]]++
			}
		}
		for _, m := range after {
			share := partitions * m.Weight
			require.GreaterOrEqual(t, has[m.ID], share/total, "member %v", m)
			require.LessOrEqual(t, has[m.ID], (share+total-1)/total, "member %v", m)
			require.GreaterOrEqual(t, kept[m.ID], min(had[m.ID], share/total), "member %v keeps its share", m)
			require.LessOrEqual(t, had[m.ID]-kept[m.ID], max(had[m.ID]-share/total, 0), "member %v gives away no more than it must", m)
			delete(has, m.ID)
		}
		require.Empty(t, has)
		require.Equal(t, owners, Replan(owners, after, partitions), "nothing moves when nothing changes")
	})
}

func distinct(members []Member) []Member {
	seen := make(map[string]bool)
	var out []Member
	for _, m := range members {
		if !seen[m.ID] {
			out = append(out, m)
		}
		seen[m.ID] = true
	}
	return out
}

func TestReplanOfNothingIsAPlan(t *testing.T) {
	t.Parallel()
	require.Nil(t, Replan(nil, nil, 8))
	require.Equal(t, Plan(equalMembers(3), 64), Replan(nil, equalMembers(3), 64))
	require.Equal(t, Plan(equalMembers(3), 64), Replan(make([]string, 64), equalMembers(3), 64))
}

// Of two members that have one more than their share, one keeps it.
func TestReplanLeavesAShareToTheNewcomer(t *testing.T) {
	t.Parallel()
	owners := Replan([]string{"a", "a", "b", "b"}, []Member{{"a", 1}, {"b", 1}, {"c", 1}}, 4)
	require.Equal(t, 1, loads(owners)["c"], owners)
}

// A worker that restarts under its name costs what its share is, twice: nobody
// else's partitions move.
func TestRollingRestartUnderALeaderMovesTheLeast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, node := newFleet(t, 64).with(PlannerLeader), newFakeNode()
		all := make([]*member, 4)
		for i := range all {
			all[i] = f.join(f.config(fmt.Sprintf("w%d", i)), node.open)
		}
		f.await(10*time.Second, "everybody has a share", f.balanced(all...))
		<-time.After(5 * time.Second)
		f.mu.Lock()
		before := f.raised
		f.mu.Unlock()
		for i := range all {
			all[i].leave()
			others := append(append([]*member(nil), all[:i]...), all[i+1:]...)
			f.await(10*time.Second, "the others share", f.balanced(others...))
			all[i] = f.join(f.config(all[i].id), node.open)
			f.await(10*time.Second, "it is back", f.balanced(all...))
		}
		f.mu.Lock()
		require.LessOrEqual(t, f.raised-before, 2*64+4)
		f.mu.Unlock()
		leaveAll(all)
	})
}

func leaveAll(all []*member) {
	var leaving sync.WaitGroup
	for _, m := range all {
		leaving.Go(m.leave)
	}
	leaving.Wait()
}

// A new leader goes on from the plan of the one before: a crash of the leader
// moves its own partitions, and no others.
func TestANewLeaderKeepsThePlan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, node := newFleet(t, 64).with(PlannerLeader), newFakeNode()
		first := f.join(f.config("first"), node.open)
		f.await(5*time.Second, "the first owns everything, and leads", f.balanced(first))
		all := []*member{first}
		for i := range 3 {
			all = append(all, f.join(f.config(fmt.Sprintf("w%d", i)), node.open))
			f.await(5*time.Second, "they share", f.balanced(all...))
		}
		f.mu.Lock()
		before := f.raised
		f.mu.Unlock()
		dead := first.session().(*fakeSession)
		dead.lose()
		first.abort()
		time.AfterFunc(first.r.cfg.SessionTimeout, func() { node.expire(dead) })
		f.await(first.r.cfg.SessionTimeout+2*time.Second, "the others share", f.balanced(all[1:]...))
		f.mu.Lock()
		require.Equal(t, 16, f.raised-before, "the share of the dead")
		f.mu.Unlock()
		leaveAll(all[1:])
	})
}

// While the fleet's planner is being changed the leader makes the plan that the
// peers make, so that both agree.
func TestPeersAndALeaderAgree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, node := newFleet(t, 60), newFakeNode()
		var all []*member
		for i, planner := range []string{PlannerPeers, PlannerLeader, PlannerPeers, PlannerLeader} {
			all = append(all, f.join(f.with(planner).config(fmt.Sprintf("w%d", i)), node.open))
			f.await(10*time.Second, "they share", f.balanced(all...))
		}
		f.await(time.Minute, "all of them", f.balanced(all...))
		for i, m := range all[:2] { // the peers leave: from now on the leader is alone in planning
			m.leave()
			f.await(10*time.Second, "the rest shares", f.balanced(all[i+1:]...))
		}
		leaveAll(all[2:])
	})
}

// A letter of a leader that does not know that it was followed by another is not
// obeyed.
func TestALetterOfAFormerLeaderIsIgnored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, node := newFleet(t, 8).with(PlannerLeader), newFakeNode()
		a := f.join(f.config("a"), node.open)
		f.await(5*time.Second, "a owns everything", f.balanced(a))
		stale, err := json.Marshal(letter{Term: 0, Seq: 99, Partitions: nil, Members: 2})
		require.NoError(t, err)
		stranger, err := node.open(t.Context())
		require.NoError(t, err)
		name := mailboxName(a.session().ID())
		require.NoError(t, stranger.SetData(t.Context(), name, stale))
		<-time.After(5 * time.Second)
		require.Len(t, a.r.Owned(), 8)
		require.NoError(t, stranger.SetData(t.Context(), name, []byte("{")))
		<-time.After(5 * time.Second)
		require.Len(t, a.r.Owned(), 8, "nor one that cannot be read")
		require.Contains(t, a.failed()[0], "watch: rebalancer: the leader's letter")
		require.NoError(t, stranger.Close(t.Context()))
		a.leave()
	})
}

// A plan and an order that nobody can read stop nobody.
func TestUnreadableDataStopsNobody(t *testing.T) {
	underEachPlanner(t, func(t *testing.T, planner string) {
		f, node := newFleet(t, 8).with(planner), newFakeNode()
		s, err := node.open(t.Context())
		require.NoError(t, err)
		for _, name := range []string{planName, drainedName} {
			require.NoError(t, s.Ensure(t.Context(), name))
			require.NoError(t, s.SetData(t.Context(), name, []byte("no JSON")))
		}
		a := f.join(f.config("a"), node.open)
		f.await(5*time.Second, "a owns everything", f.balanced(a))
		require.NoError(t, s.Close(t.Context()))
		a.leave()
	})
}

// An order reaches the worker by its watch, at once: nothing is polled.
func TestOrdersAreWatchedAndNotPolled(t *testing.T) {
	underEachPlanner(t, func(t *testing.T, planner string) {
		f, node := newFleet(t, 8).with(planner), newFakeNode()
		a := f.join(f.config("a"), node.open)
		f.await(5*time.Second, "a owns everything", f.balanced(a))
		<-time.After(time.Second)
		node.mu.Lock()
		before := node.requests
		node.mu.Unlock()
		<-time.After(10 * time.Minute)
		node.mu.Lock()
		require.LessOrEqual(t, node.requests-before, 3*27, "three reads per Recheck at most")
		node.mu.Unlock()
		s, err := node.open(t.Context())
		require.NoError(t, err)
		data, err := json.Marshal(drained{"a": time.Now()})
		require.NoError(t, err)
		require.NoError(t, s.SetData(t.Context(), drainedName, data))
		f.await(2*time.Second, "a is idle", func() bool { return len(f.loads()) == 0 })
		require.NoError(t, s.SetData(t.Context(), drainedName, nil))
		f.await(2*time.Second, "a owns everything", f.balanced(a))
		require.NoError(t, s.Close(t.Context()))
		a.leave()
	})
}

// The more members, the longer changes gather and the rarer idle reads are.
func TestPaceFollowsTheSizeOfTheFleet(t *testing.T) {
	t.Parallel()
	cfg := Config{}.withDefaults()
	for members, want := range map[int][2]time.Duration{
		0: {300 * time.Millisecond, 30 * time.Second}, 60: {300 * time.Millisecond, 30 * time.Second},
		200: {time.Second, 30 * time.Second}, 400: {2 * time.Second, time.Minute}, 1000: {2 * time.Second, 150 * time.Second},
	} {
		require.Equal(t, want, [2]time.Duration{cfg.gathering(members), cfg.idle(members)}, "%d members", members)
	}
	cfg.Debounce = 5 * time.Second
	require.Equal(t, 5*time.Second, cfg.gathering(1000))
}

// recording is a session that notes whom it writes to.
type recording struct {
	session
	mu    sync.Mutex
	names []string
}

func (r *recording) SetData(_ context.Context, name string, _ []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.names = append(r.names, name)
	return nil
}

// Who gains stands in the queue when the others let go.
func TestLettersGoToGainersFirst(t *testing.T) {
	t.Parallel()
	to := &recording{}
	l := &leader{t: &term{session: to}, sent: map[uint64][]uint16{1: {0, 1}, 2: {2, 3}, 3: {4}}}
	all := []registered{
		{session: 1, newest: true, registration: registration{Worker: "loses", Planner: PlannerLeader}},
		{session: 2, newest: true, registration: registration{Worker: "gains", Planner: PlannerLeader}},
		{session: 3, newest: true, registration: registration{Worker: "keeps", Planner: PlannerLeader}},
	}
	shares := map[string][]uint16{"loses": {0}, "gains": {1, 2, 3}, "keeps": {4}}
	require.NoError(t, l.deliver(t.Context(), all, 3, shares))
	require.Equal(t, []string{mailboxName(2), mailboxName(1)}, to.names)
}
