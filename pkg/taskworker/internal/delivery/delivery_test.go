package delivery

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/taskfleet/taskfleet/internal/outbound"
)

func TestRetryAfterIsBounded(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for text, want := range map[string]time.Duration{
		"30": 30 * time.Second, "0": time.Second, "3600": time.Hour, "86400": time.Hour, "9223372036854775807": time.Hour,
		now.Add(time.Minute).Format(http.TimeFormat):  time.Minute,
		now.Add(-time.Minute).Format(http.TimeFormat): time.Second,
		now.AddDate(9, 0, 0).Format(http.TimeFormat):  time.Hour,
	} {
		got, ok := retryAfter(text, now)
		require.True(t, ok, text)
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{"", "-1", "1.5", "soon", "99999999999999999999"} {
		_, ok := retryAfter(text, now)
		require.False(t, ok, text)
	}
}

// raw answers every connection with the same bytes.
func raw(t *testing.T, answer string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var wg sync.WaitGroup
	t.Cleanup(func() { _ = listener.Close(); wg.Wait() })
	wg.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = http.ReadRequest(bufio.NewReader(conn))
			_, _ = io.WriteString(conn, answer)
			_ = conn.Close()
		}
	})
	return "http://" + listener.Addr().String() + "/"
}

// TestNothingThatAServerSendsIsRecorded: not only bodies hold what was sent.
func TestNothingThatAServerSendsIsRecorded(t *testing.T) {
	t.Parallel()
	client, err := outbound.New(outbound.Config{AllowPrivate: true})
	require.NoError(t, err)
	t.Cleanup(client.CloseIdleConnections)
	for _, answer := range []string{
		"HTTP/1.1 400 you sent s3cret\r\nContent-Length: 0\r\n\r\n",
		"HTTP/1.1 you-sent-s3cret\r\n\r\n",
		"you-sent-s3cret\r\n\r\n",
		"HTTP/1.1 200 OK\r\nyou-sent-s3cret\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: you-sent-s3cret\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: you-sent-s3cret\r\n\r\n",
		"HTTP/1.1 302 Found\r\nLocation: http://[you-sent-s3cret\r\n\r\n",
		"HTTP/1.1 500 Oops\r\nContent-Length: 100\r\n\r\nyou sent s3c",
	} {
		for _, record := range []bool{false, true} {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, raw(t, answer), nil)
			require.NoError(t, err)
			_, err = Send(client, r, Secrets{Texts: []string{"s3cret"}, RecordAnswers: record})
			require.Error(t, err, answer)
			require.NotContains(t, err.Error(), "s3c", "%q, recorded: %t", answer, record)
			require.False(t, !record && strings.Contains(err.Error(), "you"), "%v", err)
		}
	}
}

func TestAnExcerptIsCutAfterItIsScrubbed(t *testing.T) {
	t.Parallel()
	for at := MaxExcerpt - 20; at <= MaxExcerpt; at++ {
		for _, secret := range []string{"s3cret-token-long", "\xff\xfe-binary"} {
			text := strings.Repeat("x", at) + secret + strings.Repeat("y", 2*maxStart)
			got := strings.TrimLeft(Excerpt(text, true, secret), "x")
			require.LessOrEqual(t, len(got), MaxExcerpt)
			require.True(t, strings.HasPrefix("[secret]"+strings.Repeat("y", MaxExcerpt), got), "%d: %q", at, got)
		}
	}
	long := strings.Repeat("s3cret-token", 1000)
	require.NotContains(t, Excerpt(long, true, "s3cret-token"), "s3c", "what is read ends within a secret")
	require.LessOrEqual(t, len(Excerpt(strings.Repeat("a\xff", MaxExcerpt), true)), MaxExcerpt)
}

func FuzzExcerpt(f *testing.F) {
	f.Add("before", "s3cret", 100)
	f.Add("\xff", "aaaa", 3000)
	f.Fuzz(func(t *testing.T, filler, secret string, times int) {
		if len(secret) < 4 || strings.ContainsAny(secret, "\r\n\x00") || strings.Contains("[secret]\uFFFD", secret) || times < 0 || times*(len(filler)+len(secret)) > 3*maxStart || strings.TrimSpace(secret) != secret {
			return
		}
		got := Excerpt(strings.Repeat(filler+secret, times), true, secret)
		if strings.Contains(strings.ReplaceAll(got, "[secret]", "\x00"), secret) {
			t.Errorf("%q %q %d gives %q", filler, secret, times, got)
		}
	})
}

func FuzzRetryAfter(f *testing.F) {
	for _, text := range []string{"30", "Wed, 21 Oct 2099 07:28:00 GMT", "-1", "99999999999999999999"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		after, ok := retryAfter(text, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
		if ok && (after < minRetryAfter || after > maxRetryAfter) {
			t.Errorf("%q gives %s", text, after)
		}
	})
}

// FuzzDecode: every refusal says what is wrong with the payload.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"url":"https://h/","timeout":"10s","sign":["a"]}`))
	f.Add([]byte(`{"sign":5}`))
	f.Add([]byte(`{}{}`))
	f.Fuzz(func(t *testing.T, payload []byte) {
		var fields struct {
			URL, Timeout string
			Sign         OneOrMore
		}
		err := Decode(payload, &fields, true)
		if err == nil {
			_, err = Timeout(fields.Timeout)
		}
		if err == nil {
			_, err = URL("url", fields.URL)
		}
		if err != nil && !strings.HasPrefix(err.Error(), "payload: ") {
			t.Errorf("%q: %v", payload, err)
		}
	})
}
