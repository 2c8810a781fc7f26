package ydbconn

import (
	"context"
	"errors"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// attempts is a network that is down: it notes when it is dialed.
type attempts struct {
	mu   sync.Mutex
	at   []time.Time
	mute bool // an attempt is not answered; otherwise it is refused
}

func (a *attempts) dial(ctx context.Context, _ string) (net.Conn, error) {
	a.mu.Lock()
	a.at = append(a.at, time.Now())
	a.mu.Unlock()
	if a.mute {
		<-ctx.Done()
	}
	return nil, errors.New("the network is down")
}

// A server that is back is noticed at the next attempt, so attempts must not
// grow rare however long it was away.
func TestReconnectAttemptsStayClose(t *testing.T) {
	for _, c := range []struct {
		name   string
		mute   bool
		widest time.Duration
	}{
		{"refused", false, 2 * time.Second},
		{"not answered", true, reconnect.MinConnectTimeout + 2*time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				down := &attempts{mute: c.mute}
				conn, err := grpc.NewClient("passthrough:///db:2136", Reconnecting(),
					grpc.WithContextDialer(down.dial),
					grpc.WithTransportCredentials(insecure.NewCredentials()),
					grpc.WithDefaultServiceConfig(`{"loadBalancingPolicy": "round_robin"}`), // as the SDK
				)
				require.NoError(t, err)
				defer conn.Close()
				conn.Connect()
				<-time.After(20 * time.Minute) // a connection that nobody uses rests after 30
				down.mu.Lock()
				defer down.mu.Unlock()
				at := append(down.at, time.Now())
				gaps := make(map[time.Duration]bool)
				for i := range len(at) - 1 {
					gap := at[i+1].Sub(at[i])
					require.Less(t, gap, c.widest, "after attempt %d", i)
					gaps[gap] = true
				}
				require.Greater(t, len(gaps), 100, "they are jittered")
			})
		})
	}
}
