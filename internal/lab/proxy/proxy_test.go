package proxy

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// echo is a server that answers each line with itself, and tells of it.
type echo struct {
	listener net.Listener
	seen     chan string
	conns    sync.WaitGroup
}

func newEcho(t *testing.T) *echo {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	e := &echo{listener: listener, seen: make(chan string, 100)}
	e.conns.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			e.conns.Go(func() {
				defer conn.Close()
				for lines := bufio.NewScanner(conn); lines.Scan(); {
					e.seen <- lines.Text()
					fmt.Fprintln(conn, lines.Text())
				}
			})
		}
	})
	return e
}

// client is a connection through the proxy.
type client struct {
	t *testing.T
	net.Conn
	lines *bufio.Reader
}

func setup(t *testing.T) (*echo, *Proxy, func() *client) {
	t.Helper()
	e := newEcho(t)
	p, err := Listen(e.listener.Addr().String())
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, p.Close())
		require.NoError(t, e.listener.Close())
		e.conns.Wait()
	})
	return e, p, func() *client {
		conn, err := net.Dial("tcp", p.Addr())
		require.NoError(t, err)
		t.Cleanup(func() { _ = conn.Close() })
		require.NoError(t, conn.SetDeadline(time.Now().Add(20*time.Second)))
		return &client{t, conn, bufio.NewReader(conn)}
	}
}

func (c *client) send(text string) {
	_, err := fmt.Fprintln(c, text)
	require.NoError(c.t, err)
}

func (c *client) answered(text string) {
	c.t.Helper()
	line, err := c.lines.ReadString('\n')
	require.NoError(c.t, err)
	require.Equal(c.t, text+"\n", line)
}

func (c *client) ended() {
	c.t.Helper()
	_, err := c.lines.ReadByte()
	require.Error(c.t, err)
	require.False(c.t, timedOut(err), "the connection is still there")
}

func timedOut(err error) bool {
	var netErr net.Error
	return errors.As(err, &netErr) && netErr.Timeout()
}

func TestFairWeather(t *testing.T) {
	t.Parallel()
	_, _, dial := setup(t)
	c := dial()
	for i := range 100 {
		c.send(fmt.Sprint(i))
	}
	for i := range 100 {
		c.answered(fmt.Sprint(i))
	}
}

func TestCutEndsConnectionsAndLetsNewOnesIn(t *testing.T) {
	t.Parallel()
	_, p, dial := setup(t)
	c := dial()
	c.send("a")
	c.answered("a")
	p.Cut()
	c.ended()
	c = dial()
	c.send("b")
	c.answered("b")
}

func TestRefuseEndsNewConnectionsOnly(t *testing.T) {
	t.Parallel()
	_, p, dial := setup(t)
	old := dial()
	old.send("a")
	old.answered("a")
	p.Set(Weather{Refuse: true})
	dial().ended()
	old.send("b")
	old.answered("b")
	p.Set(Weather{})
	c := dial()
	c.send("c")
	c.answered("c")
}

func TestLostAnswersHadTheirEffect(t *testing.T) {
	t.Parallel()
	e, p, dial := setup(t)
	c := dial()
	c.send("a")
	c.answered("a")
	require.Equal(t, "a", <-e.seen)
	p.Set(Weather{LoseAnswers: true})
	c.send("b")
	require.Equal(t, "b", <-e.seen, "the request arrives")
	p.Cut()
	_, err := io.ReadAll(c.lines)
	require.NoError(t, err)
	p.Set(Weather{})
	c = dial()
	c.send("c")
	c.answered("c")
}

func TestLostRequestsHadNone(t *testing.T) {
	t.Parallel()
	e, p, dial := setup(t)
	c := dial()
	c.send("a")
	c.answered("a")
	require.Equal(t, "a", <-e.seen)
	p.Set(Weather{LoseRequests: true, LoseAnswers: true})
	c.send("lost")
	require.NoError(t, c.SetReadDeadline(time.Now().Add(50*time.Millisecond)))
	_, err := c.lines.ReadByte()
	require.True(t, timedOut(err), "nothing is told: %v", err)
	p.Cut()
	p.Set(Weather{})
	c = dial()
	c.send("b")
	c.answered("b")
	require.Equal(t, "b", <-e.seen)
}

func TestDelay(t *testing.T) {
	t.Parallel()
	_, p, dial := setup(t)
	c := dial()
	p.Set(Weather{Delay: 40 * time.Millisecond})
	begin := time.Now()
	c.send("a")
	c.answered("a")
	require.GreaterOrEqual(t, time.Since(begin), 80*time.Millisecond)
}

func TestWhatIsHeldBackArrivesLate(t *testing.T) {
	t.Parallel()
	e, p, dial := setup(t)
	c := dial()
	p.Set(Weather{Hold: true})
	c.send("a")
	require.NoError(t, c.Close())
	c = dial()
	c.send("b")
	require.Empty(t, e.seen)
	p.Set(Weather{})
	require.ElementsMatch(t, []string{"a", "b"}, []string{<-e.seen, <-e.seen}, "also of who has gone")
	c.answered("b")
}

func TestCloseEndsWhatIsDelayed(t *testing.T) {
	t.Parallel()
	for _, weather := range []Weather{{Delay: time.Hour}, {Hold: true}} {
		closeDelayed(t, weather)
	}
}

func closeDelayed(t *testing.T, weather Weather) {
	t.Helper()
	e := newEcho(t)
	p, err := Listen(e.listener.Addr().String())
	require.NoError(t, err)
	conn, err := net.Dial("tcp", p.Addr())
	require.NoError(t, err)
	defer conn.Close()
	p.Set(weather)
	_, err = fmt.Fprintln(conn, "a")
	require.NoError(t, err)
	require.NoError(t, p.Close())
	require.NoError(t, e.listener.Close())
	e.conns.Wait()
}
