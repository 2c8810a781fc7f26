package taskingest

import "github.com/taskfleet/taskfleet/pkg/task"

// What requests hold besides the bytes of their texts, in bytes. The figures are
// measured, and rounded up.
const (
	taskBytes   = 1 << 10 // a decoded task: its copies on the way to the store, its id in the answer
	sentBytes   = 4 << 10 // a task in a call of the database
	headerBytes = 128     // an entry of a task's headers
)

// textBytes are the bytes of a task's texts.
func textBytes(t *task.Task) (n int64) {
	n = int64(len(t.ID) + len(t.Kind) + len(t.PartitionKey) + len(t.Payload))
	for name, value := range t.Headers {
		n += int64(len(name) + len(value))
	}
	return n
}

// decodedBytes are what a decoded task holds.
func decodedBytes(t *task.Task) int64 {
	return taskBytes + textBytes(t) + headerBytes*int64(len(t.Headers))
}

// storedBytes are what tasks hold besides while they are stored.
func storedBytes(tasks []task.Task) (n int64) {
	for i := range tasks {
		n += sentBytes + textBytes(&tasks[i]) + 8*int64(len(tasks[i].Headers)) // JSON: quotes, colon, comma
	}
	return n
}

// LeastBytes is the least MaxBytes of a config: with it, its largest request can be
// worked on when there is no other.
func (c Config) LeastBytes() int64 {
	c = c.withDefaults()
	tasks := 2*c.MaxBody + int64(c.MaxTasks)*(taskBytes+sentBytes)
	if len(c.Hooks.services()) == 0 {
		return tasks
	}
	return c.MaxUnverifiedBytes + max(tasks, 2*c.MaxHookBody)
}

// verifiedBytes are the bytes that genuine requests may hold.
func (c Config) verifiedBytes() int64 {
	if len(c.Hooks.services()) == 0 {
		return c.MaxBytes
	}
	return c.MaxBytes - c.MaxUnverifiedBytes
}
