package coordsvc

import (
	"maps"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	pb "github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Coordination"
	"pgregory.net/rapid"
)

// inbox is a stream that only remembers what it was told.
type inbox struct{ messages []*pb.SessionResponse }

func (b *inbox) push(msg *pb.SessionResponse) { b.messages = append(b.messages, msg) }

const testGrace = 2 * time.Second

// twin runs the machine and the model side by side.
type twin struct {
	t       *rapid.T
	now     time.Time
	machine *machine
	model   *model
	storage *Memory

	step    uint64
	streams map[int]*inbox
	owner   map[int]uint64              // session of a stream
	open    map[int]map[uint64]struct{} // acquire requests of a stream without a final answer
	epochs  map[string]uint64           // order id of the last owner of everything, by semaphore
}

func newTwin(t *rapid.T) *twin {
	now := time.Unix(1_700_000_000, 0)
	return &twin{
		t: t, now: now, machine: newMachine(), model: newModel(now), storage: NewMemory(),
		streams: map[int]*inbox{}, owner: map[int]uint64{}, open: map[int]map[uint64]struct{}{}, epochs: map[string]uint64{},
	}
}

// tick makes every step happen at a time of its own, with a request id of its
// own, so that no two deadlines are equal.
func (w *twin) tick() uint64 {
	w.step++
	w.pass(time.Microsecond)
	return w.step
}

func (w *twin) pass(d time.Duration) {
	w.now = w.now.Add(d)
	w.machine.advance(w.now)
	w.model.pass(w.now)
}

// millis draws a timeout that no other step has.
func (w *twin) millis(label string) uint64 {
	return uint64(rapid.IntRange(0, 8).Draw(w.t, label))*1000 + w.step%1000
}

func (w *twin) start() {
	w.tick()
	r := &pb.SessionRequest_SessionStart{TimeoutMillis: w.millis("session timeout")}
	if rapid.IntRange(0, 2).Draw(w.t, "attach") == 0 {
		r.SessionId = uint64(rapid.IntRange(1, int(w.machine.nextSession)).Draw(w.t, "session"))
		r.SeqNo = uint64(rapid.IntRange(0, 3).Draw(w.t, "seq"))
	}
	r.ProtectionKey = rapid.SampledFrom([][]byte{nil, []byte("a"), []byte("a"), []byte("b")}).Draw(w.t, "key")
	box, stream := &inbox{}, len(w.streams)+1
	w.streams[stream] = box
	w.open[stream] = map[uint64]struct{}{}
	w.machine.attach(w.now, box, r)
	if id := w.model.start(stream, r); id != 0 {
		w.owner[stream] = id
	}
}

// attached draws a session that has a stream, 0 when there is none.
func (w *twin) attached() (stream int, s *session, ms *modelSession) {
	var streams []int
	for _, ms := range w.model.sessions {
		if ms.stream != 0 {
			streams = append(streams, ms.stream)
		}
	}
	if len(streams) == 0 {
		w.t.Skip("no session is attached")
	}
	slices.Sort(streams)
	stream = rapid.SampledFrom(streams).Draw(w.t, "stream")
	id := w.owner[stream]
	return stream, w.machine.sessions[id], w.model.sessions[id]
}

func (w *twin) name() string {
	return rapid.SampledFrom([]string{"a", "a", "b", "c"}).Draw(w.t, "name")
}

func (w *twin) data() []byte {
	return rapid.SampledFrom([][]byte{nil, []byte("x"), []byte("y")}).Draw(w.t, "data")
}

func (w *twin) acquire() {
	stream, s, ms := w.attached()
	req := w.tick()
	r := &pb.SessionRequest_AcquireSemaphore{
		ReqId: req, Name: w.name(), Data: w.data(),
		Count: rapid.SampledFrom([]uint64{0, 1, 1, 2, 2, 3, 5, math.MaxUint64}).Draw(w.t, "count"),
	}
	if sem := w.machine.semaphores[r.Name]; sem != nil && rapid.IntRange(0, 9).Draw(w.t, "right kind") > 0 {
		r.Ephemeral = sem.ephemeral
	} else {
		r.Ephemeral = rapid.Bool().Draw(w.t, "ephemeral")
	}
	switch rapid.IntRange(0, 3).Draw(w.t, "wait") {
	case 0:
		r.TimeoutMillis = 0
	case 1:
		r.TimeoutMillis = math.MaxUint64
	default:
		r.TimeoutMillis = w.millis("timeout")
	}
	w.open[stream][req] = struct{}{}
	w.machine.acquire(s, r)
	w.model.acquire(ms, r)
}

