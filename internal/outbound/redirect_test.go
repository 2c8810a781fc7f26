package outbound

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// hop answers with a redirect to location, which may change, and echoes what
// arrives elsewhere.
type hop struct{ location string }

func (h *hop) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/start":
		w.Header().Set("Location", h.location)
		w.WriteHeader(http.StatusTemporaryRedirect)
	case "/loop":
		http.Redirect(w, r, "/loop", http.StatusFound)
	default:
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s %q %q", r.Method, body, r.Header.Get("X-Own"), r.Header.Values("Referer"))
	}
}

func TestARedirectStaysWithinItsOrigin(t *testing.T) {
	t.Parallel()
	h := &hop{}
	server := httptest.NewServer(h)
	defer server.Close()
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("reached") }))
	defer other.Close()
	c, o := local(t, Config{AllowPrivate: true})
	follow := FollowRedirects(t.Context(), 3)
	port := strings.TrimPrefix(server.URL, "http://127.0.0.1:")

	for _, location := range []string{"/end", server.URL + "/end", "//127.0.0.1:" + port + "/end"} {
		h.location = location
		code, _, err := get(t.Context(), c, server.URL+"/start")
		require.NoError(t, err)
		require.Equal(t, http.StatusTemporaryRedirect, code, "not followed unless asked for")

		r, err := http.NewRequestWithContext(follow, http.MethodPost, server.URL+"/start?token=hush", strings.NewReader("body"))
		require.NoError(t, err)
		r.Header.Set("X-Own", "value")
		response, err := c.Do(r)
		require.NoError(t, err)
		text, _ := io.ReadAll(response.Body)
		require.NoError(t, response.Body.Close())
		require.Equal(t, `POST body "value" []`, string(text), "no Referer: it would hold the query")
	}
	for location, want := range map[string]Reason{
		other.URL + "/":                        ReasonRedirect, // another port
		"https://127.0.0.1:" + port:            ReasonRedirect,
		"http://localhost:" + port:             ReasonRedirect,
		"http://169.254.169.254/latest/":       ReasonRedirect,
		"//169.254.169.254/":                   ReasonRedirect,
		"http://metadata.google.internal":      ReasonRedirect,
		"http://10.0.0.1/":                     ReasonRedirect,
		"http://2852039166/":                   ReasonURL,
		"file:///etc/passwd":                   ReasonURL,
		"http://user@127.0.0.1:" + port + "/x": ReasonURL,
		"/loop":                                ReasonRedirect,
	} {
		h.location = location
		_, _, err := get(follow, c, server.URL+"/start?token=hush")
		require.Equal(t, want, refusedFor(t, err, location), location)
		require.Equal(t, want, o.refused[len(o.refused)-1])
	}
}

func TestARedirectDoesNotLeaveHTTPS(t *testing.T) {
	t.Parallel()
	plain := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("reached") }))
	defer plain.Close()
	secure := httptest.NewTLSServer(http.RedirectHandler(plain.URL+"/end", http.StatusFound))
	defer secure.Close()
	cfg := Config{AllowPrivate: true}.withDefaults()
	p, _, err := cfg.policy()
	require.NoError(t, err)
	trusted := secure.Client().Transport.(*http.Transport).TLSClientConfig
	c := newClient(cfg, p, newDialer(p, nil), func(t *http.Transport) { t.TLSClientConfig = trusted })
	defer c.CloseIdleConnections()
	_, _, err = get(FollowRedirects(t.Context(), 3), c, secure.URL)
	require.Equal(t, ReasonRedirect, refusedFor(t, err, "https to http"))
}
