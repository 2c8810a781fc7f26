package sqshandler

import (
	"context"
	"crypto/md5"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/taskfleet/taskfleet/internal/outbound"
	"github.com/taskfleet/taskfleet/pkg/task"
	"github.com/taskfleet/taskfleet/pkg/taskworker"
	"github.com/taskfleet/taskfleet/pkg/taskworker/internal/delivery"
)

// A server of others is met in tools/sqs; here are the answers that it does not give.

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var keys = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
	return aws.Credentials{AccessKeyID: "id", SecretAccessKey: "s3cret"}, nil
})

func isNever(err error) bool {
	return reflect.TypeOf(err) == reflect.TypeOf(taskworker.Never(nil))
}

// service speaks both protocols, as far as a message goes.
type service struct {
	t       *testing.T
	server  *httptest.Server
	mu      sync.Mutex
	asked   []string
	because string
	hang    func() // when set, is called instead of an answer
	fail    func(action string) (status int, code string)
}

func newService(t *testing.T) *service {
	t.Helper()
	s := &service{t: t, because: "because", fail: func(string) (int, string) { return 0, "" }}
	s.server = httptest.NewServer(s)
	t.Cleanup(s.server.Close)
	return s
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	form, _ := url.ParseQuery(string(body))
	action, message := form.Get("Action"), form.Get("MessageBody")
	var fields map[string]any
	target := r.Header.Get("X-Amz-Target")
	if target != "" {
		action = strings.TrimPrefix(target, "AmazonSQS.")
		_ = json.Unmarshal(body, &fields)
		message, _ = fields["MessageBody"].(string)
	}
	if s.hang != nil {
		s.hang()
		<-r.Context().Done()
		return
	}
	s.mu.Lock()
	s.asked = append(s.asked, action+" "+message)
	status, code := s.fail(action)
	s.mu.Unlock()
	if !strings.HasPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256 Credential=id/") || !strings.Contains(r.Header.Get("Authorization"), "/ru-central1/sqs/") {
		status, code = 403, "InvalidSignature"
	}
	sum := md5.Sum([]byte(message))
	switch {
	case code != "" && target != "":
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"__type":"com.amazonaws.sqs#%s","message":%q}`, code, s.because)
	case code != "":
		w.WriteHeader(status)
		fmt.Fprintf(w, `<ErrorResponse><Error><Type>Sender</Type><Code>%s</Code><Message>%s</Message></Error><RequestId>r</RequestId></ErrorResponse>`, code, s.because)
	case target != "":
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		fmt.Fprintf(w, `{"QueueUrl":%q,"MessageId":"m","MD5OfMessageBody":%q}`, s.server.URL+"/queue/q", hex.EncodeToString(sum[:]))
	case action == "GetQueueUrl":
		fmt.Fprintf(w, `<GetQueueUrlResponse><GetQueueUrlResult><QueueUrl>%s/queue/q</QueueUrl></GetQueueUrlResult></GetQueueUrlResponse>`, s.server.URL)
	default:
		fmt.Fprintf(w, `<SendMessageResponse><SendMessageResult><MessageId>m</MessageId><MD5OfMessageBody>%x</MD5OfMessageBody></SendMessageResult></SendMessageResponse>`, sum)
	}
}

func (s *service) handler(protocol string) taskworker.Handler {
	s.t.Helper()
	client, err := outbound.New(outbound.Config{AllowPrivate: true})
	require.NoError(s.t, err)
	s.t.Cleanup(client.CloseIdleConnections)
	h, err := New(Config{Endpoint: s.server.URL, Protocol: protocol, Queues: []string{"q"}, Credentials: keys, Client: client})
	require.NoError(s.t, err)
	return h
}

func message(text string) *task.Task {
	return &task.Task{ID: "t", Payload: fmt.Appendf(nil, `{"body":%q}`, text)}
}

func TestBothProtocols(t *testing.T) {
	t.Parallel()
	for _, protocol := range []string{ProtocolQuery, ProtocolJSON} {
		s := newService(t)
		h := s.handler(protocol)
		require.NoError(t, h(t.Context(), message("1")), protocol)
		require.NoError(t, h(t.Context(), message("2")), protocol)
		require.Equal(t, []string{"GetQueueUrl ", "SendMessage 1", "SendMessage 2"}, s.asked, "a queue's URL is asked for once")
	}
}

func TestWhatAnErrorMeans(t *testing.T) {
	t.Parallel()
	for _, protocol := range []string{ProtocolQuery, ProtocolJSON} {
		for _, c := range []struct {
			status int
			code   string
			never  bool
		}{
			{400, "InvalidMessageContents", true}, {400, "InvalidParameterValue", true},
			{400, "QueueDoesNotExist", false}, {403, "AccessDenied", false}, {400, "ThrottlingException", false},
			{403, "InvalidSignature", false}, {500, "InternalFailure", false}, {503, "ServiceUnavailable", false},
		} {
			s := newService(t)
			s.fail = func(action string) (int, string) {
				if action == "SendMessage" {
					return c.status, c.code
				}
				return 0, ""
			}
			err := s.handler(protocol)(t.Context(), message("1"))
			require.ErrorContains(t, err, "sqs queue q: "+c.code+": because", protocol)
			require.Equal(t, c.never, isNever(err), c.code)
			require.NotContains(t, err.Error(), "s3cret")
			require.Len(t, s.asked, 2, "the task's attempts are the retries")
		}
	}
}

func TestNoService(t *testing.T) {
	t.Parallel()
	s := newService(t)
	h := s.handler(ProtocolQuery)
	s.server.Close()
	err := h(t.Context(), message("1"))
	require.ErrorContains(t, err, "connection refused")
	require.False(t, isNever(err))
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(taskworker.ErrRevoked)
	require.ErrorIs(t, h(ctx, message("1")), taskworker.ErrRevoked)
}

// TestAnAnswerIsBounded: in length and in time.
func TestAnAnswerIsBounded(t *testing.T) {
	t.Parallel()
	for _, protocol := range []string{ProtocolQuery, ProtocolJSON} {
		s := newService(t)
		s.because = strings.Repeat("x", 2<<20)
		s.fail = func(string) (int, string) { return 400, "InvalidParameterValue" }
		err := s.handler(protocol)(t.Context(), message("1"))
		require.ErrorContains(t, err, "longer than", protocol)
		require.Less(t, len(err.Error()), delivery.MaxExcerpt+100)

		ctx, cancel := context.WithCancelCause(t.Context())
		s = newService(t)
		s.hang = func() { cancel(taskworker.ErrRevoked) }
		require.ErrorIs(t, s.handler(protocol)(ctx, message("1")), taskworker.ErrRevoked)
	}
}

// TestTheDefaultRulesHold: an endpoint that is not public is refused, unless the
// client of the Config says otherwise.
func TestTheDefaultRulesHold(t *testing.T) {
	t.Parallel()
	h, err := New(Config{Endpoint: "http://169.254.169.254", Queues: []string{"q"}, Credentials: keys})
	require.NoError(t, err)
	err = h(t.Context(), message("1"))
	var refused *outbound.RefusedError
	require.True(t, errors.As(err, &refused), "%v", err)
	require.True(t, isNever(err))
}

func TestMalformedPayloadIsNeverTriedAgain(t *testing.T) {
	t.Parallel()
	h, err := New(Config{Queues: []string{"q", "q.fifo"}, Credentials: keys})
	require.NoError(t, err)
	for payload, want := range map[string]string{
		``:                                  "payload: must be a JSON object",
		`{"queue":5}`:                       "payload: queue: must not be a number",
		`{"queue":"other"}`:                 `payload: queue "other": must be one of q, q.fifo`,
		`{"queue":"http://evil.example/q"}`: "must be one of q, q.fifo",
		`{"body":""}`:                       "payload: body: must not be empty",
		`{"body":"x","delay":"16m"}`:        "payload: delay \"16m\"",
		`{"body":"x","delay":"-1s"}`:        "payload: delay",
		`{"queue":"q.fifo","body":"x","delay":"1s"}`: "payload: delay: a FIFO queue has none",
		`{"attributes":{"a":""}}`:                    "payload: attributes: names and values",
		`{"attributes":{"a":"","b":"","c":"","d":"","e":"","f":"","g":"","h":"","i":"","j":"","k":""}}`: "must be at most 10",
	} {
		err := h(t.Context(), &task.Task{ID: "t", Payload: []byte(payload)})
		require.ErrorContains(t, err, want, payload)
		require.True(t, isNever(err), payload)
	}
}

func TestSettingsThatAreWrong(t *testing.T) {
	t.Parallel()
	_, err := New(Config{Endpoint: "host", Protocol: "xml", Queues: []string{"a b", "http://host/"}})
	for _, want := range []string{`Endpoint "host"`, `Protocol "xml"`, "Credentials is nil", `Queues: "a b"`, `Queues: "http://host/"`} {
		require.ErrorContains(t, err, want)
	}
	_, err = New(Config{Credentials: keys})
	require.ErrorContains(t, err, "Queues is empty")
}

func TestMessageID(t *testing.T) {
	t.Parallel()
	for _, fit := range []string{"a", "0193e7a4-aaaa", "group/repo#1", strings.Repeat("x", 128)} {
		require.Equal(t, fit, messageID(fit))
	}
	for _, unfit := range []string{"", "a b", "é", "a\n", strings.Repeat("x", 129)} {
		require.Regexp(t, "^[0-9a-f]{64}$", messageID(unfit))
		require.NotEqual(t, messageID(unfit), messageID(messageID(unfit)), "an id that is another one's digest")
	}
}

// TestAnErrorIsBoundedAndHoldsNoKey: a service that says too much.
func TestAnErrorIsBoundedAndHoldsNoKey(t *testing.T) {
	t.Parallel()
	for _, protocol := range []string{ProtocolQuery, ProtocolJSON} {
		s := newService(t)
		s.because = strings.Repeat("why ", 1000) + "s3cret czNjcmV0"
		s.fail = func(string) (int, string) { return 400, "InvalidParameterValue" }
		err := s.handler(protocol)(t.Context(), message("1"))
		require.True(t, isNever(err))
		require.Less(t, len(err.Error()), delivery.MaxExcerpt+100)
		s.because = "the key s3cret, czNjcmV0"
		err = s.handler(protocol)(t.Context(), message("1"))
		require.ErrorContains(t, err, "InvalidParameterValue: the key [secret], [secret]")
	}
}

func FuzzPayload(f *testing.F) {
	f.Add([]byte(`{"queue":"q","body":{"n":1},"attributes":{"a":"b"},"delay":"5s"}`))
	f.Add([]byte(`{"body":"x"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := decode(text, "first")
		if err != nil {
			if !strings.HasPrefix(err.Error(), "payload: ") {
				t.Errorf("%q: %v names no field", text, err)
			}
			return
		}
		if p.Queue == "" || p.body == "" || p.delay < 0 || p.delay > 900 {
			t.Errorf("%q gives %+v", text, p)
		}
	})
}
