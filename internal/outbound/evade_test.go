package outbound

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestUsualWaysAroundARefusal tries to reach what must not be, and sees that no
// connection is even begun.
func TestUsualWaysAroundARefusal(t *testing.T) {
	t.Parallel()
	dns := &names{answers: map[string][][]string{
		"internal.example":  {{"10.0.0.5"}},
		"meta.example":      {{"169.254.169.254"}},
		"meta6.example":     {{"fd00:ec2::254"}},
		"mapped.example":    {{"::ffff:169.254.169.254"}},
		"nat64.example":     {{"64:ff9b::a9fe:a9fe"}},
		"own64.example":     {{"2a02:6b8:64:a9fe:a9:fe00::"}},
		"mixed.example":     {{"93.184.216.34", "127.0.0.1"}},
		"localhost":         {{"127.0.0.1", "::1"}},
		"app.localhost":     {{"127.0.0.1"}},
		"127.1":             {{"127.0.0.1"}},
		"2852039166":        {{"169.254.169.254"}},
		"xn--bcher-kva.net": {{"10.0.0.6"}},
	}}
	b := setup(t, Config{Resolver: dns, NAT64Prefixes: []string{"2a02:6b8:64::/48"}})
	for url, want := range map[string]Reason{
		"http://169.254.169.254/latest/meta-data/":           ReasonMetadata,
		"http://169.254.169.254./":                           ReasonMetadata,
		"http://169。254。169。254/":                            ReasonMetadata,
		"http://[::ffff:169.254.169.254]/":                   ReasonMetadata,
		"http://[::ffff:a9fe:a9fe]/":                         ReasonMetadata,
		"http://[::169.254.169.254]/":                        ReasonMetadata,
		"http://[64:ff9b::169.254.169.254]/":                 ReasonMetadata,
		"http://[2002:a9fe:a9fe::]/":                         ReasonMetadata,
		"http://[fd00:ec2::254]/":                            ReasonMetadata,
		"http://metadata.google.internal/computeMetadata/v1": ReasonMetadata,
		"http://METADATA.google.internal./":                  ReasonMetadata,
		"http://metadata/":                                   ReasonMetadata,
		"http://meta.example/":                               ReasonMetadata,
		"http://meta6.example/":                              ReasonMetadata,
		"http://mapped.example/":                             ReasonMetadata,
		"http://nat64.example/":                              ReasonMetadata,
		"http://168.63.129.16/":                              ReasonMetadata,
		"http://2852039166/":                                 ReasonURL, // decimal
		"http://0xa9fea9fe/":                                 ReasonURL,
		"http://0xA9.0xFE.0xA9.0xFE/":                        ReasonURL,
		"http://0251.0376.0251.0376/":                        ReasonURL,
		"http://169.254.43518/":                              ReasonURL,
		"http://127.1/":                                      ReasonURL,
		"http://①②⑦.1/":                                      ReasonURL,
		"http://user@93.184.216.34/":                         ReasonURL,
		"http://93.184.216.34@169.254.169.254/":              ReasonURL,
		"http://93.184.216.34:80@169.254.169.254/":           ReasonURL,
		"http://93.184.216.34%40169.254.169.254/":            ReasonURL,
		"http://169.254.169.254#@93.184.216.34/":             ReasonMetadata,
		"http://169.254.169.254?@93.184.216.34/":             ReasonMetadata,
		"http://169.254.169.254:80/":                         ReasonMetadata,
		"http://[fe80::1]/":                                  ReasonAddress,
		"http://[fe80::1%25lo]/":                             ReasonAddress,
		"http://0.0.0.0/":                                    ReasonAddress,
		"http://[::]/":                                       ReasonAddress,
		"http://255.255.255.255/":                            ReasonAddress,
		"http://224.0.0.1/":                                  ReasonAddress,
		"http://127.0.0.1:8080/":                             ReasonPrivate,
		"http://[::1]/":                                      ReasonPrivate,
		"http://[::ffff:127.0.0.1]/":                         ReasonPrivate,
		"http://[::ffff:0:127.0.0.1]/":                       ReasonPrivate,
		"http://10.0.0.1/":                                   ReasonPrivate,
		"http://100.64.0.1/":                                 ReasonPrivate,
		"http://[fd12::1]/":                                  ReasonPrivate,
		"http://localhost/":                                  ReasonPrivate,
		"http://LOCALHOST./":                                 ReasonPrivate,
		"http://app.localhost/":                              ReasonPrivate,
		"http://internal.example/":                           ReasonPrivate,
		"http://internal.example./":                          ReasonPrivate,
		"http://bücher.net/":                                 ReasonPrivate,
		"http://mixed.example/":                              ReasonPrivate, // one bad address refuses the host
		"http://93.184.216.34:25/":                           ReasonPort,
		"http://93.184.216.34:0/":                            ReasonPort,
		"ftp://93.184.216.34/":                               ReasonURL,
		"file:///etc/passwd":                                 ReasonURL,
		"gopher://93.184.216.34/":                            ReasonURL,
		"http:93.184.216.34":                                 ReasonURL,
		"http:///path":                                       ReasonURL,
		"http+unix://%2Fvar%2Frun%2Fdocker.sock/info":        ReasonURL,
		"unix:///var/run/docker.sock":                        ReasonURL,
		"http://1⑥9.254.169.254../":                          ReasonURL,
		"http://[64:ff9b:1:a9fe:a9:fe00::]/":                 ReasonMetadata, // RFC 6052 with /48
		"http://own64.example/":                              ReasonMetadata,
	} {
		_, _, err := get(t.Context(), b, url)
		require.Error(t, err, url)
		if strings.Contains(err.Error(), "no Host in request URL") || strings.Contains(err.Error(), "invalid URL escape") {
			continue // the standard library is first
		}
		require.Equal(t, want, refusedFor(t, err, url), url)
	}
	require.Empty(t, b.reached)
	require.Empty(t, b.told.codes)
}

