package taskingest_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	ydb "github.com/ydb-platform/ydb-go-sdk/v3"
	"github.com/ydb-platform/ydb-go-sdk/v3/query"
	"go.uber.org/goleak"

	"github.com/taskfleet/taskfleet/internal/taskstore"
	"github.com/taskfleet/taskfleet/internal/testdb"
	"github.com/taskfleet/taskfleet/pkg/migrate"
	"github.com/taskfleet/taskfleet/pkg/taskingest"
	"github.com/taskfleet/taskfleet/pkg/taskproducer"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	token  = "0123456789abcdef-new"
	token2 = "0123456789abcdef-old"
	secret = "the secret of the hooks"
)

// fleet is a migrated folder of a database.
type fleet struct{ *testdb.Database }

// newFleet makes a fleet on any database.
func newFleet(t *testing.T) *fleet {
	t.Helper()
	return migrated(t, testdb.Open(t))
}

// newFaultyFleet makes a fleet on an embedded server, whose faults the test uses.
func newFaultyFleet(t *testing.T) *fleet {
	t.Helper()
	return migrated(t, &testdb.Start(t).Database)
}

func migrated(t *testing.T, d *testdb.Database) *fleet {
	t.Helper()
	_, err := migrate.Up(t.Context(), d.DB, migrate.Options{Folder: d.Folder, Partitions: 16})
	require.NoError(t, err)
	return &fleet{d}
}

// ids are the tasks in the database, by table.
func (f *fleet) ids(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, table := range []string{"coordinated_tasks", "delayed_tasks"} {
		result, err := f.DB.Query().Query(t.Context(), fmt.Sprintf("SELECT id, kind FROM `%s/%s`", f.Path(), table), query.WithIdempotent())
		require.NoError(t, err)
		set, err := result.NextResultSet(t.Context())
		require.NoError(t, err)
		for row, err := range set.Rows(t.Context()) {
			require.NoError(t, err)
			var id, kind string
			require.NoError(t, row.Scan(&id, &kind))
			require.Empty(t, found[id], "a task is in one table")
			found[id] = kind
		}
	}
	return found
}

// front is a server under test, on connections in memory.
type front struct {
	*fleet // nil: it stores nothing
	pipes  *pipes
	seen   *seen
	log    *safeBuffer
	stop   context.CancelFunc

	mu     sync.Mutex
	opened []net.Conn
}

func hooksFile(t *testing.T, rules string) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "secret"), []byte(secret+"\n"), 0o600))
	file := filepath.Join(dir, "hooks.yaml")
	refs := fmt.Sprintf("[{file: %s}]", filepath.Join(dir, "secret"))
	text := fmt.Sprintf("secrets: {github: %s, gitlab: %s, gitea: %s}\n%s", refs, refs, refs, rules)
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

// serve starts a server with a connection of its own. change may change its config.
func (f *fleet) serve(t *testing.T, change func(*taskingest.Config), options ...ydb.Option) *front {
	t.Helper()
	db := f.Connect(options...)
	producer, err := taskproducer.Open(t.Context(), db, taskproducer.Config{Folder: f.Folder, BatchBytes: taskproducer.MaxBatchBytes})
	require.NoError(t, err)
	store := taskstore.New(db, taskstore.Options{Folder: f.Folder})
	s := serve(t, taskingest.Config{
		Producer: producer,
		// Tests of the time that storing may take set their own.
		StoreTimeout: time.Minute,
		Ready:        func(ctx context.Context) error { _, err := store.Settings(ctx); return err },
	}, change)
	s.fleet = f
	return s
}

func serve(t *testing.T, cfg taskingest.Config, change func(*taskingest.Config)) *front {
	t.Helper()
	hooks, err := taskingest.ReadHooks(hooksFile(t, ""))
	require.NoError(t, err)
	s := &front{pipes: newPipes(), seen: &seen{}, log: &safeBuffer{}}
	cfg.Tokens, cfg.Hooks, cfg.Observer = []string{token, token2}, hooks, s.seen
	cfg.Logger = slog.New(slog.NewTextHandler(s.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	if change != nil {
		change(&cfg)
	}
	handler, err := taskingest.New(cfg)
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	s.stop = stop
	ended := make(chan error, 1)
	go func() { ended <- handler.Serve(ctx, s.pipes, time.Minute) }()
	t.Cleanup(func() {
		s.hangUp()
		stop()
		require.NoError(t, <-ended)
		require.Zero(t, s.seen.inFlight.Load())
		require.Zero(t, s.seen.bytes.Load())
		for _, private := range []string{token, token2, secret, "private-payload"} {
			require.NotContains(t, s.log.String(), private)
		}
	})
	return s
}

// reply is an answer.
type reply struct {
	code   int
	header http.Header
	body   string
}

// tasks is the answer to POST /v1/tasks.
type tasks struct {
	IDs        []string `json:"ids"`
	Enqueued   int      `json:"enqueued"`
	Duplicates int      `json:"duplicates"`
	Replayed   bool     `json:"replayed"`
}

func (r reply) tasks(t *testing.T) (got tasks) {
	t.Helper()
	require.Equal(t, http.StatusAccepted, r.code, r.body)
	require.NoError(t, json.Unmarshal([]byte(r.body), &got))
	return got
}

// send sends a request; it may be called from any goroutine.
func (s *front) send(ctx context.Context, method, path string, body io.Reader, headers ...string) (reply, error) {
	request, err := http.NewRequestWithContext(ctx, method, "http://site"+path, body)
	if err != nil {
		return reply{}, err
	}
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	response, err := s.pipes.client.Do(request)
	if err != nil {
		return reply{}, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return reply{response.StatusCode, response.Header, string(text)}, err
}

func (s *front) do(t *testing.T, method, path, body string, headers ...string) reply {
	t.Helper()
	r, err := s.send(t.Context(), method, path, strings.NewReader(body), headers...)
	require.NoError(t, err)
	require.Equal(t, "application/json", r.header.Get("Content-Type"))
	require.True(t, json.Valid([]byte(r.body)), r.body)
	return r
}

// post sends tasks as JSON; headers may replace what a good request has.
func (s *front) post(t *testing.T, body string, headers ...string) reply {
	t.Helper()
	return s.do(t, http.MethodPost, "/v1/tasks", body, good(headers...)...)
}

func good(headers ...string) []string {
	return append([]string{"Authorization", "Bearer " + token, "Content-Type", "application/json"}, headers...)
}

func sign(body []byte) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	return hex.EncodeToString(mac.Sum(nil))
}

func example(t *testing.T, name string) []byte {
	t.Helper()
	body, err := os.ReadFile(filepath.Join("..", "..", "internal", "githook", "testdata", name+".json"))
	require.NoError(t, err)
	return body
}

// seen is an observer that remembers.
type seen struct {
	inFlight, bytes atomic.Int64
	mu              sync.Mutex
	requests        []taskingest.Request
	hooks, pressure []string
}

func (s *seen) Request(r taskingest.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, r)
}

func (s *seen) Hook(service, outcome string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hooks = append(s.hooks, service+" "+outcome)
}

func (s *seen) Backpressure(limit string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pressure = append(s.pressure, limit)
}

func (s *seen) InFlight(requests int, bytes int64) {
	s.inFlight.Add(int64(requests))
	s.bytes.Add(bytes)
}

func (s *seen) told() (hooks, pressure []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string{}, s.hooks...), append([]string{}, s.pressure...)
}

// safeBuffer may be read while it is written.
type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}
