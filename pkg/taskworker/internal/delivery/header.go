package delivery

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"
)

const (
	maxHeaders     = 64       // of a payload
	maxHeaderBytes = 16 << 10 // of all names and values
)

// reserved are headers that belong to the connection, to the handler, or to the
// protocol of a metadata service, folded; so are those that begin with one of
// reservedPrefixes. Proxy is what CGI turns into HTTP_PROXY.
var reserved = map[string]bool{
	"host": true, "connection": true, "content-length": true, "transfer-encoding": true, "te": true, "trailer": true,
	"upgrade": true, "keep-alive": true, "expect": true, "http2-settings": true, "proxy": true,
	"x-task-id": true, "x-task-attempt": true,
	"metadata": true, "metadata-flavor": true, "x-google-metadata-request": true,
}

var reservedPrefixes = []string{"proxy-", "webhook-", "x-aws-ec2-metadata-"}

// folded is a header's name as a server may read it that turns names into
// variables: letters in one case, and everything that is no letter or digit alike.
func folded(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		}
		return '-'
	}, name)
}

// Headers sets the headers of a payload. No two headers of the request are the
// same to a server that folds their names.
func Headers(into http.Header, headers map[string]string) error {
	if len(headers) > maxHeaders {
		return fmt.Errorf("payload: headers: %d of them: must be at most %d", len(headers), maxHeaders)
	}
	taken := map[string]string{} // names by what they are folded to
	for name := range into {
		taken[folded(name)] = name
	}
	given := map[string]bool{}
	size := 0
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		value := headers[name]
		size += len(name) + len(value)
		canonical, fold := http.CanonicalHeaderKey(name), folded(name)
		isPrefix := func(prefix string) bool { return strings.HasPrefix(fold, prefix) }
		switch {
		case !httpguts.ValidHeaderFieldName(name):
			return fmt.Errorf("payload: headers: %.40q is not a header's name", name)
		case !httpguts.ValidHeaderFieldValue(value):
			return fmt.Errorf("payload: headers: %.80s: the value must not hold control characters", canonical)
		case reserved[fold], slices.ContainsFunc(reservedPrefixes, isPrefix):
			return fmt.Errorf("payload: headers: %.80s is not for a payload to set", canonical)
		case given[fold], taken[fold] != "" && taken[fold] != canonical:
			return fmt.Errorf("payload: headers: %.80s is there twice: servers take %s for it", canonical, taken[fold])
		}
		given[fold], taken[fold] = true, canonical
		into.Set(canonical, value)
	}
	if size > maxHeaderBytes {
		return fmt.Errorf("payload: headers of %d bytes: must have at most %d", size, maxHeaderBytes)
	}
	return nil
}

// HeaderValue writes a task's id for a header: visible ASCII as it is, and %XX for
// every other byte and for the percent sign. Different ids have different values,
// and undoing the encoding of a URL gives the id back.
func HeaderValue(id string) string {
	var out strings.Builder
	for _, b := range []byte(id) {
		if b <= ' ' || b >= 0x7f || b == '%' {
			fmt.Fprintf(&out, "%%%02X", b)
			continue
		}
		out.WriteByte(b)
	}
	return out.String()
}
