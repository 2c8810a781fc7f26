package chaos

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var zero = time.Unix(1000, 0)

// at is a moment of a test's history.
func at(seconds float64) time.Time { return zero.Add(time.Duration(seconds * float64(time.Second))) }

// clean is a history in which everything held: a worker dies, another takes over
// and repeats a task whose outcome is unknown.
func clean() *History {
	return &History{
		Begin: at(0), End: at(60), Partitions: 1,
		Faults: []Fault{{KillWorker, "a", at(10), at(10)}},
		Enqueues: []Enqueue{
			{"p", at(1), at(1.1), []string{"t1", "t2"}},
			{"p", at(9), time.Time{}, []string{"t3"}}, // nobody knows
		},
		Raises: []Raise{
			{"a", at(0.1), at(0.2), 0, 1},
			{"b", at(13.1), at(13.2), 0, 2},
		},
		Tenures: []Tenure{
			{"a", at(0.3), time.Time{}, 0, 1},
			{"b", at(13.3), time.Time{}, 0, 2},
		},
		Claims: []Claim{
			{"a", at(2), at(2.1), 0, 1, "t1", "l1", 1},
			{"a", at(9), at(9.1), 0, 1, "t2", "l2", 1},
			{"b", at(14), at(14.1), 0, 2, "t2", "l3", 2},
		},
		Outcomes: []Outcome{
			{"a", at(3), at(3.1), "t1", "l1", "completed", true},
			{"a", at(9.9), time.Time{}, "t2", "l2", "completed", false},
			{"b", at(15), at(15.1), "t2", "l3", "completed", true},
		},
		Deliveries: []Delivery{
			{at(2.5), "t1", 1, 204}, {at(9.5), "t2", 1, 204}, {at(14.5), "t2", 2, 204},
		},
		Looks: []Look{
			{at(5), at(5.1), []Place{{"t1", 0, "completed", "l1"}, {"t2", 0, "pending", ""}}},
			{at(59), at(59.1), []Place{{"t1", 0, "completed", "l1"}, {"t2", 0, "completed", "l3"}}},
		},
	}
}

var limits = Limits{SessionTimeout: 3 * time.Second}

func TestACleanHistoryPasses(t *testing.T) {
	t.Parallel()
	f := Check(clean(), limits)
	require.Equal(t, Findings{Enqueued: 2, Deliveries: 3, Duplicates: 1, Takeovers: map[Kind][]time.Duration{KillWorker: {3300 * time.Millisecond}}}, f)
	v := newVerdict(7, 1, f)
	require.True(t, v.OK())
	require.Equal(t, 3.3, v.TakeoverP99)
	require.Equal(t, 3.3, v.TakeoverMax)
}

