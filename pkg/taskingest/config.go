package taskingest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/taskfleet/taskfleet/pkg/task"
	"github.com/taskfleet/taskfleet/pkg/taskproducer"
)

// Enqueuer stores tasks. A *taskproducer.Producer is one; it must take batches of
// MaxTasks tasks and twice MaxBody bytes.
type Enqueuer interface {
	EnqueueAll(ctx context.Context, key string, tasks ...task.Task) (taskproducer.Result, error)
}

// The defaults and limits of Config.
const (
	DefaultMaxBody            = 8 << 20
	DefaultMaxHookBody        = 25 << 20 // what GitHub sends at most
	DefaultMaxTasks           = 1000
	DefaultMaxRequests        = 100
	DefaultMaxBytes           = 128 << 20
	DefaultMaxUnverified      = 100
	DefaultMaxUnverifiedBytes = 32 << 20
	DefaultMaxConns           = 1000
	DefaultStoreTimeout       = 8 * time.Second // GitHub waits for 10 s
	DefaultReadTimeout        = 30 * time.Second
	DefaultHookTimeout        = 5 * time.Second

	// LargestBody keeps a request within one batch of the database.
	LargestBody = 16 << 20
	// ShortestToken is the least length of a token, in bytes.
	ShortestToken = 16
)

// Config sets a Handler up. Zero values mean the defaults.
type Config struct {
	// Producer stores the tasks. Required.
	Producer Enqueuer
	// Tokens are the bearer tokens of which a request needs one, at least
	// ShortestToken bytes each. Several let clients change over.
	Tokens []string
	// InsecureNoAuth takes requests without a token. Tokens must be empty then.
	InsecureNoAuth bool
	// Hooks are the webhooks to serve. Default: none.
	Hooks *Hooks
	// Ready tells whether tasks can be stored; it is asked at most once a second.
	// Default: always.
	Ready func(ctx context.Context) error

	// MaxBody bounds the body of a request of the API, in bytes; at most LargestBody.
	MaxBody int64
	// MaxHookBody bounds the body of a webhook, in bytes.
	MaxHookBody int64
	// MaxTasks bounds the tasks of a request; at most taskproducer.MaxBatchTasks.
	MaxTasks int
	// MaxRequests bounds the genuine requests that are worked on at once. Further
	// ones are answered 429.
	MaxRequests int
	// MaxBytes bounds the memory of all requests in flight, in bytes: their bodies,
	// as they come in, and what is made of them. What is above is answered 429. At
	// least LeastBytes.
	MaxBytes int64
	// MaxUnverified bounds the webhooks whose body is read to check their signature,
	// and MaxUnverifiedBytes what these bodies may take of MaxBytes; at least
	// MaxHookBody. When there are too many the one that has been read longest is
	// answered 429, and when they are too large the largest.
	MaxUnverified      int
	MaxUnverifiedBytes int64
	// MaxConns bounds the connections of Serve; more than MaxRequests. A further one
	// takes the place of the one that has gone longest without a genuine request.
	MaxConns int
	// StoreTimeout bounds the storing of a request, all tries included: the answer
	// comes within it.
	StoreTimeout time.Duration
	// ReadTimeout bounds the reading of a request, its body included.
	ReadTimeout time.Duration
	// HookTimeout bounds the reading of a webhook's body.
	HookTimeout time.Duration

	// Observer is told what happens. Default: nobody.
	Observer Observer
	// Logger gets a line for every request. Default: nothing is logged.
	Logger *slog.Logger
}

func (c Config) withDefaults() Config {
	size := func(v *int64, value int64) {
		if *v == 0 {
			*v = value
		}
	}
	number := func(v *int, value int) {
		if *v == 0 {
			*v = value
		}
	}
	span := func(v *time.Duration, value time.Duration) {
		if *v == 0 {
			*v = value
		}
	}
	size(&c.MaxBody, DefaultMaxBody)
	size(&c.MaxHookBody, DefaultMaxHookBody)
	size(&c.MaxBytes, DefaultMaxBytes)
	number(&c.MaxTasks, DefaultMaxTasks)
	number(&c.MaxRequests, DefaultMaxRequests)
	number(&c.MaxUnverified, DefaultMaxUnverified)
	size(&c.MaxUnverifiedBytes, DefaultMaxUnverifiedBytes)
	number(&c.MaxConns, max(DefaultMaxConns, 2*c.MaxRequests))
	span(&c.StoreTimeout, DefaultStoreTimeout)
	span(&c.ReadTimeout, DefaultReadTimeout)
	span(&c.HookTimeout, DefaultHookTimeout)
	if c.Ready == nil {
		c.Ready = func(context.Context) error { return nil }
	}
	if c.Observer == nil {
		c.Observer = NopObserver{}
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

// ErrNoToken is returned by New when there is neither a token nor InsecureNoAuth.
var ErrNoToken = errors.New("there is no token: without one, anybody could store tasks")

func (c Config) validate() error {
	var errs []error
	add := func(bad bool, format string, args ...any) {
		if bad {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	add(c.Producer == nil, "Producer is missing")
	if len(c.Tokens) == 0 && !c.InsecureNoAuth {
		errs = append(errs, ErrNoToken)
	}
	add(len(c.Tokens) > 0 && c.InsecureNoAuth, "Tokens and InsecureNoAuth: choose one")
	for i, token := range c.Tokens {
		add(!ValidToken(token), "token %d of %d bytes: must have at least %d, printable ASCII without spaces", i+1, len(token), ShortestToken)
	}
	add(c.MaxBody < 1 || c.MaxBody > LargestBody, "MaxBody %d: must be 1..%d", c.MaxBody, LargestBody)
	add(c.MaxHookBody < 1, "MaxHookBody %d: must be positive", c.MaxHookBody)
	add(c.MaxTasks < 1 || c.MaxTasks > taskproducer.MaxBatchTasks, "MaxTasks %d: must be 1..%d", c.MaxTasks, taskproducer.MaxBatchTasks)
	add(c.MaxRequests < 1, "MaxRequests %d: must be positive", c.MaxRequests)
	add(c.MaxBytes < c.LeastBytes(), "MaxBytes %d: must be at least %d, which the largest request needs", c.MaxBytes, c.LeastBytes())
	add(c.MaxUnverified < 1, "MaxUnverified %d: must be positive", c.MaxUnverified)
	add(c.MaxUnverifiedBytes < c.MaxHookBody, "MaxUnverifiedBytes %d: must be at least MaxHookBody", c.MaxUnverifiedBytes)
	add(c.MaxConns <= c.MaxRequests, "MaxConns %d: must be more than MaxRequests", c.MaxConns)
	add(c.StoreTimeout <= 0, "StoreTimeout %s: must be positive", c.StoreTimeout)
	add(c.ReadTimeout <= 0, "ReadTimeout %s: must be positive", c.ReadTimeout)
	add(c.HookTimeout <= 0, "HookTimeout %s: must be positive", c.HookTimeout)
	return errors.Join(errs...)
}

// ValidToken tells whether a token is long enough, and a header can carry it.
func ValidToken(token string) bool { return len(token) >= ShortestToken && printable(token) }

// printable tells whether a text is ASCII without spaces and controls, as a
// header can carry it.
func printable(text string) bool {
	for _, c := range []byte(text) {
		if c <= ' ' || c > '~' {
			return false
		}
	}
	return true
}
