package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/pflag"

	"github.com/taskfleet/taskfleet/internal/cli"
	"github.com/taskfleet/taskfleet/internal/lab/journal"
	"github.com/taskfleet/taskfleet/internal/ydbconn"
	"github.com/taskfleet/taskfleet/pkg/metrics"
	"github.com/taskfleet/taskfleet/pkg/rebalancer"
	"github.com/taskfleet/taskfleet/pkg/task"
)

const usage = `worker joins a fleet, takes its share of the partitions and delivers their tasks.
A task's kind says how: http sends a request to the payload's "url", ci-trigger
starts a pipeline, sqs publishes to a queue, push-event forwards a webhook's event
(docs/handlers.md).

  worker --endpoint grpc://localhost:2136/local
  worker --endpoint ... --worker-id web-1 --concurrency 256 --metrics-addr :9100
  worker --endpoint ... --history 0                     delete completed tasks at once
  worker --endpoint ... --metrics-addr "" --log-format json

Tasks reach public addresses only, and no metadata service, whatever their URL or
a redirect says:

  worker --endpoint ... --allow-private --allow-host '*.corp.example' --allow-host hooks.example.com
  worker --endpoint ... --https-only --deny-host 203.0.113.0/24 --per-host 8

A task names a credential, and a grant says what it is for: the provider (http,
gitlab, github_dispatch, github_workflow, jenkins or generic), the place in the
request, and the URL (https unless it says http; / covers the whole host):

  worker --endpoint ... --credential ref=env:GITLAB_TOKEN,provider=gitlab,in=token,url=https://gitlab.example.com/
  worker --endpoint ... --credential ref=env:CI_TOKEN,provider=generic,in=header:Authorization,url=https://ci.example.com/start
  worker --endpoint ... --credentials-dir /etc/taskfleet --credential ref=file:hook,provider=http,in=sign,url=http://10.0.0.7:8080/hooks

  worker --endpoint ... --push-event-url http://ci.internal:8080/events
  worker --endpoint ... --sqs-queue orders.fifo --sqs-access-key file:/etc/taskfleet/key-id --sqs-secret-key file:/etc/taskfleet/key

A request carries X-Task-ID and X-Task-Attempt. An answer 2xx completes the task.
408, 425, 429, 5xx and no answer fail the attempt: the task comes back later, and
after --max-attempts it goes to dead_tasks with the last error. Other 4xx answers
and refused URLs send it there at once ("taskctl dead" lists and replays it). A
task whose workers die runs alone from the second time on, and goes there after
--max-crashes. Tasks of other kinds stay for workers that have a handler for them.

The first SIGINT or SIGTERM hands the partitions over and exits with 0 when that
went well. The second one ends at once; tasks that were running run again
elsewhere.

` + ydbconn.Help

// keptHistory is the TTL that the migrations give to completed_tasks.
const keptHistory = 24 * time.Hour

// options are the flags.
type options struct {
	flags      *pflag.FlagSet
	connection *ydbconn.Flags
	log        *cli.LogFlags
	handlers   handlerFlags
	clock      *cli.Clock

	workerID       string
	weight         int
	concurrency    int
	maxAttempts    uint32
	maxCrashes     int
	taskTimeout    time.Duration
	drainTimeout   time.Duration
	sessionTimeout time.Duration
	history        time.Duration
	metricsAddr    string
	journal        bool
	notes          *journal.Journal // nil without --journal
}

