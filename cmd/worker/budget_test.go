package main

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/taskfleet/taskfleet/internal/testdb"
	"github.com/taskfleet/taskfleet/internal/ydbconn"
	"github.com/taskfleet/taskfleet/pkg/metrics"
	"github.com/taskfleet/taskfleet/pkg/migrate"
	"github.com/taskfleet/taskfleet/pkg/task"
	"github.com/taskfleet/taskfleet/pkg/taskproducer"
	"github.com/taskfleet/taskfleet/pkg/taskworker"
)

// The budgets of the design, for workers as this program makes them. They are
// counts, so that the virtual clock measures them.

// knownGaps are figures above their budget, with the most that they may be: a tenth
// above what is measured, as batches are smaller on a busy machine. Who closes one
// takes it off the list.
var knownGaps = map[string]float64{
	"statements of an idle fleet per second":         20,
	"request units per task at saturation":           13,
	"request units per task at 100 tasks per second": 13.5,
}

// within holds a figure to its budget, or to its known gap.
func within(t *testing.T, name string, figure, budget float64) {
	t.Helper()
	bound, known := knownGaps[name]
	switch {
	case !known && figure > budget:
		t.Errorf("%s: %.3f, the budget is %v", name, figure, budget)
	case known && figure <= budget:
		t.Errorf("%s: %.3f is within the budget of %v: take it off the list of known gaps", name, figure, budget)
	case known && figure > bound:
		t.Errorf("%s: %.3f, the budget is %v, and the known gap %v", name, figure, budget, bound)
	case known:
		t.Logf("KNOWN GAP %s: %.3f, the budget is %v", name, figure, budget)
	default:
		t.Logf("%s: %.3f, the budget is %v", name, figure, budget)
	}
}

// measured is a fleet of workers on 256 partitions and a producer, in a bubble.
type measured struct {
	t        *testing.T
	producer *taskproducer.Producer
	programs []*metrics.Metrics
	done     chan struct{} // one for each task that ran
}

// measure starts n workers with the defaults of the flags, whose handlers do
// nothing, and ends them after the test.
func measure(t *testing.T, n int, test func(m *measured)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := testdb.Start(t)
		_, err := migrate.Up(t.Context(), e.DB, migrate.Options{Folder: e.Folder})
		require.NoError(t, err)
		facts, err := migrate.Check(t.Context(), e.DB, e.Folder)
		require.NoError(t, err)
		m := &measured{t: t, done: make(chan struct{})}
		m.producer, err = taskproducer.Open(t.Context(), e.DB, taskproducer.Config{Folder: e.Folder, Statements: m.program().Database()})
		require.NoError(t, err)
		handlers := map[string]taskworker.Handler{task.DefaultKind: func(context.Context, *task.Task) error { m.done <- struct{}{}; return nil }}
		ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
		ended := make(chan error, n)
		for i := range n {
			o := newOptions()
			o.workerID = fmt.Sprint("w", i)
			config := ydbconn.Config{Database: e.DB.Name(), Folder: e.Folder}
			w, err := newMember(e.Connect(), o, config, facts, m.program(), handlers, slog.New(slog.DiscardHandler))
			require.NoError(t, err)
			go func() { ended <- w.run(ctx) }()
		}
		time.Sleep(time.Minute) // until the loads are even, and the sweeps slow
		test(m)
		cancel()
		for range n {
			require.NoError(t, <-ended)
		}
	})
}

func (m *measured) program() *metrics.Metrics {
	m.programs = append(m.programs, metrics.New())
	return m.programs[len(m.programs)-1]
}

// reading is what statements have used, by counter and operation.
type reading map[string]map[string]float64

func (m *measured) read() reading {
	m.t.Helper()
	all := reading{}
	for _, p := range m.programs {
		families, err := p.Registry().Gather()
		require.NoError(m.t, err)
		for _, f := range families {
			name, ours := strings.CutPrefix(f.GetName(), "taskfleet_ydb_")
			if !ours {
				continue
			}
			if all[name] == nil {
				all[name] = map[string]float64{}
			}
			for _, c := range f.GetMetric() {
				all[name][c.GetLabel()[0].GetValue()] += c.GetCounter().GetValue()
			}
		}
	}
	return all
}

// since returns how much of a counter was used since a reading.
func (m *measured) since(before reading, counter string) (sum float64) {
	m.t.Helper()
	after := m.read()[counter]
	for _, op := range slices.Sorted(maps.Keys(after)) {
		if n := after[op] - before[counter][op]; n > 0 {
			m.t.Logf("%s of %s: %.0f", counter, op, n)
			sum += n
		}
	}
	return sum
}

// work lets the fleet do n tasks that come at a rate, 0 for all of them, and returns
// what was used.
func (m *measured) work(n int, rate float64) (used func(counter string) float64) {
	m.t.Helper()
	before := m.read()
	stored := make(chan error, 1)
	go func() {
		_, err := m.producer.Run(m.t.Context(), taskproducer.Load{Rate: rate, Count: n, Make: func(n int) task.Task {
			return task.Task{Priority: uint8(n), Payload: []byte(`{"url":"http://127.0.0.1:8080/hook","n":12345}`)}
		}})
		stored <- err
	}()
	for range n {
		<-m.done
	}
	require.NoError(m.t, <-stored)
	time.Sleep(time.Second) // until the last outcomes are recorded
	return func(counter string) float64 { return m.since(before, counter) }
}

func TestBudgetOfAnIdleFleet(t *testing.T) {
	measure(t, 4, func(m *measured) {
		before := m.read()
		time.Sleep(time.Minute)
		within(m.t, "statements of an idle fleet per second", m.since(before, "statements_total")/60, 1)
	})
}

func TestBudgetAtSaturation(t *testing.T) {
	measure(t, 1, func(m *measured) {
		const n = 10_000
		used := m.work(n, n)
		statements := used("statements_total")
		within(m.t, "statements per task", statements/n, 0.1)
		within(m.t, "rows read per task", used("rows_read_total")/n, 4)
		within(m.t, "request units per task at saturation", used("request_units_total")/n, 10)
		within(m.t, "conflicts per statement", used("conflicts_total")/statements, 0.01)
	})
}

func TestBudgetOfATrickle(t *testing.T) {
	measure(t, 4, func(m *measured) {
		const n = 1000
		within(m.t, "request units per task at 100 tasks per second", m.work(n, 100)("request_units_total")/n, 10)
	})
}
