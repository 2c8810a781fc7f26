package taskworker_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/taskfleet/taskfleet/internal/taskmodel"
	"github.com/taskfleet/taskfleet/pkg/taskworker"
)

func TestConfigTellsEverythingThatIsWrong(t *testing.T) {
	t.Parallel()
	model := taskmodel.New(time.Now)
	_, err := taskworker.New(model, taskworker.Config{
		Handlers:    map[string]taskworker.Handler{"nil": nil},
		Concurrency: -1, SweepMin: time.Minute, SweepMax: time.Second, AbandonAfter: time.Hour, FinishAge: -1, MaxAttempts: 5000,
	})
	for _, text := range []string{"Owner", `Handlers["nil"]`, "Concurrency -1", "SweepMin", "LockMargin", "FinishAge", "MaxAttempts 5000"} {
		require.ErrorContains(t, err, text)
	}
	_, err = taskworker.New(model, taskworker.Config{})
	require.ErrorContains(t, err, "Handlers is empty")
	_, err = taskworker.New(nil, taskworker.Config{})
	require.ErrorContains(t, err, "repository")
}

func TestAWorkerStartsOnce(t *testing.T) {
	t.Parallel()
	w, err := taskworker.New(taskmodel.New(time.Now), taskworker.Config{Owner: "w", Handlers: map[string]taskworker.Handler{"k": nothing}})
	require.NoError(t, err)
	require.NoError(t, w.Start(t.Context()))
	require.Error(t, w.Start(t.Context()))
	require.NoError(t, w.Stop(t.Context()))
	require.NoError(t, w.Stop(t.Context()))
	require.Error(t, w.Start(t.Context()))
}
