package citrigger

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/taskfleet/taskfleet/internal/credential"
	"github.com/taskfleet/taskfleet/pkg/task"
	"github.com/taskfleet/taskfleet/pkg/taskworker/httphandler"
)

func TestWhatEachProviderIsSent(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, payload, want string }{
		{"gitlab", `{"provider":"gitlab","url":"SERVER","project":"group/my app","ref":"main","variables":{"A":"1&2"},"token":"env:GITLAB"}`,
			"POST /api/v4/projects/group%2Fmy%20app/trigger/pipeline\nContent-Type: application/x-www-form-urlencoded\nref=main&token=s3cret-gitlab&variables%5BA%5D=1%262"},
		{"gitlab below a path, by id", `{"provider":"gitlab","url":"SERVER/git/","project":"42","ref":"v1","token":"env:GITLAB"}`,
			"POST /git/api/v4/projects/42/trigger/pipeline\nContent-Type: application/x-www-form-urlencoded\nref=v1&token=s3cret-gitlab"},
		{"github dispatch", `{"provider":"github_dispatch","url":"SERVER","repository":"own/repo","event_type":"deploy","client_payload":{"sha":"abc","n":[1]},"token":"env:GITHUB"}`,
			"POST /repos/own/repo/dispatches\nAuthorization: Bearer s3cret-github\nAccept: application/vnd.github+json\nX-Github-Api-Version: 2022-11-28\nContent-Type: application/json\n" +
				`{"client_payload":{"n":[1],"sha":"abc"},"event_type":"deploy"}`},
		{"github workflow", `{"provider":"github_workflow","url":"SERVER/api/v3","repository":"own/repo","workflow":"ci.yml","ref":"main","inputs":{"level":"2"},"token":"env:GITHUB"}`,
			"POST /api/v3/repos/own/repo/actions/workflows/ci.yml/dispatches\nAuthorization: Bearer s3cret-github\nAccept: application/vnd.github+json\nX-Github-Api-Version: 2022-11-28\nContent-Type: application/json\n" +
				`{"inputs":{"level":"2"},"ref":"main"}`},
		{"jenkins with parameters", `{"provider":"jenkins","url":"SERVER","job":"folder/my app","parameters":{"SHA":"abc"},"user":"bot","token":"env:JENKINS"}`,
			"POST /job/folder/job/my%20app/buildWithParameters\nAuthorization: Basic Ym90OnMzY3JldC1qZW5raW5z\nContent-Type: application/x-www-form-urlencoded\nSHA=abc"},
		{"jenkins by the job's token", `{"provider":"jenkins","url":"SERVER","job":"app","trigger_token":"env:JOB"}`,
			"POST /job/app/build\nContent-Type: application/x-www-form-urlencoded\ntoken=s3cret-job"},
		{"generic, JSON", `{"provider":"generic","url":"SERVER/start","headers":{"Authorization":"Bearer ${env:GITHUB}","X-Team":"ci ${task.attempt}"},"body":{"id":"${task.id}","key":"${env:GENERIC}","n":12345678901234567890}}`,
			"POST /start\nAuthorization: Bearer s3cret-github\nX-Team: ci 2\nX-Task-Id: task-1\nContent-Type: application/json\n" +
				`{"id":"task-1","key":"s3cret-\"quoted\" \u0026 more","n":12345678901234567890}`},
		{"generic, form", `{"provider":"generic","url":"SERVER/start?x=1","method":"PUT","form":{"token":"${env:JOB}"}}`,
			"PUT /start?x=1\nX-Task-Id: task-1\nContent-Type: application/x-www-form-urlencoded\ntoken=s3cret-job"},
		{"generic, nothing but a URL", `{"provider":"generic","url":"SERVER/start","method":"GET"}`, "GET /start\nX-Task-Id: task-1\n"},
	} {
		s := newSystem(t, status(http.StatusCreated))
		require.NoError(t, s.run(c.payload), c.name)
		require.Equal(t, []string{c.want}, s.asked, c.name)
	}
}

