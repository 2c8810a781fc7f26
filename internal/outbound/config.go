package outbound

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"time"
)

// Config configures a Client. A zero value means the default that a field names.
type Config struct {
	// AllowPrivate lets requests reach loopback, private and shared addresses.
	// Link-local addresses and metadata services stay out of reach. Default: no.
	AllowPrivate bool
	// AllowHosts, when there are any, are the only hosts that are reached, and
	// DenyHosts are never reached, whatever else allows them. See Rules for their
	// form. A network covers hosts by the addresses that they resolve to. Default:
	// every public host, none denied. AllowHosts does not replace AllowPrivate.
	AllowHosts, DenyHosts []string
	// AllowPorts are the ports that are reached, as "443" or "8000-8999".
	// Default: 80, 443 and 1024-65535.
	AllowPorts []string
	// HTTPSOnly refuses http. Default: no.
	HTTPSOnly bool
	// NAT64Prefixes are the network's own prefixes of RFC 6052, such as
	// 2001:db8:64::/96: an address below one counts as the IPv4 address inside.
	// Default: 64:ff9b::/96; below 64:ff9b:1::/48 every length is tried.
	NAT64Prefixes []string
	// Proxy is the URL of a proxy that everything goes through. The proxy then
	// resolves names: addresses are checked only where a URL writes one. Default:
	// none, and the environment's proxy is not used.
	Proxy string

	// PerHost is how many requests to one host run at once; further ones wait for
	// their turn, as long as their context lasts. Default 64.
	PerHost int
	// BreakAfter failures in a row stop requests to a host for BreakFor. A failure
	// is no answer, or 502, 503 or 504. Default 20 and 15s; BreakAfter -1: never.
	BreakAfter int
	BreakFor   time.Duration
	// MaxAnswer bounds the body of an answer, in bytes; reading on fails. Default 1 MiB.
	MaxAnswer int64

	// Resolver resolves names. Default: net.DefaultResolver.
	Resolver Resolver
	// Observer is told what happens. Default: nobody.
	Observer Observer
}

// Resolver is the part of net.Resolver that is used. It must be safe for
// concurrent use.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Observer is told what a client does. Its methods are called concurrently and
// must not block.
type Observer interface {
	// HTTPResponse reports a request that was sent: the status code, 0 when there
	// was no answer, and how long it took until there was one.
	HTTPResponse(code int, took time.Duration)
	// Refused reports a request that was not sent because it must not be.
	Refused(reason Reason)
	// NotSent reports a request that a breaker kept back.
	NotSent()
	// Breaker reports that a host is kept back from now on, or is not any more.
	Breaker(open bool)
}

type nobody struct{}

func (nobody) HTTPResponse(int, time.Duration) {}
func (nobody) Refused(Reason)                  {}
func (nobody) NotSent()                        {}
func (nobody) Breaker(bool)                    {}

func (c Config) withDefaults() Config {
	if c.PerHost == 0 {
		c.PerHost = 64
	}
	if c.BreakAfter == 0 {
		c.BreakAfter = 20
	}
	if c.BreakFor == 0 {
		c.BreakFor = 15 * time.Second
	}
	if c.MaxAnswer == 0 {
		c.MaxAnswer = 1 << 20
	}
	if c.Observer == nil {
		c.Observer = nobody{}
	}
	return c
}

// proxyTarget returns the host and port of a proxy in the form of target.
func proxyTarget(u *url.URL) (string, error) {
	t, refused := targetOf(u)
	if refused != nil {
		return "", refused
	}
	return t.String(), nil
}

// policy reads the rules; it returns everything that is wrong, joined.
func (c Config) policy() (*policy, *url.URL, error) {
	var errs []error
	add := func(field string, err error) {
		if err != nil {
			errs = append(errs, fmt.Errorf("outbound: %s: %w", field, err))
		}
	}
	p := &policy{allowPrivate: c.AllowPrivate, httpsOnly: c.HTTPSOnly}
	var err error
	p.allow, err = ParseRules(c.AllowHosts)
	add("AllowHosts", err)
	p.deny, err = ParseRules(c.DenyHosts)
	add("DenyHosts", err)
	p.ports, err = parsePorts(c.AllowPorts)
	add("AllowPorts", err)
	p.nat64, err = parseNAT64(c.NAT64Prefixes)
	add("NAT64Prefixes", err)
	var proxy *url.URL
	if c.Proxy != "" {
		if proxy, err = url.Parse(c.Proxy); err == nil {
			p.proxy, err = proxyTarget(proxy)
		}
		if err != nil { // which may repeat a password
			add("Proxy", errors.New("must be a URL such as http://proxy:3128"))
		}
	}
	positive := func(field string, ok bool) {
		if !ok {
			add(field, errors.New("must be positive"))
		}
	}
	positive("PerHost", c.PerHost > 0)
	positive("BreakAfter", c.BreakAfter > 0 || c.BreakAfter == -1)
	positive("BreakFor", c.BreakFor > 0)
	positive("MaxAnswer", c.MaxAnswer > 0)
	return p, proxy, errors.Join(errs...)
}
