package taskingest

import (
	"bytes"
	"errors"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/taskfleet/taskfleet/pkg/task"
)

// FuzzDecodeTasks: whatever a body holds, there is an answer 400 or 413, or there
// are valid tasks, at most as many as may be.
func FuzzDecodeTasks(f *testing.F) {
	for _, seed := range []string{`{}`, `[{},{"priority":7}]`, "{}\n{\"kind\":\"a\"}\n\n", `[`, `[{}]x`, `[[]]`, `[{},{},{},{}]`, "\xff", `[{"payload":"\ud800"}]`} {
		f.Add([]byte(seed), false)
		f.Add([]byte(seed), true)
	}
	f.Fuzz(func(t *testing.T, body []byte, lines bool) {
		media := typeJSON
		if lines {
			media = typeNDJSON
		}
		tasks, err := decodeTasks(media, bytes.Clone(body), 3, func(*task.Task) error { return nil })
		if err != nil {
			var a *answer
			require.True(t, errors.As(err, &a), "%v", err)
			require.Contains(t, []int{http.StatusBadRequest, http.StatusRequestEntityTooLarge}, a.code)
			return
		}
		require.NotEmpty(t, tasks)
		require.LessOrEqual(t, len(tasks), 3)
		for i := range tasks {
			require.NoError(t, tasks[i].Validate())
		}
	})
}
