package coord

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
)

func TestStreamsAreOpenedOncePerDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tap := &tap{delay: time.Second}
		began := time.Now()
		for n := range 5 {
			tap.pace(t.Context())
			require.Equal(t, time.Duration(n)*time.Second, time.Since(began), "the first without a pause")
		}
		<-time.After(time.Minute)
		again := time.Now()
		tap.pace(t.Context())
		require.Equal(t, again, time.Now(), "what comes late is not held back")

		given, up := context.WithCancel(t.Context())
		up()
		tap.pace(given)
		require.Equal(t, again, time.Now(), "nor what the SDK has given up")
	})
}

func TestStatusesThatEndASession(t *testing.T) {
	t.Parallel()
	for status, ends := range map[Ydb.StatusIds_StatusCode]bool{
		Ydb.StatusIds_SESSION_EXPIRED: true, Ydb.StatusIds_BAD_SESSION: true, Ydb.StatusIds_NOT_FOUND: true,
		Ydb.StatusIds_UNAUTHORIZED: true, Ydb.StatusIds_BAD_REQUEST: true,
		Ydb.StatusIds_UNAVAILABLE: false, Ydb.StatusIds_TIMEOUT: false, Ydb.StatusIds_OVERLOADED: false,
	} {
		require.Equal(t, ends, endsSession(status), status)
	}
}
