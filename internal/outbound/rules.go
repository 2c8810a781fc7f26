package outbound

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// Rules is a set of hosts. Each rule is a name (example.com), the names below one
// (*.example.com, at any depth, without example.com itself), an address, a
// network (10.1.0.0/16), or * for every host. The zero value holds no host.
type Rules struct {
	names    map[string]bool
	suffixes []string // with the dot at the start
	networks []netip.Prefix
	all      bool
}

// ParseRules reads rules; its error names the one that is wrong.
func ParseRules(texts []string) (Rules, error) {
	r := Rules{names: map[string]bool{}}
	for _, text := range texts {
		if err := r.add(text); err != nil {
			return Rules{}, err
		}
	}
	return r, nil
}

func (r *Rules) add(text string) error {
	if text == "*" {
		r.all = true
		return nil
	}
	if prefix, err := netip.ParsePrefix(text); err == nil {
		r.networks = append(r.networks, prefix.Masked())
		return nil
	}
	below, suffix := strings.CutPrefix(text, "*.")
	name, err := Hostname(strings.Trim(below, "[]"))
	if err != nil {
		return fmt.Errorf("rule %q: must be a host such as example.com or *.example.com, an address, a network such as 10.1.0.0/16, or *", text)
	}
	addr, err := netip.ParseAddr(name)
	switch {
	case err == nil && !suffix && addr.Zone() == "":
		addr = addr.Unmap()
		r.networks = append(r.networks, netip.PrefixFrom(addr, addr.BitLen()))
	case err == nil:
		return fmt.Errorf("rule %q: an address stands alone", text)
	case suffix:
		r.suffixes = append(r.suffixes, "."+name)
	default:
		r.names[name] = true
	}
	return nil
}

// Empty reports whether there is no rule.
func (r Rules) Empty() bool {
	return !r.all && len(r.names)+len(r.suffixes)+len(r.networks) == 0
}

// Host reports whether a name, in the form of Hostname, is in the set. Networks
// hold addresses only.
func (r Rules) Host(name string) bool {
	return r.all || r.names[name] || slices.ContainsFunc(r.suffixes, func(s string) bool { return strings.HasSuffix(name, s) })
}

// any reports whether one of an address's forms lies in the set: the address
// itself, or an IPv4 address that it leads to.
func (r Rules) any(forms []netip.Addr) bool {
	return r.all || slices.ContainsFunc(forms, r.network)
}

// every reports whether an address lies in the set, the last of the forms, or all
// the IPv4 addresses that it may lead to do.
func (r Rules) every(forms []netip.Addr) bool {
	inside, itself := forms[:len(forms)-1], forms[len(forms)-1]
	outside := func(a netip.Addr) bool { return !r.network(a) }
	return r.all || r.network(itself) || len(inside) > 0 && !slices.ContainsFunc(inside, outside)
}

func (r Rules) network(a netip.Addr) bool {
	return slices.ContainsFunc(r.networks, func(n netip.Prefix) bool { return n.Contains(a) })
}
