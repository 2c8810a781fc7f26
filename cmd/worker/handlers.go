package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/spf13/pflag"

	"github.com/taskfleet/taskfleet/internal/credential"
	"github.com/taskfleet/taskfleet/internal/outbound"
	"github.com/taskfleet/taskfleet/pkg/metrics"
	"github.com/taskfleet/taskfleet/pkg/task"
	"github.com/taskfleet/taskfleet/pkg/taskworker"
	"github.com/taskfleet/taskfleet/pkg/taskworker/citrigger"
	"github.com/taskfleet/taskfleet/pkg/taskworker/httphandler"
	"github.com/taskfleet/taskfleet/pkg/taskworker/sqshandler"
)

// flagNames turns the fields that outbound.New names into the flags that set them.
var flagNames = strings.NewReplacer(
	"outbound: AllowHosts:", "--allow-host:", "outbound: DenyHosts:", "--deny-host:", "outbound: AllowPorts:", "--allow-port:",
	"outbound: NAT64Prefixes:", "--nat64-prefix:", "outbound: Proxy:", "--outbound-proxy:", "outbound: PerHost:", "--per-host:", "outbound: BreakAfter:", "--break-after:",
	"outbound: BreakFor:", "--break-for:",
	"sqshandler: Endpoint", "--sqs-endpoint", "sqshandler: Protocol", "--sqs-protocol", "sqshandler: Queues:", "--sqs-queue",
)

// handlerFlags are the flags of what the handlers may reach and use.
type handlerFlags struct {
	allowPrivate                      bool
	allowHosts, denyHosts, allowPorts []string
	httpsOnly                         bool
	nat64Prefixes                     []string
	proxy                             string
	perHost, breakAfter               int
	breakFor                          time.Duration
	credentialsDir                    string
	credentials                       []string
	recordAnswers                     bool
	pushEventURL                      string

	sqsEndpoint, sqsRegion, sqsProtocol string
	sqsQueues                           []string
	sqsAccessKey, sqsSecretKey          string
}

func (f *handlerFlags) register(fs *pflag.FlagSet) {
	fs.BoolVar(&f.allowPrivate, "allow-private", false, "let tasks reach loopback, private and shared addresses; link-local and metadata services stay out of reach")
	fs.StringArrayVar(&f.allowHosts, "allow-host", nil, "`host` that tasks may reach, and no others: example.com, *.example.com, an address or a network; may be repeated")
	fs.StringArrayVar(&f.denyHosts, "deny-host", nil, "`host` that tasks must not reach, as in --allow-host; may be repeated")
	fs.StringArrayVar(&f.allowPorts, "allow-port", nil, "`port` or range that tasks may reach; may be repeated (default 80, 443, 1024-65535)")
	fs.BoolVar(&f.httpsOnly, "https-only", false, "refuse URLs with http")
	fs.StringArrayVar(&f.nat64Prefixes, "nat64-prefix", nil, "`prefix` of the network's own NAT64 (RFC 6052), as 2001:db8:64::/96: an address below it counts as the IPv4 address inside; may be repeated")
	fs.StringVar(&f.proxy, "outbound-proxy", "", "`url` of a proxy for everything that tasks send; it must check addresses itself (HTTP_PROXY is not read)")
	fs.IntVar(&f.perHost, "per-host", 0, "`number` of requests to one host at once (default: as --concurrency)")
	fs.IntVar(&f.breakAfter, "break-after", 20, "failures in a row after which a host is left alone; 0: never")
	fs.DurationVar(&f.breakFor, "break-for", 15*time.Second, "how long a host is left alone")
	fs.StringVar(&f.credentialsDir, "credentials-dir", "", "`folder` of the files that file:NAME refers to")
	fs.StringArrayVar(&f.credentials, "credential", nil, "`grant`, as "+credential.Example+": lets one provider put env:NAME or file:NAME into one place of requests below a URL; may be repeated")
	fs.BoolVar(&f.recordAnswers, "record-answers", false, "record what a server answers to a request with a credential, without the secret, when it is an error")
	fs.StringVar(&f.pushEventURL, "push-event-url", "", "`url` that the events of webhooks (kind push-event) are POSTed to; it may be private; none: the kind is left to other workers")
	fs.StringVar(&f.sqsEndpoint, "sqs-endpoint", sqshandler.YandexEndpoint, "`url` of the service of tasks of kind sqs")
	fs.StringVar(&f.sqsRegion, "sqs-region", sqshandler.YandexRegion, "`region` that its requests are signed for")
	fs.StringVar(&f.sqsProtocol, "sqs-protocol", sqshandler.ProtocolQuery, "its `protocol`: query or json")
	fs.StringArrayVar(&f.sqsQueues, "sqs-queue", nil, "`queue`, name or URL, that tasks may publish to, the first by default; may be repeated; none: kind sqs is off")
	fs.StringVar(&f.sqsAccessKey, "sqs-access-key", "env:AWS_ACCESS_KEY_ID", "`ref` of the key's id, env:NAME or file:PATH")
	fs.StringVar(&f.sqsSecretKey, "sqs-secret-key", "env:AWS_SECRET_ACCESS_KEY", "`ref` of the key, env:NAME or file:PATH")
}

