package yql

import "fmt"

// Error is a text that the parser refuses. YDB answers it with GENERIC_ERROR
// and one issue at the position; Unsupported marks valid YQL that ydbembed does
// not implement, whose message names the feature.
type Error struct {
	Pos         Pos
	Message     string
	Unsupported bool
}

func (e *Error) Error() string {
	return fmt.Sprintf("%d:%d: %s", e.Pos.Line, e.Pos.Col, e.Message)
}

// unsupported makes the error of a feature that ydbembed does not implement.
func unsupported(pos Pos, feature string) *Error {
	return &Error{Pos: pos, Message: feature + " is not supported by ydbembed", Unsupported: true}
}