func newOptions() *options {
	o := &options{flags: cli.NewFlagSet("worker", usage)}
	fs := o.flags
	o.connection = ydbconn.RegisterFlags(fs)
	fs.StringVar(&o.workerID, "worker-id", "", "`name` in the fleet, the same after a restart if it can be (default: host-pid-random)")
	fs.IntVar(&o.weight, "weight", 1, fmt.Sprintf("share of the partitions relative to the others', 1..%d", rebalancer.MaxWeight))
	fs.IntVar(&o.concurrency, "concurrency", 64, "handlers that run at once")
	fs.Uint32Var(&o.maxAttempts, "max-attempts", 25, "attempts of a task that names no number, the first included")
	fs.IntVar(&o.maxCrashes, "max-crashes", 3, "workers that may die while they hold a task before it goes to dead_tasks; 0: the first one ends it, so that a task runs at most once")
	fs.DurationVar(&o.taskTimeout, "task-timeout", 5*time.Minute, "how long one attempt of a task that names no timeout may take")
	fs.DurationVar(&o.drainTimeout, "drain-timeout", 30*time.Second, "how long running tasks may go on when their partition moves or the worker stops")
	fs.DurationVar(&o.sessionTimeout, "session-timeout", 10*time.Second, "how long partitions stay with a worker that is not heard of; the same in the whole fleet")
	fs.DurationVar(&o.history, "history", keptHistory, "how long completed tasks are kept: 24h, or 0 to delete them at once")
	o.handlers.register(fs)
	fs.StringVar(&o.metricsAddr, "metrics-addr", metrics.DefaultAddr, "`address` of /metrics and /healthz, which need no authentication; :9090 is open to the network, \"\" is off")
	o.log = cli.RegisterLogFlags(fs)
	o.clock = cli.RegisterClockFlag(fs)
	fs.BoolVar(&o.journal, "journal", false, "note every operation on stdout, for tests")
	_ = fs.MarkHidden("journal") // it fails only for a flag that is not there
	return o
}

// validate reports every flag that is wrong, joined.
func (o *options) validate() error {
	var errs []error
	add := func(bad bool, format string, args ...any) {
		if bad {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	add(o.flags.NArg() > 0, "argument %q: there are only flags", o.flags.Arg(0))
	add(len(o.workerID) > 256, "--worker-id of %d bytes: must have at most 256", len(o.workerID))
	add(o.weight < 1 || o.weight > rebalancer.MaxWeight, "--weight %d: must be 1..%d", o.weight, rebalancer.MaxWeight)
	add(o.concurrency < 1 || o.concurrency > 10_000, "--concurrency %d: must be 1..10000", o.concurrency)
	add(o.maxAttempts < 1 || o.maxAttempts > task.MaxAttempts, "--max-attempts %d: must be 1..%d", o.maxAttempts, task.MaxAttempts)
	add(o.maxCrashes < 0 || o.maxCrashes > task.MaxAttempts, "--max-crashes %d: must be 0..%d", o.maxCrashes, task.MaxAttempts)
	add(o.taskTimeout <= 0 || o.taskTimeout > task.MaxTimeout, "--task-timeout %s: must be above 0 and at most %s", o.taskTimeout, task.MaxTimeout)
	add(o.drainTimeout < 0 || o.drainTimeout > time.Hour, "--drain-timeout %s: must be 0..1h", o.drainTimeout)
	add(o.sessionTimeout < time.Second || o.sessionTimeout > 5*time.Minute, "--session-timeout %s: must be 1s..5m", o.sessionTimeout)
	add(o.history != 0 && o.history != keptHistory, "--history %s: must be %s, which the table keeps, or 0", o.history, keptHistory)
	add(o.handlers.perHost < 0 || o.handlers.perHost > 10_000, "--per-host %d: must be 0..10000", o.handlers.perHost)
	add(o.handlers.breakAfter < 0 || o.handlers.breakAfter > 10_000, "--break-after %d: must be 0..10000", o.handlers.breakAfter)
	add(o.handlers.breakFor <= 0 || o.handlers.breakFor > time.Hour, "--break-for %s: must be above 0 and at most 1h", o.handlers.breakFor)
	return errors.Join(errs...)
}

// name returns the worker's id.
func (o *options) name() string {
	if o.workerID != "" {
		return o.workerID
	}
	host, err := os.Hostname()
	if err != nil || host == "" || len(host) > 200 {
		host = "worker"
	}
	return fmt.Sprintf("%s-%d-%.6s", host, os.Getpid(), rand.Text())
}
