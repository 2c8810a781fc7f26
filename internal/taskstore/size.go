package taskstore

import (
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/taskfleet/taskfleet/pkg/task"
)

// The limits of one statement, in bytes. A batch that stays below MaxEnqueueBytes
// by EnqueueSize meets both: what else a call carries, its text and types, is
// below the rest.
const (
	MaxEnqueueBytes = 48_000_000
	maxParams       = 50_000_000 // YDB's, of all parameters
	maxMessage      = 64_000_000 // gRPC's, as the SDK and YDB set it
)

// EnqueueSize is what a task adds to the message of an enqueue, in bytes: the
// exact size of its row in a parameter (sentFields, timedFields), as protobuf
// encodes it.
func EnqueueSize(t *task.Task) int {
	row := 4*uint32Size + uint64Size + // partition, rank, priority, max_attempts; timeout
		text(len(t.ID)) + text(len(t.Kind)) + text(len(t.Payload)) + text(len(t.PartitionKey))
	if len(t.Headers) > 0 {
		row += text(len(headersJSON(t.Headers)))
	} else {
		row += nullSize
	}
	if t.IDGiven || isTimed(t) {
		row += uint64Size // delay
		if t.RunAt.IsZero() {
			row += nullSize
		} else {
			row += uint64Size
		}
	}
	return field(row)
}

// The sizes of values in a row. Each is a field with a message of one field;
// their tags are of one byte, numbers are of fixed size.
const (
	uint32Size = 2 + 1 + 4
	uint64Size = 2 + 1 + 8
	nullSize   = 2 + 1 + 1
)

// text is the size of a text, or of bytes, in a row.
func text(length int) int { return field(field(length)) }

// field is the size of a field of size bytes: its tag, its length, itself.
func field(size int) int { return 1 + protowire.SizeBytes(size) }
