package cli

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
)

func TestAClockMayBeOff(t *testing.T) {
	t.Parallel()
	fs := pflag.NewFlagSet("x", pflag.ContinueOnError)
	clock := RegisterClockFlag(fs)
	require.NotContains(t, fs.FlagUsages(), "clock-offset")
	require.WithinDuration(t, time.Now(), clock.Now(), time.Minute)
	require.NoError(t, fs.Parse([]string{"--clock-offset", "-5h"}))
	require.WithinDuration(t, time.Now().Add(-5*time.Hour), clock.Now(), time.Minute)

	var out bytes.Buffer
	logger, err := (&LogFlags{Level: "info", Format: "json", ClockOffset: clock.Offset}).Logger(&out)
	require.NoError(t, err)
	logger.WithGroup("g").Info("hello", "time", time.Unix(7, 0).UTC())
	var entry struct {
		Time time.Time
		G    struct{ Time time.Time }
	}
	require.NoError(t, json.Unmarshal(out.Bytes(), &entry))
	require.WithinDuration(t, time.Now().Add(-5*time.Hour), entry.Time, time.Minute)
	require.Equal(t, time.Unix(7, 0).UTC(), entry.G.Time, "a value of the program's own is left as it is")
}
