package outbound

import (
	"fmt"
	"time"
)

// Reason groups refusals; its values are few, so that it can be a label.
type Reason string

// Why a request was refused.
const (
	ReasonURL        Reason = "url"         // scheme, user name or form of the host
	ReasonPort       Reason = "port"        // not one of the ports
	ReasonMetadata   Reason = "metadata"    // a metadata service
	ReasonAddress    Reason = "address"     // link-local, multicast, unspecified, reserved
	ReasonPrivate    Reason = "private"     // needs AllowPrivate
	ReasonDenied     Reason = "denied"      // in the list of denied hosts
	ReasonNotAllowed Reason = "not_allowed" // not in the list of allowed hosts
	ReasonRedirect   Reason = "redirect"    // too many, or to another origin
)

// RefusedError says that a request was not sent because it must not be. The
// answer is the same however often it is tried.
type RefusedError struct {
	Reason Reason
	Detail string
}

func (e *RefusedError) Error() string { return "refused: " + e.Detail }

func refuse(reason Reason, format string, args ...any) *RefusedError {
	return &RefusedError{reason, fmt.Sprintf(format, args...)}
}

// OpenError says that a request was not sent because the requests before it to
// the same host failed.
type OpenError struct {
	Host  string
	After time.Duration // the setting BreakFor
}

func (e *OpenError) Error() string {
	return fmt.Sprintf("not sent: %s failed too often in a row and is left alone for %s", e.Host, e.After)
}
