package coordsvc

import (
	"math"
	"time"
)

// Bounds that clients meet. Sizes are in bytes.
const (
	MaxSessions       = 1_000_000
	MaxSemaphores     = 1_000_000
	MaxSessionTimeout = 30 * time.Minute
	MaxAcquireTimeout = 24 * time.Hour
	MaxDescription    = 1024
	MaxProtectionKey  = 16
	MaxSemaphoreName  = 1024
	MaxSemaphoreData  = 1 << 20

	// MaxMessage is the largest description that is sent; the transport carries 64 MiB.
	MaxMessage = 60 << 20
	// MaxBacklog is how much one stream may leave unread before it is ended.
	MaxBacklog = 64 << 20
	// MaxBacklogMessages bounds the same backlog by count.
	MaxBacklogMessages = 100_000
)

// infinite is the acquire timeout that never passes.
const infinite = math.MaxUint64

// limits are the bounds that a test lowers.
type limits struct {
	sessions   int
	semaphores int
}

var defaultLimits = limits{sessions: MaxSessions, semaphores: MaxSemaphores}
