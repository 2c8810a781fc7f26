package coord

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSilenceIsToldOf(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var told atomic.Int32
		begin := time.Now()
		s := newSilence(2*time.Second, 3*time.Second, func() { told.Add(1) })
		for range 5 { // signs of life, the first late but in time
			<-time.After(2900 * time.Millisecond)
			s.broken()
			synctest.Wait()
			require.Zero(t, told.Load())
		}
		<-time.After(2999 * time.Millisecond)
		synctest.Wait()
		require.Zero(t, told.Load())
		<-time.After(time.Millisecond)
		synctest.Wait()
		require.EqualValues(t, 1, told.Load())
		require.Equal(t, 5*2900*time.Millisecond+3*time.Second, time.Since(begin))
	})
}

// TestOldMessagesAreNoSignOfLife: a process that wakes from a stall may read what
// had come before it sooner than its timers fire.
func TestOldMessagesAreNoSignOfLife(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var told atomic.Int32
		s := newSilence(0, 3*time.Second, func() { told.Add(1) })
		s.timer.Stop() // it has not fired yet when the process wakes
		<-time.After(7 * time.Second)
		s.broken()
		synctest.Wait()
		require.EqualValues(t, 1, told.Load())
		<-time.After(time.Hour)
		synctest.Wait()
		require.EqualValues(t, 1, told.Load(), "and it was not set again")
	})
}
