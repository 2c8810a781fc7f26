package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/pflag"

	"github.com/taskfleet/taskfleet/internal/taskstore"
	"github.com/taskfleet/taskfleet/pkg/metrics"
	"github.com/taskfleet/taskfleet/pkg/taskingest"
	"github.com/taskfleet/taskfleet/pkg/taskproducer"
)

// listenOptions are the flags of --listen.
type listenOptions struct {
	addr               string
	tokenEnv           []string
	tokenFile          []string
	noAuth             bool
	hooks              string
	maxBody            int64
	maxTasks           int
	maxRequests        int
	maxBytes           int64
	maxUnverified      int
	maxUnverifiedBytes int64
	storeTimeout       time.Duration
	readTimeout        time.Duration
	hookTimeout        time.Duration
}

// listenFlags are their names; they stand with --listen only.
var listenFlags = []string{
	"token-env", "token-file", "insecure-no-auth", "hooks-config",
	"max-body", "max-tasks", "max-requests", "max-bytes", "max-unverified", "max-unverified-bytes",
	"store-timeout", "read-timeout", "hook-timeout",
}

func (l *listenOptions) register(fs *pflag.FlagSet) {
	fs.StringVar(&l.addr, "listen", "", "`address` to take tasks and webhooks at over HTTP, such as :8080")
	fs.StringArrayVar(&l.tokenEnv, "token-env", nil, "listen: `name` of an environment variable with a bearer token; may be repeated")
	fs.StringArrayVar(&l.tokenFile, "token-file", nil, "listen: `file` of bearer tokens, one a line; may be repeated")
	fs.BoolVar(&l.noAuth, "insecure-no-auth", false, "listen: take tasks from anybody")
	fs.StringVar(&l.hooks, "hooks-config", "", "listen: `file` of the secrets and rules of webhooks (default: secrets of the environment, default rules)")
	fs.Int64Var(&l.maxBody, "max-body", taskingest.DefaultMaxBody, "listen: bytes that the body of a request may have; a webhook may have 25 MiB")
	fs.IntVar(&l.maxTasks, "max-tasks", taskingest.DefaultMaxTasks, "listen: tasks that a request may have")
	fs.IntVar(&l.maxRequests, "max-requests", taskingest.DefaultMaxRequests, "listen: genuine requests that are worked on at once; others get 429")
	fs.Int64Var(&l.maxBytes, "max-bytes", taskingest.DefaultMaxBytes, "listen: bytes of memory that all requests in flight may take; others get 429")
	fs.IntVar(&l.maxUnverified, "max-unverified", taskingest.DefaultMaxUnverified, "listen: webhooks that are read at once to check their signature; the oldest gives way")
	fs.Int64Var(&l.maxUnverifiedBytes, "max-unverified-bytes", taskingest.DefaultMaxUnverifiedBytes, "listen: bytes of --max-bytes that these may take; the largest gives way")
	fs.DurationVar(&l.storeTimeout, "store-timeout", taskingest.DefaultStoreTimeout, "listen: how long the database may take for a request before it gets 503")
	fs.DurationVar(&l.readTimeout, "read-timeout", taskingest.DefaultReadTimeout, "listen: how long a client may take to send a request")
	fs.DurationVar(&l.hookTimeout, "hook-timeout", taskingest.DefaultHookTimeout, "listen: how long a service may take to send a webhook")
}

