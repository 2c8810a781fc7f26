package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/taskfleet/taskfleet/internal/lab/journal"
	"github.com/taskfleet/taskfleet/pkg/task"
)

func TestIDsOfAClockThatIsOff(t *testing.T) {
	t.Parallel()
	for _, offset := range []time.Duration{0, 30 * time.Second, -30 * time.Second, 1000 * time.Hour} {
		first, second := idAt(offset), idAt(offset)
		require.True(t, task.Reserved(first.String()))
		require.Less(t, first.String(), second.String(), "they order as before")
		first[6] = first[6]&0x0f | 0x70 // the layout is that of version 7, which Time reads
		seconds, _ := first.Time().UnixTime()
		require.WithinDuration(t, time.Now().Add(offset), time.Unix(seconds, 0), time.Minute/2)
	}
}

// TestAJournalOfAProducerWithAWrongClock: every acknowledged task stands in the
// journal with its begin and its end, by the producer's clock, and delays are
// nevertheless the database's.
func TestAJournalOfAProducerWithAWrongClock(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	var stdout, stderr bytes.Buffer
	args := append(append([]string{}, f.flags...), "--journal", "--clock-offset", "1h", "--input", "-")
	input := strings.Repeat(`{"payload":{"url":"http://h/"}}`+"\n", 7) + `{"payload":{"url":"http://h/"},"delay":"30m"}`
	require.Zero(t, run(t.Context(), args, strings.NewReader(input), &stdout, &stderr), stderr.String())
	lines := strings.Split(strings.TrimSpace(stdout.String()), "\n")
	lines = lines[:len(lines)-1] // the summary of --json
	tasks := 0
	for _, line := range lines {
		var e journal.Event
		require.NoError(t, json.Unmarshal([]byte(line), &e), line)
		require.Equal(t, journal.Enqueue, e.Op)
		require.WithinDuration(t, time.Now().Add(time.Hour), e.At, time.Minute)
		require.Empty(t, e.Error)
		if !e.End {
			tasks += len(e.Tasks)
		}
	}
	require.Equal(t, 8, tasks)
	stats := f.stats(t)
	require.EqualValues(t, 7, stats.Pending)
	require.EqualValues(t, 1, stats.Delayed)
}
