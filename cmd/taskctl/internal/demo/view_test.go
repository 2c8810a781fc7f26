package demo

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestViewShowsRatesAndShares(t *testing.T) {
	t.Parallel()
	first := Frame{Elapsed: time.Second, Expected: time.Minute, Stored: 100, Delivered: 40, Partitions: map[string]int{"worker-1": 128, "worker-2": 128}}
	second := Frame{
		Elapsed: 3 * time.Second, Expected: time.Minute, Note: "killed worker-1", Stored: 1100, Delivered: 540, Runnable: 7, Delayed: 9,
		Partitions: map[string]int{"worker-2": 128}, Dead: map[string]bool{"worker-1": true},
	}
	for _, tt := range []struct {
		name string
		live bool
		want []string
	}{
		{"a line each", false, []string{"in   500/s", "out   250/s", "runnable     7", "delayed     9", "partitions x/128", "killed worker-1"}},
		{"in place", true, []string{"in      500 tasks/s", "out     250 tasks/s", "7 runnable, 9 delayed", "worker-1   killed", "worker-2    128", "\x1b["}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var out strings.Builder
			v := &view{w: &out, live: tt.live}
			v.show(first)
			out.Reset()
			v.show(second)
			for _, want := range tt.want {
				require.Contains(t, out.String(), want)
			}
		})
	}
}

func TestVerdictCountsWhatIsLost(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		enqueued, delivered, completed, lost int
		ok                                   bool
	}{
		{100, 100, 100, 0, true},
		{100, 99, 100, 1, false},
		{100, 100, 97, 3, false},
		{100, 101, 101, 0, true}, // a task stored by a producer that did not live to say so
		{0, 0, 0, 0, false},
	} {
		v := Verdict{Enqueued: tt.enqueued, Delivered: tt.delivered, Completed: tt.completed}
		v.judge()
		require.Equal(t, tt.lost, v.Lost, "%+v", tt)
		require.Equal(t, tt.ok, v.OK(), "%+v", tt)
		var out strings.Builder
		v.Print(&out)
		if tt.ok {
			require.Contains(t, out.String(), "NOTHING LOST")
		} else {
			require.Contains(t, out.String(), " LOST\n")
		}
	}
}
