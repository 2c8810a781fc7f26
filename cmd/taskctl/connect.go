package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"github.com/taskfleet/taskfleet/internal/cli"
	"github.com/taskfleet/taskfleet/internal/ydbconn"
	ydb "github.com/ydb-platform/ydb-go-sdk/v3"
)

// withDatabase parses the flags, connects as they say, and runs the work. When
// verbs are given, the first argument must be one of them; work gets it.
func withDatabase(ctx context.Context, fs *pflag.FlagSet, args []string, stdout, stderr io.Writer, verbs []string,
	work func(ctx context.Context, db *ydb.Driver, folder, verb string) error,
) int {
	return withDatabaseIf(ctx, fs, args, stdout, stderr, verbs, func(string) error { return nil }, work)
}

// withDatabaseIf is withDatabase that connects only if check finds the flags right.
func withDatabaseIf(ctx context.Context, fs *pflag.FlagSet, args []string, stdout, stderr io.Writer, verbs []string,
	check func(verb string) error, work func(ctx context.Context, db *ydb.Driver, folder, verb string) error,
) int {
	flags := ydbconn.RegisterFlags(fs)
	if code, ok := cli.Parse(fs, args, stdout, stderr); !ok {
		return code
	}
	verb, err := verbOf(fs, verbs)
	if err == nil {
		err = check(verb)
	}
	if err != nil {
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
	if err := work(ctx, db, cfg.Folder, verb); err != nil {
		return cli.Fail(fs, stderr, err)
	}
	return cli.ExitOK
}

// verbOf returns the one argument beside the flags, which must be one of verbs;
// without verbs there may be none.
func verbOf(fs *pflag.FlagSet, verbs []string) (string, error) {
	switch {
	case len(verbs) == 0 && fs.NArg() > 0:
		return "", fmt.Errorf("unexpected argument %q", fs.Arg(0))
	case len(verbs) > 0 && (fs.NArg() != 1 || !slices.Contains(verbs, fs.Arg(0))):
		return "", fmt.Errorf("%q: say %s", strings.Join(fs.Args(), " "), strings.Join(verbs, ", "))
	}
	return fs.Arg(0), nil
}
