// Package outbound makes the one HTTP client that everything outgoing uses. It
// reaches what the operator meant and nothing else, whatever URL a task names.
//
// # What is checked, and when
//
// The URL of every request, a redirect's too: scheme, user name, form of the
// host, port, names of metadata services, lists of hosts. Then, after the name
// is resolved and before anything is sent, every address that it has; the
// connection is made to an address that was checked, without a second look at
// DNS, and the socket's own address is checked once more.
//
//	always refused      link-local, the addresses and names of metadata services,
//	                    multicast, unspecified, broadcast, unassigned
//	unless AllowPrivate loopback, private, shared (CGNAT), unique local, and
//	                    ranges that are kept for documentation and tests
//
// An IPv4 address inside an IPv6 one (mapped, compatible, NAT64 with every length
// of RFC 6052, 6to4, Teredo, ISATAP) counts as itself. A host with one refused
// address is refused.
//
// A refusal is a *RefusedError, and no repetition changes it.
//
// # Redirects
//
// None is followed, unless the request asks for it, and then within its origin:
// scheme, host and port. So nothing of a request goes to another host.
//
// # What a host can do to the others
//
// At most Config.PerHost requests of one host run at once. After
// Config.BreakAfter failures in a row its breaker opens: requests fail with an
// *OpenError without being sent, until Config.BreakFor has passed and one that is
// let through succeeds.
//
// # Proxies
//
// HTTP_PROXY and the like are not read: behind a proxy, names are resolved by the
// proxy, and addresses cannot be checked here. Config.Proxy sets one all the same,
// for networks whose proxy does the checking.
package outbound