func (w *twin) restart() {
	w.tick()
	w.compare() // what was said before must have been heard
	l := newLoader()
	require.NoError(w.t, w.storage.MetaScan(nodePrefix("/n"), func(key string, v []byte) error {
		_, kind, rest, err := splitKey(key)
		require.NoError(w.t, err)
		return l.add(kind, rest, v)
	}))
	m, err := l.finish(w.now, testGrace)
	require.NoError(w.t, err)
	w.machine = m
	w.model.restart(testGrace)
}

func (w *twin) actions() map[string]func(*rapid.T) {
	actions := map[string]func(){
		"start":    w.start,
		"acquire":  w.acquire,
		"acquire2": w.acquire,
		"acquire3": w.acquire,
		"restart": func() {
			if rapid.IntRange(0, 3).Draw(w.t, "really") == 0 {
				w.restart()
			}
		},
		"pass": func() {
			w.tick()
			w.pass(time.Duration(rapid.IntRange(0, 6000).Draw(w.t, "ms")) * time.Millisecond)
		},
		"detach": func() {
			_, s, ms := w.attached()
			w.tick()
			w.machine.detach(w.now, s)
			w.model.detach(ms)
		},
		"stop": func() {
			_, s, ms := w.attached()
			w.tick()
			w.machine.stop(s)
			w.model.stop(ms)
		},
		"create": func() {
			_, s, ms := w.attached()
			r := &pb.SessionRequest_CreateSemaphore{ReqId: w.tick(), Name: w.name(), Data: w.data()}
			r.Limit = rapid.SampledFrom([]uint64{0, 1, 3, 4, 5, 5}).Draw(w.t, "limit")
			w.machine.create(s, r)
			w.model.create(ms, r)
		},
		"update": func() {
			_, s, ms := w.attached()
			r := &pb.SessionRequest_UpdateSemaphore{ReqId: w.tick(), Name: w.name(), Data: w.data()}
			w.machine.update(s, r)
			w.model.update(ms, r)
		},
		"delete": func() {
			_, s, ms := w.attached()
			r := &pb.SessionRequest_DeleteSemaphore{ReqId: w.tick(), Name: w.name(), Force: rapid.IntRange(0, 3).Draw(w.t, "force") == 0}
			w.machine.delete(s, r)
			w.model.delete(ms, r)
		},
		"release": func() {
			_, s, ms := w.attached()
			r := &pb.SessionRequest_ReleaseSemaphore{ReqId: w.tick(), Name: w.name()}
			w.machine.release(s, r)
			w.model.release(ms, r)
		},
		"describe": func() {
			_, s, ms := w.attached()
			flag := func(name string) bool { return rapid.Bool().Draw(w.t, name) }
			r := &pb.SessionRequest_DescribeSemaphore{
				ReqId: w.tick(), Name: w.name(), IncludeOwners: flag("owners"), IncludeWaiters: flag("waiters"),
				WatchData: flag("watch data"), WatchOwners: flag("watch owners"),
			}
			w.machine.describe(s, r)
			w.model.describe(ms, r)
		},
		"": w.check,
	}
	out := make(map[string]func(*rapid.T), len(actions))
	for name, f := range actions {
		out[name] = func(t *rapid.T) {
			w.t = t
			f()
		}
	}
	return out
}

