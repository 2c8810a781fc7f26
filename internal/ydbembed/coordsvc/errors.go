package coordsvc

import (
	"errors"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
)

// ErrNotStarted says that a stream began with something else than session_start.
var ErrNotStarted = errors.New("coordsvc: first message of the stream is not a session_start")

// ErrTooFarBehind says that a client left more replies unread than are kept.
var ErrTooFarBehind = errors.New("coordsvc: client reads its session stream too slowly")

// Error is a refusal with the status that the client gets.
type Error struct {
	Status  Ydb.StatusIds_StatusCode
	Message string
}

// Error returns the message, then the status.
func (e *Error) Error() string { return "coordsvc: " + e.Message + " (" + e.Status.String() + ")" }
