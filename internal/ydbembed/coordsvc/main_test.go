package coordsvc

import (
	"flag"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	// Queues take a while to build up. The command line may say otherwise.
	if err := flag.Set("rapid.steps", "100"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}
