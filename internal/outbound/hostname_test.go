package outbound

import (
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestHostname(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]string{
		"example.com": "example.com", "EXAMPLE.com.": "example.com", "my_host.example": "my_host.example",
		"bücher.example": "xn--bcher-kva.example", "BÜCHER.example": "xn--bcher-kva.example",
		"ｅｘａｍｐｌｅ.com": "example.com", "example。com": "example.com",
		"127.0.0.1": "127.0.0.1", "127.0.0.1.": "127.0.0.1", "127。0。0。1": "127.0.0.1", "１２７.0.0.1": "127.0.0.1",
		"①②⑦.0.0.1": "127.0.0.1", "::1": "::1", "0:0:0:0:0:0:0:1": "::1", "::FFFF:127.0.0.1": "::ffff:127.0.0.1",
		"1e100.net": "1e100.net", "host1": "host1", "0x.example": "0x.example",
	} {
		got, err := Hostname(host)
		require.NoError(t, err, host)
		require.Equal(t, want, got, host)
	}
	for _, host := range []string{
		"", ".", "a..b", "2130706433", "0x7f000001", "0X7F000001", "0x7f.1", "0177.0.0.1", "017700000001", "127.1",
		"127.0.1", "1.2.3.4.5", "127.0.0.0x1", "127.0.0.01", "256.256.256.256", "example.123", "a b", "a/b", "a@b", "a:b", "a%00b",
		"a\x00b", "[::1]", "*", "*.example", "a!b", "a,b", "0x", "①②⑦.1",
	} {
		got, err := Hostname(host)
		require.Error(t, err, "%q gives %q", host, got)
	}
}

func FuzzHostname(f *testing.F) {
	for _, seed := range []string{"example.com.", "127。1", "0x7f.1", "xn--bcher-kva.example", "::1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, host string) {
		name, err := Hostname(host)
		if err != nil {
			return
		}
		again, err := Hostname(name)
		if err != nil || again != name {
			t.Errorf("%q gives %q, which gives %q, %v", host, name, again, err)
		}
	})
}

func TestRules(t *testing.T) {
	t.Parallel()
	r, err := ParseRules([]string{"Example.com", "*.corp.example.", "bücher.example", "10.1.0.0/16", "192.0.2.7", "[2a02:6b8::1]"})
	require.NoError(t, err)
	for host, want := range map[string]bool{
		"example.com": true, "www.example.com": false, "notexample.com": false, "example.com.evil.net": false,
		"a.corp.example": true, "a.b.corp.example": true, "corp.example": false, "evilcorp.example": false,
		"xn--bcher-kva.example": true, "10.1.2.3": true, "10.2.0.0": false, "192.0.2.7": true, "192.0.2.8": false,
		"::ffff:10.1.2.3": true, "64:ff9b::a01:203": true, "2a02:6b8::1": true,
	} {
		got := r.Host(host)
		if addr, err := netip.ParseAddr(host); err == nil {
			forms := append(nat64(nil).embedded(addr), addr.Unmap())
			require.Equal(t, want, r.every(forms), host)
			got = r.any(forms)
		}
		require.Equal(t, want, got, host)
	}
	require.False(t, r.Empty())
	require.True(t, Rules{}.Empty())
	every, err := ParseRules([]string{"*"})
	require.NoError(t, err)
	require.True(t, every.Host("anything"))
	for _, bad := range []string{"", "http://example.com", "example.com:80", "*", "a.*.b", "*.10.0.0.1", "10.0.0.0/33", "2130706433", "a b", "*.*"} {
		if bad == "*" {
			continue
		}
		_, err := ParseRules([]string{bad})
		require.ErrorContains(t, err, "rule ", bad)
	}
}

// FuzzSettings: every setting that is wrong is refused with an error that shows it.
func FuzzSettings(f *testing.F) {
	for _, seed := range []string{"*.example.com", "10.0.0.0/8", "[::1]", "8000-8999", "443", "2001:db8::/48", "64:ff9b::/96", "*"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := ParseRules([]string{text})
		if err != nil && !strings.HasPrefix(err.Error(), "rule ") || err == nil && (r.Empty() || r.Host("not.named.test") && text != "*" && !strings.HasSuffix("not.named.test", r.first())) {
			t.Errorf("rule %q: %+v, %v", text, r, err)
		}
		ports, err := parsePorts([]string{text})
		if err != nil && !strings.HasPrefix(err.Error(), "port ") || err == nil && (len(ports) != 1 || ports[0].first == 0 || ports[0].first > ports[0].last) {
			t.Errorf("port %q: %+v, %v", text, ports, err)
		}
		n, err := parseNAT64([]string{text})
		if err != nil && !strings.HasPrefix(err.Error(), "prefix ") || err == nil && len(n.embedded(n[0].Addr())) == 0 {
			t.Errorf("prefix %q: %v, %v", text, n, err)
		}
	})
}

// first is the only name or suffix of a set.
func (r Rules) first() string {
	for name := range r.names {
		return name
	}
	return strings.Join(r.suffixes, "")
}

func TestOrigin(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"http://Example.com./x": "http://example.com:80", "https://example.com": "https://example.com:443", "https://example.com:0443/": "https://example.com:443",
		"http://u:p@[::FFFF:1.2.3.4]:8080/": "http://[::ffff:1.2.3.4]:8080", "https://b\u00fccher.example/": "https://xn--bcher-kva.example:443",
	} {
		u, err := url.Parse(text)
		require.NoError(t, err, text)
		got, err := Origin(u)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{"ftp://h/", "http:///", "http://h:0/", "http://h:65536/", "http://127.1/", "//h/", "mailto:a@b"} {
		u, err := url.Parse(text)
		require.NoError(t, err, text)
		got, err := Origin(u)
		require.Error(t, err, "%s gives %s", text, got)
	}
}

func FuzzOrigin(f *testing.F) {
	for _, seed := range []string{"http://Example.com.:080/", "https://[::1%25lo]:8080", "https://b\u00fccher.example", "http://user@h"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		u, err := url.Parse(text)
		if err != nil {
			return
		}
		origin, err := Origin(u)
		if err != nil || strings.Contains(origin, "%") { // a zone is written in another way in a URL, and never reached
			return
		}
		again, err := url.Parse(origin)
		if err != nil {
			t.Fatalf("%q gives %q: %v", text, origin, err)
		}
		if got, err := Origin(again); err != nil || got != origin {
			t.Errorf("%q gives %q, which gives %q, %v", text, origin, got, err)
		}
	})
}
