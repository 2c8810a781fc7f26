package invariants

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/taskfleet/taskfleet/internal/lab/fleet"
)

// asked is what the CI server was asked for.
type asked struct {
	path, user, password string
	form                 map[string][]string
}

// TestAPushStartsAPipelineOnce sends a push as GitHub does to a producer; a
// worker starts the build in a CI server, with credentials that only it has. A
// redelivery starts nothing, and a forged push is refused.
func TestAPushStartsAPipelineOnce(t *testing.T) {
	t.Parallel()
	b := startProcesses(t)
	builds := make(chan asked, 10)
	ci := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		_ = r.ParseForm()
		builds <- asked{r.URL.Path, user, password, r.Form}
		w.WriteHeader(http.StatusCreated)
	}))
	t.Cleanup(ci.Close)

	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	const secret = "hook secret"
	rules := write("hooks.yaml", fmt.Sprintf(`
secrets:
  github: [{file: %s}]
rules:
  - name: build
    service: github
    event: [push, tag]
    kind: ci-trigger
    priority: 200
    payload:
      provider: jenkins
      url: %s
      job: builds
      user: bot
      token: file:jenkins
      parameters: {REPOSITORY: "${repository}", REF: "${ref}", SHA: "${after}"}
`, write("github", secret), ci.URL))
	write("jenkins", "api token")

	bin, err := programs()
	require.NoError(t, err)
	_, err = b.StartWorker("--credentials-dir", dir, "--credential", "ref=file:jenkins,provider=jenkins,in=token,url="+ci.URL+"/job/builds")
	require.NoError(t, err)
	listening := make(chan string, 1)
	producer, err := fleet.StartProcess("producer", filepath.Join(bin, "producer"), []string{
		"--endpoint", b.DSN, "--listen", "127.0.0.1:0", "--token-file", write("token", "a-token-of-some-length"),
		"--hooks-config", rules, "--metrics-addr", "", "--log-format", "json",
	}, nil, func(line string) {
		var entry struct{ Msg, Addr string }
		if json.Unmarshal([]byte(line), &entry) == nil && entry.Msg == "listening" {
			listening <- entry.Addr
		}
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, producer.Stop(patience)) })
	var address string
	select {
	case address = <-listening:
	case <-producer.Done():
		t.Fatalf("the producer ended: %v", producer.Tail())
	}

	body, err := os.ReadFile("../githook/testdata/github/push.json")
	require.NoError(t, err)
	var push struct {
		Ref, After string
		Repository struct {
			FullName string `json:"full_name"`
		}
	}
	require.NoError(t, json.Unmarshal(body, &push))
	deliver := func(key string) (int, map[string]any) {
		mac := hmac.New(sha256.New, []byte(key))
		mac.Write(body)
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+address+"/hooks/github", bytes.NewReader(body))
		require.NoError(t, err)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("X-GitHub-Event", "push")
		r.Header.Set("X-GitHub-Delivery", "72d3162e-cc78-11e3-81ab-4c9367dc0958")
		r.Header.Set("X-Hub-Signature-256", "sha256="+hex.EncodeToString(mac.Sum(nil)))
		answer, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		var fields map[string]any
		require.NoError(t, json.Unmarshal(text, &fields), string(text))
		return answer.StatusCode, fields
	}
	code, _ := deliver("another secret")
	require.Equal(t, http.StatusUnauthorized, code)
	code, answer := deliver(secret)
	require.Equal(t, http.StatusAccepted, code, answer)
	require.Equal(t, false, answer["duplicate"])
	code, answer = deliver(secret)
	require.Equal(t, http.StatusAccepted, code, answer)
	require.Equal(t, true, answer["duplicate"])

	require.Equal(t, asked{
		path: "/job/builds/buildWithParameters", user: "bot", password: "api token",
		form: map[string][]string{"REPOSITORY": {push.Repository.FullName}, "REF": {push.Ref}, "SHA": {push.After}},
	}, <-builds)
	stats := b.drained()
	require.EqualValues(t, 1, stats.Completed)
	require.Zero(t, stats.Dead)
	require.Empty(t, builds, "a second build")
}
