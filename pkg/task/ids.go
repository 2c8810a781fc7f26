package task

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"
	"sync/atomic"
	"time"
)

// The prefixes of ids that the library derives, so that the same request makes
// the same ids. Callers may not use them.
const (
	KeyPrefix    = "key-" // of idempotency keys
	GitHubPrefix = "github-"
	GitLabPrefix = "gitlab-"
	GiteaPrefix  = "gitea-"
)

var reservedPrefixes = []string{KeyPrefix, GitHubPrefix, GitLabPrefix, GiteaPrefix}

// Reserved reports whether a caller may not give id to a task: it begins with a
// prefix of derived ids, or has the form of NewID.
func Reserved(id string) bool { return CheckGivenID(id) != nil }

// CheckGivenID returns the *FieldError that says why a caller may not give id to
// a task, nil when it may. An id that NewID made is not remembered, as given
// ids are, so that its second enqueue would not be noticed.
func CheckGivenID(id string) error {
	for _, prefix := range reservedPrefixes {
		if strings.HasPrefix(id, prefix) {
			return &FieldError{Field: "id", Value: fmt.Sprintf("%.64q", id),
				Limit: fmt.Sprintf("must not begin with %q, which is reserved for ids that taskfleet derives", prefix)}
		}
	}
	if isMade(id) {
		return &FieldError{Field: "id", Value: id,
			Limit: "must not be a UUID of version 8: only taskfleet makes those, and a second enqueue of one would not be noticed; give an id of your own at the first enqueue"}
	}
	return nil
}

// isMade reports whether id is a UUID of version 8, in either case of letters:
// a system that the id went through may have changed it.
func isMade(id string) bool {
	if len(id) != 36 || id[8] != '-' || id[13] != '-' || id[18] != '-' || id[23] != '-' {
		return false
	}
	raw, err := hex.DecodeString(strings.ReplaceAll(id, "-", ""))
	return err == nil && len(raw) == 16 && raw[6]>>4 == 8 && raw[8]>>6 == 0b10
}

// lastTick is the time of the newest id: milliseconds since 1970, then 12 bits
// of the fraction.
var lastTick atomic.Int64

// NewID makes an id that orders behind all that this process made before: a UUID
// of version 8 (RFC 9562, 5.8) with the layout of version 7. The version tells it
// from the UUIDs that callers bring.
func NewID() string {
	var id [16]byte
	tick := nextTick(time.Now())
	binary.BigEndian.PutUint64(id[:8], uint64(tick>>12)<<16|0x8000|uint64(tick&0xfff))
	_, _ = rand.Read(id[8:]) // never fails
	id[8] = id[8]&0x3f | 0x80
	text := make([]byte, 0, 36)
	for i, part := range [][]byte{id[:4], id[4:6], id[6:8], id[8:10], id[10:]} {
		if i > 0 {
			text = append(text, '-')
		}
		text = hex.AppendEncode(text, part)
	}
	return string(text)
}

// nextTick returns now as a tick, or the one behind the last if that is later.
func nextTick(now time.Time) int64 {
	tick := now.UnixMilli()<<12 | int64(now.Nanosecond()%int(time.Millisecond))<<12/int64(time.Millisecond)
	for {
		last := lastTick.Load()
		next := max(tick, last+1)
		if lastTick.CompareAndSwap(last, next) {
			return next
		}
	}
}
