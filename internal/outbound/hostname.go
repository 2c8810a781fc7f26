package outbound

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"golang.org/x/net/idna"
)

// nameBytes are what names consist of, in use if not by the rules.
const nameBytes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_."

// Hostname brings the host of a URL, without port and brackets, into the form
// that rules are compared in: lower case, ASCII (punycode), without the dot at
// the end. Addresses are in the form that netip prints. It refuses forms that
// some resolvers take for an address and others for a name, such as 2130706433,
// 0x7f.1 and 127.1.
func Hostname(host string) (string, error) {
	if addr, err := netip.ParseAddr(host); err == nil {
		return addr.String(), nil
	}
	ascii, err := idna.Lookup.ToASCII(host)
	if err != nil {
		// Names with an underscore are no host names, and in use all the same.
		if strings.ContainsFunc(host, func(r rune) bool { return r > '~' || !strings.ContainsRune(nameBytes, r) }) {
			return "", fmt.Errorf("host %q is not a name: %w", host, err)
		}
		ascii = host
	}
	name := strings.ToLower(strings.TrimSuffix(ascii, "."))
	switch {
	case name == "":
		return "", errors.New("host is empty")
	case len(name) > 253 || strings.Contains("."+name+".", ".."):
		return "", fmt.Errorf("host %q is not a name", host)
	}
	if addr, err := netip.ParseAddr(name); err == nil { // 127。0。0。1, or with a dot at the end
		return addr.String(), nil
	}
	if last := name[strings.LastIndexByte(name, '.')+1:]; numeric(last) {
		return "", fmt.Errorf("host %q looks like an address that is not written a.b.c.d", host)
	}
	return name, nil
}

// numeric reports whether a label is a number as resolvers read them: decimal,
// octal or hexadecimal.
func numeric(label string) bool {
	digits, hexadecimal := strings.CutPrefix(label, "0x")
	for _, c := range digits {
		if !(c >= '0' && c <= '9' || hexadecimal && c >= 'a' && c <= 'f') {
			return false
		}
	}
	return label != ""
}
