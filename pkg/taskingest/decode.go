package taskingest

import (
	"bytes"
	"errors"
	"net/http"

	"github.com/taskfleet/taskfleet/internal/taskjson"
	"github.com/taskfleet/taskfleet/pkg/task"
)

// The types of a body with tasks.
const (
	typeJSON   = "application/json"
	typeNDJSON = "application/x-ndjson"
)

// decodeBody reads the tasks of a body and lets the body go.
func decodeBody(media string, b *body, p *pass, limit int) ([]task.Task, error) {
	text, err := b.join(p)
	if err != nil {
		return nil, err
	}
	defer p.give(int64(len(text))) // decoded tasks keep nothing of it
	return decodeTasks(media, text, limit, func(t *task.Task) error { return p.take(decodedBytes(t)) })
}

// decodeTasks reads the tasks of a text: an object or an array of objects, or an
// object a line. All of them must be good, there must be 1..limit, and hold must
// have room for each.
func decodeTasks(media string, text []byte, limit int, hold func(*task.Task) error) ([]task.Task, error) {
	var tasks []task.Task
	var bad problems
	n := 0
	add := func(object []byte) error {
		if n == limit {
			return refuse(http.StatusRequestEntityTooLarge, "too many tasks: must be at most %d", limit)
		}
		t, err := taskjson.Decode(object)
		if err != nil {
			bad.add(n, err)
		}
		n++
		if bad.count > 0 {
			return nil // only what is wrong with the others is still of interest
		}
		tasks = append(tasks, t)
		return hold(&t)
	}
	each := taskjson.Each
	if media == typeNDJSON {
		each = eachLine
	}
	err := each(text, add)
	var a *answer
	switch {
	case errors.As(err, &a):
		return nil, a
	case err != nil:
		return nil, refuse(http.StatusBadRequest, "%v; nothing was stored", err)
	case bad.count > 0:
		return nil, bad.refuse()
	case n == 0:
		return nil, refuse(http.StatusBadRequest, "there are no tasks")
	}
	return tasks, nil
}

// eachLine calls f with every line that is not blank.
func eachLine(text []byte, f func([]byte) error) error {
	for line := range bytes.Lines(text) {
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		if err := f(line); err != nil {
			return err
		}
	}
	return nil
}
