package coordsvc

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	pb "github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Coordination"
)

func TestNumbersOfSessionsAndSemaphoresAreBounded(t *testing.T) {
	t.Parallel()
	m := newMachine()
	m.limits = limits{sessions: 2, semaphores: 2}
	box, now := &inbox{}, time.Unix(1_700_000_000, 0)
	s := m.attach(now, box, start(0, time.Minute))
	m.attach(now, &inbox{}, start(0, time.Minute))
	m.attach(now, box, start(0, time.Minute))
	for i, name := range []string{"a", "b", "c", "b"} {
		m.handle(now, s, acquire(uint64(i), name, 1))
	}
	m.create(s, &pb.SessionRequest_CreateSemaphore{ReqId: 9, Name: "c", Limit: 1})
	var heard []string
	for _, ev := range m.takeOutbox() {
		if ev.to == receiver(box) {
			heard = append(heard, show(ev.msg))
		}
	}
	require.Equal(t, []string{
		"started 1", "failure PRECONDITION_FAILED",
		"acquire 0 SUCCESS true", "acquire 1 SUCCESS true", "acquire 2 PRECONDITION_FAILED false", "acquire 3 SUCCESS true",
		"create 9 PRECONDITION_FAILED",
	}, heard)
}

// A description that no message can carry is refused, and adds no watch.
func TestDescriptionLargerThanAMessage(t *testing.T) {
	t.Parallel()
	m, now := newMachine(), time.Unix(1_700_000_000, 0)
	var s *session
	box, data := &inbox{}, make([]byte, MaxSemaphoreData)
	for i := range uint64(MaxMessage/MaxSemaphoreData) + 1 {
		s = m.attach(now, box, start(0, time.Minute))
		r := acquire(i, "s", 1)
		r.GetAcquireSemaphore().Data = data
		m.handle(now, s, r)
	}
	m.takeOutbox()
	m.handle(now, s, describe(1, "s"))
	m.describe(s, &pb.SessionRequest_DescribeSemaphore{ReqId: 2, Name: "s", IncludeWaiters: true, WatchOwners: true})
	out := m.takeOutbox()
	require.Len(t, out, 2)
	require.Equal(t, "describe 1 PRECONDITION_FAILED watch=false", show(out[0].msg))
	require.Contains(t, show(out[1].msg), "describe 2 SUCCESS watch=true")
}

func TestDamagedRecordsAreNamed(t *testing.T) {
	t.Parallel()
	prefix := nodePrefix(testNode)
	for want, put := range map[string]map[string][]byte{
		"counters":                  {prefix + "c": []byte("{")},
		"session 1":                 {numberKey(prefix, kindSession, 1): []byte("[]")},
		`semaphore "x"`:             {prefix + "mx": []byte("7")},
		"place 1":                   {numberKey(prefix, kindPlace, 1): nil},
		"contradicts other records": {numberKey(prefix, kindPlace, 1): []byte(`{"session":5,"semaphore":"x","count":1}`)},
		"newer than the counter":    {numberKey(prefix, kindSession, 9): []byte(`{}`)},
		"unknown kind":              {prefix + "z": nil},
		"not with a number":         {prefix + "sshort": nil},
		"is not a record's":         {recordsPrefix + "nothing": nil},
	} {
		storage := NewMemory()
		s, err := New(Options{Store: storage})
		require.NoError(t, err)
		require.NoError(t, s.CreateNode(testNode, nil))
		require.NoError(t, s.Close())
		require.NoError(t, storage.MetaBatch(put, nil))
		_, err = New(Options{Store: storage})
		require.ErrorContains(t, err, want)
	}
}

// sick is a storage that can stop working altogether.
type sick struct {
	*Memory
	down atomic.Bool
}

var errDown = errors.New("disk is gone")

func (s *sick) MetaBatch(puts map[string][]byte, deletes []string) error {
	if s.down.Load() {
		return errDown
	}
	return s.Memory.MetaBatch(puts, deletes)
}

func (s *sick) MetaScan(prefix string, f func(string, []byte) error) error {
	if s.down.Load() {
		return errDown
	}
	return s.Memory.MetaScan(prefix, f)
}

// A node whose storage fails turns clients away, and comes back with it.
func TestNodeComesBackWithItsStorage(t *testing.T) {
	t.Parallel()
	storage := &sick{Memory: NewMemory()}
	s := open(t, storage, nil)
	c := dial(t, s, start(0, time.Minute))
	c.expect("started 1")
	storage.down.Store(true)
	c.send(acquire(1, "s", 1))
	c.expect("failure UNAVAILABLE")
	c = dial(t, s, start(1, time.Minute))
	c.expect("failure UNAVAILABLE")
	require.Nil(t, s.Sessions(testNode))
	require.False(t, s.ExpireSession(testNode, 1))
	require.ErrorIs(t, s.CreateNode("/local/other", nil), errDown)
	storage.down.Store(false)
	c = dial(t, s, start(1, time.Minute))
	c.expect("started 1")
	c.send(acquire(2, "s", 1))
	c.expect("acquire 2 SUCCESS true")
}

func TestConfigsDefaultsAndBounds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		check, grace uint32
		want         time.Duration
	}{
		{0, 0, 1500 * time.Millisecond},
		{1000, 1000, 2 * time.Second},
		{1000, 10_000, 10 * time.Second},
		{60_000, 1000, 11 * time.Second},
		{1000, 60_000, 30 * time.Second},
	} {
		got := gracePeriod(&pb.Config{SelfCheckPeriodMillis: c.check, SessionGracePeriodMillis: c.grace})
		require.Equal(t, c.want, got, fmt.Sprint(c.check, c.grace))
	}
	s := open(t, NewMemory(), nil)
	require.NoError(t, s.CreateNode("/local/plain", nil))
	require.NoError(t, s.AlterNode("/local/plain", &pb.Config{ReadConsistencyMode: pb.ConsistencyMode_CONSISTENCY_MODE_STRICT}))
	config, err := s.DescribeNode("/local//plain/")
	require.NoError(t, err)
	want := defaultConfig()
	want.ReadConsistencyMode = pb.ConsistencyMode_CONSISTENCY_MODE_STRICT
	require.Equal(t, want.String(), config.String())
	require.Equal(t, []string{testNode, "/local/plain"}, s.Nodes())
}
