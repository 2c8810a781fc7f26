package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/spf13/pflag"
	"github.com/taskfleet/taskfleet/internal/cli"
	"github.com/taskfleet/taskfleet/internal/ydbconn"
	ydb "github.com/ydb-platform/ydb-go-sdk/v3"
)

// withDatabase parses the flags, connects as they say, and runs the work.
func withDatabase(ctx context.Context, fs *pflag.FlagSet, args []string, stdout, stderr io.Writer,
	work func(ctx context.Context, db *ydb.Driver, folder string) error,
) int {
	return withArguments(ctx, fs, args, 0, stdout, stderr, func(ctx context.Context, db *ydb.Driver, cfg ydbconn.Config) error {
		return work(ctx, db, cfg.Folder)
	})
}

// withArguments is withDatabase for a command that takes arguments, at most so
// many.
func withArguments(ctx context.Context, fs *pflag.FlagSet, args []string, most int, stdout, stderr io.Writer,
	work func(ctx context.Context, db *ydb.Driver, cfg ydbconn.Config) error,
) int {
	flags := ydbconn.RegisterFlags(fs)
	if code, ok := cli.Parse(fs, args, stdout, stderr); !ok {
		return code
	}
	if fs.NArg() > most {
		return cli.Usage(fs, stderr, fmt.Errorf("unexpected argument %q", fs.Arg(most)))
	}
	cfg, err := flags.Config(os.Getenv)
	if err != nil {
		return cli.Usage(fs, stderr, err)
	}
	db, err := ydbconn.Open(ctx, cfg)
	if err != nil {
		return cli.Fail(fs, stderr, err)
	}
	defer func() { _ = db.Close(context.WithoutCancel(ctx)) }()
	if err := work(ctx, db, cfg); err != nil {
		return cli.Fail(fs, stderr, err)
	}
	return cli.ExitOK
}
