package sqshandler

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/schemas"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/transport/http/protocol/awsquery"

	"github.com/taskfleet/taskfleet/internal/outbound"
	"github.com/taskfleet/taskfleet/pkg/task"
	"github.com/taskfleet/taskfleet/pkg/taskworker"
	"github.com/taskfleet/taskfleet/pkg/taskworker/httphandler"
	"github.com/taskfleet/taskfleet/pkg/taskworker/internal/delivery"
)

type handler struct {
	client *sqs.Client
	keys   aws.CredentialsProvider
	first  string

	mu   sync.Mutex
	urls map[string]string // by name; empty: not asked for yet
}

// New returns a handler that publishes tasks. Its error names every setting that
// is wrong. It sends nothing: whether the queues are there turns out when a task
// goes to one.
func New(cfg Config) (taskworker.Handler, error) {
	cfg = cfg.withDefaults()
	urls, first, err := cfg.queues()
	if err != nil {
		return nil, err
	}
	if cfg.Client == nil {
		if cfg.Client, err = httphandler.NewClient(httphandler.ClientConfig{}); err != nil {
			return nil, fmt.Errorf("sqshandler: %w", err)
		}
	}
	options := sqs.Options{
		BaseEndpoint: &cfg.Endpoint,
		Region:       cfg.Region,
		Credentials:  cfg.Credentials,
		HTTPClient:   cfg.Client,
		Retryer:      aws.NopRetryer{}, // the task's attempts are the retries
	}
	client := sqs.New(options, func(o *sqs.Options) { // New sets JSON, whatever options say
		if cfg.Protocol == ProtocolQuery {
			o.Protocol = awsquery.New(schemas.AmazonSQS)
		}
	})
	h := &handler{client: client, keys: cfg.Credentials, first: first, urls: urls}
	return h.handle, nil
}

func (h *handler) handle(ctx context.Context, t *task.Task) error {
	p, err := decode(t.Payload, h.first)
	if err != nil {
		return taskworker.Never(err)
	}
	url, err := h.queueURL(ctx, p.Queue)
	if err != nil {
		return err
	}
	input := &sqs.SendMessageInput{QueueUrl: &url, MessageBody: &p.body, DelaySeconds: p.delay}
	for name, value := range p.Attributes {
		if input.MessageAttributes == nil {
			input.MessageAttributes = map[string]types.MessageAttributeValue{}
		}
		input.MessageAttributes[name] = types.MessageAttributeValue{DataType: aws.String("String"), StringValue: aws.String(value)}
	}
	if strings.HasSuffix(p.Queue, fifoSuffix) {
		group := t.PartitionKey
		if group == "" {
			group = t.ID
		}
		input.MessageGroupId = aws.String(messageID(group))
		input.MessageDeduplicationId = aws.String(messageID(t.ID))
	}
	if _, err := h.client.SendMessage(ctx, input); err != nil {
		return h.failed(ctx, p.Queue, err)
	}
	return nil
}

// queueURL returns the URL of a queue, which the service is asked for once.
func (h *handler) queueURL(ctx context.Context, queue string) (string, error) {
	h.mu.Lock()
	url, known := h.urls[queue]
	names := slices.Sorted(maps.Keys(h.urls))
	h.mu.Unlock()
	if !known {
		return "", taskworker.Never(fmt.Errorf("payload: queue %.100q: must be one of %s", queue, strings.Join(names, ", ")))
	}
	if url != "" {
		return url, nil
	}
	output, err := h.client.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: &queue})
	if err != nil {
		return "", h.failed(ctx, queue, err)
	}
	url = aws.ToString(output.QueueUrl)
	if url == "" {
		return "", fmt.Errorf("sqs queue %s: the service did not tell its URL", queue)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.urls[queue] = url
	return url, nil
}

// permanent are errors that are the message's own.
var permanent = []string{
	"InvalidMessageContents", "InvalidParameterValue", "InvalidParameterCombination", "InvalidAttributeValue", "MessageTooLong",
	"UnsupportedOperation", "AWS.SimpleQueueService.UnsupportedOperation",
}

// failed makes the error of a request, which the task may outlive or not.
func (h *handler) failed(ctx context.Context, queue string, err error) error {
	var api smithy.APIError
	var refused *outbound.RefusedError
	never := errors.As(err, &refused) || errors.As(err, &api) && slices.Contains(permanent, api.ErrorCode())
	text := err.Error()
	if api != nil {
		text = api.ErrorCode() + ": " + api.ErrorMessage() // without the request's id, which makes every text another one
	}
	// A request holds a signature, never the key; the text is the service's all the same.
	keys, _ := h.keys.Retrieve(ctx)
	if clean := delivery.Excerpt(text, true, keys.SecretAccessKey, keys.SessionToken); clean != err.Error() {
		err = errors.New(clean)
	}
	if cause := context.Cause(ctx); cause != nil && !errors.Is(err, cause) {
		err = fmt.Errorf("%w: %w", cause, err)
	}
	err = fmt.Errorf("sqs queue %s: %w", queue, err)
	if never {
		return taskworker.Never(err)
	}
	return err
}
