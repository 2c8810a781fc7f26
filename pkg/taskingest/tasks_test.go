package taskingest_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/taskfleet/taskfleet/pkg/taskingest"
)

func TestTasksAreStoredBeforeTheAnswer(t *testing.T) {
	t.Parallel()
	s := newFleet(t).serve(t, nil)
	for _, one := range []struct {
		media, body string
		n           int
	}{
		{"application/json", `{"kind":"mail","payload":"private-payload"}`, 1},
		{"application/json", ` [{"kind":"mail"},{"kind":"mail","delay":"1h"} ] `, 2},
		{"application/json; charset=UTF-8", `[{"kind":"mail","id":"mine"}]`, 1},
		{"application/x-ndjson", "{\"kind\":\"mail\"}\r\n\n {\"kind\":\"mail\",\"priority\":7}", 2},
	} {
		before := len(s.ids(t))
		got := s.post(t, one.body, "Content-Type", one.media).tasks(t)
		require.Len(t, got.IDs, one.n)
		require.Equal(t, one.n, got.Enqueued)
		stored := s.ids(t)
		require.Len(t, stored, before+one.n)
		for _, id := range got.IDs {
			require.Equal(t, "mail", stored[id])
		}
	}
	got := s.post(t, `[{"id":"mine"},{"id":"other"},{"id":"other"}]`, "Authorization", "bearer "+token2).tasks(t)
	require.Equal(t, tasks{IDs: []string{"mine", "other", "other"}, Enqueued: 1, Duplicates: 2}, got)
}

// TestI10BadRequestsNameTheField is invariant I10 for requests: nothing of a
// request with a bad task is stored.
func TestI10BadRequestsNameTheField(t *testing.T) {
	t.Parallel()
	s := newFleet(t).serve(t, func(c *taskingest.Config) { c.MaxTasks, c.MaxBody = 3, 1000 })
	const nothing = `"nothing was stored: some tasks are bad"`
	for _, one := range []struct {
		code       int
		body, want string
		headers    []string
	}{
		{400, `[{},{"priority":300,"kind":7},{"prio":1}]`, `{"error":` + nothing + `,"tasks":[` +
			`{"index":1,"field":"priority","error":"300: must be 0..255"},{"index":1,"field":"kind","error":"7: must be a string"},` +
			`{"index":2,"field":"prio","error":"unknown field; there are kind, payload, priority, delay, run_at, key, id, max_attempts, timeout, headers"}]}`, nil},
		{400, `{"id":"` + strings.Repeat("x", 129) + `"}`, `{"error":` + nothing + `,"tasks":[{"index":0,"field":"id","error":"of 129 bytes: must have at most 128 bytes"}]}`, nil},
		{400, `[{},7]`, `{"error":` + nothing + `,"tasks":[{"index":1,"error":"not a JSON object: a task looks like {\"payload\":{\"url\":\"http://localhost:8080/hook\"},\"priority\":200}"}]}`, nil},
		{400, `[{},{}`, `{"error":"not a JSON array: it ends too early; nothing was stored"}`, nil},
		{400, `[{}]x`, `{"error":"there is something behind the array; nothing was stored"}`, nil},
		{400, `[{},}]`, `{"error":"not a JSON array: invalid character '}' looking for beginning of value; nothing was stored"}`, nil},
		{400, `{}{}`, `there is something behind the JSON object`, nil},
		{400, "{\"kind\":\"\xff\"}", `not valid UTF-8`, nil},
		{400, ``, `{"error":"there are no tasks"}`, nil},
		{400, `[]`, `{"error":"there are no tasks"}`, nil},
		{400, "\n\n", `{"error":"there are no tasks"}`, []string{"Content-Type", "application/x-ndjson"}},
		{400, "{}\n{\"priority\":-1}", `{"index":1,"field":"priority","error":"-1: must be 0..255"}`, []string{"Content-Type", "application/x-ndjson"}},
		{400, `{}`, `Idempotency-Key: must be one, of 1..255 printable`, []string{"Idempotency-Key", strings.Repeat("x", 256)}},
		{400, `{}`, `Idempotency-Key: must be one, of 1..255 printable`, []string{"Idempotency-Key", "a b"}},
		{400, `[{},{"id":"mine"}]`, `{"error":` + nothing + `,"tasks":[{"index":1,"field":"id","error":"cannot stand with a key, which the ids are made of"}]}`, []string{"Idempotency-Key", "a"}},
		{401, `{}`, `a bearer token is needed`, []string{"Authorization", ""}},
		{401, `{}`, `a bearer token is needed`, []string{"Authorization", "Bearer " + token + "x"}},
		{401, `{}`, `a bearer token is needed`, []string{"Authorization", "Basic " + token}},
		{401, `{}`, `a bearer token is needed`, []string{"Authorization", token}},
		{413, `[{},{},{},{}]`, `{"error":"too many tasks: must be at most 3"}`, nil},
		{413, `{"payload":"` + strings.Repeat("x", 1000) + `"}`, `{"error":"the body is too large: must have at most 1000 bytes"}`, nil},
		{415, `{}`, `Content-Type: must be application/json or application/x-ndjson, in UTF-8`, []string{"Content-Type", "text/plain"}},
		{415, `{}`, `Content-Type: must be application/json or`, []string{"Content-Type", ""}},
		{415, `{}`, `Content-Type: must be application/json or`, []string{"Content-Type", "application/json; charset=latin1"}},
		{415, `{}`, `Content-Encoding: must be identity`, []string{"Content-Encoding", "gzip"}},
	} {
		r := s.post(t, one.body, one.headers...)
		require.Equal(t, one.code, r.code, one.body)
		require.Contains(t, r.body, one.want, one.body)
		switch one.code {
		case http.StatusUnauthorized:
			require.Equal(t, "Bearer", r.header.Get("WWW-Authenticate"))
		}
	}
	r := s.do(t, http.MethodGet, "/v1/tasks", "", good()...)
	require.Equal(t, http.StatusMethodNotAllowed, r.code)
	require.Equal(t, "POST", r.header.Get("Allow"))
	require.Equal(t, http.StatusNotFound, s.do(t, http.MethodPost, "/v1/other", "{}", good()...).code)

	// A body whose length is not told is bounded as it is read.
	long, err := s.send(t.Context(), http.MethodPost, "/v1/tasks", unsized{strings.NewReader(strings.Repeat(" ", 2000))}, good()...)
	require.NoError(t, err)
	require.Equal(t, http.StatusRequestEntityTooLarge, long.code)

	require.Empty(t, s.ids(t))
}