// TestViolationsAreFound breaks the clean history in one place each.
func TestViolationsAreFound(t *testing.T) {
	t.Parallel()
	type counts struct{ lost, double, overlap, stuck int }
	tests := []struct {
		name  string
		spoil func(h *History)
		want  counts
		text  string
	}{
		{"an acknowledged task is nowhere", func(h *History) {
			h.Looks[1].Places = h.Looks[1].Places[:1]
		}, counts{lost: 1}, "t2: acknowledged at 1.100s, and in no table at 59.000s"},
		{"a task was not there for a while", func(h *History) {
			h.Looks[0].Places = h.Looks[0].Places[:1]
		}, counts{lost: 1}, "in no table at 5.000s"},
		{"an unknown enqueue may be there", func(h *History) {
			h.Looks[1].Places = append(h.Looks[1].Places, Place{"t3", 0, "completed", "l9"})
		}, counts{}, ""},

		{"one claim, two outcomes", func(h *History) {
			h.Outcomes = append(h.Outcomes, Outcome{"a", at(3.2), at(3.3), "t1", "l1", "retry", true})
		}, counts{double: 1}, "lock l1 has two recorded outcomes: completed by a, retry by a"},
		{"both claims of a task completed it", func(h *History) {
			h.Outcomes[1].End, h.Outcomes[1].Recorded = at(15.5), true
		}, counts{double: 1}, "finished twice"},
		{"an outcome after the end", func(h *History) {
			h.Outcomes = append(h.Outcomes, Outcome{"b", at(20), at(20.1), "t1", "l7", "released", true})
		}, counts{double: 1}, "released was recorded with lock l7 after it was completed"},
		{"an outcome that was refused is none", func(h *History) {
			h.Outcomes = append(h.Outcomes, Outcome{"b", at(20), at(20.1), "t1", "l7", "released", false})
		}, counts{}, ""},
		{"claimed after the end", func(h *History) {
			h.Claims = append(h.Claims, Claim{"b", at(20), at(20.1), 0, 2, "t1", "l8", 2})
		}, counts{double: 1}, "claimed by b with lock l8 after it was completed"},
		{"in two tables", func(h *History) {
			h.Looks[1].Places = append(h.Looks[1].Places, Place{"t1", 0, "pending", ""})
		}, counts{double: 1, stuck: 1}, "completed and pending in one snapshot"},
		{"a finished task changes", func(h *History) {
			h.Looks[1].Places[0] = Place{"t1", 0, "dead", "l1"}
		}, counts{double: 1}, "completed with lock l1, and later dead"},
		{"a worker was told what is not so", func(h *History) {
			h.Looks[1].Places[1].Lock = "l2"
		}, counts{double: 1}, "b was told that it is completed with lock l3, but it is completed with lock l2"},

		{"two workers claim under one epoch", func(h *History) {
			h.Claims[2].Epoch, h.Claims[2].Begin, h.Claims[2].End = 1, at(13), at(13.1)
		}, counts{overlap: 1}, "a and b claimed under epoch 1"},
		{"a claim under an old epoch", func(h *History) {
			h.Claims[1].Begin, h.Claims[1].End = at(13.9), at(14)
		}, counts{overlap: 1}, "a claimed under epoch 1 at 13.900s, after b had raised it to 2"},
		{"a claim on its way while the epoch rises", func(h *History) {
			h.Claims[1].End = at(14)
		}, counts{}, ""},
		{"an epoch is given twice", func(h *History) {
			h.Raises[1].Epoch = 1
			h.Claims[2].Epoch = 1
		}, counts{overlap: 2}, "epoch 1 was given to a and to b"},
		{"an epoch falls", func(h *History) {
			h.Raises[0].Epoch, h.Claims[0].Epoch, h.Claims[1].Epoch = 5, 5, 5
		}, counts{overlap: 2}, "epoch 2 came after epoch 5"},
		{"two workers own at once", func(h *History) {
			h.Faults = nil
			h.Tenures[0].End = at(16)
		}, counts{overlap: 1}, "a had it until 16.000s (epoch 1), b from 13.300s on"},
		{"a stalled worker stops when it wakes", func(h *History) {
			h.Faults[0] = Fault{StallWorker, "a", at(10), at(16)}
			h.Tenures[0].End = at(16.1)
		}, counts{}, ""},
		{"a stalled worker goes on when it wakes", func(h *History) {
			h.Faults[0] = Fault{StallWorker, "a", at(10), at(16)}
			h.Tenures[0].End = at(18)
		}, counts{overlap: 1}, "a had it until 18.000s"},

		{"nobody takes over", func(h *History) {
			h.Tenures = h.Tenures[:1]
			h.Claims, h.Outcomes = h.Claims[:2], h.Outcomes[:2]
			h.Looks = h.Looks[:1]
			h.Looks[0].Places[1] = Place{"t2", 0, "completed", "l2"}
		}, counts{stuck: 1}, "had no owner from 10.000s to 60.000s, although no fault delayed it for 50.0 s"},
		{"somebody takes over late", func(h *History) {
			h.Tenures[1].Begin = at(15.5)
		}, counts{stuck: 1}, "for 5.5 s"},
		{"other faults delay a takeover", func(h *History) {
			h.Tenures[1].Begin = at(16.9)
			h.Faults = append(h.Faults, Fault{KillServer, "", at(11), at(12)})
		}, counts{}, ""},
		{"faults of others delay no takeover", func(h *History) {
			h.Tenures[1].Begin = at(15.5)
			h.Faults = append(h.Faults, Fault{StallProducer, "p", at(11), at(12)}, Fault{Cut, "c", at(12), at(12)}, Fault{Join, "d", at(13), at(13)})
		}, counts{stuck: 1}, "for 5.5 s"},
		{"a fault comes too late to excuse", func(h *History) {
			h.Tenures[1].Begin = at(17)
			h.Faults = append(h.Faults, Fault{KillServer, "", at(15.5), at(16.5)})
		}, counts{stuck: 1}, "for 5.5 s"},
		{"a silent worker is missed later", func(h *History) {
			h.Faults[0] = Fault{StallWorker, "a", at(10), at(20)}
			h.Tenures[0].End = at(20.1)
			h.Tenures[1].Begin = at(16.9)
		}, counts{}, ""},
		{"a task does not run", func(h *History) {
			h.Looks[1].Places[1] = Place{"t2", 0, "locked", "l3"}
			h.Outcomes = h.Outcomes[:2]
		}, counts{stuck: 1}, "a task is still locked at the end"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := clean()
			tt.spoil(h)
			f := Check(h, limits)
			require.Equal(t, tt.want, counts{len(f.Lost), len(f.Double), len(f.Overlap), len(f.Stuck)}, "%+v", f)
			require.Equal(t, tt.want == counts{}, newVerdict(7, 1, f).OK())
			var told strings.Builder
			printViolations(&told, 7, h, f)
			if tt.text == "" {
				require.Empty(t, told.String())
				return
			}
			require.Contains(t, told.String(), tt.text)
			require.Contains(t, told.String(), "VIOLATION seed 7: ")
		})
	}
}