func TestJenkinsCrumbBelongsToItsSession(t *testing.T) {
	t.Parallel()
	s := newSystem(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/crumbIssuer/") {
			http.SetCookie(w, &http.Cookie{Name: "JSESSIONID", Value: "session"})
			fmt.Fprint(w, `{"_class":"x","crumb":"cr-umb","crumbRequestField":"Jenkins-Crumb"}`)
			return
		}
		w.WriteHeader(http.StatusCreated)
	})
	require.NoError(t, s.run(`{"provider":"jenkins","url":"SERVER","job":"app","user":"bot","token":"env:JENKINS","crumb":true}`))
	require.Equal(t, []string{
		"GET /crumbIssuer/api/json\nAuthorization: Basic Ym90OnMzY3JldC1qZW5raW5z\n",
		"POST /job/app/build\nAuthorization: Basic Ym90OnMzY3JldC1qZW5raW5z\nJenkins-Crumb: cr-umb\nCookie: JSESSIONID=session\nContent-Type: application/x-www-form-urlencoded\n",
	}, s.asked)
	for _, answer := range []string{``, `{}`, `{"crumb":"a","crumbRequestField":"Host"}`, `{"crumb":"a\nb","crumbRequestField":"X"}`} {
		s := newSystem(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, answer) })
		err := s.run(`{"provider":"jenkins","url":"SERVER","job":"app","user":"bot","token":"env:JENKINS","crumb":true}`)
		require.ErrorContains(t, err, "crumb", answer)
		require.False(t, isNever(err))
		require.Len(t, s.asked, 1)
	}
}

// payloads of every provider that uses a credential.
var withCredential = []string{
	`{"provider":"gitlab","url":"SERVER","project":"p","ref":"main","token":"env:GITLAB"}`,
	`{"provider":"github_dispatch","url":"SERVER","repository":"o/r","event_type":"x","token":"env:GITHUB"}`,
	`{"provider":"github_workflow","url":"SERVER","repository":"o/r","workflow":"1","ref":"main","token":"env:GITHUB"}`,
	`{"provider":"jenkins","url":"SERVER","job":"j","user":"u","token":"env:JENKINS"}`,
	`{"provider":"jenkins","url":"SERVER","job":"j","user":"u","token":"env:JENKINS","crumb":true}`,
	`{"provider":"jenkins","url":"SERVER","job":"j","trigger_token":"env:JOB"}`,
	`{"provider":"generic","url":"SERVER","body":"${env:GENERIC}","headers":{"Authorization":"Bearer ${env:GITHUB}"}}`,
}

// TestASecretThatComesBackIsNotRecorded: run checks every error for secrets.
func TestASecretThatComesBackIsNotRecorded(t *testing.T) {
	t.Parallel()
	for _, payload := range withCredential {
		for code, never := range map[int]bool{400: true, 401: true, 404: true, 422: true, 429: false, 500: false, 503: false} {
			err := newSystem(t, echo(code)).run(payload)
			require.ErrorContains(t, err, fmt.Sprintf("status %d", code))
			require.ErrorContains(t, err, "[secret]")
			require.Equal(t, never, isNever(err), "%s %d", payload, code)
			err = newSystem(t, echo(code)).runWith(payload, false)
			require.ErrorContains(t, err, ": the answer is not recorded")
			require.NotContains(t, err.Error(), "you sent")
		}
		s := newSystem(t, status(200))
		s.server.Close()
		require.ErrorContains(t, s.run(payload), "connection refused")
	}
}

func TestACredentialGoesToItsHostsOnly(t *testing.T) {
	t.Parallel()
	s := newSystem(t, status(200))
	for _, payload := range withCredential {
		elsewhere := strings.ReplaceAll(payload, "SERVER", "https://evil.example")
		err := s.run(elsewhere)
		require.ErrorContains(t, err, "credential is not granted", elsewhere)
		require.True(t, isNever(err))
		for _, ref := range []string{"env:PATH", "file:/etc/passwd", "s3cr3t"} {
			other := strings.NewReplacer("env:GITLAB", ref, "env:GITHUB", ref, "env:JENKINS", ref, "env:JOB", ref, "env:GENERIC", ref).Replace(payload)
			err := s.run(other)
			require.ErrorContains(t, err, "credential is not granted", other)
			require.True(t, isNever(err))
		}
	}
	require.Empty(t, s.asked)
}

