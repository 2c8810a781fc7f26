package ydbembed

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"time"
)

// The defaults of a Config.
const (
	DefaultListen      = "127.0.0.1:0"
	DefaultDatabase    = "/local"
	DefaultTTLInterval = time.Hour
)

// Config says what a server serves and where. Exactly one of Dir and Memory
// must be set.
type Config struct {
	// Listener is served in place of an address, and closed with the server. With
	// one in memory whose Addr names a host and port, such as bufconn's, clients
	// that dial it and the server run without a network, in testing/synctest too.
	Listener net.Listener
	// Listen is the host and port to listen on; port 0 takes a free one.
	// Default DefaultListen. There is neither encryption nor authentication:
	// whoever reaches the port may do everything.
	Listen string
	// Dir is the folder that holds the data, made if need be. One server at a
	// time can use it.
	Dir string
	// Memory keeps the data in memory: it is gone after Close.
	Memory bool
	// Database is the absolute path of the database. Default DefaultDatabase.
	Database string
	// TTLInterval is how often rows past their TTL are deleted. Default
	// DefaultTTLInterval, as YDB has it; -1 = never. Until a row is deleted it
	// is visible.
	TTLInterval time.Duration
	// Logger gets what an operator must know. Default: nothing is logged.
	Logger *slog.Logger
}

func (c Config) withDefaults() Config {
	if c.Listen == "" {
		c.Listen = DefaultListen
	}
	if c.Database == "" {
		c.Database = DefaultDatabase
	}
	if c.TTLInterval == 0 {
		c.TTLInterval = DefaultTTLInterval
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

// validate reports everything that is wrong at once.
func (c Config) validate() error {
	var errs []error
	switch {
	case c.Memory && c.Dir != "":
		errs = append(errs, errors.New("ydbembed: Dir and Memory are both set: choose one"))
	case !c.Memory && c.Dir == "":
		errs = append(errs, errors.New("ydbembed: neither Dir nor Memory is set: say where the data lives"))
	}
	if _, _, err := net.SplitHostPort(c.Listen); err != nil && c.Listener == nil {
		errs = append(errs, fmt.Errorf("ydbembed: Listen %q: must be host:port: %w", c.Listen, err))
	}
	if !strings.HasPrefix(c.Database, "/") || strings.HasSuffix(c.Database, "/") || strings.Contains(c.Database, "//") {
		errs = append(errs, fmt.Errorf("ydbembed: Database %q: must be an absolute path such as %s", c.Database, DefaultDatabase))
	}
	if c.TTLInterval < 0 && c.TTLInterval != -1 {
		errs = append(errs, fmt.Errorf("ydbembed: TTLInterval %s: must be positive, or -1 to never delete", c.TTLInterval))
	}
	return errors.Join(errs...)
}
