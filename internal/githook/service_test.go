package githook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func example(t testing.TB, name string) []byte {
	t.Helper()
	body, err := os.ReadFile(filepath.Join("testdata", name+".json"))
	require.NoError(t, err)
	return body
}

func headers(pairs ...string) http.Header {
	h := http.Header{}
	for i := 0; i < len(pairs); i += 2 {
		h.Set(pairs[i], pairs[i+1])
	}
	return h
}

const delivery = "72d3162e-cc78-11e3-81ab-4c9367dc0958"

func of(service, event string) (*Service, http.Header) {
	s := Named(service)
	return s, headers(s.event, event, s.delivery[0], delivery)
}

func TestExamplesBecomeEvents(t *testing.T) {
	t.Parallel()
	hello := Event{
		Service: "github", Host: "github.com", Delivery: delivery, Repository: "Codertocat/Hello-World", Sender: "Codertocat",
		URL: "https://github.com/Codertocat/Hello-World", CloneURL: "https://github.com/Codertocat/Hello-World.git",
	}
	shop := Event{
		Service: "gitlab", Host: "gitlab.example.com", Delivery: delivery, Repository: "acme/backend/shop", Sender: "ada",
		URL: "https://gitlab.example.com/acme/backend/shop", CloneURL: "https://gitlab.example.com/acme/backend/shop.git",
	}
	tea := Event{
		Service: "gitea", Host: "git.example.com", Delivery: delivery, Repository: "acme/shop", Sender: "ada",
		URL: "https://git.example.com/acme/shop", CloneURL: "https://git.example.com/acme/shop.git",
	}
	const (
		first, second = "6a1c0d7b2e5f48c39d04b7a1e2f3c4d5b6a79808", "b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d5e6"
		initial       = "6113728f27ae82c7b1a177c8d03f9e96e0adf246"
	)
	pull := func(e Event, action, source, after string, number int64, title, page string) Event {
		e.Event, e.Action, e.Number, e.Title, e.PageURL = MergeRequest, action, number, title, page
		e.Branch, e.SourceBranch, e.Ref, e.After = "main", source, "refs/heads/"+source, after
		return e
	}
	labMR := func(action, before string) Event {
		e := pull(shop, action, "cart", second, 12, "Check the cart twice", shop.URL+"/-/merge_requests/12")
		e.Before = before
		return e
	}
	hubPR := func(action, before string) Event {
		e := pull(hello, action, "changes", "ec26c3e57ca3a959ca5aad62de7213c562f8c821", 2, "Update the README with new information.", hello.URL+"/pull/2")
		e.Branch, e.Before = "master", before
		return e
	}
	ref := func(e Event, event, action, name, before, after string) Event {
		e.Event, e.Action, e.Before, e.After = event, action, before, after
		if e.Ref = "refs/heads/" + name; event == Tag {
			e.Ref = "refs/tags/" + name
			e.Tag = name
			return e
		}
		e.Branch = name
		return e
	}
	for _, one := range []struct {
		file, event string
		want        Event
	}{
		{"github/push", "push", ref(hello, Push, Created, "master", "", initial)},
		{"github/tag-created", "push", ref(hello, Tag, Created, "simple-tag", "", initial)},
		{"github/tag-deleted", "push", ref(hello, Tag, Deleted, "simple-tag", initial, "")},
		{"github/pull_request-opened", "pull_request", hubPR(Opened, "")},
		{"github/pull_request-closed", "pull_request", hubPR(Closed, "")},
		{"github/pull_request-labeled", "pull_request", hubPR("labeled", "")},
		{"gitlab/push", "Push Hook", ref(shop, Push, Updated, "main", first, second)},
		{"gitlab/push", "System Hook", ref(shop, Push, Updated, "main", first, second)},
		{"gitlab/tag-created", "Tag Push Hook", ref(shop, Tag, Created, "v1.2.0", "", second)},
		{"gitlab/merge_request-open", "Merge Request Hook", labMR(Opened, "")},
		{"gitlab/merge_request-commits", "Merge Request Hook", labMR(Updated, first)},
		{"gitlab/merge_request-title", "Merge Request Hook", labMR(Edited, "")},
		{"gitlab/merge_request-merge", "Merge Request Hook", labMR(Merged, "")},
		{"gitea/push", "push", ref(tea, Push, Updated, "develop", first, second)},
		{"gitea/tag-deleted", "push", ref(tea, Tag, Deleted, "v0.9", second, "")},
		{"gitea/pull_request-opened", "pull_request", pull(tea, Opened, "cart", second, 5, "Check the cart twice", tea.URL+"/pulls/5")},
		{"gitea/pull_request-synchronized", "pull_request", pull(tea, Updated, "cart", second, 5, "Check the cart twice", tea.URL+"/pulls/5")},
		{"gitea/pull_request-merged", "pull_request", pull(tea, Merged, "cart", second, 5, "Check the cart twice", tea.URL+"/pulls/5")},
	} {
		s, h := of(one.want.Service, one.event)
		got, err := s.Event(h, example(t, one.file))
		require.NoError(t, err, one.file)
		require.Equal(t, one.want, *got, one.file)
	}

	s, h := of("github", "pull_request")
	body := example(t, "github/pull_request-synchronize")
	got, err := s.Event(h, body)
	require.NoError(t, err)
	require.Equal(t, []string{Updated, "f95f852bd8fca8fcc58a9a2d6c842781e32a215e"}, []string{got.Action, got.Before})
	merged := strings.Replace(string(example(t, "github/pull_request-closed")), `"merged":false`, `"merged":true`, 1)
	got, err = s.Event(h, []byte(merged))
	require.NoError(t, err)
	require.Equal(t, Merged, got.Action)
}