// unsized hides the length of a body.
type unsized struct{ *strings.Reader }

func (unsized) Len() {}

func TestManyProblemsAreCut(t *testing.T) {
	t.Parallel()
	s := newFleet(t).serve(t, nil)
	r := s.post(t, "["+strings.Repeat(`{"a":1},`, 150)+"{}]")
	require.Equal(t, http.StatusBadRequest, r.code)
	require.Equal(t, 100, strings.Count(r.body, `"index"`))
	require.Contains(t, r.body, `"more":50`)
}

// TestTheLargestRequestFitsABatch: what the limits let through can be stored at
// once.
func TestTheLargestRequestFitsABatch(t *testing.T) {
	t.Parallel()
	s := newFleet(t).serve(t, func(c *taskingest.Config) { c.MaxBody = taskingest.LargestBody })
	var body strings.Builder
	for i := range 60 {
		fmt.Fprintf(&body, "{\"payload\":\"%d%s\",\"headers\":{\"a\":\"%s\"}}\n", i, strings.Repeat("x", 250<<10), strings.Repeat("h", 15<<10))
	}
	require.Greater(t, body.Len(), 15<<20)
	got := s.post(t, body.String(), "Content-Type", "application/x-ndjson").tasks(t)
	require.Equal(t, 60, got.Enqueued)
	require.Len(t, s.ids(t), 60)
}

func TestWithoutAuthentication(t *testing.T) {
	t.Parallel()
	s := newFleet(t).serve(t, func(c *taskingest.Config) { c.Tokens, c.InsecureNoAuth, c.Hooks = nil, true, nil })
	require.Len(t, s.post(t, `{}`, "Authorization", "").tasks(t).IDs, 1)
	r := s.do(t, http.MethodPost, "/hooks/github", "{}", "Content-Type", "application/json")
	require.Equal(t, http.StatusNotFound, r.code, "no secret, no hook")
}

func TestConfigIsChecked(t *testing.T) {
	t.Parallel()
	_, err := taskingest.New(taskingest.Config{})
	require.ErrorIs(t, err, taskingest.ErrNoToken)
	require.ErrorContains(t, err, "Producer is missing")
	_, err = taskingest.New(taskingest.Config{
		Tokens: []string{"short", "0123456789 abcdef"}, InsecureNoAuth: true,
		MaxBody: 1 << 30, MaxTasks: 10_001, MaxRequests: -1, MaxBytes: 1, MaxConns: -1, StoreTimeout: -1, ReadTimeout: -1, MaxHookBody: -1,
	})
	for _, want := range []string{
		"Tokens and InsecureNoAuth: choose one", "token 1 of 5 bytes: must have at least 16", "token 2 of 17 bytes: must have at least 16, printable ASCII without spaces",
		"MaxBody 1073741824: must be 1..16777216", "MaxTasks 10001: must be 1..10000", "MaxRequests -1", "MaxBytes 1: must be at least",
		"MaxConns -1", "StoreTimeout -1ns", "ReadTimeout -1ns", "MaxHookBody -1",
	} {
		require.ErrorContains(t, err, want)
	}
	require.NotContains(t, err.Error(), "short")
}
