package taskingest_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/taskfleet/taskfleet/pkg/taskingest"
)

// TestSilentSocketsKeepNobodyOut: sockets that send one byte of a head, or of a
// body, cost no genuine request its answer, however many they are.
func TestSilentSocketsKeepNobodyOut(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"head":                 "P",
		"body of a webhook":    hookHead(100) + "{",
		"body without a token": head("/v1/tasks", 100) + "{",
		"nowhere":              head("/nowhere", 100) + "{",
		"a wrong proof":        head("/hooks/gitlab", 100, "X-Gitlab-Token", "wrong") + "{",
	} {
		for _, n := range []int{100, 1100} { // more than MaxRequests, more than MaxConns
			t.Run(fmt.Sprintf("%s/%d", name, n), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					s := newSite(t, nil)
					for range n {
						s.open(t, text)
					}
					synctest.Wait()
					s.serves(t)
					require.LessOrEqual(t, s.seen.inFlight.Load(), int64(100))
					require.LessOrEqual(t, s.seen.bytes.Load(), int64(100*4<<10))
				})
			})
		}
	}
}

// TestSlowClientsAreCutOff: a body must come at a pace, and as a whole in time; so
// must a head. A refused body is not waited for.
func TestSlowClientsAreCutOff(t *testing.T) {
	t.Parallel()
	fast := strings.Repeat("x", 30_000)
	for _, one := range []struct {
		name, head, piece string // which is sent each second
		code              int
		after             time.Duration
	}{
		{"a head", "POST /v1/tasks HTTP/1.1\r\n", "X-A: b\r\n", 0, 5 * time.Second},
		{"a long head", head("/v1/tasks", 1, "X-A", strings.Repeat("x", 32<<10)), "x", http.StatusRequestHeaderFieldsTooLarge, 0},
		{"a webhook of one byte a second", hookHead(1 << 20), "x", http.StatusRequestTimeout, 2 * time.Second},
		{"a webhook fast enough but long", hookHead(1 << 20), fast, http.StatusRequestTimeout, 5 * time.Second},
		{"tasks of one byte a second", tasksHead(1 << 20), "x", http.StatusRequestTimeout, 5 * time.Second},
		{"tasks fast enough but long", tasksHead(1 << 20), fast, http.StatusRequestTimeout, 30 * time.Second},
		{"a stranger", head("/v1/tasks", 1<<10), "x", http.StatusUnauthorized, time.Second},
		{"a stranger with much to send", head("/v1/tasks", 1<<20), fast, http.StatusUnauthorized, 0},
	} {
		t.Run(one.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newSite(t, nil)
				var sending sync.WaitGroup
				defer sending.Wait()
				defer s.hangUp()
				begin := time.Now()
				c := s.open(t, "")
				sending.Go(func() {
					_, err := io.WriteString(c, one.head)
					for err == nil {
						_, err = io.WriteString(c, one.piece)
						time.Sleep(time.Second)
					}
				})
				require.Equal(t, one.code, answer(t, c))
				took := time.Since(begin)
				require.GreaterOrEqual(t, took, one.after)
				require.Less(t, took, one.after+time.Second)
			})
		})
	}
}

// TestTheOldestUnprovenWebhookGivesWay: it is answered, and its place is another's.
func TestTheOldestUnprovenWebhookGivesWay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, nil)
		oldest := s.open(t, hookHead(100)+"{")
		synctest.Wait()
		for range 99 {
			s.open(t, hookHead(100)+"{")
		}
		synctest.Wait()
		_, pressure := s.seen.told()
		require.Empty(t, pressure)
		s.open(t, hookHead(100)+"{")
		require.Equal(t, http.StatusTooManyRequests, answer(t, oldest))
		synctest.Wait()
		_, pressure = s.seen.told()
		require.Equal(t, []string{"unverified_requests"}, pressure)
		require.EqualValues(t, 100, s.seen.inFlight.Load())
	})
}

// TestWhatIsWorkedOnKeepsItsConnection: however many connections come meanwhile,
// and however long the storing takes in comparison to the reading.
func TestWhatIsWorkedOnKeepsItsConnection(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		producer := &holding{goOn: make(chan struct{})}
		s := newSite(t, func(c *taskingest.Config) {
			c.Producer, c.ReadTimeout, c.HookTimeout = producer, time.Second, time.Second
		})
		defer producer.release()
		answers := make(chan reply, 2)
		go func() { answers <- s.post(t, `{}`) }()
		go func() { answers <- s.hook(t, "github", "push", "d-1", example(t, "github/push")) }()
		synctest.Wait()
		require.Equal(t, 2, producer.held)
		for range taskingest.DefaultMaxConns + 100 {
			s.open(t, "P")
		}
		time.Sleep(taskingest.DefaultStoreTimeout - time.Second)
		producer.release()
		for range 2 {
			require.Equal(t, http.StatusAccepted, (<-answers).code)
		}
	})
}