// TestRebindingDNS: a name that is public at the first look and private at the
// second. Each connection is made to what was checked for it.
func TestRebindingDNS(t *testing.T) {
	t.Parallel()
	dns := &names{answers: map[string][][]string{"rebind.example": {{"93.184.216.34"}, {"169.254.169.254"}}}}
	b := setup(t, Config{Resolver: dns, AllowPrivate: true})
	_, _, err := get(t.Context(), b, "http://rebind.example/")
	require.ErrorIs(t, err, errReached)
	require.Equal(t, 1, dns.looks, "a name is resolved once for each connection")
	require.Equal(t, []string{"93.184.216.34:80"}, b.reached)
	_, _, err = get(t.Context(), b, "http://rebind.example/")
	require.Equal(t, ReasonMetadata, refusedFor(t, err, "the second look"))
	require.Len(t, b.reached, 1)
}

// TestTheSocketIsCheckedToo: whatever leads to a connection, its address is judged.
func TestTheSocketIsCheckedToo(t *testing.T) {
	t.Parallel()
	d := newDialer(&policy{ports: defaultPorts}, nil)
	for _, address := range []string{"127.0.0.1:80", "169.254.169.254:80", "[::1]:80"} {
		_, err := d.connect(t.Context(), "tcp", address)
		refusedFor(t, err, address)
	}
}

func TestSeveralAddresses(t *testing.T) {
	t.Parallel()
	dns := &names{answers: map[string][][]string{
		"two.example":  {{"2a02:6b8::1", "93.184.216.34"}},
		"none.example": {{}},
	}}
	b := setup(t, Config{Resolver: dns})
	_, _, err := get(t.Context(), b, "https://two.example/")
	require.ErrorIs(t, err, errReached)
	require.Equal(t, []string{"[2a02:6b8::1]:443", "93.184.216.34:443"}, b.reached)
	for _, missing := range []string{"none.example", "unknown.example"} {
		_, _, err = get(t.Context(), b, "https://"+missing+"/")
		var notFound *net.DNSError
		require.ErrorAs(t, err, &notFound, missing)
		var refused *RefusedError
		require.NotErrorAs(t, err, &refused, "a name may be there later")
	}
}

