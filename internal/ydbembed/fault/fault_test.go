package fault

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var errInjected = errors.New("injected")

func TestFaultIsSpentAfterOneCall(t *testing.T) {
	t.Parallel()
	set := &Set{}
	f := set.Add(Rule{Kind: "ExecuteQuery", Err: errInjected})

	require.NoError(t, set.Before(t.Context(), Call{Kind: "CreateSession"}), "another kind")
	require.ErrorIs(t, set.Before(t.Context(), Call{Kind: "ExecuteQuery"}), errInjected)
	require.NoError(t, set.Before(t.Context(), Call{Kind: "ExecuteQuery"}))
	require.Equal(t, 1, f.Hits())
}

func TestKeptFaultStaysUntilStop(t *testing.T) {
	t.Parallel()
	set := &Set{}
	f := set.Add(Rule{Kind: "ExecuteQuery", Keep: true, Err: errInjected})
	for range 3 {
		require.ErrorIs(t, set.Before(t.Context(), Call{Kind: "ExecuteQuery"}), errInjected)
	}
	f.Stop()
	f.Stop()
	require.NoError(t, set.Before(t.Context(), Call{Kind: "ExecuteQuery"}))
	require.Equal(t, 3, f.Hits())
}

func TestFaultLooksAtTheText(t *testing.T) {
	t.Parallel()
	set := &Set{}
	set.Add(Rule{Kind: "ExecuteQuery", Contains: "UPSERT", Err: errInjected})
	require.NoError(t, set.Before(t.Context(), Call{Kind: "ExecuteQuery", Text: "SELECT 1"}))
	require.ErrorIs(t, set.Before(t.Context(), Call{Kind: "ExecuteQuery", Text: "UPSERT INTO t"}), errInjected)
}

func TestCommitFaultsActAfterTheCommitOnly(t *testing.T) {
	t.Parallel()
	set := &Set{}
	set.Add(Rule{Kind: "ExecuteQuery", Commit: true, Err: ErrLost})
	require.NoError(t, set.Before(t.Context(), Call{Kind: "ExecuteQuery"}))
	require.ErrorIs(t, set.Committed(t.Context(), Call{Kind: "ExecuteQuery"}), ErrLost)
	require.NoError(t, set.Committed(t.Context(), Call{Kind: "ExecuteQuery"}))
}

func TestHeldCallWaitsForStop(t *testing.T) {
	t.Parallel()
	set := &Set{}
	f := set.Add(Rule{Kind: "ExecuteQuery", Hold: true})
	done := make(chan error, 1)
	go func() { done <- set.Before(context.Background(), Call{Kind: "ExecuteQuery"}) }()
	require.NoError(t, f.Wait(t.Context(), 1))
	require.Empty(t, done)
	f.Stop()
	require.NoError(t, <-done)
}

func TestWaitingCallsEndWithTheirContext(t *testing.T) {
	t.Parallel()
	for name, rule := range map[string]Rule{"held": {Hold: true}, "late": {Delay: time.Hour}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			set := &Set{}
			f := set.Add(rule)
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() { done <- set.Before(ctx, Call{}) }()
			require.NoError(t, f.Wait(t.Context(), 1))
			cancel()
			require.ErrorIs(t, <-done, context.Canceled)
		})
	}
}

func TestWaitTellsHowFarItCame(t *testing.T) {
	t.Parallel()
	f := (&Set{}).Add(Rule{Kind: "ExecuteQuery"})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := f.Wait(ctx, 2)
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorContains(t, err, "ExecuteQuery was hit 0 times of 2")
}

func TestSilenceHoldsBytesUntilResume(t *testing.T) {
	t.Parallel()
	silence := &Silence{}
	raw, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	l := silence.Listener(raw)
	defer l.Close()
	go func() {
		if c, err := l.Accept(); err == nil {
			_, _ = io.Copy(c, c)
			_ = c.Close()
		}
	}()
	client, err := net.Dial("tcp", raw.Addr().String())
	require.NoError(t, err)
	defer client.Close()
	echo := func(text string, patience time.Duration) error {
		require.NoError(t, client.SetDeadline(time.Now().Add(patience)))
		if _, err := io.WriteString(client, text); err != nil {
			return err
		}
		b := make([]byte, len(text))
		_, err := io.ReadFull(client, b)
		return err
	}
	require.NoError(t, echo("hello", 10*time.Second))
	silence.Begin()
	require.Error(t, echo("hello", 20*time.Millisecond))
	silence.Resume()
	b := make([]byte, 5)
	require.NoError(t, client.SetDeadline(time.Now().Add(10*time.Second)))
	_, err = io.ReadFull(client, b)
	require.NoError(t, err)
	require.Equal(t, "hello", string(b))
}
