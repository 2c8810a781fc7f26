package taskstore_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/taskfleet/taskfleet/internal/taskstore"
	"github.com/taskfleet/taskfleet/pkg/task"
)

// TestI10WhatIsValidIsStored is invariant I10 between Validate and the database: a
// task that passes is stored, and one that the database refuses does not pass. So
// no task makes the batch fail that it stands in.
func TestI10WhatIsValidIsStored(t *testing.T) {
	t.Parallel()
	b := setup(t, taskstore.Options{})
	n := 0
	rapid.Check(t, func(r *rapid.T) {
		n++
		tk := drawTask(r)
		tk.ID += fmt.Sprint(n)
		invalid := tk.Validate()
		good := task.Task{ID: uuid.NewString(), Kind: "k"}
		batch := task.Batch{ID: uuid.NewString(), Tasks: []task.Task{good, tk}}
		result, err := b.store.Enqueue(t.Context(), batch)
		switch {
		case invalid == nil:
			require.NoError(t, err, "%+v", tk)
			require.Equal(t, task.EnqueueResult{Enqueued: 2}, result)
		case err != nil:
			require.ErrorIs(t, err, task.ErrRefused)
			var field *task.FieldError
			require.ErrorAs(t, invalid, &field)
			require.NotEmpty(t, field.Field)
			require.NotEmpty(t, field.Limit)
		}
	})
}

// drawTask draws what a caller may pass: any bytes, any time, any duration, and
// often those at an end of what is allowed.
func drawTask(r *rapid.T) task.Task {
	text := rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 20), func(b []byte) string { return string(b) }),
		rapid.SampledFrom([]string{"", "\x00", "a\x00b", "\ufffd", "\U0010ffff", "\ufeff", "\u2028", `"\`, "\xed\xa0\x80", "\xc0\x80", "\xf4\x90\x80\x80"}))
	duration := func(limit time.Duration) *rapid.Generator[time.Duration] {
		return rapid.OneOf(
			rapid.SampledFrom([]time.Duration{0, 1, -1, time.Microsecond, limit, limit + 1, math.MaxInt64, math.MinInt64}),
			rapid.Map(rapid.Int64(), func(n int64) time.Duration { return time.Duration(n) }))
	}
	tk := task.Task{
		ID: text.Draw(r, "id"), IDGiven: rapid.Bool().Draw(r, "given"), Kind: text.Draw(r, "kind"), PartitionKey: text.Draw(r, "key"),
		Payload: rapid.SliceOfN(rapid.Byte(), 0, 20).Draw(r, "payload"), Priority: rapid.Uint8().Draw(r, "priority"),
		MaxAttempts: rapid.OneOf(rapid.SampledFrom([]uint32{0, task.MaxAttempts}), rapid.Uint32()).Draw(r, "max_attempts"),
		Timeout:     duration(task.MaxTimeout).Draw(r, "timeout"),
		Headers:     rapid.MapOfN(text, text, 0, 2).Draw(r, "headers"),
	}
	if rapid.Bool().Draw(r, "delayed") {
		tk.Delay = duration(task.MaxDelay).Draw(r, "delay")
		return tk
	}
	seconds := rapid.OneOf(
		rapid.SampledFrom([]int64{-1, 0, 4291747199, 4291747200, 4291747200 - 12*3600, math.MaxInt64 / 4, math.MinInt64 / 4}),
		rapid.Int64Range(-1e10, 1e10)).Draw(r, "seconds")
	nanoseconds := rapid.SampledFrom([]int64{0, 1, 999, 1000, 999_999_999}).Draw(r, "nanoseconds")
	zone := time.FixedZone("", rapid.IntRange(-12, 14).Draw(r, "zone")*3600)
	tk.RunAt = time.Unix(seconds, nanoseconds).In(zone)
	return tk
}
