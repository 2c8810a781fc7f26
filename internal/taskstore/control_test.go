package taskstore_test

import (
	"context"
	"fmt"
	"reflect"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Query"
	"github.com/ydb-platform/ydb-go-sdk/v3"
	"github.com/ydb-platform/ydb-go-sdk/v3/config"
	"github.com/ydb-platform/ydb-go-sdk/v3/query"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/taskfleet/taskfleet/internal/taskstore"
	"github.com/taskfleet/taskfleet/pkg/task"
)

// requests records the queries that a driver sends, and the bytes of their results.
type requests struct {
	mu       sync.Mutex
	sent     []*Ydb_Query.ExecuteQueryRequest
	received int
}

// store is the bundle's store with a driver of its own, which is recorded.
func (r *requests) store(b *bundle) (*taskstore.Store, *ydb.Driver) {
	db := b.Connect(ydb.With(config.WithGrpcOptions(grpc.WithChainStreamInterceptor(r.intercept))))
	return taskstore.New(db, taskstore.Options{Folder: b.Folder}), db
}

func (r *requests) take() []*Ydb_Query.ExecuteQueryRequest {
	r.mu.Lock()
	defer r.mu.Unlock()
	sent := r.sent
	r.sent = nil
	return sent
}

func (r *requests) intercept(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, next grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	stream, err := next(ctx, desc, cc, method, opts...)
	return &recordedStream{stream, r}, err
}

type recordedStream struct {
	grpc.ClientStream
	to *requests
}

func (s *recordedStream) RecvMsg(m any) error {
	err := s.ClientStream.RecvMsg(m)
	if part, ok := m.(*Ydb_Query.ExecuteQueryResponsePart); ok && err == nil {
		s.to.mu.Lock()
		s.to.received += proto.Size(part.GetResultSet())
		s.to.mu.Unlock()
	}
	return err
}

func (s *recordedStream) SendMsg(m any) error {
	if request, ok := m.(*Ydb_Query.ExecuteQueryRequest); ok {
		s.to.mu.Lock()
		s.to.sent = append(s.to.sent, request)
		s.to.mu.Unlock()
	}
	return s.ClientStream.SendMsg(m)
}

var writes = regexp.MustCompile(`(?m)^(INSERT|UPSERT|REPLACE|UPDATE|DELETE) `)

// TestEveryStatementNamesItsTransaction calls every method of a store and looks at
// what goes over the wire: a text that only reads is a snapshot, one that writes
// is serializable and commits with its last statement.
func TestEveryStatementNamesItsTransaction(t *testing.T) {
	t.Parallel()
	b := setup(t, taskstore.Options{})
	var recorded requests
	store, db := recorded.store(b)
	b.enqueue(task.Task{ID: "a", Kind: "k"}, task.Task{ID: "b", Kind: "k", Delay: time.Microsecond}, task.Task{ID: "c", Kind: "k", Delay: time.Microsecond})
	owned := b.own(1)
	keys := []task.Key{{Rank: 255, ID: "a"}}
	batch := func() task.Batch {
		return task.Batch{ID: uuid.NewString(), Tasks: []task.Task{{ID: uuid.NewString(), Kind: "k"}}}
	}
	calls := map[string]func(context.Context) error{
		"Bury":       func(ctx context.Context) error { _, err := store.Bury(ctx, owned[0], keys[0], "no"); return err },
		"Candidates": func(ctx context.Context) error { _, err := store.Candidates(ctx, []task.Cursor{{}}, 1); return err },
		"Claim":      func(ctx context.Context) error { _, err := store.Claim(ctx, request(owned, keys)); return err },
		"CountDelayed": func(ctx context.Context) error {
			_, err := store.CountDelayed(ctx, []uint16{1})
			return err
		},
		"CountRunnable": func(ctx context.Context) error {
			_, err := store.CountRunnable(ctx, []uint16{1})
			return err
		},
		"Dead": func(ctx context.Context) error { _, err := store.Dead(ctx, "", task.Key{}, 1); return err },
		"Enqueue": func(ctx context.Context) error {
			again := batch()
			_, err := store.Enqueue(ctx, again)
			require.NoError(t, err)
			_, err = store.Enqueue(ctx, again)
			return err
		},
		"EnqueueTx": func(ctx context.Context) error {
			return db.Query().DoTx(ctx, func(ctx context.Context, tx query.TxActor) error {
				_, err := store.EnqueueTx(ctx, tx, batch())
				return err
			})
		},
		"Finish": func(ctx context.Context) error {
			result := task.Result{Key: keys[0], LockValue: "none", Outcome: task.OutcomeCompleted, Repeated: true}
			_, err := store.Finish(ctx, []task.Result{result})
			return err
		},
		"KnownID":    func(ctx context.Context) error { _, err := store.KnownID(ctx, "a"); return err },
		"Partitions": func(ctx context.Context) error { _, err := store.Partitions(ctx); return err },
		"Places":     func(ctx context.Context) error { _, err := store.Places(ctx); return err },
		"Promote": func(ctx context.Context) error {
			_, err := store.Promote(ctx, owned, 1)
			require.NoError(t, err)
			store.Watch(func(s taskstore.Seen) error {
				if s.Op == "promote" {
					return fmt.Errorf("so that the task is buried: %w", task.ErrRefused)
				}
				return nil
			})
			defer store.Watch(nil)
			result, err := store.Promote(ctx, owned, 1)
			require.Len(t, result.Buried, 1)
			return err
		},
		"Raise":    func(ctx context.Context) error { _, err := store.Raise(ctx, []uint16{7}, "w"); return err },
		"Replay":   func(ctx context.Context) error { _, err := store.Replay(ctx, keys); return err },
		"Settings": func(ctx context.Context) error { _, err := store.Settings(ctx); return err },
		"Split":    func(ctx context.Context) error { _, err := store.Split(ctx, uuid.NewString()); return err },
		"Stats":    func(ctx context.Context) error { _, err := store.Stats(ctx); return err },
	}
	methods := reflect.TypeFor[*taskstore.Store]()
	for i := range methods.NumMethod() {
		method := methods.Method(i)
		if method.Type.NumIn() < 2 || method.Type.In(1) != reflect.TypeFor[context.Context]() {
			continue
		}
		require.Contains(t, calls, method.Name)
		require.NoError(t, calls[method.Name](t.Context()), method.Name)
		sent := recorded.take()
		require.NotEmpty(t, sent, method.Name)
		for _, request := range sent {
			text, control := request.GetQueryContent().GetText(), request.GetTxControl()
			switch {
			case method.Name == "EnqueueTx":
				require.NotEmpty(t, control.GetTxId(), "the caller's transaction")
				require.False(t, control.GetCommitTx(), text)
			case writes.MatchString(text):
				require.NotNil(t, control.GetBeginTx().GetSerializableReadWrite(), "%s: %s", method.Name, text)
				require.True(t, control.GetCommitTx(), "%s: %s", method.Name, text)
			default:
				require.NotNil(t, control.GetBeginTx().GetSnapshotReadOnly(), "%s: %s", method.Name, text)
			}
		}
	}
}