func TestOtherEventsAreIgnoredWithAReason(t *testing.T) {
	t.Parallel()
	for _, one := range []struct{ service, event, file, want string }{
		{"github", "issues", "github/issues-opened", "event issues: only pushes, tags and merge requests make tasks"},
		{"github", "create", "github/create", "event create: the push tells it, too"},
		{"github", "<script>", "github/push", "event: unknown"},
		{"github", strings.Repeat("x", 65), "github/push", "event: unknown"},
		{"gitlab", "Pipeline Hook", "gitlab/pipeline", "event Pipeline Hook: only pushes, tags and merge requests make tasks"},
		{"gitea", "create", "github/create", "event create: the push tells it, too"},
		{"gitea", "ping", "github/ping", "event ping: only pushes, tags and merge requests make tasks"},
	} {
		s, h := of(one.service, one.event)
		_, err := s.Event(h, example(t, one.file))
		var ignored *Ignored
		require.ErrorAs(t, err, &ignored, one.event)
		require.Equal(t, one.want, ignored.Reason)
	}
	s, h := of("github", "push")
	_, err := s.Event(h, []byte(`{"ref":"refs/notes/commits","after":"1"}`))
	require.EqualError(t, err, "ref: neither a branch nor a tag")
	_, h = of("github", "ping")
	_, err = s.Event(h, example(t, "github/ping"))
	require.ErrorIs(t, err, ErrPing)
}