func (l *listenOptions) validate(fs *pflag.FlagSet) error {
	var errs []error
	add := func(bad bool, format string, args ...any) {
		if bad {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	if l.addr == "" {
		for _, name := range listenFlags {
			add(fs.Changed(name), "--%s is for --listen", name)
		}
		return errors.Join(errs...)
	}
	tokens := len(l.tokenEnv) + len(l.tokenFile)
	add(tokens == 0 && !l.noAuth, "--listen needs a token: name it by --token-env or --token-file (or let anybody store tasks by --insecure-no-auth)")
	add(tokens > 0 && l.noAuth, "--insecure-no-auth cannot stand with a token")
	add(l.maxBody < 1 || l.maxBody > taskingest.LargestBody, "--max-body %d: must be 1..%d", l.maxBody, taskingest.LargestBody)
	add(l.maxTasks < 1 || l.maxTasks > taskproducer.MaxBatchTasks, "--max-tasks %d: must be 1..%d", l.maxTasks, taskproducer.MaxBatchTasks)
	add(l.maxRequests < 1 || l.maxRequests > 10_000, "--max-requests %d: must be 1..10000", l.maxRequests)
	add(l.maxBytes < taskingest.DefaultMaxHookBody, "--max-bytes %d: must be at least %d, which a webhook may have", l.maxBytes, taskingest.DefaultMaxHookBody)
	add(l.maxUnverified < 1 || l.maxUnverified > 10_000, "--max-unverified %d: must be 1..10000", l.maxUnverified)
	add(l.maxUnverifiedBytes < taskingest.DefaultMaxHookBody, "--max-unverified-bytes %d: must be at least %d, which a webhook may have", l.maxUnverifiedBytes, taskingest.DefaultMaxHookBody)
	add(l.storeTimeout < 100*time.Millisecond || l.storeTimeout > 5*time.Minute, "--store-timeout %s: must be 100ms..5m", l.storeTimeout)
	add(l.hookTimeout < time.Second || l.hookTimeout > time.Minute, "--hook-timeout %s: must be 1s..1m", l.hookTimeout)
	add(l.readTimeout < time.Second || l.readTimeout > 10*time.Minute, "--read-timeout %s: must be 1s..10m", l.readTimeout)
	return errors.Join(errs...)
}

// front is what --listen needs besides the database: everything that can be wrong
// before there is one.
type front struct {
	config taskingest.Config
	logger *slog.Logger
}

// front reads tokens, secrets and rules. It is nil without --listen.
func (l *listenOptions) front(observer func() *metrics.Ingest, progress *progress, logger *slog.Logger) (*front, error) {
	if l.addr == "" {
		return nil, nil
	}
	tokens, err := l.tokens()
	if err != nil {
		return nil, err
	}
	hooks, err := taskingest.ReadHooks(l.hooks)
	if err != nil {
		return nil, fmt.Errorf("--hooks-config: %w", err)
	}
	config := taskingest.Config{
		Tokens:             tokens,
		InsecureNoAuth:     l.noAuth,
		Hooks:              hooks,
		MaxBody:            l.maxBody,
		MaxTasks:           l.maxTasks,
		MaxRequests:        l.maxRequests,
		MaxBytes:           l.maxBytes,
		MaxUnverified:      l.maxUnverified,
		MaxUnverifiedBytes: l.maxUnverifiedBytes,
		StoreTimeout:       l.storeTimeout,
		ReadTimeout:        l.readTimeout,
		HookTimeout:        l.hookTimeout,
		Observer:           requestCounter{observer(), progress},
		Logger:             logger,
	}
	if least := config.LeastBytes(); l.maxBytes < least {
		return nil, fmt.Errorf("--max-bytes %d: must be at least %d, with these --max-body, --max-tasks and --max-unverified-bytes", l.maxBytes, least)
	}
	return &front{logger: logger, config: config}, nil
}

// tokens reads the tokens. Its errors show none of them.
func (l *listenOptions) tokens() ([]string, error) {
	var tokens []string
	for _, name := range l.tokenEnv {
		token := strings.TrimSpace(os.Getenv(name))
		if token == "" {
			return nil, fmt.Errorf("--token-env: the environment variable %s is not set", name)
		}
		if !taskingest.ValidToken(token) {
			return nil, fmt.Errorf("--token-env: %s: %s", name, tokenRule)
		}
		tokens = append(tokens, token)
	}
	for _, name := range l.tokenFile {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("--token-file: %w", err)
		}
		before := len(tokens)
		for i, line := range strings.Split(string(text), "\n") {
			if line = strings.TrimSpace(line); line == "" {
				continue
			}
			if !taskingest.ValidToken(line) {
				return nil, fmt.Errorf("--token-file: %s: line %d: %s", name, i+1, tokenRule)
			}
			tokens = append(tokens, line)
		}
		if len(tokens) == before {
			return nil, fmt.Errorf("--token-file: %s is empty", name)
		}
	}
	return tokens, nil
}

var tokenRule = fmt.Sprintf("a token must have at least %d printable ASCII characters, without spaces", taskingest.ShortestToken)

// serve takes requests until ctx ends.
func (f *front) serve(ctx context.Context, o *options, producer *taskproducer.Producer, store *taskstore.Store) error {
	f.config.Producer = producer
	f.config.Ready = func(ctx context.Context) error {
		_, err := store.Settings(ctx)
		return err
	}
	handler, err := taskingest.New(f.config)
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", o.listen.addr)
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("--listen: address %s is in use by another process: %w", o.listen.addr, err)
	}
	if err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	if f.config.InsecureNoAuth {
		f.logger.Warn("anybody may store tasks: there is no token")
	}
	f.logger.Info("listening", "addr", listener.Addr().String(), "hooks", f.config.Hooks.Services())
	if len(f.config.Hooks.Services()) > 0 {
		f.logger.Info("webhooks make tasks: some worker must handle their kinds", "kinds", f.config.Hooks.Kinds())
	}
	return handler.Serve(ctx, listener, o.drain)
}

// producer is the config of a producer. A request of --listen is one batch.
func (o *options) producer(folder string, observer taskproducer.Observer) taskproducer.Config {
	config := taskproducer.Config{Folder: folder, Observer: observer}
	if o.listen.addr != "" {
		config.BatchTasks, config.BatchBytes = o.listen.maxTasks, taskproducer.MaxBatchBytes
	}
	return config
}

// requestCounter counts the tasks of requests, and passes on to the metrics.
type requestCounter struct {
	*metrics.Ingest
	progress *progress
}

// Request counts an answered request.
func (c requestCounter) Request(r taskingest.Request) {
	c.progress.tasks.Add(int64(r.Tasks))
	c.Ingest.Request(r)
}
