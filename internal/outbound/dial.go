package outbound

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"syscall"
	"time"
)

const (
	// dialTimeout bounds resolving and connecting together, and the TLS handshake.
	dialTimeout = 10 * time.Second
	// dialShare is the least time that one of several addresses gets.
	dialShare = 2 * time.Second
)

// dialer connects to hosts whose addresses all pass the policy.
type dialer struct {
	policy   *policy
	resolver Resolver
	connect  func(ctx context.Context, network, address string) (net.Conn, error)
}

func newDialer(p *policy, resolver Resolver) *dialer {
	if resolver == nil {
		resolver = net.DefaultResolver
	}
	d := &dialer{policy: p, resolver: resolver}
	socket := &net.Dialer{KeepAlive: 30 * time.Second, ControlContext: d.control}
	d.connect = socket.DialContext
	return d
}

// dial resolves a name once, checks every address, and connects to one of them.
// The name is not resolved again: what was checked is what is reached.
func (d *dialer) dial(ctx context.Context, network, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return nil, err
	}
	name, err := Hostname(host)
	if err != nil {
		return nil, refuse(ReasonURL, "%v", err)
	}
	if refused := d.policy.target(target{name, uint16(n)}); refused != nil {
		return nil, refused
	}
	addrs, err := d.resolve(ctx, name)
	if err != nil {
		return nil, err
	}
	if refused := d.policy.addresses(name, addrs); refused != nil {
		return nil, refused
	}
	return d.first(ctx, network, addrs, uint16(n))
}

func (d *dialer) resolve(ctx context.Context, name string) ([]netip.Addr, error) {
	if addr, err := netip.ParseAddr(name); err == nil {
		return []netip.Addr{addr}, nil
	}
	addrs, err := d.resolver.LookupNetIP(ctx, "ip", name)
	if err != nil {
		return nil, err
	}
	if len(addrs) == 0 {
		return nil, &net.DNSError{Err: "no such host", Name: name, IsNotFound: true}
	}
	return addrs, nil
}

// first connects to the first address that answers, in the resolver's order.
func (d *dialer) first(ctx context.Context, network string, addrs []netip.Addr, port uint16) (net.Conn, error) {
	var errs []error
	for i, addr := range addrs {
		conn, err := d.try(ctx, network, netip.AddrPortFrom(addr.Unmap(), port), len(addrs)-i)
		if err == nil {
			return conn, nil
		}
		errs = append(errs, err)
		if ctx.Err() != nil {
			break
		}
	}
	return nil, errors.Join(errs...)
}

// try gives an address its share of the time that is left.
func (d *dialer) try(ctx context.Context, network string, at netip.AddrPort, left int) (net.Conn, error) {
	if deadline, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, max(time.Until(deadline)/time.Duration(left), dialShare))
		defer cancel()
	}
	return d.connect(ctx, network, at.String())
}

// control checks the address that a socket is about to connect to.
func (d *dialer) control(_ context.Context, _, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("outbound: address %q: %w", address, err)
	}
	v := d.policy.nat64.judge(at.Addr())
	if v.never || v.name != "" && !d.policy.allowPrivate {
		return refuse(ReasonAddress, "%s is %s", at.Addr(), v.name)
	}
	return nil
}
