package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/taskfleet/taskfleet/cmd/internal/journal"
	"github.com/taskfleet/taskfleet/internal/cli"
	"github.com/taskfleet/taskfleet/pkg/task"
)

// TestAJournalOfAWorkerWithAWrongClock: a worker whose clock is an hour slow
// delivers at once what is due by the database's clock, and notes epochs,
// ownership, claims and outcomes.
func TestAJournalOfAWorkerWithAWrongClock(t *testing.T) {
	t.Parallel()
	dsn, db := fleet(t)
	sink := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }))
	defer sink.Close()
	payload := fmt.Appendf(nil, `{"url":%q}`, sink.URL)
	enqueue(t, db, task.Task{ID: "now", Payload: payload}, task.Task{ID: "soon", Payload: payload, Delay: time.Second})

	ctx, cancel := context.WithCancelCause(context.WithoutCancel(t.Context()))
	var stdout, stderr output
	code := make(chan int, 1)
	go func() {
		code <- run(ctx, []string{
			"--endpoint", dsn, "--allow-private", "--metrics-addr", "", "--session-timeout", "3s", "--journal", "--clock-offset", "-1h",
		}, strings.NewReader(""), &stdout, &stderr)
	}()
	require.Eventually(t, func() bool { return counts(t, db).Completed == 2 }, patience, 20*time.Millisecond)
	cancel(cli.ErrSignal)
	require.Zero(t, <-code, stderr.String())

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
