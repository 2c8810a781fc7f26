package taskstore_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/taskfleet/taskfleet/internal/taskstore"
	"github.com/taskfleet/taskfleet/pkg/task"
)

// report shows what n tasks cost each.
func report(b *testing.B, cost taskstore.Usage, n int) {
	b.ReportMetric(float64(cost.Statements)/float64(n), "statements/task")
	b.ReportMetric(float64(cost.RowsRead)/float64(n), "rows-read/task")
	b.ReportMetric(float64(cost.RowsWritten)/float64(n), "rows-written/task")
	b.ReportMetric(float64(cost.RequestUnits)/float64(n), "ru/task")
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "tasks/s")
}

const benchBatch = 256

func BenchmarkEnqueue(b *testing.B) {
	f := setup(b, taskstore.Options{})
	before := f.store.Usage()
	n := 0
	for b.Loop() {
		f.enqueue(small(benchBatch, 16)...)
		n += benchBatch
	}
	report(b, f.store.Usage().Sub(before), n)
}

func BenchmarkClaimAndFinish(b *testing.B) {
	f := setup(b, taskstore.Options{})
	owned := f.own(16)
	var cost taskstore.Usage
	n := 0
	for b.Loop() {
		b.StopTimer()
		f.enqueue(small(benchBatch, 16)...)
		before := f.store.Usage()
		b.StartTimer()
		claimed := f.claim(owned...)
		results := make([]task.Result, len(claimed))
		for i, c := range claimed {
			results[i] = finishing(c, task.OutcomeCompleted)
		}
		_, err := f.store.Finish(b.Context(), results)
		require.NoError(b, err)
		n += len(claimed)
		spent := f.store.Usage().Sub(before)
		cost.Statements += spent.Statements
		cost.RowsRead += spent.RowsRead
		cost.RowsWritten += spent.RowsWritten
		cost.RequestUnits += spent.RequestUnits
	}
	report(b, cost, n)
}
