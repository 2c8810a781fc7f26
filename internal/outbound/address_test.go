package outbound

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEveryAddressIsJudged(t *testing.T) {
	t.Parallel()
	const public, private, never = "public", "private", "never"
	for text, want := range map[string]string{
		"93.184.216.34": public, "8.8.8.8": public, "172.15.255.255": public, "172.32.0.0": public,
		"100.63.255.255": public, "100.128.0.0": public, "169.253.255.255": public, "223.255.255.255": public,
		"2a02:6b8::2:242": public, "2606:2800:220:1::1": public,

		"127.0.0.1": private, "127.255.255.254": private, "10.0.0.1": private, "172.16.0.1": private,
		"172.31.255.255": private, "192.168.1.1": private, "100.64.0.1": private, "198.18.0.1": private,
		"192.0.2.1": private, "198.51.100.7": private, "203.0.113.9": private, "192.0.0.8": private,
		"::1": private, "fc00::1": private, "fd12:3456::1": private, "fec0::1": private, "2001:db8::1": private,

		"169.254.169.254": never, "169.254.0.1": never, "168.63.129.16": never, "100.100.100.200": never,
		"192.0.0.192": never, "fd00:ec2::254": never, "fd00:ec2::23": never, "fd20:ce::254": never,
		"0.0.0.0": never, "0.1.2.3": never, "::": never, "fe80::1": never, "fe80::1%eth0": never, "febf::1": never,
		"224.0.0.1": never, "239.255.255.255": never, "ff02::1": never, "255.255.255.255": never, "240.0.0.1": never,
		"4000::1": never, "1::1": never, "100::1": never, "2a02:6b8::1%eth0": never,

		// IPv4 inside IPv6.
		"::ffff:169.254.169.254": never, "::ffff:10.0.0.1": private, "::ffff:8.8.8.8": public,
		"::169.254.169.254": never, "::127.0.0.1": private, "::ffff:0:169.254.169.254": never,
		"64:ff9b::169.254.169.254": never, "64:ff9b::10.0.0.1": private, "64:ff9b::8.8.8.8": public,
		"64:ff9b:1::169.254.169.254": never, "64:ff9b:1::8.8.8.8": private,
		"2002:a9fe:a9fe::1": never, "2002:7f00:1::": private, "2002:808:808::": public,
		"2001:0:808:808:0:0:5601:5601":   never, // Teredo: 169.254.169.254 inverted
		"2001:0:808:808::f7f7:f7f7":      private,
		"2a02:6b8::5efe:169.254.169.254": never, "2a02:6b8::200:5efe:10.0.0.1": private,
	} {
		got := public
		v := judge(netip.MustParseAddr(text))
		switch {
		case v.never:
			got = never
		case v.name != "":
			got = private
		}
		require.Equal(t, want, got, "%s: %s", text, v.name)
	}
}

func FuzzJudge(f *testing.F) {
	f.Add(make([]byte, 16))
	f.Add([]byte{169, 254, 169, 254})
	f.Fuzz(func(t *testing.T, raw []byte) {
		a, ok := netip.AddrFromSlice(raw)
		if !ok {
			return
		}
		plain := a.Unmap()
		v := judge(a)
		if (plain.IsLinkLocalUnicast() || plain.IsMulticast() || plain.IsUnspecified()) && !v.never {
			t.Errorf("%s may be reached", a)
		}
		if (plain.IsPrivate() || plain.IsLoopback()) && v.name == "" {
			t.Errorf("%s counts as public", a)
		}
	})
}
