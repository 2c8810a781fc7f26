package taskstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"github.com/ydb-platform/ydb-go-sdk/v3"
	"github.com/ydb-platform/ydb-go-sdk/v3/meta"
	"github.com/ydb-platform/ydb-go-sdk/v3/query"
	"github.com/ydb-platform/ydb-go-sdk/v3/types"
	"google.golang.org/grpc/metadata"

	"github.com/taskfleet/taskfleet/internal/ydbconn"
	"github.com/taskfleet/taskfleet/pkg/task"
)

// params are a statement's parameters by name, with the $.
type params map[string]types.Value

func (p params) option() query.ExecuteOption {
	b := ydb.ParamsBuilder()
	for name, v := range p {
		b = b.Param(name).Any(v)
	}
	return query.WithParameters(b.Build())
}

// statement is one text to run.
type statement struct {
	op       string // its name for the observer and in errors
	text     string
	params   params
	snapshot bool // it reads, in a snapshot; otherwise it writes, serializable, and commits
	// reset forgets what earlier attempts have read; row takes one row of the
	// result set with the given index.
	reset func()
	row   func(set int, row query.Row) error
}

// control is the transaction of a statement. It is never left to the server: a
// text that writes is one transaction wherever it runs.
func (st statement) control() query.ExecuteOption {
	if st.snapshot {
		return query.WithTxControl(query.SnapshotReadOnlyTxControl())
	}
	return query.WithTxControl(query.SerializableReadWriteTxControl(query.CommitTx()))
}

// run executes a statement with the SDK's retries, as idempotent, and returns what
// it cost: with more than one statement sent, an earlier one may have been
// committed although its answer was lost.
func (s *Store) run(ctx context.Context, st statement) (cost Usage, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	if s.watch != nil {
		if err := s.watch(st); err != nil {
			return Usage{}, err
		}
	}
	m := meter{start: time.Now()}
	ctx = meta.WithTrailerCallback(ctx, m.trailer)
	opts := []query.ExecuteOption{st.params.option(), st.control(), query.WithStatsMode(query.StatsModeBasic, m.stats)}
	var refused error
	err = s.db.Query().Do(ctx, func(ctx context.Context, session query.Session) error {
		m.statement()
		if st.reset != nil {
			st.reset()
		}
		err := read(ctx, session, st, opts)
		if ydb.IsOperationError(err, Ydb.StatusIds_ABORTED) {
			m.aborted()
		}
		if ydbconn.Refused(err) {
			refused = err // not the SDK's, which would repeat some of them
			return nil
		}
		return err
	}, query.WithIdempotent())
	if err == nil {
		err = refused
	}
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("%w: %w", ctx.Err(), err) // the SDK may call it canceled
	}
	return m.load(), s.settle(&m, st.op, err)
}

// runTx executes a statement once, in the caller's transaction.
func (s *Store) runTx(ctx context.Context, tx query.TxActor, st statement) error {
	m := meter{start: time.Now()}
	m.statement()
	ctx = meta.WithTrailerCallback(ctx, m.trailer)
	opts := []query.ExecuteOption{st.params.option(), query.WithStatsMode(query.StatsModeBasic, m.stats)}
	if st.reset != nil {
		st.reset()
	}
	return s.settle(&m, st.op, read(ctx, tx, st, opts))
}

// settle reports what an operation cost and names it in its error.
func (s *Store) settle(m *meter, op string, err error) error {
	cost := m.load()
	s.usage.add(cost)
	s.observer.Statement(op, time.Since(m.start), cost, err)
	switch {
	case err == nil:
		return nil
	case ydbconn.Refused(err):
		return fmt.Errorf("taskstore: %s: %w: %w", op, task.ErrRefused, err)
	}
	return fmt.Errorf("taskstore: %s: %w", op, err)
}

// executor is what a session and a transaction have in common.
type executor interface {
	Query(ctx context.Context, sql string, opts ...query.ExecuteOption) (query.Result, error)
}

// read runs a statement and hands its rows over.
func read(ctx context.Context, on executor, st statement, opts []query.ExecuteOption) (err error) {
	result, err := on.Query(ctx, st.text, opts...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, result.Close(ctx)) }()
	for {
		set, err := result.NextResultSet(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		for {
			row, err := set.NextRow(ctx)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return err
			}
			if st.row == nil {
				continue
			}
			if err := st.row(set.Index(), row); err != nil {
				return err
			}
		}
	}
}

// meter adds up what the attempts of one operation cost. Its callbacks come
// from the SDK, on goroutines of its own.
type meter struct {
	start time.Time
	mu    sync.Mutex
	cost  Usage
}

func (m *meter) load() Usage {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.cost
}

func (m *meter) statement() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.cost.Statements++
}

func (m *meter) aborted() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.cost.Aborted++
}

func (m *meter) trailer(md metadata.MD) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.cost.RequestUnits += meta.ConsumedUnits(md)
}

func (m *meter) stats(stats query.Stats) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for phase := range stats.QueryPhases() {
		for access := range phase.TableAccess() {
			m.cost.RowsRead += access.Reads.Rows
			m.cost.BytesRead += access.Reads.Bytes
			m.cost.RowsWritten += access.Updates.Rows + access.Deletes.Rows
		}
	}
}
