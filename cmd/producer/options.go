package main

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"time"

	"github.com/spf13/pflag"

	"github.com/taskfleet/taskfleet/internal/cli"
	"github.com/taskfleet/taskfleet/internal/lab/journal"
	"github.com/taskfleet/taskfleet/internal/ydbconn"
	"github.com/taskfleet/taskfleet/pkg/metrics"
	"github.com/taskfleet/taskfleet/pkg/taskproducer"
)

const usage = `producer puts tasks into a fleet.

Synthetic load, one task in ten delayed by 5 to 30 seconds:
  producer --endpoint grpc://localhost:2136/local --target-url http://localhost:8080/hook --rate 500
  producer --endpoint ... --target-url ... --rate 500 --count 10000
  producer --endpoint ... --target-url ... --rate 0 --count 100000     as fast as possible

Tasks from a file, or from standard input with "-", one JSON object a line:
  producer --endpoint ... --input tasks.ndjson
  echo '{"payload":{"url":"http://localhost:8080/hook"},"priority":200,"delay":"30s"}' | producer --endpoint ... --input -
Fields, all of them optional:
  kind          string, chooses the handler ("http": POST payload to payload.url)
  payload       a string is taken as it is, anything else as its JSON text
  priority      0..255, 255 first (0)
  delay         "30s", or seconds
  run_at        RFC 3339, instead of delay
  key           string: equal keys go to one partition
  id            string: a known id is left as it is
  max_attempts  0..1000 (0: the worker's setting)
  timeout       "30s", or seconds, of one attempt (0: the worker's setting)
  headers       object of strings
A bad line is reported with its number, the others go in, and the exit code is 1.

Tasks over HTTP, in the same form, and the webhooks of GitHub, GitLab and Gitea:
  TOKEN=$(openssl rand -hex 32) producer --endpoint ... --listen :8080 --token-env TOKEN
  producer --endpoint ... --listen :8080 --token-file /run/secrets/tokens --hooks-config hooks.yaml
  curl -H "Authorization: Bearer $TOKEN" -H "Content-Type: application/json" -H "Idempotency-Key: order-17" \
    -d '{"payload":{"url":"http://localhost:8080/hook"},"priority":200}' http://localhost:8080/v1/tasks
A 2xx says that the tasks are committed. A webhook is served, at /hooks/github,
/hooks/gitlab and /hooks/gitea, when it has a secret: in --hooks-config, or without
a file in TASKFLEET_GITHUB_SECRET, TASKFLEET_GITLAB_TOKEN, TASKFLEET_GITEA_SECRET.
There is no TLS: put a proxy or a load balancer in front. See docs/ingest.md.

The first SIGINT or SIGTERM drains: what was begun is stored and answered. The second one ends at once.

` + ydbconn.Help

// closeTimeout bounds the closing of the connection.
const closeTimeout = 5 * time.Second

// options are the flags.
type options struct {
	flags      *pflag.FlagSet
	connection *ydbconn.Flags
	log        *cli.LogFlags
	clock      *cli.Clock

	input        string
	rate         float64
	window       time.Duration
	count        int
	duration     time.Duration
	targetURL    string
	delayedShare float64

	listen listenOptions

	inFlight       int
	drain          time.Duration
	reportInterval time.Duration
	metricsAddr    string
	json           bool
	journal        bool
	notes          *journal.Journal // nil without --journal
}

