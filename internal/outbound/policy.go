package outbound

import (
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// policy decides what may be reached.
type policy struct {
	allowPrivate bool
	httpsOnly    bool
	allow, deny  Rules
	ports        []portRange
	nat64        nat64
	proxy        string // host:port of the proxy, which is no target
}

// metadataNames lead to metadata services, whatever they resolve to.
var metadataNames = []string{
	"metadata", "metadata.google.internal", "metadata.goog", "instance-data", "instance-data.ec2.internal",
	"metadata.azure.internal", "metadata.azure.com", "metadata.tencentyun.com", "metadata.platformequinix.com",
}

// url checks what can be known without resolving the name.
func (p *policy) url(u *url.URL) (target, *RefusedError) {
	switch {
	case u.Scheme == "http" && p.httpsOnly:
		return target{}, refuse(ReasonURL, "scheme http: only https is allowed")
	case u.User != nil:
		return target{}, refuse(ReasonURL, "the URL holds a user name: it must not")
	case u.Opaque != "":
		return target{}, refuse(ReasonURL, "the URL has no //host")
	}
	t, refused := targetOf(u)
	if refused != nil {
		return target{}, refused
	}
	return t, p.target(t)
}

// target checks a host and a port, and an address that is written as one.
func (p *policy) target(t target) *RefusedError {
	for _, name := range metadataNames {
		if t.host == name || strings.HasSuffix(t.host, "."+name) {
			return refuse(ReasonMetadata, "host %s is a metadata service", t.host)
		}
	}
	if !p.port(t.port) {
		return refuse(ReasonPort, "port %d is not allowed (--allow-port)", t.port)
	}
	if p.proxy != "" && t.String() == p.proxy {
		return refuse(ReasonDenied, "host %s is the proxy", t)
	}
	if p.deny.Host(t.host) {
		return refuse(ReasonDenied, "host %s is denied (--deny-host)", t.host)
	}
	if addr, err := netip.ParseAddr(t.host); err == nil {
		return p.addresses(t.host, []netip.Addr{addr})
	}
	if !p.allow.Empty() && !p.allow.Host(t.host) && len(p.allow.networks) == 0 {
		return refuse(ReasonNotAllowed, "host %s is not one of the allowed (--allow-host)", t.host)
	}
	return nil
}

// addresses checks what a host resolved to. One refused address refuses the host:
// names that have good and bad ones are made to get past a check.
func (p *policy) addresses(host string, addrs []netip.Addr) *RefusedError {
	for _, a := range addrs {
		what := a.String()
		if what != host {
			what = host + " resolves to " + what + ", which"
		}
		v := p.nat64.judge(a)
		forms := append(p.nat64.embedded(a), a.Unmap())
		reason := ReasonAddress
		if strings.Contains(v.name, "metadata") {
			reason = ReasonMetadata
		}
		switch {
		case v.never:
			return refuse(reason, "%s is %s: never reached", what, v.name)
		case p.deny.any(forms):
			return refuse(ReasonDenied, "%s is denied (--deny-host)", what)
		case v.name != "" && !p.allowPrivate:
			return refuse(ReasonPrivate, "%s is %s: reached only with --allow-private", what, v.name)
		case !p.allow.Empty() && !p.allow.Host(host) && !p.allow.every(forms):
			return refuse(ReasonNotAllowed, "%s is not one of the allowed (--allow-host)", what)
		}
	}
	return nil
}

func (p *policy) port(n uint16) bool {
	for _, r := range p.ports {
		if n >= r.first && n <= r.last {
			return true
		}
	}
	return false
}

type portRange struct{ first, last uint16 }

// defaultPorts leave out what other protocols use: mail, name service and the like.
var defaultPorts = []portRange{{80, 80}, {443, 443}, {1024, 65535}}

// parsePorts reads "443" and "8000-8999".
func parsePorts(texts []string) ([]portRange, error) {
	if len(texts) == 0 {
		return defaultPorts, nil
	}
	ranges := make([]portRange, len(texts))
	for i, text := range texts {
		from, to, ok := strings.Cut(text, "-")
		if !ok {
			to = from
		}
		first, err1 := strconv.ParseUint(from, 10, 16)
		last, err2 := strconv.ParseUint(to, 10, 16)
		if err1 != nil || err2 != nil || first == 0 || first > last {
			return nil, fmt.Errorf("port %q: must be 1..65535 or a range such as 8000-8999", text)
		}
		ranges[i] = portRange{uint16(first), uint16(last)}
	}
	return ranges, nil
}