// TestI10BadPayloadsAreNamed is invariant I10 for payloads.
func TestI10BadPayloadsAreNamed(t *testing.T) {
	t.Parallel()
	push := string(example(t, "github/push"))
	change := func(from, to string) string {
		require.Contains(t, push, from)
		return strings.Replace(push, from, to, 1)
	}
	for _, one := range []struct{ body, want string }{
		{``, "payload: not a JSON object: unexpected end of JSON input"},
		{`[]`, "payload: not a JSON object: array"},
		{`{"ref":7}`, "payload: field ref has a value of the wrong type: number"},
		{`{"number":` + strings.Repeat("9", 1<<20) + `}`, "payload: field number has a value of the wrong type: number"},
		{`{}`, "payload: field ref is missing"},
		{`null`, "payload: field ref is missing"},
		{change(`"refs/heads/master"`, `"refs/heads/"`), "payload: the branch is missing"},
		{change(`"refs/heads/master"`, `"refs/heads/`+strings.Repeat("x", 600)+`"`), "payload: the ref has 611 bytes: must have at most 512"},
		{change(`"full_name":"Codertocat/Hello-World"`, `"full_name":""`), "payload: the full name of the repository is missing"},
		{change(`"html_url":"https://github.com/Codertocat/Hello-World"`, `"html_url":"/x"`), "payload: the URL of the repository is missing or wrong"},
		{change(`"after":"6113728f27ae82c7b1a177c8d03f9e96e0adf246"`, `"after":""`), "payload: neither a commit before nor one after"},
	} {
		s, h := of("github", "push")
		_, err := s.Event(h, []byte(one.body))
		require.EqualError(t, err, one.want)
	}
	s, h := of("github", "pull_request")
	_, err := s.Event(h, []byte(push))
	require.EqualError(t, err, "payload: field pull_request is missing")

	h = headers("X-GitHub-Event", "push")
	for id, want := range map[string]string{
		"":                      "payload: X-GitHub-Delivery is missing",
		strings.Repeat("x", 65): "payload: the id of the delivery must have at most 64 letters, digits, '-' and '_'",
		"a/b":                   "payload: the id of the delivery must have at most 64 letters, digits, '-' and '_'",
	} {
		h.Set("X-GitHub-Delivery", id)
		_, err := s.Event(h, []byte(push))
		require.EqualError(t, err, want)
		require.ErrorIs(t, err, ErrPayload)
	}
	_, err = s.Event(headers(), []byte(push))
	require.EqualError(t, err, "payload: X-GitHub-Event is missing")
}

func TestGitLabNamesADeliveryTwice(t *testing.T) {
	t.Parallel()
	s := Named("gitlab")
	body := example(t, "gitlab/push")
	h := headers("X-Gitlab-Event", "Push Hook", "X-Gitlab-Event-UUID", "event-1", "Idempotency-Key", "key-1")
	e, err := s.Event(h, body)
	require.NoError(t, err)
	require.Equal(t, "key-1", e.Delivery)
	h.Del("Idempotency-Key")
	e, err = s.Event(h, body)
	require.NoError(t, err)
	require.Equal(t, "event-1", e.Delivery)
	h.Del("X-Gitlab-Event-UUID")
	_, err = s.Event(h, body)
	require.EqualError(t, err, "payload: Idempotency-Key or X-Gitlab-Event-UUID is missing")
}

func hexMAC(secret, body string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(body))
	return hex.EncodeToString(mac.Sum(nil))
}

func TestVerify(t *testing.T) {
	t.Parallel()
	// The vector of GitHub's documentation.
	const body = "Hello, World!"
	published := "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
	secrets := [][]byte{[]byte("the old one"), []byte("It's a Secret to Everybody")}
	for _, one := range []struct {
		service, header, proof string
		ok                     bool
	}{
		{"github", "X-Hub-Signature-256", published, true},
		{"github", "X-Hub-Signature-256", "sha256=" + hexMAC("the old one", body), true},
		{"github", "X-Hub-Signature-256", hexMAC("the old one", body), false},
		{"github", "X-Hub-Signature-256", "sha256=" + hexMAC("another", body), false},
		{"github", "X-Hub-Signature-256", "sha256=" + hexMAC("the old one", body+" "), false},
		{"github", "X-Hub-Signature-256", published[:70], false},
		{"github", "X-Hub-Signature-256", "sha256=", false},
		{"github", "X-Hub-Signature", published, false},
		{"gitea", "X-Gitea-Signature", hexMAC("the old one", body), true},
		{"gitea", "X-Gitea-Signature", published, false},
		{"gitea", "X-Gitea-Signature", "", false},
		{"gitlab", "X-Gitlab-Token", "It's a Secret to Everybody", true},
		{"gitlab", "X-Gitlab-Token", "the old one", true},
		{"gitlab", "X-Gitlab-Token", "the old", false},
		{"gitlab", "X-Gitlab-Token", "", false},
	} {
		err := verify(Named(one.service), headers(one.header, one.proof), body, secrets)
		if one.ok {
			require.NoError(t, err, one)
			continue
		}
		require.ErrorIs(t, err, ErrProof, one)
		require.NotContains(t, err.Error(), "old one")
	}
	require.ErrorIs(t, verify(Named("gitlab"), headers("X-Gitlab-Token", "x"), "", nil), ErrProof)
	require.ErrorIs(t, verify(Named("github"), headers("X-Hub-Signature-256", published), body, nil), ErrProof)
}

