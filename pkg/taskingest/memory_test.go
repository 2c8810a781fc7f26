package taskingest_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/taskfleet/taskfleet/pkg/task"
	"github.com/taskfleet/taskfleet/pkg/taskingest"
	"github.com/taskfleet/taskfleet/pkg/taskproducer"
)

// heap is how many bytes are in use. Nothing may run beside the test.
func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // what is in a sync.Pool outlives one collection
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestUnfinishedBodiesStayWithinTheLimit: what clients send and do not finish takes
// as much memory as the limit says, however much it is, and the largest webhook
// gives way to a genuine one.
func TestUnfinishedBodiesStayWithinTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, nil)
		var sending sync.WaitGroup
		defer sending.Wait()
		defer s.hangUp()
		before := heap()
		send := func(head string, size int) {
			c := s.open(t, head)
			sending.Go(func() { // until it is refused
				_, _ = io.CopyN(c, zeros{}, int64(size))
				_, _ = io.Copy(io.Discard, c)
			})
		}
		for range 6 {
			send(hookHead(25<<20), 24<<20)
		}
		for range 20 {
			send(tasksHead(8<<20), 7<<20)
		}
		synctest.Wait()
		held := heap() - before
		require.Greater(t, s.seen.bytes.Load(), int64(100<<20), "the limit is used")
		require.LessOrEqual(t, s.seen.bytes.Load(), int64(taskingest.DefaultMaxBytes))
		require.LessOrEqual(t, held, int64(taskingest.DefaultMaxBytes))
		_, pressure := s.seen.told()
		require.Contains(t, pressure, "bytes")
		require.Contains(t, pressure, "unverified_bytes")
	})
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { return len(b), nil }

// holding is a producer that keeps what it gets until it may go on, or must not.
type holding struct {
	mu   sync.Mutex
	held int
	once sync.Once
	goOn chan struct{}
}

func (h *holding) release() { h.once.Do(func() { close(h.goOn) }) }

func (h *holding) EnqueueAll(ctx context.Context, _ string, tasks ...task.Task) (taskproducer.Result, error) {
	h.mu.Lock()
	h.held++
	h.mu.Unlock()
	select {
	case <-h.goOn:
	case <-ctx.Done():
		return taskproducer.Result{}, ctx.Err()
	}
	return accepting{}.EnqueueAll(context.Background(), "", tasks...)
}

// TestDecodedTasksStayWithinTheLimit: so does what is made of the worst bodies.
func TestDecodedTasksStayWithinTheLimit(t *testing.T) {
	const limit = 3 << 20
	var dense strings.Builder
	for i := range task.MaxNames - 1 {
		fmt.Fprintf(&dense, `"%d":"",`, i)
	}
	for name, one := range map[string]struct {
		element  string
		elements int
	}{
		"many tasks":    {`{}`, 100},
		"large tasks":   {`{"payload":"` + strings.Repeat("x", 250<<10) + `"}`, 2},
		"escaped tasks": {`{"payload":"` + strings.Repeat(`\u0001`, 80<<10) + `"}`, 1},
		"trees":         {`{"payload":[` + strings.Repeat(`{},`, 64<<10) + `{}]}`, 2},
		"headers":       {`{"headers":{` + dense.String() + `"x":"y"}}`, 6},
	} {
		synctest.Test(t, func(t *testing.T) {
			producer := &holding{goOn: make(chan struct{})}
			s := newSite(t, func(c *taskingest.Config) {
				c.Producer, c.MaxTasks, c.MaxBytes = producer, 100, limit
				c.MaxBody, c.MaxHookBody, c.MaxUnverifiedBytes = 512<<10, 512<<10, 512<<10
			})
			var sending sync.WaitGroup
			defer sending.Wait()
			defer producer.release()
			body := []byte("[" + strings.Repeat(one.element+",", one.elements-1) + one.element + "]")
			before := heap()
			codes := make(chan int, 100)
			sent := 0
			for ; len(codes) == 0; sent++ { // until one is refused
				c := s.open(t, "")
				sending.Go(func() { codes <- exchangeOn(c, []byte(tasksHead(len(body))), body) })
				synctest.Wait() // bodies come one after the other, and tasks pile up
			}
			held := heap() - before
			require.Positive(t, producer.held, name)
			require.LessOrEqual(t, s.seen.bytes.Load(), int64(limit), name)
			require.LessOrEqual(t, held, s.seen.bytes.Load(), name)
			producer.release()
			sending.Wait()
			accepted := 0
			for range sent {
				code := <-codes
				require.Contains(t, []int{http.StatusAccepted, http.StatusTooManyRequests}, code, name)
				if code == http.StatusAccepted {
					accepted++
				}
			}
			require.Equal(t, producer.held, accepted, name)
			require.Equal(t, sent-1, accepted, "the last one met the limit")
		})
	}
}

// exchangeOn sends the parts of a request and reads the answer's code, 0 if there
// is none.
func exchangeOn(c net.Conn, parts ...[]byte) (code int) {
	go func() {
		for _, part := range parts {
			if _, err := c.Write(part); err != nil {
				return
			}
		}
	}()
	_, _ = fmt.Fscanf(c, "HTTP/1.1 %d", &code)
	return code
}
