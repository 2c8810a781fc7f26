package taskstore

import (
	"sync/atomic"
	"time"
)

// Usage is what statements cost, as the database reports it.
type Usage struct {
	Statements   uint64 // sent, repetitions included
	RowsRead     uint64
	BytesRead    uint64 // of these rows
	RowsWritten  uint64 // updated and deleted
	RequestUnits uint64
	Aborted      uint64 // ended with a conflict and were repeated
}

// Sub returns the difference to an earlier reading.
func (u Usage) Sub(before Usage) Usage {
	return Usage{
		Statements:   u.Statements - before.Statements,
		RowsRead:     u.RowsRead - before.RowsRead,
		BytesRead:    u.BytesRead - before.BytesRead,
		RowsWritten:  u.RowsWritten - before.RowsWritten,
		RequestUnits: u.RequestUnits - before.RequestUnits,
		Aborted:      u.Aborted - before.Aborted,
	}
}

// Observer is told of every operation after it ended. Its method is called
// concurrently and must not block.
type Observer interface {
	// Statement reports one operation (enqueue, candidates, claim, ...): how long
	// it took with its repetitions, what it cost, and its error.
	Statement(op string, took time.Duration, cost Usage, err error)
}

type nobody struct{}

func (nobody) Statement(string, time.Duration, Usage, error) {}

// counters add up usage.
type counters struct {
	statements, rowsRead, bytesRead, rowsWritten, requestUnits, aborted atomic.Uint64
}

func (c *counters) add(u Usage) {
	c.statements.Add(u.Statements)
	c.rowsRead.Add(u.RowsRead)
	c.bytesRead.Add(u.BytesRead)
	c.rowsWritten.Add(u.RowsWritten)
	c.requestUnits.Add(u.RequestUnits)
	c.aborted.Add(u.Aborted)
}

func (c *counters) load() Usage {
	return Usage{
		Statements:   c.statements.Load(),
		RowsRead:     c.rowsRead.Load(),
		BytesRead:    c.bytesRead.Load(),
		RowsWritten:  c.rowsWritten.Load(),
		RequestUnits: c.requestUnits.Load(),
		Aborted:      c.aborted.Load(),
	}
}