// TestACredentialStandsWhereItWasGranted: the system is granted, the place is not.
func TestACredentialStandsWhereItWasGranted(t *testing.T) {
	t.Parallel()
	s := newSystem(t, status(200))
	for payload, want := range map[string]string{
		`{"provider":"generic","url":"SERVER","headers":{"X-Echo":"${env:GITHUB}"}}`:                          `payload: header:X-Echo: credential is not granted: "env:GITHUB": in "header:X-Echo": it is granted for header:Authorization`,
		`{"provider":"generic","url":"SERVER","body":{"a/b":["${env:GENERIC}"]}}`:                             `payload: body:/a~1b/0: `,
		`{"provider":"generic","url":"SERVER","body":{"key":{"key":"${env:GENERIC}"}}}`:                       `payload: body:/key/key: `,
		`{"provider":"generic","url":"SERVER","form":{"key":"${env:GENERIC}"}}`:                               `payload: form:key: `,
		`{"provider":"generic","url":"SERVER","form":{"token":"${env:GITLAB}"}}`:                              `provider "generic": it is granted for gitlab`,
		`{"provider":"jenkins","url":"SERVER","job":"j","trigger_token":"env:JENKINS"}`:                       `payload: trigger_token: `,
		`{"provider":"gitlab","url":"SERVER/..;/x","project":"p","ref":"main","token":"env:GITLAB"}`:          `payload: token: `,
		`{"provider":"gitlab","url":"SERVER/%2e%2e/x","project":"p","ref":"main","token":"env:GITLAB"}`:       `segment of dots`,
		`{"provider":"github_dispatch","url":"SERVER","repository":"o/r","event_type":"x","token":"env:JOB"}`: `provider "github_dispatch": it is granted for `,
	} {
		err := s.run(payload)
		require.ErrorContains(t, err, want, payload)
		require.ErrorContains(t, err, "credential is not granted")
		require.True(t, isNever(err))
	}
	require.Empty(t, s.asked)
}

// asked records what credentials are asked for.
type asked []string

func (a *asked) Secret(ref, provider, in string, to *url.URL) (string, error) {
	*a = append(*a, fmt.Sprintf("%s %s %s %s", ref, provider, in, to))
	return "secret", nil
}

// TestWhatACredentialIsAskedFor: every provider names the URL that it sends the
// secret to, not the base of it.
func TestWhatACredentialIsAskedFor(t *testing.T) {
	t.Parallel()
	for payload, want := range map[string]string{
		withCredential[0]: "env:GITLAB gitlab token https://ci/api/v4/projects/p/trigger/pipeline",
		withCredential[1]: "env:GITHUB github_dispatch token https://ci/repos/o/r/dispatches",
		withCredential[2]: "env:GITHUB github_workflow token https://ci/repos/o/r/actions/workflows/1/dispatches",
		withCredential[3]: "env:JENKINS jenkins token https://ci/job/j/build",
		withCredential[4]: "env:JENKINS jenkins token https://ci/job/j/build, env:JENKINS jenkins token https://ci/crumbIssuer/api/json",
		withCredential[5]: "env:JOB jenkins trigger_token https://ci/job/j/build",
		withCredential[6]: "env:GENERIC generic body: https://ci, env:GITHUB generic header:Authorization https://ci",
	} {
		var a asked
		p, err := decode([]byte(strings.ReplaceAll(payload, "SERVER", "https://ci")))
		require.NoError(t, err)
		_ = p.start(t.Context(), &sender{handler: &handler{cfg: Config{Client: refusing{}, Credentials: &a}}, task: &task.Task{ID: "x"}, provider: p.name()})
		require.Equal(t, want, strings.Join(a, ", "))
	}
}

// TestEveryProviderCanBeGranted: grants know the providers of this package.
func TestEveryProviderCanBeGranted(t *testing.T) {
	t.Parallel()
	names := slices.AppendSeq([]string{httphandler.Provider}, maps.Keys(providers))
	require.ElementsMatch(t, names, credential.Providers())
}

// TestWhatIsFilledInIsBounded: a short payload that names a long secret often, and
// a deep one.
func TestWhatIsFilledInIsBounded(t *testing.T) {
	t.Parallel()
	s := newSystem(t, status(200))
	err := s.run(`{"provider":"generic","url":"SERVER","body":["` + strings.Repeat("${env:LONG}", 20) + `"]}`)
	require.ErrorContains(t, err, "placeholders stand for more than 1048576 bytes")
	require.True(t, isNever(err))
	const depth = 9000
	err = s.run(`{"provider":"generic","url":"SERVER","body":` + strings.Repeat("[", depth) + `"${env:LONG}"` + strings.Repeat("]", depth) + `}`)
	require.ErrorContains(t, err, "credential is not granted")
	require.Less(t, len(err.Error()), 2<<10)
	require.Empty(t, s.asked)
}

// TestATaskIDInAHeader stands as X-Task-ID has it.
func TestATaskIDInAHeader(t *testing.T) {
	t.Parallel()
	f := &filler{sender: &sender{task: &task.Task{ID: "a\x00 b%"}}, room: 100}
	require.Equal(t, "a%00%20b%25", f.text("header:", "A", "${task.id}"))
	require.Equal(t, "a\x00 b%", f.text("body:", "", "${task.id}"))
}

