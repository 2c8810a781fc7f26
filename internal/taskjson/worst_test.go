package taskjson

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/taskfleet/taskfleet/pkg/task"
)

// allocated is how many bytes f allocates in all, garbage included. Nothing may
// run beside it.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// repeated is a text of about 3 MB: three times what reading it may allocate.
func repeated(head, part, tail string) []byte {
	return []byte(head + strings.Repeat(part, 3<<20/len(part)) + tail)
}

// TestI10TheWorstDocumentsAreCheap: whatever a large text holds, reading them allocates at
// most 1 MiB, as the largest task does, and the error is short.
func TestI10TheWorstDocumentsAreCheap(t *testing.T) {
	unknown := []byte("{")
	for i := range 300_000 {
		unknown = fmt.Appendf(unknown, `"f%d":1,`, i)
	}
	for name, one := range map[string]struct {
		text []byte
		want string
	}{
		"many unknown fields":       {append(unknown, `"x":1}`...), "only the first 16 errors"},
		"one field again and again": {repeated(`{`, `"id":"a",`, `"id":"a"}`), "id: given twice"},
		"many headers":              {repeated(`{"headers":{`, `"":"",`, `"a":"b"}}`), `"" is given twice`},
		"large headers":             {repeated(`{"headers":{"a":"`, `x`, `"}}`), "must have at most 16384 bytes"},
		"headers of numbers":        {repeated(`{"headers":[`, `1,`, `1]}`), "must be an object of strings"},
		"one giant name":            {repeated(`{"`, `k`, `":1}`), "unknown field"},
		"an escaped giant name":     {repeated(`{"`, `\u006b`, `":1}`), "unknown field"},
		"a giant id":                {repeated(`{"id":"`, `\u0000`, `"}`), "must have at most 128 bytes"},
		"a giant payload":           {repeated(`{"payload":"`, `\ud800`, `"}`), "must have at most 262144 bytes"},
		"a giant tree":              {repeated(`{"payload":[`, `{},`, `{}]}`), "payload of 3145"},
		"a huge number":             {repeated(`{"priority":`, `9`, `}`), "must be 0..255"},
		"a huge fraction":           {repeated(`{"delay":0.`, `9`, `}`), "must be a duration"},
		"a huge duration":           {repeated(`{"timeout":"`, `1s`, `"}`), "must be a duration"},
		"a huge time":               {repeated(`{"run_at":"`, `2`, `"}`), "must be a time"},
		"deep nesting":              {repeated(`{"payload":`, `[`, `}`), "exceeded max depth"},
		"no end":                    {repeated(`{"payload":"`, `x`, ``), "it ends too early"},
		"many values":               {repeated(``, `{} `, ``), "there is something behind"},
		"invalid UTF-8":             {repeated(`{"id":"`, "\xff", `"}`), "not valid UTF-8"},
		"an array":                  {repeated(`[`, `{},`, `{}]`), "not a JSON object"},
		"a text":                    {repeated(`"`, `x`, `"`), "not a JSON object"},
	} {
		var err error
		require.LessOrEqual(t, allocated(func() { _, err = Decode(one.text) }), uint64(1<<20), name)
		require.ErrorContains(t, err, one.want, name)
		require.Less(t, len(err.Error()), 4<<10, name)
	}
}

// TestI10ManyElementsAreCheap: an array is cut without a copy, and only as far as
// its elements are wanted.
func TestI10ManyElementsAreCheap(t *testing.T) {
	many := repeated(`[`, `{} , `, `{}]`)
	enough, seen := errors.New("enough"), 0
	spent := allocated(func() {
		err := Each(many, func(element []byte) error {
			if seen++; seen == 1000 {
				return enough
			}
			require.Equal(t, "{}", string(element))
			return nil
		})
		require.ErrorIs(t, err, enough)
	})
	require.Equal(t, 1000, seen)
	require.Less(t, spent, uint64(1<<20))
}

// TestDecodeKeepsNothingOfItsText: the caller may use its buffer again.
func TestDecodeKeepsNothingOfItsText(t *testing.T) {
	t.Parallel()
	line := []byte(`{"id":"a","kind":"b","key":"c","payload":{"n":1},"headers":{"d":"e"}}`)
	got, err := Decode(line)
	require.NoError(t, err)
	for i := range line {
		line[i] = '!'
	}
	require.Equal(t, task.Task{ID: "a", Kind: "b", PartitionKey: "c", Payload: []byte(`{"n":1}`), Headers: map[string]string{"d": "e"}}, got)
}