func newOptions() *options {
	o := &options{flags: cli.NewFlagSet("producer", usage)}
	fs := o.flags
	o.connection = ydbconn.RegisterFlags(fs)
	fs.StringVar(&o.input, "input", "", "`file` of tasks, one JSON object a line; \"-\" is standard input (default: synthetic load)")
	fs.Float64Var(&o.rate, "rate", 100, "synthetic: target in tasks per second; 0 is as fast as possible")
	fs.DurationVar(&o.window, "batch-window", taskproducer.DefaultWindow, "how often tasks are sent")
	fs.IntVar(&o.count, "count", 0, "synthetic: stop after so many tasks (default: no end)")
	fs.DurationVar(&o.duration, "duration", 0, "synthetic: stop after so long (default: no end)")
	fs.StringVar(&o.targetURL, "target-url", "", "synthetic: `url` that workers shall POST the tasks to")
	fs.Float64Var(&o.delayedShare, "delayed-share", 0.1, "synthetic: share of tasks that are delayed by 5 to 30 s, 0..1")
	o.listen.register(fs)
	fs.IntVar(&o.inFlight, "in-flight", taskproducer.DefaultInFlight, "batches that may be on their way")
	fs.DurationVar(&o.drain, "drain-timeout", taskproducer.DefaultDrain, "how long batches on their way may take after a signal")
	fs.DurationVar(&o.reportInterval, "report-interval", 5*time.Second, "how often to report on stderr; 0 is never")
	fs.StringVar(&o.metricsAddr, "metrics-addr", metrics.DefaultAddr, "`address` of /metrics and /healthz, which need no authentication; :9090 is open to the network, \"\" is off")
	fs.BoolVar(&o.json, "json", false, "end with one line of JSON on stdout")
	o.log = cli.RegisterLogFlags(fs)
	o.clock = cli.RegisterClockFlag(fs)
	fs.BoolVar(&o.journal, "journal", false, "note every batch on stdout, for tests")
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
	add(o.flags.NArg() > 0, "argument %q: there are only flags; a file is given by --input", o.flags.Arg(0))
	add(o.window < time.Millisecond || o.window > time.Minute, "--batch-window %s: must be 1ms..1m", o.window)
	add(o.inFlight < 1 || o.inFlight > 1000, "--in-flight %d: must be 1..1000", o.inFlight)
	add(o.drain <= 0, "--drain-timeout %s: must be positive", o.drain)
	add(o.reportInterval < 0, "--report-interval %s: must not be negative", o.reportInterval)
	errs = append(errs, o.listen.validate(o.flags))
	if source := o.source(); source != "" {
		for _, name := range []string{"rate", "count", "duration", "target-url", "delayed-share"} {
			add(o.flags.Changed(name), "--%s is for synthetic load: it cannot stand with --%s", name, source)
		}
		add(o.input != "" && o.listen.addr != "", "--input and --listen: choose one")
		add(source == "listen" && o.flags.Changed("in-flight"), "--in-flight cannot stand with --listen: requests are bounded by --max-requests")
		return errors.Join(errs...)
	}
	add(!(o.rate >= 0 && o.rate <= 1e7), "--rate %v: must be 0..10000000", o.rate)
	add(o.count < 0, "--count %d: must not be negative", o.count)
	add(o.duration < 0, "--duration %s: must not be negative", o.duration)
	add(o.rate == 0 && o.count == 0 && o.duration == 0, "--rate 0 needs --count or --duration")
	add(!(o.delayedShare >= 0 && o.delayedShare <= 1), "--delayed-share %v: must be 0..1", o.delayedShare)
	if o.targetURL == "" {
		errs = append(errs, errors.New("--target-url is missing: say where workers shall POST, as in --target-url http://localhost:8080/hook (or give tasks by --input or --listen)"))
	} else if u, err := url.Parse(o.targetURL); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		errs = append(errs, fmt.Errorf("--target-url %q: must be a URL such as http://localhost:8080/hook", o.targetURL))
	}
	return errors.Join(errs...)
}

// source is the flag that names where tasks come from, "" for synthetic load.
func (o *options) source() string {
	switch {
	case o.listen.addr != "":
		return "listen"
	case o.input != "":
		return "input"
	}
	return ""
}

// target is the rate to hold; 0 when there is none.
func (o *options) target() float64 {
	if o.source() != "" {
		return 0
	}
	return o.rate
}

// openInput returns what --input names, or nil for synthetic load.
func (o *options) openInput(stdin io.Reader) (io.Reader, func(), error) {
	switch o.input {
	case "":
		return nil, func() {}, nil
	case "-":
		return stdin, func() {}, nil
	}
	file, err := os.Open(o.input)
	if err != nil {
		return nil, nil, fmt.Errorf("--input: %w", err)
	}
	return file, func() { _ = file.Close() }, nil // nothing was written
}
