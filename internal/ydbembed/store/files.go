package store

import (
	"regexp"
	"strings"
)

const (
	lockFile   = "LOCK"
	ledgerFile = "LEDGER"
)

// The names of what lies in a data folder.
var (
	storeFilePattern = regexp.MustCompile(`^(LOCK|LEDGER(\.new)?|MANIFEST-\d+|OPTIONS-\d+|\d+\.(log|sst|blob|dbtmp)|CURRENT\.\d+\.dbtmp|temporary\..*|marker\..*)$`)
	logPattern       = regexp.MustCompile(`^\d+\.log$`)
	tablePattern     = regexp.MustCompile(`^\d+\.(sst|blob)$`)
	manifestPattern  = regexp.MustCompile(`^MANIFEST-\d+$`)
	filePattern      = regexp.MustCompile(`\b(\d{6,}\.(log|sst|blob)|MANIFEST-\d{6,}|OPTIONS-\d{6,}|marker\.[\w.-]*[\w])`)
)

func isStoreFile(name string) bool { return storeFilePattern.MatchString(name) }

func isLog(name string) bool { return logPattern.MatchString(name) }

func isManifest(name string) bool { return manifestPattern.MatchString(name) }

// isMarker reports whether a file names the manifest that is in force.
func isMarker(name string) bool { return strings.HasPrefix(name, "marker.manifest.") }