func TestMalformedPayloadIsNeverTriedAgain(t *testing.T) {
	t.Parallel()
	s := newSystem(t, status(200))
	for payload, want := range map[string]string{
		``: "must be a JSON object", `[]`: "must be a JSON object", `{}`: `provider ""`, `{"provider":"travis"}`: `provider "travis"`,
		`{"provider":"gitlab"}`: "project is missing",
		`{"provider":"gitlab","project":"p","ref":"main","token":"env:GITLAB","tokn":"x"}`:                                  `unknown field "tokn"`,
		`{"provider":"gitlab","project":"p","ref":5,"token":"env:GITLAB"}`:                                                  "payload: ref: must not be a number",
		`{"provider":"gitlab","project":"p","ref":"a\nb","token":"env:GITLAB"}`:                                             "ref: must not hold control characters",
		`{"provider":"gitlab","project":"..","ref":"a","token":"env:GITLAB"}`:                                               "must not be a path",
		`{"provider":"gitlab","project":"a/../b","ref":"a","token":"env:GITLAB"}`:                                           "must not be a path",
		`{"provider":"gitlab","url":"http://u:p@h/","project":"p","ref":"a","token":"env:GITLAB"}`:                          "neither user nor query",
		`{"provider":"gitlab","url":"http://h/?token=x","project":"p","ref":"a","token":"env:GITLAB"}`:                      "neither user nor query",
		`{"provider":"gitlab","url":"SERVER","project":"p","ref":"a","token":"env:GITLAB","variables":{"":"x"}}`:            "a name is empty",
		`{"provider":"github_dispatch","repository":"x","event_type":"e","token":"env:GITHUB"}`:                             "must be owner/name",
		`{"provider":"github_dispatch","repository":"a/b/c","event_type":"e","token":"env:GITHUB"}`:                         "must not be a path",
		`{"provider":"github_dispatch","repository":"../b","event_type":"e","token":"env:GITHUB"}`:                          "must not be a path",
		`{"provider":"github_dispatch","repository":"a/b","event_type":"` + strings.Repeat("e", 101) + `","token":"env:T"}`: "at most 100",
		`{"provider":"github_dispatch","repository":"a/b","event_type":"e","token":"env:T","client_payload":[1]}`:           "client_payload: must not be a array",
		`{"provider":"github_workflow","repository":"a/b","workflow":"../x","ref":"main","token":"env:T"}`:                  "must not be a path",
		`{"provider":"jenkins","job":"a","trigger_token":"env:JOB"}`:                                                        "url is missing",
		`{"provider":"jenkins","url":"http://h","job":"a"}`:                                                                 "token is missing",
		`{"provider":"jenkins","url":"http://h","job":"a","user":"u"}`:                                                      "one stands without the other",
		`{"provider":"jenkins","url":"http://h","job":"a/../b","user":"u","token":"t"}`:                                     "must not be a path",
		`{"provider":"jenkins","url":"http://h","job":"a","user":"u:v","token":"t"}`:                                        "must not hold a colon",
		`{"provider":"generic","url":"http://h","method":"TRACE"}`:                                                          "method",
		`{"provider":"generic","url":"http://h","method":"GET","body":1}`:                                                   "has none here",
		`{"provider":"generic","url":"http://h","body":1,"form":{}}`:                                                        "cannot stand with form",
		`{"provider":"generic","url":"http://h","headers":{"Host":"x"}}`:                                                    "is not for a payload to set",
		`{"provider":"generic","url":"http://h/","headers":{"A":"${nothing}"}}`:                                             "credential is not granted",
	} {
		err := s.run(payload)
		require.ErrorContains(t, err, want, payload)
		require.True(t, isNever(err), payload)
	}
	require.Empty(t, s.asked)
}

func TestConfigNeedsCredentials(t *testing.T) {
	t.Parallel()
	_, err := New(Config{})
	require.ErrorContains(t, err, "Credentials is nil")
}

func FuzzPayload(f *testing.F) {
	for _, payload := range withCredential {
		f.Add([]byte(strings.ReplaceAll(payload, "SERVER", "https://ci.example.com")))
	}
	f.Fuzz(func(t *testing.T, payload []byte) {
		p, err := decode(payload)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "payload: ") {
				t.Errorf("%q: %v names no field", payload, err)
			}
			return
		}
		// Nothing that a payload says may panic on its way to the refusal.
		s := &sender{handler: &handler{cfg: Config{Client: refusing{}, Credentials: open{}}}, task: &task.Task{ID: "x"}}
		_ = p.start(t.Context(), s)
	})
}

type refusing struct{}

func (refusing) Do(r *http.Request) (*http.Response, error) {
	return nil, fmt.Errorf("not sent: %s", r.URL)
}

type open struct{}

func (open) Secret(string, string, string, *url.URL) (string, error) { return "secret", nil }
