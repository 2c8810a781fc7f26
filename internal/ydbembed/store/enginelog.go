package store

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"

	"github.com/cockroachdb/pebble/v2"
)

// engineLog passes Pebble's messages on.
type engineLog struct {
	log   *slog.Logger
	quiet func() bool // the store ends: errors are expected

	mu      sync.Mutex
	damaged map[string]bool // files that were reported
}

func (l *engineLog) Infof(format string, args ...any) {
	l.log.Debug("store engine", "message", fmt.Sprintf(format, args...))
}

func (l *engineLog) Errorf(format string, args ...any) {
	l.log.Error("store engine", "message", fmt.Sprintf(format, args...))
}

// Fatalf is called when the engine cannot go on without risking the data.
func (l *engineLog) Fatalf(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if l.quiet() {
		l.log.Info("store engine stops", "message", text)
		return
	}
	l.log.Error("store engine stops", "message", text)
	panic("store: engine stops: " + text)
}

// listener logs what fails in the background, and slows down its repetition. Of
// a full disk the log has a line already.
func (l *engineLog) listener(p *pace) *pebble.EventListener {
	return &pebble.EventListener{
		BackgroundError: func(err error) {
			if l.quiet() {
				return
			}
			if pause := p.failed(); !noRoom(err) {
				l.log.Error("store: background work failed", "error", err.Error(), "pause", pause)
			}
		},
		CompactionEnd: func(i pebble.CompactionInfo) {
			if i.Err == nil {
				p.worked()
			}
		},
		FlushEnd: func(i pebble.FlushInfo) {
			if i.Err == nil {
				p.worked()
			}
		},
		DataCorruption: func(i pebble.DataCorruptionInfo) { l.corrupt(i) },
	}
}

// corrupt logs a damaged file once: each read of it fails.
func (l *engineLog) corrupt(i pebble.DataCorruptionInfo) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.damaged[i.Path] {
		return
	}
	if l.damaged == nil {
		l.damaged = map[string]bool{}
	}
	l.damaged[i.Path] = true
	l.log.Error("store: a file is damaged; restore the data folder from a backup", "file", filepath.Base(i.Path), "path", i.Path, "error", i.Details.Error())
}
