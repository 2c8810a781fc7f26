package taskjson

import (
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/taskfleet/taskfleet/pkg/task"
)

func TestDecode(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]task.Task{
		`{}`: {},
		`{"kind":"mail","key":"customer-7","id":"a","priority":255,"max_attempts":3}`: {
			Kind: "mail", PartitionKey: "customer-7", ID: "a", Priority: 255, MaxAttempts: 3,
		},
		`{"payload":{"url":"http://h/", "n":[1]}}`: {Payload: []byte(`{"url":"http://h/", "n":[1]}`)},
		`{"payload":"a\u0000\n"}`:                  {Payload: []byte("a\x00\n")},
		`{"payload":17}`:                           {Payload: []byte("17")},
		`{"payload":null,"kind":null}`:             {},
		`{"delay":"1m30s","timeout":2.5}`:          {Delay: 90 * time.Second, Timeout: 2500 * time.Millisecond},
		`{"delay":0}`:                              {},
		`{"run_at":"2030-01-31T12:00:00+03:00"}`:   {RunAt: time.Date(2030, 1, 31, 12, 0, 0, 0, time.FixedZone("", 3*3600))},
		`{"headers":{"X-A":"1"}}`:                  {Headers: map[string]string{"X-A": "1"}},
		" {\"priority\" : 7 } \t":                  {Priority: 7},
	} {
		got, err := Decode([]byte(line))
		require.NoError(t, err, line)
		require.True(t, want.RunAt.Equal(got.RunAt), line)
		want.RunAt, got.RunAt = time.Time{}, time.Time{}
		require.Equal(t, want, got, line)
	}
}

// TestI10BadLinesNameTheField is invariant I10 for lines of input.
func TestI10BadLinesNameTheField(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		`{"priority":300}`:      "priority 300: must be 0..255",
		`{"priority":-1}`:       "priority -1: must be 0..255",
		`{"priority":1.5}`:      "priority 1.5: must be 0..255",
		`{"priority":"high"}`:   `priority "high": must be 0..255`,
		`{"prio":1}`:            `"prio": unknown field; there are ` + fieldNames,
		`{"Priority":1}`:        `"Priority": unknown field; there are ` + fieldNames,
		`{"id":"a","id":"b"}`:   "id: given twice",
		`{"kind":7}`:            "kind 7: must be a string",
		`{"delay":"soon"}`:      `delay "soon": must be a duration such as "1m30s", or seconds`,
		`{"delay":1e300}`:       `delay 1e300: must be a duration such as "1m30s", or seconds`,
		`{"delay":"-5s"}`:       "delay -5s: must be 0..8784h0m0s",
		`{"timeout":"25h"}`:     "timeout 25h0m0s: must be 0..24h0m0s",
		`{"run_at":"tomorrow"}`: `run_at "tomorrow": must be a time such as "2030-01-31T12:00:00Z"`,
		`{"run_at":1700000000}`: `run_at 1700000000: must be a time such as "2030-01-31T12:00:00Z"`,
		`{"delay":1,"run_at":"2030-01-31T12:00:00Z"}`:  "delay: cannot stand with run_at",
		`{"max_attempts":1001}`:                        "max_attempts 1001: must be 0..1000",
		`{"headers":{"a":1}}`:                          `headers {"a":1}: must be an object of strings`,
		`{"headers":{"a":null}}`:                       `headers {"a":null}: must be an object of strings`,
		`{"headers":{"a":"1","a":"2"}}`:                `headers {"a":"1","a":"2"}: "a" is given twice`,
		`{"headers":["a"]}`:                            `headers ["a"]: must be an object of strings`,
		`{"priority":300,"max_attempts":-1}`:           "priority 300: must be 0..255; max_attempts -1: must be 0..1000",
		`{"priority":` + strings.Repeat("9", 99) + `}`: "priority " + strings.Repeat("9", 40) + "...: must be 0..255",
		`{"id":"` + strings.Repeat("x", 129) + `"}`:    "id of 129 bytes: must have at most 128 bytes",
		`[1]`:                 `not a JSON object: a task looks like {"payload":{"url":"http://localhost:8080/hook"},"priority":200}`,
		`7`:                   `not a JSON object: a task looks like {"payload":{"url":"http://localhost:8080/hook"},"priority":200}`,
		`{`:                   "not a JSON object: it ends too early",
		`{"priority":`:        "not a JSON object: it ends too early",
		`{"priority":7`:       "not a JSON object: it ends too early",
		`{} {}`:               "there is something behind the JSON object: one line holds one task",
		`{}x`:                 "there is something behind the JSON object: one line holds one task",
		"{\"kind\":\"\xff\"}": "not valid UTF-8",
		`nonsense`:            "not a JSON object: invalid character 'o' in literal null (expecting 'u')",
	} {
		_, err := Decode([]byte(line))
		require.Error(t, err, line)
		require.Equal(t, want, Describe(err), line)
	}
}

