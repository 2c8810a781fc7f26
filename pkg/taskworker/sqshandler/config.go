package sqshandler

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// Kind is the kind of the tasks that the worker binary gives to this handler.
const Kind = "sqs"

// The endpoint and the region of Yandex Message Queue.
const (
	YandexEndpoint = "https://message-queue.api.cloud.yandex.net"
	YandexRegion   = "ru-central1"
)

// The protocols of Config.Protocol.
const (
	ProtocolQuery = "query" // form in, XML out: the one that every such service has
	ProtocolJSON  = "json"  // AWS JSON 1.0
)

// Config configures a handler.
type Config struct {
	// Endpoint of the service. Default YandexEndpoint.
	Endpoint string
	// Region that requests are signed for. Default YandexRegion.
	Region string
	// Protocol is ProtocolQuery or ProtocolJSON. Default ProtocolQuery.
	Protocol string
	// Queues are the queues that payloads may name, by name or by URL; the first is
	// that of payloads which name none. Required.
	Queues []string
	// Credentials are the static keys of the account. Required.
	Credentials aws.CredentialsProvider
	// Client sends the requests. Default: httphandler.NewClient with the default rules.
	Client interface {
		Do(*http.Request) (*http.Response, error)
	}
}

func (c Config) withDefaults() Config {
	if c.Endpoint == "" {
		c.Endpoint = YandexEndpoint
	}
	if c.Region == "" {
		c.Region = YandexRegion
	}
	if c.Protocol == "" {
		c.Protocol = ProtocolQuery
	}
	return c
}

// queues reads Queues: URLs by name, empty where the service is to be asked. It
// returns everything that is wrong with the Config, joined.
func (c Config) queues() (urls map[string]string, first string, err error) {
	var errs []error
	add := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf("sqshandler: "+format, args...))
		}
	}
	u, err := url.Parse(c.Endpoint)
	add(err == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https") && u.User == nil,
		"Endpoint %q: must be a URL such as %s", c.Endpoint, YandexEndpoint)
	add(c.Protocol == ProtocolQuery || c.Protocol == ProtocolJSON, "Protocol %q: must be %s or %s", c.Protocol, ProtocolQuery, ProtocolJSON)
	add(c.Credentials != nil, "Credentials is nil")
	add(len(c.Queues) > 0, "Queues is empty: there is nowhere to publish to")
	urls = map[string]string{}
	for i, q := range c.Queues {
		name, at := q, ""
		if strings.Contains(q, "://") {
			u, err := url.Parse(q)
			add(err == nil && u.Host != "" && strings.Trim(u.Path, "/") != "", "Queues: %q: must be a queue's name or URL", q)
			if err != nil {
				continue
			}
			name, at = path.Base(u.Path), q
		}
		add(validQueue(name), "Queues: %q: a name has up to 80 letters, digits, - and _, and may end with .fifo", q)
		if i == 0 {
			first = name
		}
		urls[name] = at
	}
	return urls, first, errors.Join(errs...)
}

func validQueue(name string) bool {
	name = strings.TrimSuffix(name, fifoSuffix)
	return name != "" && len(name) <= 80 && !strings.ContainsFunc(name, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_')
	})
}
