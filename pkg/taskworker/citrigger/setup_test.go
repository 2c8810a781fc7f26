package citrigger

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/taskfleet/taskfleet/internal/credential"
	"github.com/taskfleet/taskfleet/pkg/task"
	"github.com/taskfleet/taskfleet/pkg/taskworker"
	"github.com/taskfleet/taskfleet/pkg/taskworker/httphandler"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The secrets of the tests; none of them may come up in an error.
var vault = map[string]string{
	"GITLAB": "s3cret-gitlab", "GITHUB": "s3cret-github", "JENKINS": "s3cret-jenkins", "JOB": "s3cret-job", "GENERIC": `s3cret-"quoted" & more`,
	"LONG": strings.Repeat("s3cret-long", 5000),
}

// system is a CI system: it records what it is asked, and answers as told.
type system struct {
	t      *testing.T
	server *httptest.Server
	mu     sync.Mutex
	asked  []string
	answer http.HandlerFunc
}

func newSystem(t *testing.T, answer http.HandlerFunc) *system {
	t.Helper()
	s := &system{t: t, answer: answer}
	s.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		line := r.Method + " " + r.URL.EscapedPath()
		if r.URL.RawQuery != "" {
			line += "?" + r.URL.RawQuery
		}
		for _, name := range []string{"Authorization", "Accept", "X-Github-Api-Version", "Jenkins-Crumb", "Cookie", "X-Team", "X-Task-Id", "Content-Type"} {
			if v := r.Header.Get(name); v != "" {
				line += "\n" + name + ": " + v
			}
		}
		s.mu.Lock()
		s.asked = append(s.asked, line+"\n"+string(body))
		s.mu.Unlock()
		r.Body = io.NopCloser(bytes.NewReader(body))
		s.answer(w, r)
	}))
	t.Cleanup(s.server.Close)
	return s
}

func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

// grants are every use that the tests make of the vault, of the system's URL.
var grants = []string{
	"ref=env:GITLAB,provider=gitlab,in=token", "ref=env:GITHUB,provider=github_dispatch,in=token", "ref=env:GITHUB,provider=github_workflow,in=token",
	"ref=env:JENKINS,provider=jenkins,in=token", "ref=env:JOB,provider=jenkins,in=trigger_token",
	"ref=env:GITHUB,provider=generic,in=header:Authorization", "ref=env:GENERIC,provider=generic,in=body:", "ref=env:GENERIC,provider=generic,in=body:/key",
	"ref=env:JOB,provider=generic,in=form:token", "ref=env:LONG,provider=generic,in=body:/0",
}

// run gives a payload, in which SERVER stands for the system's URL, to a handler
// whose credentials are all granted to the system. Answers are recorded.
func (s *system) run(payload string) error { return s.runWith(payload, true) }

func (s *system) runWith(payload string, record bool) error {
	s.t.Helper()
	var granted []string
	for _, g := range grants {
		granted = append(granted, g+",url="+s.server.URL+"/")
	}
	set, err := credential.New("", granted, func(name string) (string, bool) { v, ok := vault[name]; return v, ok })
	require.NoError(s.t, err)
	client, err := httphandler.NewClient(httphandler.ClientConfig{AllowPrivate: true})
	require.NoError(s.t, err)
	defer client.CloseIdleConnections()
	handle, err := New(Config{Client: client, Credentials: set, RecordAnswers: record})
	require.NoError(s.t, err)
	err = handle(s.t.Context(), &task.Task{ID: "task-1", Attempt: 2, Payload: []byte(strings.ReplaceAll(payload, "SERVER", s.server.URL))})
	if err != nil {
		for name, secret := range vault {
			require.NotContains(s.t, err.Error(), secret, name)
		}
		require.NotContains(s.t, err.Error(), "s3cret")
	}
	return err
}

func isNever(err error) bool {
	return reflect.TypeOf(err) == reflect.TypeOf(taskworker.Never(nil))
}

// echo answers with everything that it was sent, as a careless server does.
func echo(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.WriteHeader(code)
		user, password, _ := r.BasicAuth()
		fmt.Fprintf(w, "you sent %v %s %s:%s", r.Header, body, user, password)
	}
}