// FuzzEach: an array is cut into the elements that encoding/json finds.
func FuzzEach(f *testing.F) {
	for _, seed := range []string{`[]`, `[{},{"a":[1,"]"]}]`, ` [ 1 , "\\\"," , null ] `, `[1`, `[1]x`, `7`, ``, `[[[]]]`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var got []string
		err := Each(text, func(element []byte) error { got = append(got, string(element)); return nil })
		var want []json.RawMessage
		if json.Unmarshal(text, &want) != nil || want == nil {
			if trimmed := strings.TrimLeft(string(text), " \t\r\n"); strings.HasPrefix(trimmed, "[") && err == nil {
				t.Fatalf("no array, but taken: %q", text)
			}
			return
		}
		if err != nil || len(got) != len(want) {
			t.Fatalf("%d elements, want %d: %v", len(got), len(want), err)
		}
		for i := range want {
			if got[i] != string(want[i]) {
				t.Fatalf("element %d is %q, want %q", i, got[i], want[i])
			}
		}
	})
}

func TestDecodeDepthIsBounded(t *testing.T) {
	t.Parallel()
	_, err := Decode([]byte(`{"payload":` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + `}`))
	require.ErrorContains(t, err, "exceeded max depth")
}

// FuzzDecode: whatever comes in, there is an error of one line or a valid
// task, and a task's payload is what was written.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"payload":{"url":"http://h/"},"priority":200,"delay":"30s"}`, `{"headers":{"a":"b"},"timeout":1.5}`,
		`{"run_at":"2030-01-31T12:00:00Z","id":"a","key":"b","kind":"c","max_attempts":3}`, `{"priority":300}`, `[`, "\xff", `{"a":{"b":[1,2,{"c":null}]}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		got, err := Decode(line)
		if err != nil {
			text := Describe(err)
			if text == "" || strings.Contains(text, "\n") || !utf8.ValidString(text) {
				t.Fatalf("error %q", text)
			}
			return
		}
		if err := got.Validate(); err != nil {
			t.Fatalf("an invalid task was taken: %v", err)
		}
		var object map[string]json.RawMessage
		if err := json.Unmarshal(line, &object); err != nil {
			t.Fatalf("not an object, but taken: %v", err)
		}
		for name := range object {
			if fields[name] == nil {
				t.Fatalf("unknown field %q was taken", name)
			}
		}
	})
}

func TestLineReader(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", MaxLine+1)
	exact := strings.Repeat("y", MaxLine-1)
	in := "\xef\xbb\xbffirst\r\n\n" + long + "\n" + exact + "\n" + long + long + "\nlast"
	r := NewLineReader(strings.NewReader(in))
	for i, want := range []string{"first", "", "", exact, "", "last"} {
		line, number, err := r.Next()
		require.Equal(t, i+1, number)
		if number == 3 || number == 5 {
			require.ErrorIs(t, err, ErrLineTooLong)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, want, string(line))
		require.LessOrEqual(t, cap(r.buffer), 4*MaxLine)
	}
	_, number, err := r.Next()
	require.ErrorIs(t, err, io.EOF)
	require.Equal(t, 6, number)
}

func TestLineReaderReportsABrokenStream(t *testing.T) {
	t.Parallel()
	r := NewLineReader(io.MultiReader(strings.NewReader("a\nb"), brokenReader{}))
	_, _, err := r.Next()
	require.NoError(t, err)
	_, _, err = r.Next()
	require.ErrorIs(t, err, io.ErrClosedPipe)
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, io.ErrClosedPipe }
