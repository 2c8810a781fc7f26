package sqs

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/Admiral-Piett/goaws/app"
	"github.com/Admiral-Piett/goaws/app/router"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/schemas"
	"github.com/aws/smithy-go/transport/http/protocol/awsquery"
	"github.com/sirupsen/logrus"
	"github.com/stretchr/testify/require"

	"github.com/taskfleet/taskfleet/internal/lab/fleet"
	"github.com/taskfleet/taskfleet/internal/taskstore"
	"github.com/taskfleet/taskfleet/internal/testdb"
	"github.com/taskfleet/taskfleet/pkg/migrate"
	"github.com/taskfleet/taskfleet/pkg/task"
	"github.com/taskfleet/taskfleet/pkg/taskproducer"
)

const (
	patience = time.Minute
	poll     = 20 * time.Millisecond
)

// bin is the folder of the programs.
var bin string

func TestMain(m *testing.M) {
	logrus.SetOutput(io.Discard)
	var err error
	if bin, err = fleet.Build(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// service is GoAWS behind a listener that can go away. GoAWS keeps its queues in
// the process, so that there is one at a time.
type service struct {
	t       *testing.T
	address string
	http    *http.Server
	served  chan struct{}
	client  *sqs.Client
	// swallow makes it drop the answers of so many requests that it carried out.
	swallow atomic.Int32
	sends   atomic.Int32
}

func startService(t *testing.T, queues ...string) *service {
	t.Helper()
	s := &service{t: t, address: "127.0.0.1:0"}
	app.SyncQueues.Lock()
	clear(app.SyncQueues.Queues)
	app.SyncQueues.Unlock()
	s.up()
	host, port, err := net.SplitHostPort(s.address)
	require.NoError(t, err)
	app.CurrentEnvironment = app.Environment{Host: host, Port: port, AccountID: "queue", EnableDuplicates: true}
	app.CurrentEnvironment.QueueAttributeDefaults.MaximumMessageSize = 256 << 10
	t.Cleanup(s.down)
	s.client = sqs.New(sqs.Options{
		BaseEndpoint: aws.String("http://" + s.address), Region: "local",
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "id", SecretAccessKey: "key"}, nil
		}),
	}, func(o *sqs.Options) { o.Protocol = awsquery.New(schemas.AmazonSQS) })
	for _, name := range queues {
		_, err := s.client.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: &name})
		require.NoError(t, err)
	}
	return s
}

// up begins to serve, at the same address as before.
func (s *service) up() {
	s.t.Helper()
	listener, err := net.Listen("tcp", s.address)
	require.NoError(s.t, err)
	s.address = listener.Addr().String()
	s.http = &http.Server{Handler: s.handler()}
	s.served = make(chan struct{})
	go func(server *http.Server, served chan struct{}) {
		defer close(served)
		_ = server.Serve(listener)
	}(s.http, s.served)
}

// down ends every connection and takes no more.
func (s *service) down() {
	_ = s.http.Close()
	<-s.served
}

func (s *service) handler() http.Handler {
	real := router.New()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		if !bytes.Contains(body, []byte("Action=SendMessage")) {
			real.ServeHTTP(w, r)
			return
		}
		s.sends.Add(1)
		if s.swallow.Add(-1) < 0 {
			real.ServeHTTP(w, r)
			return
		}
		real.ServeHTTP(discard{http.Header{}}, r)
		panic(http.ErrAbortHandler) // the connection ends without an answer
	})
}

type discard struct{ header http.Header }

func (d discard) Header() http.Header         { return d.header }
func (d discard) Write(b []byte) (int, error) { return len(b), nil }
func (d discard) WriteHeader(int)             {}

// messages are those of a queue that nobody has received.
func (s *service) messages(queue string) []app.Message {
	app.SyncQueues.RLock()
	defer app.SyncQueues.RUnlock()
	return append([]app.Message(nil), app.SyncQueues.Queues[queue].Messages...)
}

// bodies counts the messages of a queue by their text.
func (s *service) bodies(queue string) map[string]int {
	counts := map[string]int{}
	for _, m := range s.messages(queue) {
		counts[string(m.MessageBody)]++
	}
	return counts
}

// bundle is a fleet of one worker that publishes to a service.
type bundle struct {
	*service
	flags    []string // that lead to the fleet
	store    *taskstore.Store
	producer *taskproducer.Producer
	log      *output
}

func setup(t *testing.T, s *service, args ...string) *bundle {
	t.Helper()
	dsn, d := testdb.DSN(t)
	_, err := migrate.Up(t.Context(), d.DB, migrate.Options{Folder: d.Folder, Partitions: 8})
	require.NoError(t, err)
	producer, err := taskproducer.Open(t.Context(), d.DB, taskproducer.Config{Folder: d.Folder})
	require.NoError(t, err)
	b := &bundle{
		service: s, flags: []string{"--endpoint", dsn, "--folder", d.Folder},
		store: taskstore.New(d.DB, taskstore.Options{Folder: d.Folder}), producer: producer, log: &output{},
	}
	worker := exec.Command(filepath.Join(bin, "worker"), slices.Concat(b.flags, []string{
		"--metrics-addr", "", "--session-timeout", "3s", "--break-for", "1s",
		"--sqs-endpoint", "http://" + s.address, "--sqs-region", "local", "--sqs-access-key", "env:QUEUE_ID", "--sqs-secret-key", "env:QUEUE_KEY",
	}, args)...)
	worker.Env = append(os.Environ(), "QUEUE_ID=id", "QUEUE_KEY=s3cret-key")
	worker.Stderr = b.log
	require.NoError(t, worker.Start())
	t.Cleanup(func() {
		_ = worker.Process.Signal(syscall.SIGTERM)
		require.NoError(t, worker.Wait(), b.log.String())
		require.NotContains(t, b.log.String(), "s3cret")
	})
	return b
}

func (b *bundle) enqueue(tasks ...task.Task) {
	b.t.Helper()
	for i := range tasks {
		tasks[i].Kind = "sqs"
	}
	_, err := b.producer.Enqueue(b.t.Context(), tasks...)
	require.NoError(b.t, err)
}

func (b *bundle) stats() taskstore.Stats {
	b.t.Helper()
	stats, err := b.store.Stats(b.t.Context())
	require.NoError(b.t, err)
	return stats
}

func (b *bundle) eventually(what string, condition func() bool) {
	b.t.Helper()
	require.Eventually(b.t, condition, patience, poll, what)
}

// taskctl runs the program and returns what it prints.
func (b *bundle) taskctl(args ...string) string {
	b.t.Helper()
	out, err := exec.Command(filepath.Join(bin, "taskctl"), append(args, b.flags...)...).CombinedOutput()
	require.NoError(b.t, err, string(out))
	return string(out)
}

// output is what a program writes; it may be read meanwhile.
type output struct {
	mu  sync.Mutex
	buf strings.Builder
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}
