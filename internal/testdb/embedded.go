package testdb

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	ydb "github.com/ydb-platform/ydb-go-sdk/v3"
	"google.golang.org/grpc/test/bufconn"

	"github.com/taskfleet/taskfleet/pkg/ydbembed"
)

// Options change the server of Start.
type Options struct {
	// Disk keeps the data in a temporary folder, for Restart.
	Disk bool
	// TCP makes the server listen on a port of the loopback interface, for
	// programs. The clock of a synctest bubble stands still then.
	TCP bool
}

// Embedded is a database on an embedded server of the test's own. Without
// Options.TCP they speak in memory.
type Embedded struct {
	Database
	options Options
	dir     string

	mu       sync.Mutex
	listener *bufconn.Listener // of the present server
}

// Start starts a server. It may be called in a synctest bubble.
func Start(t testing.TB, options ...Options) *Embedded {
	t.Helper()
	e := &Embedded{Database: Database{Folder: newFolder(), t: t, dial: dialTCP}}
	for _, o := range options {
		e.options = o
	}
	if e.options.Disk {
		e.dir = t.TempDir()
	}
	if !e.options.TCP {
		e.dial = e.dialMemory
	}
	e.start("127.0.0.1:0")
	t.Cleanup(func() { require.NoError(t, e.Server.Close()) })
	e.dsn = e.Server.DSN()
	e.DB = e.Connect()
	return e
}

func (e *Embedded) start(address string) {
	e.t.Helper()
	cfg := ydbembed.Config{Dir: e.dir, Memory: e.dir == "", Listen: address}
	if !e.options.TCP {
		listener := bufconn.Listen(1 << 20)
		e.mu.Lock()
		e.listener = listener
		e.mu.Unlock()
		cfg.Listener = named{listener}
	}
	var err error
	e.Server, err = ydbembed.Start(context.WithoutCancel(e.t.Context()), cfg)
	require.NoError(e.t, err)
}

// Restart stops the server, and starts it again on the same address and data when
// the pause has passed. It needs Options.Disk.
func (e *Embedded) Restart(pause time.Duration) {
	e.t.Helper()
	address := e.Server.Addr()
	require.NoError(e.t, e.Server.Close())
	time.Sleep(pause)
	e.start(address)
}

// Through returns one more connection, through the network, closed with the test.
func (e *Embedded) Through(network *Network, options ...ydb.Option) *ydb.Driver {
	e.t.Helper()
	return e.through(network, options...)
}

func (e *Embedded) dialMemory(ctx context.Context, _ string) (net.Conn, error) {
	e.mu.Lock()
	listener := e.listener
	e.mu.Unlock()
	return listener.DialContext(ctx)
}

// named is a listener in memory with an address that clients can parse.
type named struct{ *bufconn.Listener }

func (named) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 2136} }
