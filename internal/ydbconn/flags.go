package ydbconn

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/pflag"
)

// Help is the part of a binary's --help that tells about the connection.
const Help = `Connection, the first that is given:
  --endpoint grpc://host:port/database
  --endpoint grpc://host:port --database /local
  YDB_CONNECTION_STRING=grpc://host:port/database
  YDB_ENDPOINT=grpc://host:port YDB_DATABASE=/local
Credentials, the first that is set (none: anonymous):
  YDB_SERVICE_ACCOUNT_KEY_FILE_CREDENTIALS=FILE, YDB_ACCESS_TOKEN_CREDENTIALS=TOKEN,
  YDB_STATIC_CREDENTIALS_USER=NAME with YDB_STATIC_CREDENTIALS_PASSWORD (and _ENDPOINT),
  YDB_METADATA_CREDENTIALS=1, YDB_ANONYMOUS_CREDENTIALS=1
TLS: grpcs:// and, for a private authority, YDB_SSL_ROOT_CERTIFICATES_FILE=FILE
`

// Flags are the connection flags, the same in every binary.
type Flags struct {
	Endpoint    string
	Database    string
	Folder      string
	DialTimeout time.Duration
}

// RegisterFlags adds --endpoint, --database, --folder and --dial-timeout to fs.
func RegisterFlags(fs *pflag.FlagSet) *Flags {
	f := &Flags{}
	fs.StringVar(&f.Endpoint, "endpoint", "", "`url` of the database: grpc://host:port/database, grpcs:// for TLS (default: $YDB_CONNECTION_STRING, $YDB_ENDPOINT)")
	fs.StringVar(&f.Database, "database", "", "`path` of the database, when --endpoint has none (default: $YDB_DATABASE)")
	fs.StringVar(&f.Folder, "folder", DefaultFolder, "`name` of the fleet's folder in the database")
	fs.DurationVar(&f.DialTimeout, "dial-timeout", DefaultDialTimeout, "how long to try to reach the database at start")
	return f
}

// Config joins flags and environment. getenv is os.Getenv in a binary. Its
// errors say what is missing, and show no secret.
func (f *Flags) Config(getenv func(string) string) (Config, error) {
	c, err := f.target(getenv)
	if err != nil {
		return Config{}, err
	}
	if c.Credentials.Kind == "" { // a connection string with a user wins
		c.Credentials = credentialsFromEnv(getenv)
	}
	c.RootCAFile = getenv("YDB_SSL_ROOT_CERTIFICATES_FILE")
	c.Folder = f.Folder
	c.DialTimeout = f.DialTimeout
	if f.Folder == "" {
		return Config{}, errors.New("--folder is empty: name the fleet's folder in the database")
	}
	return c, c.Validate()
}

// target finds endpoint and database; flags win over the environment.
func (f *Flags) target(getenv func(string) string) (Config, error) {
	source, text := "--endpoint", f.Endpoint
	if text == "" {
		source, text = "YDB_CONNECTION_STRING", getenv("YDB_CONNECTION_STRING")
	}
	if text == "" {
		source, text = "YDB_ENDPOINT", getenv("YDB_ENDPOINT")
	}
	if text == "" {
		return Config{}, fmt.Errorf("no database is given: use %s, or set YDB_CONNECTION_STRING, or YDB_ENDPOINT and YDB_DATABASE", example)
	}
	c, err := parseURL(source, text)
	if err != nil {
		return Config{}, err
	}
	switch {
	case f.Database != "" && c.Database != "" && source == "--endpoint" && f.Database != c.Database:
		return Config{}, fmt.Errorf("--database %s and the database %s of --endpoint differ: give one of them", f.Database, c.Database)
	case f.Database != "":
		c.Database = f.Database
	case c.Database == "":
		c.Database = getenv("YDB_DATABASE")
	}
	return c, nil
}
