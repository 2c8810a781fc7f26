package taskingest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"

	"github.com/taskfleet/taskfleet/internal/taskjson"
	"github.com/taskfleet/taskfleet/pkg/task"
)

// The types of a body with tasks.
const (
	typeJSON   = "application/json"
	typeNDJSON = "application/x-ndjson"
)

// decodeTasks reads the tasks of a body: an object or an array of objects, or an
// object a line. All of them must be good, and there must be 1..limit.
func decodeTasks(media string, body []byte, limit int) ([]task.Task, error) {
	var tasks []task.Task
	var problems []problem
	add := func(object []byte) error {
		if len(tasks) == limit {
			return refuse(http.StatusRequestEntityTooLarge, "too many tasks: must be at most %d", limit)
		}
		t, err := taskjson.Decode(object)
		if err != nil {
			problems = append(problems, problemsOf(len(tasks), err)...)
		}
		tasks = append(tasks, t)
		return nil
	}
	each := eachElement
	if media == typeNDJSON {
		each = eachLine
	}
	if err := each(body, add); err != nil {
		return nil, err
	}
	switch {
	case len(problems) > 0:
		return nil, badTasks(problems)
	case len(tasks) == 0:
		return nil, refuse(http.StatusBadRequest, "there are no tasks")
	}
	return tasks, nil
}

// eachLine calls f with every line that is not blank.
func eachLine(body []byte, f func([]byte) error) error {
	for line := range bytes.Lines(body) {
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		if err := f(line); err != nil {
			return err
		}
	}
	return nil
}

// eachElement calls f with every element of an array, or with what is no array.
func eachElement(body []byte, f func([]byte) error) error {
	body = bytes.TrimSpace(body)
	if len(body) == 0 || body[0] != '[' {
		if len(body) == 0 {
			return nil
		}
		return f(body)
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	if _, err := decoder.Token(); err != nil {
		return notJSON(err)
	}
	for decoder.More() {
		var element json.RawMessage
		if err := decoder.Decode(&element); err != nil {
			return notJSON(err)
		}
		if err := f(element); err != nil {
			return err
		}
	}
	if _, err := decoder.Token(); err != nil {
		return notJSON(err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return refuse(http.StatusBadRequest, "there is something behind the array; nothing was stored")
	}
	return nil
}

func notJSON(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return refuse(http.StatusBadRequest, "not a JSON array: it ends too early; nothing was stored")
	}
	return refuse(http.StatusBadRequest, "not a JSON array: %v; nothing was stored", err)
}
