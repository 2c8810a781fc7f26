package taskingest_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/taskfleet/taskfleet/pkg/taskingest"
)

// hook sends a delivery as a service does; headers may replace what it sends.
func (s *front) hook(t *testing.T, service, event, delivery string, body []byte, headers ...string) reply {
	t.Helper()
	var own []string
	switch service {
	case "github":
		own = []string{"X-GitHub-Event", event, "X-GitHub-Delivery", delivery, "X-Hub-Signature-256", "sha256=" + sign(body), "User-Agent", "GitHub-Hookshot/1"}
	case "gitlab":
		own = []string{"X-Gitlab-Event", event, "Idempotency-Key", delivery, "X-Gitlab-Event-UUID", "other", "X-Gitlab-Token", secret}
	case "gitea":
		own = []string{"X-Gitea-Event", event, "X-Gitea-Delivery", delivery, "X-Gitea-Signature", sign(body)}
	}
	return s.do(t, http.MethodPost, "/hooks/"+service, string(body), append(append([]string{"Content-Type", "application/json"}, own...), headers...)...)
}

// delivered is the answer to a hook.
type delivered struct {
	Delivery, Event, Action string
	IDs                     []string
	Duplicate               bool
	Ignored                 string
	Ping                    bool
}

func (r reply) delivered(t *testing.T) (got delivered) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(r.body), &got), r.body)
	return got
}

func TestDeliveriesBecomeTasks(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	rules := func(c *taskingest.Config) {
		hooks, err := taskingest.ReadHooks(hooksFile(t, `
rules:
- {name: push-event, action: [created, updated, deleted, opened, reopened, closed, merged], kind: push-event, priority: 100}
- {name: ci-trigger, action: [created, updated, opened, reopened], kind: ci-trigger, priority: 200, payload: {ref: "${ref}"}}
`))
		require.NoError(t, err)
		c.Hooks = hooks
	}
	s, other := f.serve(t, rules), f.serve(t, rules)
	stored := 0
	for _, one := range []struct{ service, event, file, delivery, tasks, action string }{
		{"github", "push", "github/push", "h-1", "push-event ci-trigger", "push created"},
		{"github", "push", "github/tag-created", "h-2", "push-event ci-trigger", "tag created"},
		{"github", "push", "github/tag-deleted", "h-3", "push-event", "tag deleted"},
		{"github", "pull_request", "github/pull_request-opened", "h-4", "push-event ci-trigger", "merge-request opened"},
		{"github", "pull_request", "github/pull_request-closed", "h-5", "push-event", "merge-request closed"},
		{"gitlab", "Push Hook", "gitlab/push", "l-1", "push-event ci-trigger", "push updated"},
		{"gitlab", "Tag Push Hook", "gitlab/tag-created", "l-2", "push-event ci-trigger", "tag created"},
		{"gitlab", "Merge Request Hook", "gitlab/merge_request-commits", "l-3", "push-event ci-trigger", "merge-request updated"},
		{"gitea", "push", "gitea/push", "t-1", "push-event ci-trigger", "push updated"},
		{"gitea", "pull_request", "gitea/pull_request-merged", "t-2", "push-event", "merge-request merged"},
	} {
		var ids []string
		for rule := range strings.FieldsSeq(one.tasks) {
			ids = append(ids, one.service+"-"+one.delivery+"-"+rule)
		}
		stored += len(ids)
		body := example(t, one.file)
		for i, at := range []*front{s, s, other} { // and twice again, once elsewhere
			r := at.hook(t, one.service, one.event, one.delivery, body)
			require.Equal(t, http.StatusAccepted, r.code, r.body)
			got := r.delivered(t)
			require.Equal(t, ids, got.IDs, one.file)
			require.Equal(t, one.action, got.Event+" "+got.Action)
			require.Equal(t, i > 0, got.Duplicate)
			s.forgetBatches(t)
		}
		all := s.ids(t)
		require.Len(t, all, stored)
		for i, kind := range strings.Fields(one.tasks) {
			require.Equal(t, kind, all[ids[i]])
		}
	}
	hooks, _ := s.seen.told()
	require.Equal(t, 10, count(hooks, "stored"))
	require.Equal(t, 10, count(hooks, "duplicate"))
	require.Contains(t, s.log.String(), "delivery=h-1 event=push repository=Codertocat/Hello-World outcome=stored")
}

// TestIDsOfHooksAreReserved: who has a token cannot take the id that a delivery
// will have, and so suppress its task.
func TestIDsOfHooksAreReserved(t *testing.T) {
	t.Parallel()
	s := newFleet(t).serve(t, nil)
	const id = "github-d-1-push-event"
	for _, taken := range []string{id, "gitlab-1", "gitea-1", "key-1"} {
		r := s.post(t, `[{},{"id":"`+taken+`"}]`)
		require.Equal(t, http.StatusBadRequest, r.code, r.body)
		require.Contains(t, r.body, `"index":1,"field":"id"`)
		require.Contains(t, r.body, "is reserved for ids that taskfleet derives")
	}
	r := s.hook(t, "github", "push", "d-1", example(t, "github/push"))
	got := r.delivered(t)
	require.Equal(t, []string{id}, got.IDs, r.body)
	require.False(t, got.Duplicate)
	require.Len(t, s.ids(t), 1)
}

