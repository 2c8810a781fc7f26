package githook

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/taskfleet/taskfleet/pkg/task"
)

const sample = `
secrets:
  github: [{env: HUB}, {file: FILE}]
  gitea: [{env: TEA}]
rules:
  - name: main
    service: github
    host: github.com
    repository: [acme/*, Codertocat/**]
    event: push
    branch: [main, master, release/*]
    action: [created, updated]
    kind: ci-trigger
    priority: 200
    delay: 10s
    payload:
      target: build
      ref: ${ref}
      text: "$$5 for ${sender} on ${repository}"
      number: ${number}
      fixed: [1, true, null, 2.5]
      event: ${all}
  - name: tags
    tag: v*
    kind: release
`

func getenv(name string) string {
	return map[string]string{"HUB": "hub-secret", "TEA": "tea-secret"}[name]
}

func TestRulesMakeTasks(t *testing.T) {
	t.Parallel()
	c, err := Parse([]byte(sample))
	require.NoError(t, err)
	s, h := of("github", "push")
	e, err := s.Event(h, example(t, "github/push"))
	require.NoError(t, err)
	tasks, err := c.Tasks(e)
	require.NoError(t, err)
	require.Len(t, tasks, 1)
	whole, err := json.Marshal(e)
	require.NoError(t, err)
	require.JSONEq(t, `{"target":"build","ref":"refs/heads/master","text":"$5 for Codertocat on Codertocat/Hello-World",
		"number":"0","fixed":[1,true,null,2.5],"event":`+string(whole)+`}`, string(tasks[0].Payload))
	tasks[0].Payload = nil
	require.Equal(t, task.Task{
		ID: "github-" + delivery + "-main", Kind: "ci-trigger", Priority: 200,
		Delay: 10 * time.Second, PartitionKey: "Codertocat/Hello-World",
	}, tasks[0])

	for change, want := range map[string]int{
		"":                          1,
		"repository acme/x":         1,
		"repository acme/x/y":       0,
		"repository Codertocat/x/y": 1,
		"repository other/x":        0,
		"branch release/1":          1,
		"branch release/1/2":        0,
		"branch mainx":              0,
		"branch xmain":              0,
		"action deleted":            0,
		"host evil.com":             0,
		"service gitea":             0,
		"tag v1":                    1, // by the second rule
		"tag x1":                    0,
	} {
		changed := *e
		what, value, _ := strings.Cut(change, " ")
		switch what {
		case "repository":
			changed.Repository = value
		case "branch":
			changed.Branch = value
		case "action":
			changed.Action = value
		case "host":
			changed.Host = value
		case "service":
			changed.Service = value
		case "tag":
			changed.Event, changed.Branch, changed.Tag = Tag, "", value
		}
		tasks, err := c.Tasks(&changed)
		require.NoError(t, err)
		require.Len(t, tasks, want, change)
	}
}

// TestARenderedPayloadIsBounded: it is given up as soon as it is too large, however
// much a rule repeats a field.
func TestARenderedPayloadIsBounded(t *testing.T) {
	t.Parallel()
	e := &Event{CloneURL: strings.Repeat("u", maxURL)}
	for _, payload := range []string{
		"'" + strings.Repeat("${clone_url}", 10_000) + "'",
		"[" + strings.Repeat("'${clone_url}',", 10_000) + "]",
		"[" + strings.Repeat("'${all}',", 10_000) + "]",
	} {
		c, err := Parse([]byte("rules: [{name: a, kind: k, payload: " + payload + "}]"))
		require.NoError(t, err)
		_, err = c.Rules[0].task(e)
		require.EqualError(t, err, "payload of more than 262144 bytes")
	}
	text := fill(strings.Repeat("${clone_url}", 10_000), names(e))
	require.Less(t, len(text), task.MaxPayload+2*maxURL)
}

// TestFieldsAreNoPlaceholders: a handler that has placeholders of its own, written
// "$${name}" in a rule, must not take other people's text for one.
func TestFieldsAreNoPlaceholders(t *testing.T) {
	t.Parallel()
	e := &Event{Title: "{env:A}$", Sender: "${env:B}", Branch: "$${x", Tag: "{y}"}
	for text, want := range map[string]string{
		"$${env:TOKEN} $$ $$x":   "${env:TOKEN} $ $x",
		"${sender}":              "$ {env:B}",
		"${title}${title}":       "{env:A}$ {env:A}$",
		"$$${title}":             "$ {env:A}$",
		"${title}{env:A}":        "{env:A}$ {env:A}",
		"${title}${tag}":         "{env:A}$ {y}",
		"${branch}":              "$$ {x",
		"${title}${host}${tag}":  "{env:A}$ {y}",
		"$$$${z}":                "$${z}",
		"${title}$${env:TOKEN}.": "{env:A}$${env:TOKEN}.",
	} {
		require.Equal(t, want, fill(text, names(e)), text)
	}
	c, err := Parse([]byte("rules: [{name: a, kind: k, payload: ['${all}']}]"))
	require.NoError(t, err)
	made, err := c.Rules[0].task(e)
	require.NoError(t, err)
	require.NotContains(t, string(made.Payload), "${")
	require.Contains(t, string(made.Payload), `"sender":"$ {env:B}"`)
}

