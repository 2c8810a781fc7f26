// Command ydbembed serves a YDB-compatible database from one process.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"time"

	"github.com/spf13/pflag"

	"github.com/taskfleet/taskfleet/internal/cli"
	"github.com/taskfleet/taskfleet/pkg/ydbembed"
)

// The queries of a server may hold a gigabyte together. Without a limit the
// collector lets the heap grow to twice that and more before it runs. Bytes.
const collectAbove = 3 << 29

func main() { cli.Main(run) }

const usage = `ydbembed serves a YDB-compatible database from one process: row tables with
YQL, transactions and coordination nodes. It is for development, tests and small
single-machine installs. When it can be reached it prints one line on stdout,

  ydbembed ready grpc://127.0.0.1:2136/local

with the connection string for clients. SIGTERM and SIGINT stop it; once more
ends it at once. There is no encryption and no authentication.

Examples:
  ydbembed --data ./data                       keep the data in a folder
  ydbembed --memory                            forget the data at the end
  ydbembed --memory --listen 127.0.0.1:0       take a free port
`

type flags struct {
	listen  string
	data    string
	memory  bool
	ttl     time.Duration
	version bool
	log     *cli.LogFlags
}

func register(fs *pflag.FlagSet) *flags {
	f := &flags{}
	fs.StringVar(&f.listen, "listen", "127.0.0.1:2136", "`host:port` to listen on; port 0 takes a free one")
	fs.StringVar(&f.data, "data", "", "`folder` that holds the data, made if need be")
	fs.BoolVar(&f.memory, "memory", false, "keep the data in memory only")
	fs.DurationVar(&f.ttl, "ttl-interval", ydbembed.DefaultTTLInterval, "how often rows past their TTL are deleted; 0 = never")
	f.log = cli.RegisterLogFlags(fs)
	fs.BoolVar(&f.version, "version", false, "print the version and exit")
	return f
}

// config turns the flags into a configuration, or says what is wrong with them.
func (f *flags) config(stderr io.Writer) (ydbembed.Config, error) {
	cfg := ydbembed.Config{Listen: f.listen, Dir: f.data, Memory: f.memory, TTLInterval: f.ttl}
	switch {
	case f.memory && f.data != "":
		return cfg, errors.New("--data and --memory are both given: choose one")
	case !f.memory && f.data == "":
		return cfg, errors.New("where should the data live? give --data DIR or --memory")
	case f.ttl < 0:
		return cfg, fmt.Errorf("--ttl-interval %s: must not be negative", f.ttl)
	case f.ttl == 0:
		cfg.TTLInterval = -1
	}
	var err error
	cfg.Logger, err = f.log.Logger(stderr)
	return cfg, err
}

func run(ctx context.Context, args []string, _ io.Reader, stdout, stderr io.Writer) int {
	fs := cli.NewFlagSet("ydbembed", usage)
	f := register(fs)
	if code, ok := cli.Parse(fs, args, stdout, stderr); !ok {
		return code
	}
	if f.version {
		fmt.Fprintln(stdout, "ydbembed", version())
		return cli.ExitOK
	}
	if fs.NArg() > 0 {
		return cli.Usage(fs, stderr, fmt.Errorf("unexpected argument %q", fs.Arg(0)))
	}
	cfg, err := f.config(stderr)
	if err != nil {
		return cli.Usage(fs, stderr, err)
	}
	if !f.memory && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(collectAbove)
	}
	server, err := ydbembed.Start(ctx, cfg)
	if err != nil {
		return cli.Fail(fs, stderr, err)
	}
	fmt.Fprintln(stdout, "ydbembed ready", server.DSN())
	cfg.Logger.Info("serving", "dsn", server.DSN(), "data", f.data, "memory", f.memory)
	<-ctx.Done()
	cfg.Logger.Info("stopping", "reason", context.Cause(ctx))
	if err := server.Close(); err != nil {
		return cli.Fail(fs, stderr, err)
	}
	return cli.ExitOK
}

// version is the module's version, or the commit it was built from.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 {
			return info.Main.Version + " " + s.Value[:12]
		}
	}
	return info.Main.Version
}
