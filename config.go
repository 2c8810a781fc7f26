package taskfleet

import (
	"log/slog"
	"time"

	"github.com/taskfleet/taskfleet/pkg/metrics"
	"github.com/taskfleet/taskfleet/pkg/rebalancer"
	"github.com/taskfleet/taskfleet/pkg/taskproducer"
	"github.com/taskfleet/taskfleet/pkg/taskworker"
)

// DefaultGrace is how long running handlers may go on at a stop.
const DefaultGrace = 30 * time.Second

// Config configures a Fleet. The zero value works.
type Config struct {
	// Folder of the fleet, relative to the database. Default: taskfleet.
	Folder string
	// WorkerID names this worker in the fleet. One that is the same after a restart
	// gets the same partitions again. Default: host-pid-random.
	WorkerID string
	// Concurrency is how many handlers run at once. Default 64.
	Concurrency int
	// Grace is how long running handlers may go on when their partition moves to
	// another worker, and when the fleet stops. Default: DefaultGrace; negative: not
	// at all.
	Grace time.Duration
	// HandlerMiddleware wraps every handler, the first one outermost.
	HandlerMiddleware []HandlerMiddleware
	// EnqueueMiddleware wraps every enqueue through the Fleet, the first one outermost.
	EnqueueMiddleware []EnqueueMiddleware
	// Metrics shows what the fleet does to Prometheus. Default: nothing is shown.
	Metrics *metrics.Metrics
	// Logger gets what an operator should know. Default: slog.Default().
	Logger *slog.Logger

	// Producer, Worker and Rebalancer hold the settings of the parts that few need.
	// The fields that Open and Start fill in from the above and from the database
	// are ignored: folders, ids, handlers, partitions, the node and how the parts
	// are joined.
	Producer   taskproducer.Config
	Worker     taskworker.Config
	Rebalancer rebalancer.Config
}
