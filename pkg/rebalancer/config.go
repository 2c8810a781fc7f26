package rebalancer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"
)

// Consumer works on the partitions that this worker owns. For every Acquired
// there is exactly one Revoke, and the partition is not acquired again before
// that Revoke has returned (or was given up, see Revoke).
type Consumer interface {
	// Acquired hands a partition over. Work may go on until lease ends or Revoke
	// is called; every write of it carries epoch. It must not block.
	Acquired(lease context.Context, partition uint16, epoch uint64)
	// Revoke stops new work at once and returns when nothing of the partition
	// runs and its results are stored. When ctx ends, running work is to be
	// stopped and given back. A Revoke that has not returned some seconds after
	// the end of ctx is given up: the lease ends and the partition is released.
	Revoke(ctx context.Context, partition uint16) error
}

// Fence raises the epoch of partitions, so that writes of former owners fail.
type Fence interface {
	// Raise returns the new epoch of each partition. It may be repeated: an epoch
	// that was raised in vain does no harm.
	Raise(ctx context.Context, partitions []uint16, owner string) (map[uint16]uint64, error)
}

// Config says who the worker is and how patient it is. Zero values mean the
// defaults.
type Config struct {
	// WorkerID names the worker in the fleet; it is the same after a restart if
	// it is to get the same partitions again. Required, at most 256 bytes.
	WorkerID string
	// Incarnation tells runs of one worker id apart. Default: a random UUID.
	Incarnation string
	// Weight is the worker's share relative to the others', 1 to MaxWeight. Default 1.
	Weight int
	// Version of the program, for people who look at the fleet.
	Version string
	// Kinds are the kinds of tasks that this worker handles, shown to people who
	// look at the fleet; what takes more than 2 KiB is left out. Default: not known.
	Kinds []string
	// Partitions is the number of partitions of the fleet, 1 to 65536. Required,
	// and the same in every worker.
	Partitions int
	// Node is the absolute path of the coordination node. Required.
	Node string
	// Consumer and Fence are required.
	Consumer Consumer
	Fence    Fence
	// Observer is told what happens. Default: nobody is.
	Observer Observer
	// Logger gets what an operator should know. Default: slog.Default().
	Logger *slog.Logger

	// SessionTimeout is how long the server keeps the semaphores of a worker that
	// it no longer hears: a crashed worker's partitions are idle that long.
	// Default 10 s, at least 1 s.
	SessionTimeout time.Duration
	// KeepAlive is the silence after which the connection is thought dead and made
	// anew. It must be shorter than SessionTimeout, or two workers could own one
	// partition. Default: 60 % of SessionTimeout.
	KeepAlive time.Duration
	// StartTimeout bounds one handshake of a session. Default 1 s, but at most a
	// quarter of SessionTimeout.
	StartTimeout time.Duration
	// ReconnectDelay is the pause between attempts to reach the server. Default 200 ms.
	ReconnectDelay time.Duration
	// DrainTimeout is how long a partition that is given up waits for the tasks
	// that run. Default 30 s; -1: not at all.
	DrainTimeout time.Duration
	// AcquireTimeout is how long one request waits for a partition's semaphore
	// before it is made again. Default: DrainTimeout + 2 × SessionTimeout.
	AcquireTimeout time.Duration
	// Debounce is how long changes of membership are gathered before the next
	// plan, give or take a quarter. It grows with the fleet: 5 ms
	// per member, up to 2 s, if that is more. Default 300 ms.
	Debounce time.Duration
	// Recheck is how often the membership is read although no change was
	// reported, give or take a quarter. It grows in fleets of more than 200
	// members. Default 30 s.
	Recheck time.Duration
	// Gather is how long granted partitions are gathered for one Fence.Raise.
	// Default 5 ms.
	Gather time.Duration
	// MaxAcquiring bounds the acquire requests in flight; one that has waited for
	// 100 ms stands in the server's queue and no longer counts. Default 64.
	MaxAcquiring int
}

const maxPartitions = 1 << 16

func (c Config) withDefaults() Config {
	setDefault(&c.Incarnation, uuid.NewString())
	setDefault(&c.Weight, 1)
	setDefault(&c.SessionTimeout, 10*time.Second)
	setDefault(&c.KeepAlive, c.SessionTimeout*6/10)
	setDefault(&c.StartTimeout, min(time.Second, c.SessionTimeout/4))
	setDefault(&c.ReconnectDelay, min(200*time.Millisecond, c.SessionTimeout/10))
	setDefault(&c.DrainTimeout, 30*time.Second)
	c.DrainTimeout = max(c.DrainTimeout, 0)
	setDefault(&c.AcquireTimeout, c.DrainTimeout+2*c.SessionTimeout)
	setDefault(&c.Debounce, 300*time.Millisecond)
	setDefault(&c.Recheck, 30*time.Second)
	setDefault(&c.Gather, 5*time.Millisecond)
	setDefault(&c.MaxAcquiring, 64)
	if c.Observer == nil {
		c.Observer = NopObserver{}
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return c
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// validate returns everything that is wrong with a config that has its defaults.
func (c Config) validate() error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf("rebalancer: "+format, args...))
		}
	}
	check(c.WorkerID != "" && len(c.WorkerID) <= 256, "WorkerID: must have 1 to 256 bytes, has %d", len(c.WorkerID))
	check(c.Weight >= 1 && c.Weight <= MaxWeight, "Weight %d: must be 1..%d", c.Weight, MaxWeight)
	check(c.Partitions >= 1 && c.Partitions <= maxPartitions, "Partitions %d: must be 1..%d", c.Partitions, maxPartitions)
	check(c.Node != "", "Node: must be the path of a coordination node")
	check(c.Consumer != nil, "Consumer: is required")
	check(c.Fence != nil, "Fence: is required")
	check(c.SessionTimeout >= time.Second && c.SessionTimeout <= 30*time.Minute, "SessionTimeout %v: must be 1s..30m", c.SessionTimeout)
	check(c.KeepAlive > 0 && c.KeepAlive < c.SessionTimeout, "KeepAlive %v: must be shorter than SessionTimeout %v, or two workers could own a partition", c.KeepAlive, c.SessionTimeout)
	check(c.StartTimeout > 0 && c.StartTimeout < c.SessionTimeout, "StartTimeout %v: must be shorter than SessionTimeout %v", c.StartTimeout, c.SessionTimeout)
	check(c.ReconnectDelay > 0 && c.ReconnectDelay < c.SessionTimeout, "ReconnectDelay %v: must be shorter than SessionTimeout %v", c.ReconnectDelay, c.SessionTimeout)
	check(c.AcquireTimeout > c.DrainTimeout && c.AcquireTimeout <= 24*time.Hour, "AcquireTimeout %v: must be longer than DrainTimeout %v and at most 24h", c.AcquireTimeout, c.DrainTimeout)
	check(c.Debounce > 0, "Debounce %v: must be positive", c.Debounce)
	check(c.Recheck >= c.Debounce, "Recheck %v: must be at least Debounce %v", c.Recheck, c.Debounce)
	check(c.Gather > 0 && c.Gather < c.SessionTimeout, "Gather %v: must be shorter than SessionTimeout %v", c.Gather, c.SessionTimeout)
	check(c.MaxAcquiring > 0, "MaxAcquiring %d: must be positive", c.MaxAcquiring)
	return errors.Join(errs...)
}
