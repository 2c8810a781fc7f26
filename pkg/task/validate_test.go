package task

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestValidateChecksWhatIsSent: each limit on both of its sides, and what the
// error says of it.
func TestValidateChecksWhatIsSent(t *testing.T) {
	t.Parallel()
	west, east := time.FixedZone("", -12*3600), time.FixedZone("", 14*3600)
	first, behind := time.Unix(0, 0), time.Date(2106, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name string
		task Task
		want string // "" of a valid task
	}{
		{"zero", Task{}, ""},
		{"largest", Task{
			ID: strings.Repeat("i", MaxID), Kind: strings.Repeat("k", MaxKind), PartitionKey: strings.Repeat("p", MaxKey),
			Payload: make([]byte, MaxPayload), Headers: map[string]string{"<": strings.Repeat("\x00", MaxHeaders-1)},
			MaxAttempts: MaxAttempts, Timeout: MaxTimeout, Delay: MaxDelay,
		}, ""},
		{"id too long", Task{ID: strings.Repeat("i", MaxID+1)}, "id of 129 bytes: must have at most 128 bytes"},
		{"id not UTF-8", Task{ID: "a\xff"}, "id: must be valid UTF-8"},
		{"id with a surrogate", Task{ID: "\xed\xa0\x80"}, "id: must be valid UTF-8"},
		{"kind too long", Task{Kind: strings.Repeat("k", MaxKind+1)}, "kind of 65 bytes"},
		{"kind not UTF-8", Task{Kind: "\xc3"}, "kind: must be valid UTF-8"},
		{"key too long", Task{PartitionKey: strings.Repeat("p", MaxKey+1)}, "key of 513 bytes"},
		{"key not UTF-8", Task{PartitionKey: "\xff"}, "key: must be valid UTF-8"},
		{"payload too large", Task{Payload: make([]byte, MaxPayload+1)}, "payload of 262145 bytes"},
		{"headers too large", Task{Headers: map[string]string{"a": strings.Repeat("x", MaxHeaders)}}, "headers of 16385 bytes"},
		{"header without a name", Task{Headers: map[string]string{"": "x"}}, "headers: must have names"},
		{"header not UTF-8", Task{Headers: map[string]string{"a": "\xff"}}, "headers: must have names, and be valid UTF-8"},
		{"attempts", Task{MaxAttempts: MaxAttempts + 1}, "max_attempts 1001: must be 0..1000"},
		{"timeout", Task{Timeout: math.MaxInt64}, "timeout 2562047h47m16.854775807s: must be 0..24h0m0s"},
		{"timeout below", Task{Timeout: -1}, "timeout -1ns"},
		{"delay", Task{Delay: MaxDelay + 1}, "must be 0..8784h0m0s"},
		{"delay below", Task{Delay: math.MinInt64}, "delay -2562047h47m16.854775808s"},
		{"delay and run_at", Task{Delay: 1, RunAt: first}, "delay: cannot stand with run_at"},
		{"first moment", Task{RunAt: first.In(west)}, ""},
		{"before the first", Task{RunAt: first.Add(-1).In(east)}, "run_at 1970-01-01T13:59:59.999999999+14:00: must lie between"},
		{"last moment", Task{RunAt: behind.Add(-1).In(east)}, ""},
		{"behind the last", Task{RunAt: behind}, "run_at 2106-01-01T00:00:00Z: must lie between 1970-01-01T00:00:00Z and 2105-12-31T23:59:59.999999Z"},
		{"behind the last, in the west", Task{RunAt: time.Date(2105, 12, 31, 23, 0, 0, 0, west)}, "run_at 2105-12-31T23:00:00-12:00"},
		{"far behind", Task{RunAt: time.Unix(math.MaxInt64/2, 0)}, "run_at"},
		{"far before", Task{RunAt: time.Unix(-math.MaxInt64/2, 0)}, "run_at"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			err := c.task.Validate()
			if c.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, ErrInvalid)
			require.ErrorContains(t, err, c.want)
		})
	}
}
