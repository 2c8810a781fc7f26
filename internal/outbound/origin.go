package outbound

import (
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
)

// Origin returns the scheme, host and port of a URL as scheme://host:port, in a
// form that can be compared: the host is in the form of Hostname, and the port is
// always there.
func Origin(u *url.URL) (string, error) {
	t, refused := targetOf(u)
	if refused != nil {
		return "", refused
	}
	return u.Scheme + "://" + t.String(), nil
}

// target is a URL's host in the form of Hostname, and its port.
type target struct {
	host string
	port uint16
}

// targetOf reads the host and the port of a URL.
func targetOf(u *url.URL) (target, *RefusedError) {
	if u.Scheme != "http" && u.Scheme != "https" {
		return target{}, refuse(ReasonURL, "scheme %q: must be http or https", u.Scheme)
	}
	host, err := Hostname(u.Hostname())
	if err != nil {
		return target{}, refuse(ReasonURL, "%v", err)
	}
	t := target{host: host, port: 80}
	if u.Scheme == "https" {
		t.port = 443
	}
	if text := u.Port(); text != "" {
		n, err := strconv.ParseUint(text, 10, 16)
		if err != nil || n == 0 {
			return target{}, refuse(ReasonPort, "port %q: must be 1..65535", text)
		}
		t.port = uint16(n)
	}
	return t, nil
}

func (t target) String() string {
	if addr, err := netip.ParseAddr(t.host); err == nil {
		return netip.AddrPortFrom(addr, t.port).String()
	}
	return fmt.Sprintf("%s:%d", t.host, t.port)
}
