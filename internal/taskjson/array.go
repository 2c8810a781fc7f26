package taskjson

import (
	"errors"
	"fmt"
	"io"
)

// Each calls f with every element of a JSON array, or once with a text that is no
// array, until f fails. The elements are parts of the text. The error is f's, or
// says why the text is no array; then f was not called.
func Each(text []byte, f func(element []byte) error) error {
	text = space(text)
	if len(text) == 0 {
		return nil
	}
	if text[0] != '[' {
		return f(text)
	}
	switch err := check(text); {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("not a JSON array: it ends too early")
	case errors.Is(err, errBehind):
		return errors.New("there is something behind the array")
	case err != nil:
		return fmt.Errorf("not a JSON array: %w", err)
	}
	for element := range elements(text) {
		if err := f(element); err != nil {
			return err
		}
	}
	return nil
}
