package store

import (
	"regexp"
	"strings"
)

// Files of the store's own.
const (
	ledgerFile = "LEDGER"
	syncedFile = "SYNCED"
)

// The markers name the manifest and the format in force; something follows.
const (
	manifestMarker = "marker.manifest"
	formatMarker   = "marker.format-version"
)

// The names of what lies in a data folder.
var (
	anyFile      = regexp.MustCompile(`^(LOCK|SYNCED|LEDGER(\.new)?|MANIFEST-\d+|OPTIONS-\d+|\d+\.(log|sst|blob)|.*dbtmp|temporary\..*|marker\..*)$`)
	logFile      = regexp.MustCompile(`^\d+\.log$`)
	tableFile    = regexp.MustCompile(`^\d+\.(sst|blob)$`)
	manifestFile = regexp.MustCompile(`^MANIFEST-\d+$`)
)

// How an error of the engine may name a file.
var (
	optionsSyntax = regexp.MustCompile(`(invalid key=value syntax|unknown section|unknown option)`)
	logNumber     = regexp.MustCompile(`replaying wal (\d+)`)
	tableNumber   = regexp.MustCompile(`\bL\d: (\d+):`)
	fileName      = regexp.MustCompile(`\b(\d{6,}\.(?:log|sst|blob)|MANIFEST-\d+|OPTIONS-\d+)`)
)

func hasFile(list []string, prefix string) bool {
	for _, name := range list {
		if strings.HasPrefix(name, prefix+".") {
			return true
		}
	}
	return false
}