// handlers makes the stock handlers by kind. Its error names every flag that is
// wrong.
func (f *handlerFlags) handlers(concurrency int, registry *metrics.Metrics) (map[string]taskworker.Handler, func(), error) {
	var errs []error
	client, err := outbound.New(f.outbound(concurrency, registry))
	if err != nil {
		errs = append(errs, errors.New(flagNames.Replace(err.Error())))
	}
	credentials, err := credential.New(f.credentialsDir, f.credentials, os.LookupEnv)
	if err != nil {
		errs = append(errs, fmt.Errorf("--credential: %w", err))
	}
	if len(errs) > 0 {
		return nil, nil, errors.Join(errs...)
	}
	ci, err := citrigger.New(citrigger.Config{Client: client, Credentials: credentials, RecordAnswers: f.recordAnswers})
	if err != nil {
		return nil, nil, err
	}
	handlers := map[string]taskworker.Handler{
		task.DefaultKind: httphandler.New(httphandler.Config{Client: client, Credentials: credentials, RecordAnswers: f.recordAnswers}),
		citrigger.Kind:   ci,
	}
	clients := []*outbound.Client{client}
	if len(f.sqsQueues) > 0 {
		queue, client, err := f.sqs(concurrency, registry)
		if err != nil {
			return nil, nil, errors.New(flagNames.Replace(err.Error()))
		}
		handlers[sqshandler.Kind] = queue
		clients = append(clients, client)
	}
	if f.pushEventURL != "" {
		client, err := f.clientOf(f.pushEventURL, concurrency, registry)
		if err != nil {
			return nil, nil, fmt.Errorf("--push-event-url %w", err)
		}
		handlers[pushEventKind] = pushEvents(f.pushEventURL, httphandler.New(httphandler.Config{Client: client}))
		clients = append(clients, client)
	}
	return handlers, func() {
		for _, client := range clients {
			client.CloseIdleConnections()
		}
	}, nil
}

func (f *handlerFlags) outbound(concurrency int, registry *metrics.Metrics) outbound.Config {
	cfg := outbound.Config{
		AllowPrivate: f.allowPrivate, AllowHosts: f.allowHosts, DenyHosts: f.denyHosts, AllowPorts: f.allowPorts,
		HTTPSOnly: f.httpsOnly, NAT64Prefixes: f.nat64Prefixes, Proxy: f.proxy,
		PerHost: f.perHost, BreakAfter: f.breakAfter, BreakFor: f.breakFor,
		Observer: registry.Outbound(),
	}
	if cfg.PerHost == 0 {
		cfg.PerHost = concurrency
	}
	if cfg.BreakAfter == 0 {
		cfg.BreakAfter = -1
	}
	return cfg
}

// clientOf makes a client that reaches the host and port of a URL, which are the
// operator's choice and may be private, and nothing else.
func (f *handlerFlags) clientOf(text string, concurrency int, registry *metrics.Metrics) (*outbound.Client, error) {
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("%q: must be a URL with http or https", text)
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	cfg := f.outbound(concurrency, registry)
	cfg.AllowPrivate, cfg.AllowHosts, cfg.DenyHosts = true, []string{u.Hostname()}, nil
	cfg.AllowPorts, cfg.HTTPSOnly = []string{port}, u.Scheme == "https"
	return outbound.New(cfg)
}

// sqs makes the handler of queues, and its client.
func (f *handlerFlags) sqs(concurrency int, registry *metrics.Metrics) (taskworker.Handler, *outbound.Client, error) {
	client, err := f.clientOf(f.sqsEndpoint, concurrency, registry)
	if err != nil {
		return nil, nil, fmt.Errorf("--sqs-endpoint %w", err)
	}
	keys := func() (aws.Credentials, error) {
		id, err1 := credential.Read(f.sqsAccessKey, "", os.LookupEnv)
		key, err2 := credential.Read(f.sqsSecretKey, "", os.LookupEnv)
		if err := errors.Join(err1, err2); err != nil {
			return aws.Credentials{}, fmt.Errorf("--sqs-access-key, --sqs-secret-key: %w", err)
		}
		return aws.Credentials{AccessKeyID: id, SecretAccessKey: key}, nil
	}
	if _, err := keys(); err != nil {
		return nil, nil, err
	}
	handler, err := sqshandler.New(sqshandler.Config{
		Endpoint: f.sqsEndpoint, Region: f.sqsRegion, Protocol: f.sqsProtocol, Queues: f.sqsQueues, Client: client,
		// Read at every request, so that keys can be replaced.
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) { return keys() }),
	})
	return handler, client, err
}
