package outbound

import "net/netip"

// verdict says what an address is, for the message, and how it is treated.
type verdict struct {
	name  string // "a link-local address"; empty: a public one
	never bool   // refused even with AllowPrivate
}

type block struct {
	prefix netip.Prefix
	verdict
}

func blocks(v verdict, prefixes ...string) []block {
	made := make([]block, len(prefixes))
	for i, p := range prefixes {
		made[i] = block{netip.MustParsePrefix(p), v}
	}
	return made
}

// special are the ranges that are not public, the first match counts. They follow
// the IANA registries of special-purpose addresses.
var special = func() (all []block) {
	for _, list := range [][]block{
		// Of AWS, Google Cloud, Azure, Oracle and Alibaba, beyond 169.254.169.254.
		blocks(verdict{"the address of a metadata service", true},
			"169.254.169.254/32", "168.63.129.16/32", "192.0.0.192/32", "100.100.100.200/32",
			"fd00:ec2::/32", "fd20:ce::254/128"),
		blocks(verdict{"an unspecified address", true}, "0.0.0.0/8", "::/128"),
		blocks(verdict{"a link-local address", true}, "169.254.0.0/16", "fe80::/10"),
		blocks(verdict{"a multicast address", true}, "224.0.0.0/4", "ff00::/8"),
		blocks(verdict{"a reserved address", true}, "240.0.0.0/4", "100::/64", "5f00::/16"),
		blocks(verdict{"a loopback address", false}, "127.0.0.0/8", "::1/128"),
		blocks(verdict{"a private address", false},
			"10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7", "fec0::/10"),
		blocks(verdict{"a shared address (CGNAT)", false}, "100.64.0.0/10"),
		blocks(verdict{"a special-purpose address", false},
			"192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
			"64:ff9b:1::/48", "2001::/23", "2001:db8::/32", "3fff::/20"),
		// They lead to the IPv4 address inside, which is judged by itself.
		blocks(verdict{}, "64:ff9b::/96", "2002::/16", "2000::/3", "0.0.0.0/0"),
		blocks(verdict{"an unassigned address", true}, "::/0"),
	} {
		all = append(all, list...)
	}
	return all
}()

// judge returns the strictest verdict on an address and the addresses inside it.
func (n nat64) judge(a netip.Addr) verdict {
	if a.Zone() != "" {
		return verdict{"an address of one network interface", true}
	}
	a = a.Unmap()
	worst := lookUp(a)
	if n.of(a).IsValid() {
		worst = verdict{} // judged by the address inside
	}
	for _, inside := range n.embedded(a) {
		v := lookUp(inside)
		if v.name != "" && (worst.name == "" || v.never && !worst.never) {
			worst = v
		}
	}
	return worst
}

func lookUp(a netip.Addr) verdict {
	if a.Is6() && a != netip.IPv6Unspecified() && a != netip.IPv6Loopback() && compatible(a) {
		return verdict{} // judged by the address inside
	}
	for _, b := range special {
		if b.prefix.Contains(a) {
			return b.verdict
		}
	}
	return verdict{"an unassigned address", true}
}

// compatible reports the forms below ::/64 that hold an IPv4 address:
// ::a.b.c.d and ::ffff:0:a.b.c.d.
func compatible(a netip.Addr) bool {
	return netip.MustParsePrefix("::/96").Contains(a) || netip.MustParsePrefix("::ffff:0:0:0/96").Contains(a)
}

// embedded returns the IPv4 addresses that an IPv6 address leads to, or may lead to.
func (n nat64) embedded(a netip.Addr) []netip.Addr {
	if !a.Is6() || a.Is4In6() {
		return nil
	}
	b := a.As16()
	at := func(i int) netip.Addr { return netip.AddrFrom4([4]byte(b[i : i+4])) }
	var found []netip.Addr
	switch prefix := n.of(a); {
	case prefix.IsValid():
		found = append(found, translated(b, prefix.Bits()))
	case a == netip.IPv6Unspecified(), a == netip.IPv6Loopback():
	case compatible(a), wellKnown.Contains(a):
		found = append(found, at(12))
	case localUse.Contains(a):
		found = append(found, guesses(b)...)
	case b[0] == 0x20 && b[1] == 0x02: // 6to4
		found = append(found, at(2))
	case b[0] == 0x20 && b[1] == 0x01 && b[2] == 0 && b[3] == 0: // Teredo
		found = append(found, at(4), netip.AddrFrom4([4]byte{^b[12], ^b[13], ^b[14], ^b[15]}))
	}
	if b[8]&^0x03 == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe { // ISATAP
		found = append(found, at(12))
	}
	return found
}
