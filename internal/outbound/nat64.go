package outbound

import (
	"fmt"
	"net/netip"
)

// nat64 are the network's own prefixes of addresses that a translator turns into
// IPv4 ones, as RFC 6052 lays them out.
type nat64 []netip.Prefix

var (
	wellKnown = netip.MustParsePrefix("64:ff9b::/96")   // RFC 6052
	localUse  = netip.MustParsePrefix("64:ff9b:1::/48") // RFC 8215: any length from 48 on
)

func parseNAT64(texts []string) (nat64, error) {
	var n nat64
	for _, text := range texts {
		p, err := netip.ParsePrefix(text)
		if err == nil && p.Addr().Is6() && !p.Addr().Is4In6() {
			switch p.Bits() {
			case 32, 40, 48, 56, 64, 96:
				n = append(n, p.Masked())
				continue
			}
		}
		return nil, fmt.Errorf("prefix %q: must be one of IPv6 with the length 32, 40, 48, 56, 64 or 96", text)
	}
	return n, nil
}

// of returns the longest prefix that holds an address; there may be none.
func (n nat64) of(a netip.Addr) (longest netip.Prefix) {
	for _, p := range n {
		if p.Contains(a) && p.Bits() > longest.Bits() {
			longest = p
		}
	}
	return longest
}

// translated returns the IPv4 address behind a prefix of so many bits. Octet 8 is
// no part of it.
func translated(b [16]byte, bits int) netip.Addr {
	var v4 [4]byte
	for i, at := 0, bits/8; i < len(v4); at++ {
		if at != 8 {
			v4[i] = b[at]
			i++
		}
	}
	return netip.AddrFrom4(v4)
}

// guesses returns what an address below localUse means at each length that its
// prefix may have. A meaning in 0.0.0.0/8 is none: it shows that the length is
// another one.
func guesses(b [16]byte) (found []netip.Addr) {
	for _, bits := range []int{48, 56, 64, 96} {
		if a := translated(b, bits); a.As4()[0] != 0 {
			found = append(found, a)
		}
	}
	return found
}