func TestAViolationTellsTheHistoryOfItsTask(t *testing.T) {
	t.Parallel()
	h := clean()
	h.Looks[1].Places = h.Looks[1].Places[:1]
	var told strings.Builder
	printViolations(&told, 7, h, Check(h, limits))
	require.Equal(t, `VIOLATION seed 7: lost task: task t2: acknowledged at 1.100s, and in no table at 59.000s
       0.100s  a raises partition 0 to epoch 1, answered at 0.200s
       0.300s  a owns partition 0 until ?, epoch 1
       1.000s  p enqueues it, acknowledged at 1.100s
       5.000s  seen in the tables: pending in partition 0 with lock ""
       9.000s  a claims it under epoch 1: attempt 1, lock l2, answered at 9.100s
       9.500s  delivered, attempt 1, answered with 204
       9.900s  a sends completed with lock l2: unknown, answered at ?
      10.000s  FAULT worker killed a until 10.000s
      13.100s  b raises partition 0 to epoch 2, answered at 13.200s
      13.300s  b owns partition 0 until ?, epoch 2
      14.000s  b claims it under epoch 2: attempt 2, lock l3, answered at 14.100s
      14.500s  delivered, attempt 2, answered with 204
      15.000s  b sends completed with lock l3: recorded, answered at 15.100s
      59.000s  seen in the tables:
`, told.String())
}

func TestTakeoversAreMeasured(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		spoil func(h *History)
		want  []time.Duration
	}{
		{"a death", func(*History) {}, []time.Duration{3300 * time.Millisecond}},
		{"a long stall", func(h *History) {
			h.Faults[0] = Fault{StallWorker, "a", at(9), at(14)}
			h.Tenures[0].End = at(14.1)
		}, []time.Duration{4300 * time.Millisecond}},
		{"a short stall", func(h *History) {
			h.Faults[0] = Fault{StallWorker, "a", at(9), at(11)}
			h.Tenures[0].End = at(13)
		}, nil},
		{"a stall that the session survived", func(h *History) {
			h.Faults[0] = Fault{StallWorker, "a", at(2), at(6)}
			h.Tenures[0].End = at(13)
		}, nil},
		{"the server is down meanwhile", func(h *History) {
			h.Faults = append(h.Faults, Fault{KillServer, "", at(11), at(12)})
		}, []time.Duration{1300 * time.Millisecond}},
		{"nobody took over", func(h *History) { h.Tenures = h.Tenures[:1] }, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := clean()
			tt.spoil(h)
			require.Equal(t, tt.want, all(takeovers(h, limits)))
		})
	}
}

func TestTheVerdictIsOneLineOfKnownFields(t *testing.T) {
	t.Parallel()
	line, err := json.Marshal(newVerdict(7, 1, Check(clean(), limits)))
	require.NoError(t, err)
	require.Equal(t, `{"seed":7,"faults":1,"enqueued":2,"lost":0,"double_outcomes":0,"overlapping_owners":0,"stuck_partitions":0,`+
		`"deliveries":3,"duplicate_deliveries":1,"takeover_p99_s":3.3,"takeover_max_s":3.3}`, string(line))
}

func TestQuantile(t *testing.T) {
	t.Parallel()
	var hundred []time.Duration
	for i := range 100 {
		hundred = append(hundred, time.Duration(i+1)*time.Second)
	}
	require.Zero(t, quantile(nil, 0.99))
	require.Equal(t, 99.0, quantile(hundred, 0.99))
	require.Equal(t, 100.0, quantile(hundred, 1))
	require.Equal(t, 1.0, quantile(hundred[:1], 0.99))
}