func TestDefaultRules(t *testing.T) {
	t.Parallel()
	c := Default(func(name string) string { return map[string]string{GitLabEnv: "x"}[name] })
	require.Equal(t, map[string][]SecretRef{"gitlab": {{Env: GitLabEnv}}}, c.Secrets)
	for _, one := range []struct{ service, event, file, want string }{
		{"github", "push", "github/push", "push-event 100"},
		{"github", "push", "github/tag-created", "push-event 100"},
		{"github", "push", "github/tag-deleted", "push-event 100"},
		{"github", "pull_request", "github/pull_request-synchronize", "push-event 100"},
		{"github", "pull_request", "github/pull_request-closed", "push-event 100"},
		{"github", "pull_request", "github/pull_request-labeled", ""},
		{"gitlab", "Merge Request Hook", "gitlab/merge_request-title", ""},
		{"gitea", "pull_request", "gitea/pull_request-merged", "push-event 100"},
	} {
		s, h := of(one.service, one.event)
		e, err := s.Event(h, example(t, one.file))
		require.NoError(t, err)
		tasks, err := c.Tasks(e)
		require.NoError(t, err)
		var got []string
		for _, made := range tasks {
			number, err := json.Marshal(made.Priority)
			require.NoError(t, err)
			got = append(got, made.Kind+" "+string(number))
			require.NoError(t, json.Unmarshal(made.Payload, &Event{}))
		}
		require.Equal(t, one.want, strings.Join(got, ", "), one.file)
	}
}

// TestI10BadFilesNameTheField is invariant I10 for the file of rules.
func TestI10BadFilesNameTheField(t *testing.T) {
	t.Parallel()
	rule := func(fields string) string { return "rules:\n- {name: a, kind: k, " + fields + "}" }
	for text, want := range map[string]string{
		"rules: 7":                                        "line 1: cannot unmarshal",
		"secret: {}":                                      "field secret not found",
		"rules: []\n---\nrules: []":                       "there is a second document",
		"secrets: {bitbucket: [{env: A}]}":                `secrets: "bitbucket": must be github, gitlab or gitea`,
		"secrets: {github: [{}]}":                         "secrets: github 1: must have either env or file",
		"secrets: {github: [{env: A, file: B}]}":          "secrets: github 1: must have either env or file",
		"rules: [{kind: a}]":                              `rule 1: name "": must be 1..32 letters`,
		"rules: [{name: a b, kind: a}]":                   `rule 1: name "a b": must be 1..32 letters`,
		"rules: [{name: a}]":                              "rule 1: kind of 0 bytes: must have 1..64",
		"rules: [{name: a, kind: a}, {name: a, kind: a}]": `rule 2: there is another rule "a"`,
		"rules: [null]":                                   "rule 1: is empty",
		rule("priority: 256"):                             "rule 1: priority 256: must be 0..255",
		rule("delay: soon"):                               `"soon": must be a duration such as "1m30s"`,
		rule("delay: -1s"):                                "delay -1s: must be 0..8784h0m0s",
		rule("event: pull"):                               "event: fits none of push, tag, merge-request",
		rule("service: bitbucket"):                        "service: fits none of github, gitlab, gitea",
		rule("branch: ''"):                                "a pattern must have 1..512 bytes",
		rule("branch: {a: b}"):                            "must be a pattern or a list of patterns",
		rule("payload: '${brunch}'"):                      `"${brunch}": there is no field "brunch"; there are action, after, all, before, branch`,
		rule("payload: {a: ['x${all}']}"):                 `"x${all}": ${all} must stand alone`,
		rule("payload: a$b"):                              `"a$b": a "$" that begins no field is written "$$"`,
		rule("payload: {1: a}"):                           "the names of an object must be texts",
		rule("payload: 2026-01-01"):                       "2026-01-01: write times as texts, in quotes",
		rule("colour: red"):                               "field colour not found",
		"rules: [" + strings.Repeat("{}, ", 101) + "]":    "101 rules: must be at most 100",
	} {
		_, err := Parse([]byte(text))
		require.ErrorContains(t, err, want, text)
	}
}

