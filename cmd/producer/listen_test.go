package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/taskfleet/taskfleet/internal/cli"
	"github.com/taskfleet/taskfleet/internal/testdb"
	"github.com/taskfleet/taskfleet/pkg/ydbembed"
)

const testToken = "a-token-for-the-tests"

var listening = regexp.MustCompile(`msg=listening addr=(\S+)`)

func tokenFile(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "tokens")
	require.NoError(t, os.WriteFile(file, []byte("another-token-of-old\n\n"+testToken+"\n"), 0o600))
	return file
}

// base waits for the address that a log tells.
func base(t *testing.T, log fmt.Stringer) string {
	t.Helper()
	require.Eventually(t, func() bool { return listening.MatchString(log.String()) }, 20*time.Second, 5*time.Millisecond, "%s", log)
	return "http://" + listening.FindStringSubmatch(log.String())[1]
}

// once does not keep connections, so that none outlives its test.
var once = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 20 * time.Second}

// post sends tasks under a key; the code is 0 when there is no answer.
func post(base, key, body string) (code int, ids []string, err error) {
	request, err := http.NewRequestWithContext(context.Background(), http.MethodPost, base+"/v1/tasks", strings.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	request.Header.Set("Authorization", "Bearer "+testToken)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Idempotency-Key", key)
	response, err := once.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	var got struct {
		IDs   []string
		Error string
	}
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, nil, err
	}
	return response.StatusCode, got.IDs, json.Unmarshal(text, &got)
}

// listen runs the command as a listener. stop ends it and holds that it lost nothing.
func (f *fleet) listen(t *testing.T) (url string, log *watched, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	log = &watched{}
	var stdout bytes.Buffer
	ended := make(chan int, 1)
	args := append(append([]string{}, f.flags...), "--listen", "127.0.0.1:0", "--token-file", tokenFile(t), "--metrics-addr", "127.0.0.1:0")
	go func() { ended <- run(ctx, args, nil, &stdout, log) }()
	return base(t, log), log, func() {
		t.Helper()
		cancel()
		require.Equal(t, cli.ExitOK, <-ended, log.String())
		var got summary
		require.NoError(t, json.Unmarshal(stdout.Bytes(), &got))
		require.Zero(t, got.Failed)
		require.EqualValues(t, f.stats(t).Pending, got.Enqueued)
		require.NotContains(t, log.String(), testToken)
	}
}

func TestListenTakesTasksUntilASignal(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	url, log, stop := f.listen(t)
	code, _, err := post(url, "a", `[{},{"priority":7}]`)
	require.NoError(t, err)
	require.Equal(t, http.StatusAccepted, code)
	code, _, err = post(url, "a", `[{}]`)
	require.NoError(t, err)
	require.Equal(t, http.StatusUnprocessableEntity, code)
	code, _, err = post(url, "b", `[{"priority":300}]`)
	require.NoError(t, err)
	require.Equal(t, http.StatusBadRequest, code)
	require.JSONEq(t, `{"status":"ready"}`, get(t, url+"/readyz"))
	require.JSONEq(t, `{"status":"ok"}`, get(t, url+"/healthz"))

	address := regexp.MustCompile(`msg="metrics served" addr=(\S+)`).FindStringSubmatch(log.String())
	metrics := get(t, "http://"+address[1]+"/metrics")
	for _, line := range []string{
		`taskfleet_ingest_requests_total{code="202",route="tasks"} 1`,
		`taskfleet_ingest_requests_total{code="422",route="tasks"} 1`,
		`taskfleet_ingest_request_tasks_total{code="202",route="tasks"} 2`,
		`taskfleet_producer_tasks_total{kind="http"} 2`,
	} {
		require.Contains(t, metrics, "\n"+line+"\n")
	}

	var taken bytes.Buffer
	args := append(append([]string{}, f.flags...), "--listen", strings.TrimPrefix(url, "http://"), "--insecure-no-auth")
	require.Equal(t, cli.ExitFailed, run(t.Context(), args, nil, io.Discard, &taken))
	require.Contains(t, taken.String(), "--listen: address "+strings.TrimPrefix(url, "http://")+" is in use by another process")

	stop()
}

func TestI9AListenerAnswersWhatIsInFlightAtTheSignal(t *testing.T) {
	t.Parallel()
	e := testdb.Start(t, testdb.Options{TCP: true})
	url, _, stop := migrated(t, e.Server.DSN(), &e.Database).listen(t)
	held := e.Faults().Hold("ExecuteQuery", ydbembed.Containing("INSERT INTO enqueue_batches"))
	last := make(chan int, 1)
	go func() {
		code, _, _ := post(url, "a", `[{}]`)
		last <- code
	}()
	require.NoError(t, held.Wait(t.Context(), 1))
	go func() {
		for {
			if _, _, err := post(url, "b", `{}`); err != nil { // it listens no more
				held.Stop()
				return
			}
		}
	}()
	stop()
	require.Equal(t, http.StatusAccepted, <-last)
}

// TestI1AKilledProducerLosesNothing: clients repeat what was not answered at
// another producer; every task is there once.
func TestI1AKilledProducerLosesNothing(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	tokens := tokenFile(t)
	start := func() (*exec.Cmd, string) {
		log := &watched{}
		command := exec.CommandContext(context.WithoutCancel(t.Context()), os.Args[0],
			append(append([]string{}, f.flags...), "--listen", "127.0.0.1:0", "--token-file", tokens)...)
		command.Env = append(os.Environ(), asProducer+"=1")
		command.Stderr = log
		require.NoError(t, command.Start())
		return command, base(t, log)
	}
	first, firstURL := start()
	second, secondURL := start()

	const clients, each = 4, 30
	answered := make(chan struct{}, clients*each)
	var mu sync.Mutex
	ids := map[string]bool{}
	var load sync.WaitGroup
	for c := range clients {
		load.Go(func() {
			for n := range each {
				url := firstURL
				for {
					code, got, err := post(url, fmt.Sprintf("%d-%d", c, n), `[{},{}]`)
					if err == nil && code == http.StatusAccepted {
						mu.Lock()
						for _, id := range got {
							ids[id] = true
						}
						mu.Unlock()
						break
					}
					if code == http.StatusBadRequest || code == http.StatusUnprocessableEntity || code == http.StatusUnauthorized {
						t.Errorf("code %d", code)
						return
					}
					url = secondURL
				}
				answered <- struct{}{}
			}
		})
	}
	for range 20 {
		<-answered
	}
	require.NoError(t, first.Process.Kill())
	require.Error(t, first.Wait(), "killed")
	load.Wait()
	require.Len(t, ids, 2*clients*each)
	require.EqualValues(t, len(ids), f.stats(t).Pending)

	require.NoError(t, second.Process.Signal(syscall.SIGTERM))
	require.NoError(t, second.Wait(), "a stop that is asked for is no failure")
}