// compare delivers what the machine said, stores what it changed, and holds
// that every stream heard what the model says, in that order.
func (w *twin) compare() {
	for _, ev := range w.machine.takeOutbox() {
		ev.to.push(ev.msg)
	}
	b := w.machine.takeBatch(nodePrefix("/n"))
	require.NoError(w.t, w.storage.MetaBatch(b.puts, b.deletes))
	for stream, box := range w.streams {
		var heard []string
		for _, msg := range box.messages {
			heard = append(heard, show(msg))
			if r := msg.GetAcquireSemaphoreResult(); r != nil {
				require.Contains(w.t, w.open[stream], r.GetReqId(), "a second final answer")
				delete(w.open[stream], r.GetReqId())
			}
		}
		require.Equal(w.t, w.model.heard[stream], heard, "stream %d", stream)
		box.messages = nil
		delete(w.model.heard, stream)
	}
}

func (w *twin) check() {
	w.compare()
	checkInvariants(w.t, w.machine)
	require.Equal(w.t, w.model.nextOrder, w.machine.nextOrder)
	require.ElementsMatch(w.t, slices.Collect(maps.Keys(w.model.sessions)), slices.Collect(maps.Keys(w.machine.sessions)))
	for _, s := range w.machine.sessions {
		if s.at == nil {
			continue
		}
		waiting := map[uint64]struct{}{}
		for _, p := range s.places {
			if p.answer {
				waiting[p.request] = struct{}{}
			}
		}
		require.Equal(w.t, waiting, w.open[w.model.sessions[s.id].stream], "requests without a final answer are those that wait")
	}
	for name, sem := range w.machine.semaphores {
		if e := sem.owners.Front(); e != nil && e.Value.(*place).count == sem.limit {
			epoch := e.Value.(*place).order
			require.GreaterOrEqual(w.t, epoch, w.epochs[name], "order ids of exclusive owners rise")
			w.epochs[name] = epoch
		}
	}
}

// invariantT is what checkInvariants needs of a test.
type invariantT interface {
	require.TestingT
	Helper()
}

func checkInvariants(t invariantT, m *machine) {
	t.Helper()
	places := 0
	for name, sem := range m.semaphores {
		require.Equal(t, name, sem.name)
		var used, last uint64
		for _, list := range []struct {
			owner bool
			all   []*pb.SemaphoreSession
		}{{true, holders(&sem.owners)}, {false, holders(&sem.waiters)}} {
			for _, h := range list.all {
				require.Greater(t, h.OrderId, last, "owners come before waiters, in the order of order ids")
				last = h.OrderId
				p := m.places[h.OrderId]
				require.NotNil(t, p)
				require.Equal(t, list.owner, p.owner)
				require.Same(t, p, p.session.places[name])
				require.Same(t, p.session, m.sessions[p.session.id])
				if list.owner {
					require.LessOrEqual(t, p.count, sem.limit-used, "owners never hold more than the limit")
					used += p.count
					require.False(t, p.answer)
				}
				places++
			}
		}
		require.Equal(t, used, sem.used)
		if e := sem.waiters.Front(); e != nil {
			require.Greater(t, e.Value.(*place).count, sem.free(), "the head of the queue waits only when it does not fit")
		}
		require.False(t, sem.ephemeral && sem.empty(), "an ephemeral semaphore has owners or waiters")
		for s, w := range sem.watches {
			require.NotNil(t, s.at, "only attached sessions watch")
			require.Same(t, w, s.watches[name])
		}
	}
	require.Len(t, m.places, places)
	timers := 0
	for _, p := range m.places {
		if !p.owner && p.timeoutMillis != infinite {
			timers++
		}
	}
	for _, s := range m.sessions {
		if s.at == nil {
			timers++
		}
		for name, w := range s.watches {
			require.Same(t, w, m.semaphores[name].watches[s], "one watch per session and semaphore")
		}
	}
	require.Equal(t, timers, m.deadlines.Len(), "timers are those of detached sessions and of waiters")
}

// TestMachineDoesWhatTheModelSays runs random requests, detaches, restarts and
// virtual time through the machine and the model.
func TestMachineDoesWhatTheModelSays(t *testing.T) {
	t.Parallel()
	for range 3 { // a hundred runs each, unless a flag says otherwise
		rapid.Check(t, func(t *rapid.T) {
			t.Repeat(newTwin(t).actions())
		})
	}
}
