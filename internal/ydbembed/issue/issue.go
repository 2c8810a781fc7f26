// Package issue holds the errors that ydbembed answers with: a YDB status and
// the tree of issues that explains it, with YDB's issue codes.
package issue

import (
	"errors"
	"fmt"
	"strings"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Issue"
)

// Severities of an issue.
const (
	Fatal   uint32 = 0
	Err     uint32 = 1
	Warning uint32 = 2
	Info    uint32 = 3
)

// Codes that clients and tests look at.
const (
	CodeTypeAnnotation   uint32 = 1030 // wrapper
	CodeTableMetadata    uint32 = 1050 // wrapper
	CodeExecution        uint32 = 1060 // wrapper
	CodeTooManyNodes     uint32 = 1500
	CodeLocksInvalidated uint32 = 2001
	CodeSchemeError      uint32 = 2003
	CodeOverloaded       uint32 = 2006
	CodeBadOperation     uint32 = 2008
	CodeMixedDDL         uint32 = 2009
	CodeConstraint       uint32 = 2012
	CodeResult           uint32 = 2013
	CodeTooManyTx        uint32 = 2014
	CodeTxNotFound       uint32 = 2015
	CodeBadRequest       uint32 = 2017
	CodeTimeout          uint32 = 2020
	CodeCancelled        uint32 = 2021
	CodeSchemeMismatch   uint32 = 2028
	CodePrecondition     uint32 = 2029
	CodeUnsupported      uint32 = 2030
	CodeBadColumnType    uint32 = 2031
	CodeNoColumnDefault  uint32 = 2032
	CodeOutOfSpace       uint32 = 2036
	CodeUnusedSymbol     uint32 = 4527
)

// Issue is one node of the tree. Line and Col count from 1; zero means no position.
type Issue struct {
	Code      uint32
	Message   string
	Severity  uint32
	Line, Col int
	Children  []Issue
}

// Error is a failed call: the status that the client gets and why.
type Error struct {
	Status Ydb.StatusIds_StatusCode
	Issues []Issue
}

// Error returns the status and the messages of the leaves.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Status.String())
	sep := ": "
	var walk func(list []Issue)
	walk = func(list []Issue) {
		for _, i := range list {
			if len(i.Children) > 0 {
				walk(i.Children)
				continue
			}
			b.WriteString(sep)
			if i.Line > 0 {
				fmt.Fprintf(&b, "%d:%d: ", i.Line, i.Col)
			}
			b.WriteString(i.Message)
			sep = "; "
		}
	}
	walk(e.Issues)
	return b.String()
}

// Has tells whether an issue of the code is anywhere in the tree.
func (e *Error) Has(code uint32) bool { return has(e.Issues, code) }

func has(list []Issue, code uint32) bool {
	for _, i := range list {
		if i.Code == code || has(i.Children, code) {
			return true
		}
	}
	return false
}

// Proto returns the issues as the wire carries them.
func (e *Error) Proto() []*Ydb_Issue.IssueMessage { return Proto(e.Issues) }

// Proto returns issues as the wire carries them.
func Proto(list []Issue) []*Ydb_Issue.IssueMessage {
	if len(list) == 0 {
		return nil
	}
	out := make([]*Ydb_Issue.IssueMessage, len(list))
	for n, i := range list {
		m := &Ydb_Issue.IssueMessage{
			Message: i.Message, IssueCode: i.Code, Severity: i.Severity, Issues: Proto(i.Children),
		}
		if i.Line > 0 {
			m.Position = &Ydb_Issue.IssueMessage_Position{Row: uint32(i.Line), Column: uint32(i.Col)}
			m.EndPosition = m.Position
		}
		out[n] = m
	}
	return out
}

// New returns an error with one issue of severity ERROR.
func New(status Ydb.StatusIds_StatusCode, code uint32, format string, args ...any) *Error {
	return &Error{Status: status, Issues: []Issue{{Code: code, Message: fmt.Sprintf(format, args...), Severity: Err}}}
}

// At sets the position of the error's innermost first issue and returns the error.
func (e *Error) At(line, col int) *Error {
	for list := e.Issues; len(list) > 0; list = list[0].Children {
		if len(list[0].Children) == 0 {
			list[0].Line, list[0].Col = line, col
		}
	}
	return e
}

// Under wraps the issues in one of the wrapper codes and returns the error.
func (e *Error) Under(code uint32) *Error {
	text := map[uint32]string{
		CodeTypeAnnotation: "Type annotation", CodeTableMetadata: "Table metadata loading", CodeExecution: "Execution",
	}[code]
	e.Issues = []Issue{{Code: code, Message: text, Severity: Err, Children: e.Issues}}
	return e
}

// From returns err as an *Error: itself when it is or wraps one, otherwise
// INTERNAL_ERROR with its text.
func From(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return &Error{
		Status: Ydb.StatusIds_INTERNAL_ERROR,
		Issues: []Issue{{Message: err.Error(), Severity: Fatal}},
	}
}
