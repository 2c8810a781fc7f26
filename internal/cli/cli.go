// Package cli holds what the binaries of taskfleet have in common: exit codes,
// the two stages of a stop by signal, flag parsing and the log flags.
//
// A command is a function
//
//	func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int
//
// that main passes to Main. Its context ends at the first SIGINT or SIGTERM,
// which asks it to drain; the second one ends the process at once.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"strings"
	"syscall"

	"github.com/spf13/pflag"
)

// The exit codes of the binaries.
const (
	ExitOK     = 0 // done, or drained after a signal
	ExitFailed = 1 // the work failed, or a part of the input was bad
	ExitUsage  = 2 // a flag, an argument or an environment variable is wrong
)

// Run is a command. It returns the exit code.
type Run func(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int

// Main runs the command with the process's arguments, streams and signals, and
// ends the process with its exit code.
func Main(run Run) {
	ctx, stop := signalContext(context.Background(), os.Stderr, os.Exit)
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// ErrSignal is the cause of a context that a signal ended.
var ErrSignal = errors.New("stopped by a signal")

// signalContext ends its context at the first signal and calls exit with
// 128 + number at the second. stop ends the watching and waits for it.
func signalContext(parent context.Context, stderr io.Writer, exit func(int)) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for stage := 1; ; stage++ {
			select {
			case s := <-signals:
				if stage == 1 {
					fmt.Fprintf(stderr, "%s: stopping; once more to end at once\n", s)
					cancel(fmt.Errorf("%w: %s", ErrSignal, s))
					continue
				}
				fmt.Fprintf(stderr, "%s: ending at once\n", s)
				code := ExitFailed
				if n, ok := s.(syscall.Signal); ok {
					code = 128 + int(n)
				}
				exit(code)
				return
			case <-quit:
				return
			}
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(quit)
		<-done
		cancel(nil)
	}
}

// NewFlagSet makes a flag set whose help is usage, which tells what the command
// does and shows examples, followed by the flags.
func NewFlagSet(name, usage string) *pflag.FlagSet {
	fs := pflag.NewFlagSet(name, pflag.ContinueOnError)
	fs.SortFlags = false
	fs.Usage = func() { fmt.Fprintf(fs.Output(), "%s\nFlags:\n%s", usage, fs.FlagUsages()) }
	return fs
}

// Parse parses args. When it reports false the command is over and returns the
// code: --help was printed to stdout, or the error to stderr.
func Parse(fs *pflag.FlagSet, args []string, stdout, stderr io.Writer) (code int, ok bool) {
	fs.SetOutput(stdout)
	err := fs.Parse(args)
	if errors.Is(err, pflag.ErrHelp) {
		return ExitOK, false
	}
	if err != nil {
		return Usage(fs, stderr, err), false
	}
	return ExitOK, true
}

// Usage prints an error of flags, arguments or environment with a pointer to
// the help, and returns ExitUsage.
func Usage(fs *pflag.FlagSet, stderr io.Writer, err error) int {
	fmt.Fprintf(stderr, "%s: %v\nsee %s --help\n", fs.Name(), err, fs.Name())
	return ExitUsage
}

// Fail prints an error, once with the program's name in front, and returns
// ExitFailed.
func Fail(fs *pflag.FlagSet, stderr io.Writer, err error) int {
	name := fs.Name() + ": "
	fmt.Fprintln(stderr, name+strings.TrimPrefix(Text(err), name))
	return ExitFailed
}

// passed is what YDB's SDK adds to an error for every function that it passes.
var passed = regexp.MustCompile(" at `[^`]*`")

// Text is an error for people: without the places in the SDK's source.
func Text(err error) string { return passed.ReplaceAllString(err.Error(), "") }
