package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/taskfleet/taskfleet/internal/lab/journal"
	"github.com/taskfleet/taskfleet/internal/taskstore"
	"github.com/taskfleet/taskfleet/pkg/task"
)

// TestAJournalOfAWorkerWithAWrongClock: a worker whose clock is an hour slow
// delivers at once what is due by the database's clock, and notes epochs,
// ownership, claims and outcomes.
func TestAJournalOfAWorkerWithAWrongClock(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	sink := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }))
	defer sink.Close()
	payload := fmt.Appendf(nil, `{"url":%q}`, sink.URL)
	f.enqueue(task.Task{ID: "now", Payload: payload}, task.Task{ID: "soon", Payload: payload, Delay: time.Second})

	var stdout output
	stderr, stop := f.start(&stdout, "--allow-private", "--journal", "--clock-offset", "-1h")
	f.await(func(s taskstore.Stats) bool { return s.Completed == 2 })
	require.Zero(t, stop(), stderr.String())

	ends := map[string]int{}
	owned := map[uint16]int{}
	for line := range strings.Lines(stdout.String()) {
		var e journal.Event
		require.NoError(t, json.Unmarshal([]byte(line), &e), line)
		require.WithinDuration(t, time.Now().Add(-time.Hour), e.At, 10*time.Minute)
		require.Empty(t, e.Error)
		if !e.End {
			continue
		}
		ends[e.Op] += len(e.Locks) + len(e.Partitions)
		for _, p := range e.Partitions {
			require.NotZero(t, p.Epoch)
			owned[p.ID]++
		}
		for _, r := range e.Results {
			require.True(t, r.Held)
			require.Equal(t, "completed", r.Outcome)
			ends[e.Op]++
		}
	}
	require.Equal(t, map[string]int{journal.Raise: 8, journal.Own: 8, journal.Claim: 2, journal.Finish: 2}, ends)
	require.Len(t, owned, 8)
}
