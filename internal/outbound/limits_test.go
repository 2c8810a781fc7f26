package outbound

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestAHostHasSoManyRequestsAtOnce(t *testing.T) {
	t.Parallel()
	var running, most atomic.Int32
	arrived, release := make(chan struct{}, 10), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		n := running.Add(1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		arrived <- struct{}{}
		<-release
		running.Add(-1)
	}))
	defer server.Close()
	c, _ := local(t, Config{AllowPrivate: true, PerHost: 2})
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() {
			_, _, err := get(t.Context(), c, server.URL)
			if err != nil {
				t.Error(err)
			}
		})
	}
	<-arrived
	<-arrived
	ctx, cancel := context.WithCancelCause(t.Context())
	impatient := errors.New("impatient")
	cancel(impatient)
	_, _, err := get(ctx, c, server.URL)
	require.Error(t, err, "who waits for a turn waits as long as its context")
	close(release)
	wg.Wait()
	require.EqualValues(t, 2, most.Load())
}

func TestConnectionsAreUsedAgain(t *testing.T) {
	t.Parallel()
	var opened atomic.Int32
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "ok")
	}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			opened.Add(1)
		}
	}
	server.Start()
	defer server.Close()
	c, o := local(t, Config{AllowPrivate: true})
	for range 10 {
		_, _, err := get(t.Context(), c, server.URL)
		require.NoError(t, err)
	}
	require.EqualValues(t, 1, opened.Load())
	require.Len(t, o.codes, 10)
}

func TestAnAnswerIsBounded(t *testing.T) {
	t.Parallel()
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	_, _ = z.Write(make([]byte, 1<<20))
	require.NoError(t, z.Close())
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/bomb":
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(bomb.Bytes())
		case "/headers":
			w.Header().Set("X-Long", strings.Repeat("x", 1<<20))
		default:
			_, _ = io.WriteString(w, strings.Repeat("x", len(r.URL.Path)))
		}
	}))
	defer server.Close()
	c, _ := local(t, Config{AllowPrivate: true, MaxAnswer: 5})
	_, text, err := get(t.Context(), c, server.URL+"/1234")
	require.NoError(t, err)
	require.Equal(t, "xxxxx", text)
	for _, path := range []string{"/12345", "/bomb"} {
		_, text, err = get(t.Context(), c, server.URL+path)
		require.ErrorContains(t, err, "longer than 5 bytes", path)
		require.LessOrEqual(t, len(text), 5)
	}
	_, _, err = get(t.Context(), c, server.URL+"/headers")
	require.Error(t, err)
}

type tripper func(*http.Request) (*http.Response, error)

func (f tripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestABreakerLeavesAHostAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := &told{}
		cfg := Config{BreakAfter: 3, BreakFor: 10 * time.Second, Observer: o}.withDefaults()
		p, _, err := cfg.policy()
		require.NoError(t, err)
		status := http.StatusServiceUnavailable
		sent := 0
		g := &guard{cfg: cfg, policy: p, hosts: newHosts(cfg), next: tripper(func(r *http.Request) (*http.Response, error) {
			sent++
			switch {
			case r.Context().Err() != nil:
				return nil, r.Context().Err()
			case r.URL.Path == "/refused":
				return nil, refuse(ReasonPrivate, "no")
			case status == 0:
				return nil, errors.New("connection refused")
			}
			return &http.Response{StatusCode: status, Body: io.NopCloser(strings.NewReader(""))}, nil
		})}
		c := &http.Client{Transport: g}
		open := func(url string) bool {
			_, _, err := get(t.Context(), c, url)
			var e *OpenError
			return errors.As(err, &e)
		}

		ended, cancel := context.WithCancel(t.Context())
		cancel()
		for range 5 { // none of them says anything of the host
			_, _, _ = get(ended, c, "http://a.example/")
			_, _, _ = get(t.Context(), c, "http://a.example/refused")
		}
		require.False(t, open("http://a.example/"))
		require.False(t, open("http://a.example/"))
		status = 0
		require.False(t, open("http://a.example/"))
		sent = 0
		require.True(t, open("http://a.example/"))
		require.True(t, open("http://a.example:80/again"))
		require.Zero(t, sent)
		require.False(t, open("http://b.example/"), "another host is another matter")
		require.Equal(t, 2, o.notSent)
		require.Equal(t, []bool{true}, o.open)

		time.Sleep(10*time.Second + time.Millisecond) // of the test's own clock
		require.False(t, open("http://a.example/"), "one is let through")
		require.True(t, open("http://a.example/"), "it failed")
		time.Sleep(10*time.Second + time.Millisecond)
		status = http.StatusBadRequest // an answer all the same
		for range 5 {
			require.False(t, open("http://a.example/"))
		}
		require.Equal(t, []bool{true, false}, o.open)
	})
}

func TestHostsAreForgotten(t *testing.T) {
	t.Parallel()
	o := &told{}
	hs := newHosts(Config{PerHost: 1, BreakAfter: 1, BreakFor: time.Hour, Observer: o}.withDefaults())
	done, release, err := hs.acquire(t.Context(), "first")
	require.NoError(t, err)
	done(errFailed)
	release()
	_, held, err := hs.acquire(t.Context(), "held")
	require.NoError(t, err)
	defer held()
	for i := range maxHosts {
		_, release, err := hs.acquire(t.Context(), string(rune('a'+i%26))+string(rune(0x1000+i)))
		require.NoError(t, err)
		release()
	}
	require.LessOrEqual(t, len(hs.byName), maxHosts)
	require.Contains(t, hs.byName, "held")
	require.NotContains(t, hs.byName, "first")
	require.Equal(t, []bool{true, false}, o.open)
}