func count(texts []string, suffix string) (n int) {
	for _, text := range texts {
		if strings.HasSuffix(text, " "+suffix) {
			n++
		}
	}
	return n
}

func TestDeliveriesThatMakeNoTask(t *testing.T) {
	t.Parallel()
	s := newFleet(t).serve(t, func(c *taskingest.Config) { c.MaxHookBody = 100_000 })
	push, lab := example(t, "github/push"), example(t, "gitlab/push")
	bad := []byte(`{"ref":"refs/heads/main"}`)
	for _, one := range []struct {
		code           int
		service, event string
		body           []byte
		want, outcome  string
		headers        []string
	}{
		{200, "github", "ping", example(t, "github/ping"), `"ping":true`, "ping", nil},
		{202, "github", "issues", example(t, "github/issues-opened"), `"ignored":"event issues: only`, "ignored", nil},
		{202, "github", "create", example(t, "github/create"), `"ignored":"event create: the push tells it, too"`, "ignored", nil},
		{202, "github", "pull_request", example(t, "github/pull_request-labeled"), `"ignored":"no rule fits merge-request, labeled"`, "ignored", nil},
		{202, "gitlab", "Pipeline Hook", example(t, "gitlab/pipeline"), `"ignored":"event Pipeline Hook`, "ignored", nil},

		{401, "github", "push", push, "X-Hub-Signature-256 is missing", "refused", []string{"X-Hub-Signature-256", ""}},
		{401, "github", "push", push, "X-Hub-Signature-256 does not fit", "refused", []string{"X-Hub-Signature-256", "sha256=" + sign(lab)}},
		{401, "github", "push", push, "X-Hub-Signature-256 does not fit", "refused", []string{"X-Hub-Signature-256", sign(push)}},
		{401, "github", "ping", nil, "X-Hub-Signature-256 does not fit", "refused", []string{"X-Hub-Signature-256", "sha256=00"}},
		{401, "gitlab", "Push Hook", lab, "X-Gitlab-Token is missing", "refused", []string{"X-Gitlab-Token", ""}},
		{401, "gitlab", "Push Hook", lab, "X-Gitlab-Token does not fit", "refused", []string{"X-Gitlab-Token", secret + "x"}},
		{401, "gitea", "push", push, "X-Gitea-Signature does not fit", "refused", []string{"X-Gitea-Signature", "sha256=" + sign(push)}},

		{400, "github", "push", nil, "not a JSON object", "bad", nil},
		{400, "github", "push", bad, "neither a commit before nor one after", "bad", nil},
		{400, "github", "push", push, "X-GitHub-Delivery is missing", "bad", []string{"X-GitHub-Delivery", ""}},
		{400, "github", "push", push, "the id of the delivery must have", "bad", []string{"X-GitHub-Delivery", "../x"}},
		{400, "github", "", push, "X-GitHub-Event is missing", "bad", nil},
		{413, "github", "push", make([]byte, 100_001), "the body is too large: must have at most 100000 bytes", "", nil},
		{415, "github", "push", push, "Content-Type: must be application/json", "", []string{"Content-Type", "application/x-www-form-urlencoded"}},
	} {
		before, _ := s.seen.told()
		r := s.hook(t, one.service, one.event, "d-1", one.body, one.headers...)
		require.Equal(t, one.code, r.code, r.body)
		require.Contains(t, r.body, one.want)
		after, _ := s.seen.told()
		if one.outcome == "" {
			require.Equal(t, before, after)
			continue
		}
		require.Equal(t, one.service+" "+one.outcome, after[len(after)-1])
		require.Len(t, after, len(before)+1)
	}
	require.Equal(t, http.StatusMethodNotAllowed, s.do(t, http.MethodGet, "/hooks/github", "").code)
	require.Equal(t, http.StatusNotFound, s.do(t, http.MethodPost, "/hooks/bitbucket", "{}").code)
	require.Empty(t, s.ids(t))
}

func TestRulesOfAFile(t *testing.T) {
	t.Parallel()
	s := newFleet(t).serve(t, func(c *taskingest.Config) {
		hooks, err := taskingest.ReadHooks(hooksFile(t, `
rules:
- {name: main, service: gitlab, repository: acme/**, branch: main, kind: build, payload: {target: "${repository}"}}
- {name: huge, event: tag, kind: build, payload: ["`+strings.Repeat("${clone_url}", 10_000)+`"]}
`))
		require.NoError(t, err)
		require.Equal(t, []string{"github", "gitlab", "gitea"}, hooks.Services())
		require.Equal(t, []string{"build"}, hooks.Kinds())
		c.Hooks = hooks
	})
	r := s.hook(t, "gitlab", "Push Hook", "d-1", example(t, "gitlab/push"))
	require.Equal(t, []string{"gitlab-d-1-main"}, r.delivered(t).IDs)
	r = s.hook(t, "github", "push", "d-1", example(t, "github/push"))
	require.Equal(t, "no rule fits push, created", r.delivered(t).Ignored)
	r = s.hook(t, "github", "push", "d-2", example(t, "github/tag-created"))
	require.Equal(t, http.StatusUnprocessableEntity, r.code)
	require.Contains(t, r.body, "rule huge: payload of ")
	require.True(t, slices.Equal([]string{"build"}, values(s.ids(t))))
}

func values(m map[string]string) (all []string) {
	for _, v := range m {
		all = append(all, v)
	}
	return all
}
