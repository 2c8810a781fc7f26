// Package ydbconn is how every binary of taskfleet comes to a database: the
// connection flags, the usual YDB environment variables, credentials, the SDK's
// settings, and what an error of YDB means for a caller.
package ydbconn

import (
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"regexp"
	"strings"
	"time"
)

// DefaultFolder is the folder of the database that holds a fleet.
const DefaultFolder = "taskfleet"

// The defaults of Config.
const (
	DefaultPoolSize    = 50
	DefaultDialTimeout = 10 * time.Second
)

// example is shown in every error about the connection.
const example = "--endpoint grpc://localhost:2136/local"

// Config says which database, which folder in it, and how to get in.
type Config struct {
	// Endpoint is scheme and address without the database: grpc://host:port, or grpcs for TLS.
	Endpoint string
	// Database is the absolute path of the database, such as /local.
	Database string
	// Folder of the database that holds the fleet's tables and its coordination
	// node. Default: taskfleet.
	Folder string
	// Credentials are who we are. The zero value is anonymous.
	Credentials Credentials
	// RootCAFile is a PEM file of certificates to trust besides the system's.
	RootCAFile string
	// PoolSize bounds the query sessions, and so the queries that run at once. Default: 50.
	PoolSize int
	// DialTimeout bounds Open. Default: 10 s.
	DialTimeout time.Duration
}

// Target names the database in logs and errors. It holds no secret.
func (c Config) Target() string { return c.Endpoint + c.Database }

// String is Target, so that a config that is printed shows no secret.
func (c Config) String() string { return c.Target() }

// LogValue is Target, so that a config that is logged shows no secret.
func (c Config) LogValue() slog.Value { return slog.StringValue(c.Target()) }

// FolderPath is the absolute path of the fleet's folder.
func (c Config) FolderPath() string { return c.Database + "/" + c.withDefaults().Folder }

func (c Config) withDefaults() Config {
	if c.Folder == "" {
		c.Folder = DefaultFolder
	}
	if c.PoolSize == 0 {
		c.PoolSize = DefaultPoolSize
	}
	if c.DialTimeout == 0 {
		c.DialTimeout = DefaultDialTimeout
	}
	return c
}

// Validate reports everything that is wrong, joined.
func (c Config) Validate() error {
	c = c.withDefaults()
	var errs []error
	if err := checkEndpoint(c.Endpoint); err != nil {
		errs = append(errs, err)
	}
	if c.Database == "" || c.Database == "/" {
		errs = append(errs, fmt.Errorf("database is missing: give it with the endpoint (%s), by --database or in YDB_DATABASE", example))
	} else if !strings.HasPrefix(c.Database, "/") {
		errs = append(errs, fmt.Errorf("database %q: must be an absolute path such as /local", c.Database))
	}
	if err := CheckFolder(c.Folder); err != nil {
		errs = append(errs, err)
	}
	if c.PoolSize < 1 {
		errs = append(errs, fmt.Errorf("pool size %d: must be at least 1", c.PoolSize))
	}
	if c.DialTimeout < 0 {
		errs = append(errs, fmt.Errorf("dial timeout %s: must be positive", c.DialTimeout))
	}
	return errors.Join(errs...)
}

func checkEndpoint(endpoint string) error {
	u, err := url.Parse(endpoint)
	switch {
	case endpoint == "":
		return fmt.Errorf("endpoint is missing: give %s, or set YDB_CONNECTION_STRING", example)
	case err != nil || u.Host == "" || u.Scheme != "grpc" && u.Scheme != "grpcs":
		return fmt.Errorf("endpoint %q: must be grpc://host:port, or grpcs://host:port for TLS", endpoint)
	case u.Port() == "":
		return fmt.Errorf("endpoint %q: the port is missing, as in grpc://localhost:2136", endpoint)
	}
	return nil
}

const maxFolder = 200

var folderSegment = regexp.MustCompile(`^[A-Za-z0-9_-][A-Za-z0-9_.-]*$`)

// CheckFolder reports a folder name that is not letters, digits, "_", "-" and
// "." (with "/" between folders), or too long. What it accepts may stand in a
// YQL text between backticks.
func CheckFolder(folder string) error {
	for _, segment := range strings.Split(folder, "/") {
		if len(folder) > maxFolder || !folderSegment.MatchString(segment) {
			return fmt.Errorf("folder %q: must be at most %d letters, digits, '_', '-' or '.', folders in folders with '/' between", folder, maxFolder)
		}
	}
	return nil
}

// parseURL splits a connection string. Its errors never quote the string, which
// may hold a password.
func parseURL(source, text string) (Config, error) {
	if !strings.Contains(text, "://") {
		return Config{}, fmt.Errorf("%s: the scheme is missing: grpc://host:port/database, or grpcs:// for TLS", source)
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return Config{}, fmt.Errorf("%s: not a connection string; one looks like grpc://localhost:2136/local", source)
	}
	c := Config{Endpoint: u.Scheme + "://" + u.Host, Database: strings.TrimSuffix(u.Path, "/")}
	if database := u.Query().Get("database"); database != "" {
		c.Database = database
	}
	if u.User != nil {
		password, _ := u.User.Password()
		c.Credentials = Credentials{Kind: Static, User: u.User.Username(), Secret: password}
	}
	if err := checkEndpoint(c.Endpoint); err != nil {
		return Config{}, fmt.Errorf("%s: %w", source, err)
	}
	return c, nil
}