func TestSecretsAreReadWhereTheyAre(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	secret, config := filepath.Join(dir, "secret"), filepath.Join(dir, "hooks.yaml")
	require.NoError(t, os.WriteFile(secret, []byte("from-file\r\n"), 0o600))
	require.NoError(t, os.WriteFile(config, []byte(strings.ReplaceAll(sample, "FILE", secret)), 0o600))
	c, err := ReadFile(config)
	require.NoError(t, err)
	secrets, err := c.Resolve(getenv)
	require.NoError(t, err)
	require.Equal(t, map[string][][]byte{
		"github": {[]byte("hub-secret"), []byte("from-file")}, "gitea": {[]byte("tea-secret")},
	}, secrets)

	require.NoError(t, os.WriteFile(secret, []byte("\n"), 0o600))
	_, err = c.Resolve(func(string) string { return "" })
	require.ErrorContains(t, err, "githook: secret of github: the environment variable HUB is not set")
	require.ErrorContains(t, err, "githook: secret of github: "+secret+" is empty")
	require.NoError(t, os.Remove(secret))
	_, err = c.Resolve(getenv)
	require.ErrorIs(t, err, os.ErrNotExist)

	_, err = ReadFile(filepath.Join(dir, "none"))
	require.ErrorIs(t, err, os.ErrNotExist)
	require.NoError(t, os.WriteFile(config, make([]byte, maxConfig+1), 0o600))
	_, err = ReadFile(config)
	require.ErrorContains(t, err, "must have at most 1048576 bytes")
}

func TestGlob(t *testing.T) {
	t.Parallel()
	for pattern, texts := range map[string]string{
		"*":          "+ +a -a/b",
		"**":         "+ +a +a/b",
		"a/**":       "+a/ +a/b/c -a -b/a/",
		"a?c":        "+abc -ac -a/c -abbc",
		"v*.*":       "+v1.2 -v1 -xv1.2",
		"a.c+(d)[e]": "+a.c+(d)[e] -abc+(d)[e]",
		"a\\*":       "+a\\b -a*",
	} {
		compiled := glob(pattern)
		for _, text := range strings.Fields(texts) {
			require.Equal(t, text[0] == '+', compiled.MatchString(text[1:]), "%s %s", pattern, text)
		}
	}
}

// TestTheDocumentedFileIsRight: what the reference shows can be used.
func TestTheDocumentedFileIsRight(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/ingest.md")
	require.NoError(t, err)
	_, file, ok := strings.Cut(string(text), "```yaml\n")
	require.True(t, ok)
	file, _, _ = strings.Cut(file, "```")
	c, err := Parse([]byte(file))
	require.NoError(t, err)
	for _, one := range []struct{ service, event, file, want string }{
		{"github", "push", "github/push", "push-event"},
		{"github", "pull_request", "github/pull_request-opened", "pull-request"},
		{"gitlab", "Push Hook", "gitlab/push", "push-event release"},
		{"gitlab", "Tag Push Hook", "gitlab/tag-created", "push-event version"},
	} {
		s, h := of(one.service, one.event)
		e, err := s.Event(h, example(t, one.file))
		require.NoError(t, err)
		tasks, err := c.Tasks(e)
		require.NoError(t, err)
		var rules []string
		for _, made := range tasks {
			rules = append(rules, strings.TrimPrefix(made.ID, one.service+"-"+delivery+"-"))
		}
		require.Equal(t, one.want, strings.Join(rules, " "), one.file)
	}
	for name := range names(&Event{}) {
		require.True(t, name == wholeEvent || strings.Contains(string(text), "`"+name+"`"), "the field %s is not documented", name)
	}
}

// FuzzParse: whatever stands in a file, there is an error or a config of which the
// rules can be applied.
func FuzzParse(f *testing.F) {
	f.Add([]byte(sample))
	f.Add([]byte(DefaultRules))
	f.Add([]byte("rules: [{name: a, kind: b, payload: {a: [${all}, $$, '${tag}']}}]"))
	f.Add([]byte("a: &a [*a, *a]"))
	e := &Event{Service: "github", Event: Push, Action: Updated, Branch: "main", Delivery: "d", Repository: "a/b"}
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := Parse(text)
		if err != nil {
			return
		}
		tasks, err := c.Tasks(e)
		if err != nil {
			return
		}
		for _, made := range tasks {
			if !json.Valid(made.Payload) || made.Validate() != nil {
				t.Fatalf("%+v", made)
			}
		}
	})
}
