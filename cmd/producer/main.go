// Command producer puts tasks into a fleet: synthetic load at a rate, tasks from a
// file or from standard input, or tasks and webhooks that come in over HTTP.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"

	ydb "github.com/ydb-platform/ydb-go-sdk/v3"

	"github.com/taskfleet/taskfleet/internal/cli"
	"github.com/taskfleet/taskfleet/internal/lab/journal"
	"github.com/taskfleet/taskfleet/internal/taskjson"
	"github.com/taskfleet/taskfleet/internal/taskstore"
	"github.com/taskfleet/taskfleet/internal/ydbconn"
	"github.com/taskfleet/taskfleet/pkg/metrics"
)

func main() { cli.Main(run) }

// run is the command. It drains when ctx ends.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	stderr = &lockedWriter{w: stderr} // bad lines, log and summary come from several goroutines
	o := newOptions()
	if code, ok := cli.Parse(o.flags, args, stdout, stderr); !ok {
		return code
	}
	if err := o.validate(); err != nil {
		return cli.Usage(o.flags, stderr, err)
	}
	o.log.ClockOffset = o.clock.Offset
	logger, err := o.log.Logger(stderr)
	if err != nil {
		return cli.Usage(o.flags, stderr, err)
	}
	config, err := o.connection.Config(os.Getenv)
	if err != nil {
		return cli.Usage(o.flags, stderr, err)
	}
	if o.journal {
		o.notes = journal.New(stdout, o.clock.Now)
	}
	summary, err := produce(ctx, o, config, logger, stdin, stderr)
	if errors.Is(err, context.Canceled) && ctx.Err() != nil && summary == nil {
		return cli.ExitOK // stopped before it began
	}
	if summary != nil {
		fmt.Fprintf(stderr, "producer: %s\n", summary)
		if o.json {
			line, _ := json.Marshal(summary) // numbers and a bool: cannot fail
			fmt.Fprintf(stdout, "%s\n", line)
		}
	}
	if err != nil {
		return cli.Fail(o.flags, stderr, err)
	}
	if summary.Invalid > 0 {
		return cli.ExitFailed
	}
	return cli.ExitOK
}

// produce opens what is needed, runs the source and closes everything. The
// summary is nil when the source did not begin.
func produce(ctx context.Context, o *options, config ydbconn.Config, logger *slog.Logger, stdin io.Reader, stderr io.Writer) (_ *summary, err error) {
	registry := metrics.New()
	progress := newProgress(registry.Producer())
	registry.Producer().SetTarget(o.target())
	if o.metricsAddr != "" {
		// Served until the end of the drain, not only until ctx ends.
		server, err := registry.Serve(context.WithoutCancel(ctx), o.metricsAddr)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, server.Close()) }()
		logger.Info("metrics served", "addr", server.Addr(), "loopback", server.Loopback())
	}
	input, closeInput, err := o.openInput(stdin)
	if err != nil {
		return nil, err
	}
	defer closeInput()
	front, err := o.listen.front(registry.Ingest, progress, logger)
	if err != nil {
		return nil, err
	}

	db, err := ydbconn.Open(ctx, config)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, closeDriver(ctx, db)) }()
	producerConfig := o.producer(config.Folder, progress)
	producerConfig.Statements = registry.Database()
	producer, err := o.open(ctx, db, producerConfig)
	if err != nil {
		return nil, err
	}
	logger.Info("producing", "database", config, "folder", config.Folder)

	reporting := progress.report(ctx, logger, o.reportInterval)
	defer reporting()
	switch {
	case front != nil:
		err = front.serve(ctx, o, producer, taskstore.New(db, taskstore.Options{
			Folder: config.Folder, Observer: registry.Database(),
		}))
	case input != nil:
		source := &inputSource{options: o, producer: producer, progress: progress, lines: taskjson.NewLineReader(input), complain: stderr}
		err = source.run(ctx)
	default:
		err = synthetic(ctx, o, producer, progress)
	}
	return progress.summary(), err
}

func closeDriver(ctx context.Context, db *ydb.Driver) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	if err := db.Close(ctx); err != nil {
		return fmt.Errorf("closing the connection: %w", err)
	}
	return nil
}

// lockedWriter lets several goroutines write, one after the other.
type lockedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

// Write writes b as a whole.
func (l *lockedWriter) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(b)
}
