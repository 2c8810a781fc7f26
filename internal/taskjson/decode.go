// Package taskjson reads tasks from their JSON form, the same in lines of a file
// and in requests. Whatever a text holds, reading it takes no more memory than the
// task that it makes, and a few errors.
package taskjson

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/taskfleet/taskfleet/pkg/task"
)

// maxErrors bounds what is reported of one task.
const maxErrors = 16

var errMore = fmt.Errorf("there may be more: only the first %d errors of a task are reported", maxErrors)

// Decode reads a task from one JSON object. It takes nothing silently: an
// unknown or repeated field, a value out of range and anything behind the object
// are errors. What is wrong with the fields is reported, joined, up to maxErrors.
// The task keeps nothing of line.
func Decode(line []byte) (task.Task, error) {
	if !utf8.Valid(line) {
		return task.Task{}, errors.New("not valid UTF-8")
	}
	line = space(line)
	switch err := check(line); {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return task.Task{}, errors.New("not a JSON object: it ends too early")
	case errors.Is(err, errBehind):
		return task.Task{}, errors.New("there is something behind the JSON object: one line holds one task")
	case err != nil:
		return task.Task{}, fmt.Errorf("not a JSON object: %w", err)
	case line[0] != '{':
		return task.Task{}, errors.New(`not a JSON object: a task looks like {"payload":{"url":"http://localhost:8080/hook"},"priority":200}`)
	}
	t, err := decode(line)
	if err == nil {
		err = t.Validate()
	}
	if err != nil {
		return task.Task{}, err
	}
	return t, nil
}

// decode sets the fields that a valid object names.
func decode(object []byte) (t task.Task, err error) {
	var errs []error
	seen := map[string]bool{} // of the known fields
	for quotedName, value := range members(object) {
		name := fieldName(quotedName)
		set := fields[name]
		var wrong *task.FieldError
		switch {
		case set == nil:
			wrong = &task.FieldError{Field: strconv.Quote(short(name)), Limit: "unknown field; there are " + fieldNames}
		case seen[name]:
			wrong = &task.FieldError{Field: name, Limit: "given twice"}
		case string(value) != "null": // which is as if it were not there
			if err := set(&t, value); err != nil {
				wrong = &task.FieldError{Field: name, Value: short(value), Limit: err.Error()}
			}
		}
		if set != nil {
			seen[name] = true
		}
		if wrong == nil {
			continue
		}
		if errs = append(errs, wrong); len(errs) == maxErrors {
			errs = append(errs, errMore)
			break
		}
	}
	return t, errors.Join(errs...)
}

// maxName is the length of the longest field's name with every byte escaped.
const maxName = 2 + 6*len("max_attempts")

// fieldName decodes a name. Of one that is too long for any field it returns the
// beginning.
func fieldName(quoted []byte) (name string) {
	if len(quoted) > maxName {
		return string(quoted[1:maxName])
	}
	_ = json.Unmarshal(quoted, &name) // a valid string
	return name
}

// Field is the field that an error of Decode names first, "" if it names none
// that a task has.
func Field(err error) string {
	var field *task.FieldError
	if errors.As(err, &field) && fields[field.Field] != nil {
		return field.Field
	}
	return ""
}

// short cuts a value for an error text.
func short[T string | []byte](text T) string {
	const limit = 40
	if len(text) > limit {
		return strings.ToValidUTF8(string(text[:limit]), "") + "..."
	}
	return string(text)
}

// Describe is an error of Decode in one line: what is wrong, joined by "; ".
func Describe(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }
