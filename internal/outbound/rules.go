package outbound

import (
	"fmt"
	"net/netip"
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
	if err != nil || strings.ContainsAny(name, "*/: ") && !isAddr(name) {
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

func isAddr(s string) bool { _, err := netip.ParseAddr(s); return err == nil }

// Empty tells whether there is no rule.
func (r Rules) Empty() bool {
	return !r.all && len(r.names)+len(r.suffixes)+len(r.networks) == 0
}

// Host tells whether a host, in the form of Hostname, is in the set. Names are
// compared as names: networks hold addresses only.
func (r Rules) Host(host string) bool {
	if r.all || r.names[host] {
		return true
	}
	if addr, err := netip.ParseAddr(host); err == nil {
		return r.addr(addr)
	}
	for _, s := range r.suffixes {
		if strings.HasSuffix(host, s) {
			return true
		}
	}
	return false
}

// addr tells whether an address, or one inside it, lies in a network of the set.
func (r Rules) addr(a netip.Addr) bool {
	a = a.Unmap()
	for _, form := range append(embedded(a), a) {
		for _, n := range r.networks {
			if n.Contains(form) {
				return true
			}
		}
	}
	return r.all
}
