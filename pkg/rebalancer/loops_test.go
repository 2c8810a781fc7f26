package rebalancer

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/taskfleet/taskfleet/internal/ydbfake"
)

// TestEachLoopByTheClassOfTheError: a worker wants its partitions for as long as
// it lives, so every request is repeated whatever its error is, with pauses, and
// the worker has everything soon after the errors have ended.
func TestEachLoopByTheClassOfTheError(t *testing.T) {
	const perPartition, partitions = 2, 4 // calls in a second, at most
	loops := []struct{ request, name string }{
		{"open", ""},
		{"raise", ""},
		{"acquire", registryName},
		{"acquire", "partition-"},
		{"owners", registryName},
		{"data", drainedName},
	}
	for class, failure := range ydbfake.OfEachClass(t) {
		for _, loop := range loops {
			t.Run(strings.Join([]string{loop.request, loop.name, class}, " "), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					f, node := newFleet(t, partitions), newFakeNode()
					calls := 0
					node.fail = func(request, name string) error {
						if request != loop.request || !strings.HasPrefix(name, loop.name) {
							return nil
						}
						calls++
						return failure
					}
					switch loop.request {
					case "open":
						node.openErr = failure
					case "raise":
						f.fenceErr = failure
					}
					a := f.join(f.config("a"), node.open)
					<-time.After(time.Minute)
					require.NotEmpty(t, a.failed())
					require.Less(t, len(a.failed()), 60*perPartition*partitions)

					node.mu.Lock()
					require.Less(t, calls, 60*perPartition*partitions)
					node.fail, node.openErr = nil, nil
					node.mu.Unlock()
					f.mu.Lock()
					f.fenceErr = nil
					f.mu.Unlock()
					f.await(10*time.Second, "a owns everything", f.balanced(a))
					a.leave()
				})
			})
		}
	}
}
