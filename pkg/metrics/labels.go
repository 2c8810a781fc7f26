package metrics

import (
	"strings"
	"sync"
)

// maxKinds bounds the values of the label kind.
const maxKinds = 100

// other is the value that all kinds beyond the bound share.
const other = "other"

// labels lets the first max values through and makes the others "other".
type labels struct {
	max  int
	mu   sync.RWMutex
	seen map[string]string
}

func newLabels(limit int) *labels { return &labels{max: limit, seen: map[string]string{}} }

// value returns the label value of text.
func (l *labels) value(text string) string {
	l.mu.RLock()
	label, ok := l.seen[text]
	full := len(l.seen) >= l.max
	l.mu.RUnlock()
	if ok {
		return label
	}
	if full {
		return other
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.seen) >= l.max {
		return other
	}
	label = strings.ToValidUTF8(text, "?")
	l.seen[strings.Clone(text)] = label
	return label
}
