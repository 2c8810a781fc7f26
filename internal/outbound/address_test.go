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
		// RFC 6052 with /48, /56 and /64 below 64:ff9b:1::/48.
		"64:ff9b:1:a9fe:a9:fe00::": never, "64:ff9b:1:a00:0:100::": private, "64:ff9b:1:808:8:800::": private,
		"64:ff9b:1:a9:fe:a9fe::": never, "64:ff9b:1:0:a9:fea9:fe00:0": never, "64:ff9b:1:a9fe:a9:feff::1": never,
		"64:ff9b:2::8.8.8.8": never, "64:ff9b:0:1::8.8.8.8": never,
		"2002:a9fe:a9fe::1": never, "2002:7f00:1::": private, "2002:808:808::": public,
		"2001:0:808:808:0:0:5601:5601":   never, // Teredo: 169.254.169.254 inverted
		"2001:0:808:808::f7f7:f7f7":      private,
		"2a02:6b8::5efe:169.254.169.254": never, "2a02:6b8::200:5efe:10.0.0.1": private,
	} {
		got := public
		v := nat64(nil).judge(netip.MustParseAddr(text))
		switch {
		case v.never:
			got = never
		case v.name != "":
			got = private
		}
		require.Equal(t, want, got, "%s: %s", text, v.name)
	}
}

// TestAddressesBehindATranslator are the examples of RFC 6052, section 2.4, and
// 169.254.169.254 at every length of a prefix.
func TestAddressesBehindATranslator(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ prefix, address, want string }{
		{"2001:db8::/32", "2001:db8:c000:221::", "192.0.2.33"},
		{"2001:db8:100::/40", "2001:db8:1c0:2:21::", "192.0.2.33"},
		{"2001:db8:122::/48", "2001:db8:122:c000:2:2100::", "192.0.2.33"},
		{"2001:db8:122:300::/56", "2001:db8:122:3c0:0:221::", "192.0.2.33"},
		{"2001:db8:122:344::/64", "2001:db8:122:344:c0:2:2100::", "192.0.2.33"},
		{"2001:db8:122:344::/96", "2001:db8:122:344::192.0.2.33", "192.0.2.33"},
		{"2a02:6b8::/32", "2a02:6b8:a9fe:a9fe::", "169.254.169.254"},
		{"2a02:6b8:100::/40", "2a02:6b8:1a9:fea9:fe::", "169.254.169.254"},
		{"2a02:6b8:122::/48", "2a02:6b8:122:a9fe:a9:fe00::", "169.254.169.254"},
		{"2a02:6b8:122:300::/56", "2a02:6b8:122:3a9:fe:a9fe::", "169.254.169.254"},
		{"2a02:6b8:122:344::/64", "2a02:6b8:122:344:a9:fea9:fe00::", "169.254.169.254"},
		{"2a02:6b8:122:344::/96", "2a02:6b8:122:344::a9fe:a9fe", "169.254.169.254"},
		{"64:ff9b:1:ab00::/56", "64:ff9b:1:ab08:8:808::", "8.8.8.8"},
	} {
		n, err := parseNAT64([]string{"2a02:6b8::/32", c.prefix})
		require.NoError(t, err)
		require.Equal(t, []netip.Addr{netip.MustParseAddr(c.want)}, n.embedded(netip.MustParseAddr(c.address)), c.address)
		require.Equal(t, nat64(nil).judge(netip.MustParseAddr(c.want)), n.judge(netip.MustParseAddr(c.address)), "judged as what it leads to")
	}
	for _, wrong := range []string{"", "2a02::/33", "2a02::/128", "10.0.0.0/32", "::ffff:10.0.0.0/96", "2a02::"} {
		_, err := parseNAT64([]string{wrong})
		require.ErrorContains(t, err, "prefix ", wrong)
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
		if plain.Is4() {
			for _, prefix := range []string{"2a02:6b8::/32", "2a02:6b8::/40", "2a02:6b8::/48", "2a02:6b8::/56", "2a02:6b8::/64", "2a02:6b8::/96"} {
				n, _ := parseNAT64([]string{prefix})
				if behind := write(n[0], plain); nat64(nil).judge(plain) != n.judge(behind) {
					t.Errorf("%s behind %s, %s, is judged as another address", plain, prefix, behind)
				}
			}
		}
		v := nat64(nil).judge(a)
		if (plain.IsLinkLocalUnicast() || plain.IsMulticast() || plain.IsUnspecified()) && !v.never {
			t.Errorf("%s may be reached", a)
		}
		if (plain.IsPrivate() || plain.IsLoopback()) && v.name == "" {
			t.Errorf("%s counts as public", a)
		}
	})
}

// write is the other direction of translated.
func write(prefix netip.Prefix, v4 netip.Addr) netip.Addr {
	b, four := prefix.Addr().As16(), v4.As4()
	copy(b[prefix.Bits()/8:], four[:])
	if at := prefix.Bits() / 8; at <= 8 && at+4 > 8 {
		copy(b[9:], four[8-at:])
		b[8] = 0
	}
	return netip.AddrFrom16(b)
}