// verify checks a delivery whose body comes in two parts.
func verify(s *Service, header http.Header, body string, secrets [][]byte) error {
	p, err := s.Proof(header, secrets)
	if err != nil {
		return err
	}
	p.Write([]byte(body[:len(body)/2]))
	p.Write([]byte(body[len(body)/2:]))
	return p.Check()
}

// TestWhatNoBodyCanProveIsRefusedBeforeIt: only a well-formed signature needs the
// body.
func TestWhatNoBodyCanProveIsRefusedBeforeIt(t *testing.T) {
	t.Parallel()
	secrets := [][]byte{[]byte("secret")}
	for _, one := range []struct {
		service, header, proof string
		ok, needsBody          bool
	}{
		{"github", "X-Hub-Signature-256", "sha256=" + strings.Repeat("aB", 32), true, true},
		{"github", "X-Hub-Signature-256", strings.Repeat("ab", 32), false, false},
		{"github", "X-Hub-Signature-256", "sha256=" + strings.Repeat("ab", 31), false, false},
		{"github", "X-Hub-Signature-256", "sha256=" + strings.Repeat("xy", 32), false, false},
		{"gitea", "X-Gitea-Signature", strings.Repeat("ab", 32), true, true},
		{"gitea", "X-Gitea-Signature", "ab", false, false},
		{"gitlab", "X-Gitlab-Token", "secret", true, false},
		{"gitlab", "X-Gitlab-Token", "secret2", false, false},
	} {
		p, err := Named(one.service).Proof(headers(one.header, one.proof), secrets)
		if !one.ok {
			require.ErrorIs(t, err, ErrProof, one)
			continue
		}
		require.NoError(t, err, one)
		require.Equal(t, one.needsBody, p.NeedsBody(), one)
	}
}

// FuzzEvent: whatever comes in, there is an error that is one of ours or an event
// within its bounds, of which every default rule makes a valid task.
func FuzzEvent(f *testing.F) {
	files, err := filepath.Glob("testdata/*/*.json")
	require.NoError(f, err)
	require.NotEmpty(f, files)
	for _, file := range files {
		body, err := os.ReadFile(file)
		require.NoError(f, err)
		for _, event := range []string{"push", "pull_request", "Push Hook"} {
			f.Add(event, body)
		}
	}
	config := Default(func(string) string { return "" })
	f.Fuzz(func(t *testing.T, event string, body []byte) {
		for _, s := range Services {
			e, err := s.Event(headers(s.event, event, s.delivery[0], delivery), body)
			if err != nil {
				var ignored *Ignored
				if !errors.As(err, &ignored) && !errors.Is(err, ErrPayload) && !errors.Is(err, ErrPing) {
					t.Fatalf("%T %v", err, err)
				}
				continue
			}
			if (e.Branch == "") == (e.Tag == "") || e.Repository == "" || e.Host == "" || e.Action == "" {
				t.Fatalf("%+v", e)
			}
			tasks, err := config.Tasks(e)
			if err != nil {
				t.Fatal(err)
			}
			for _, made := range tasks {
				if !json.Valid(made.Payload) {
					t.Fatalf("payload %q", made.Payload)
				}
			}
		}
	})
}
