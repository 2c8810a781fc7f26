package delivery

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestRetryAfterIsBounded(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for text, want := range map[string]time.Duration{
		"30": 30 * time.Second, "0": time.Second, "3600": time.Hour, "86400": time.Hour, "9223372036854775807": time.Hour,
		now.Add(time.Minute).Format(http.TimeFormat):  time.Minute,
		now.Add(-time.Minute).Format(http.TimeFormat): time.Second,
		now.AddDate(9, 0, 0).Format(http.TimeFormat):  time.Hour,
	} {
		got, ok := retryAfter(text, now)
		require.True(t, ok, text)
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{"", "-1", "1.5", "soon", "99999999999999999999"} {
		_, ok := retryAfter(text, now)
		require.False(t, ok, text)
	}
}
