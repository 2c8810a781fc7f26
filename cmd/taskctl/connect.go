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
	return withDatabaseIf(ctx, fs, args, stdout, stderr, func() error { return nil }, work)
}

// withDatabaseIf is withDatabase that connects only if check finds the flags right.
func withDatabaseIf(ctx context.Context, fs *pflag.FlagSet, args []string, stdout, stderr io.Writer,
	check func() error, work func(ctx context.Context, db *ydb.Driver, folder string) error,
) int {
	flags := ydbconn.RegisterFlags(fs)
	if code, ok := cli.Parse(fs, args, stdout, stderr); !ok {
		return code
	}
	if fs.NArg() > 0 {
		return cli.Usage(fs, stderr, fmt.Errorf("unexpected argument %q", fs.Arg(0)))
	}
	if err := check(); err != nil {
		return cli.Usage(fs, stderr, err)
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
	if err := work(ctx, db, cfg.Folder); err != nil {
		return cli.Fail(fs, stderr, err)
	}
	return cli.ExitOK
}
