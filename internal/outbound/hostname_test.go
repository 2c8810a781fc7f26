package outbound

import (
	"net/netip"
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