func TestListsOfHosts(t *testing.T) {
	t.Parallel()
	dns := &names{answers: map[string][][]string{
		"api.example.com": {{"93.184.216.34"}}, "bad.example.com": {{"93.184.216.34"}}, "other.net": {{"93.184.216.35"}},
		"ci.corp": {{"10.1.2.3"}}, "db.corp": {{"10.9.9.9"}}, "denied.net": {{"198.41.0.4"}}, "meta.example.com": {{"169.254.169.254"}},
	}}
	try := func(cfg Config, url string) string {
		cfg.Resolver = dns
		b := setup(t, cfg)
		_, _, err := get(t.Context(), b, url)
		if len(b.reached) > 0 {
			return "reached"
		}
		return string(refusedFor(t, err, url))
	}
	byName := Config{AllowHosts: []string{"*.example.com"}, DenyHosts: []string{"bad.example.com"}}
	byRelay := Config{AllowPrivate: true, AllowHosts: []string{"93.184.216.0/24"}}
	byNetwork := Config{AllowPrivate: true, AllowHosts: []string{"10.1.0.0/16"}, DenyHosts: []string{"10.1.2.4"}}
	denied := Config{DenyHosts: []string{"198.41.0.0/24"}}
	for _, c := range []struct {
		cfg  Config
		url  string
		want string
	}{
		{byName, "http://api.example.com/", "reached"},
		{byName, "http://API.example.com./", "reached"},
		{byName, "http://bad.example.com/", "denied"},
		{byName, "http://other.net/", "not_allowed"},
		{byName, "http://93.184.216.34/", "not_allowed"},
		{byName, "http://meta.example.com/", "metadata"},
		{byRelay, "http://[64:ff9b::93.184.216.34]/", "reached"},
		{byRelay, "http://[2001:0:5db8:d822::a247:27dd]/", "reached"},
		{byRelay, "http://[2001:0:5db8:d822::f7f7:f7f7]/", "not_allowed"}, // Teredo: an allowed server, another client
		{byNetwork, "http://ci.corp/", "reached"},
		{byNetwork, "http://db.corp/", "not_allowed"},
		{byNetwork, "http://10.1.2.4/", "denied"},
		{byNetwork, "http://[::ffff:10.1.2.4]/", "denied"},
		{byNetwork, "http://[::ffff:10.1.2.5]/", "reached"},
		{Config{AllowHosts: []string{"ci.corp"}}, "http://ci.corp/", "private"},
		{denied, "http://denied.net/", "denied"},
		{denied, "http://other.net/", "reached"},
		{Config{AllowHosts: []string{"*"}}, "http://169.254.169.254/", "metadata"},
		{Config{HTTPSOnly: true}, "http://other.net/", "url"},
		{Config{AllowPorts: []string{"443", "8000-8010"}}, "http://other.net/", "port"},
		{Config{AllowPorts: []string{"443", "8000-8010"}}, "http://other.net:8010/", "reached"},
	} {
		require.Equal(t, c.want, try(c.cfg, c.url), "%+v %s", c.cfg, c.url)
	}
}

func TestTheEnvironmentsProxyIsNotUsed(t *testing.T) {
	var asked []string
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.String())
		_, _ = w.Write([]byte("by proxy"))
	}))
	defer proxy.Close()
	t.Setenv("HTTP_PROXY", proxy.URL)
	t.Setenv("http_proxy", proxy.URL)
	dns := &names{answers: map[string][][]string{"public.example": {{"93.184.216.34"}}}}
	b := setup(t, Config{Resolver: dns})
	_, _, err := get(t.Context(), b, "http://public.example/")
	require.ErrorIs(t, err, errReached)
	require.Empty(t, asked)

	c, _ := local(t, Config{Proxy: proxy.URL})
	_, text, err := get(t.Context(), c, "http://public.example/x")
	require.NoError(t, err)
	require.Equal(t, "by proxy", text)
	require.Equal(t, []string{"http://public.example/x"}, asked)
	for _, url := range []string{"http://169.254.169.254/", "http://10.0.0.1/", "http://metadata.google.internal/", proxy.URL} {
		_, _, err = get(t.Context(), c, url)
		refusedFor(t, err, url)
	}
	require.Len(t, asked, 1)

	c, _ = local(t, Config{Proxy: "http://Proxy.Example.", AllowPrivate: true})
	_, _, err = get(t.Context(), c, "http://proxy.example:80/")
	require.Equal(t, ReasonDenied, refusedFor(t, err, "the proxy, written in another way"))
}

func TestSettingsThatAreWrong(t *testing.T) {
	t.Parallel()
	_, err := New(Config{
		AllowHosts: []string{"http://x"}, DenyHosts: []string{"10.0.0.0/99"}, AllowPorts: []string{"0"}, Proxy: "proxy", NAT64Prefixes: []string{"2a02::/44"},
		PerHost: -1, BreakAfter: -2, BreakFor: -1, MaxAnswer: -1,
	})
	for _, field := range []string{"AllowHosts", "DenyHosts", "AllowPorts", "Proxy", "NAT64Prefixes", "PerHost", "BreakAfter", "BreakFor", "MaxAnswer"} {
		require.ErrorContains(t, err, "outbound: "+field+": ")
	}
}
