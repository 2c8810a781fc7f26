package migrate

import (
	"context"
	"errors"
	"fmt"
	"time"

	ydb "github.com/ydb-platform/ydb-go-sdk/v3"
	"github.com/ydb-platform/ydb-go-sdk/v3/coordination"

	"github.com/taskfleet/taskfleet/internal/coord"
)

// NodeName is the coordination node's name in the fleet's folder.
const NodeName = "coordination"

const (
	// lockName is the ephemeral semaphore that lets one process migrate at a time.
	lockName = "migrate"
	// defaultLockWait is longer than the session of a migration that crashed.
	defaultLockWait = 20 * time.Second
)

// The database waits for the grace period on top of a session's timeout when it
// restarts. These are the shortest periods that it grants, so that the partitions
// of a worker that crashes together with the database have an owner again within
// its session timeout plus two seconds, as after any other crash.
const (
	selfCheckMillis = 500
	graceMillis     = 1500
)

// createNode makes the folder and the coordination node; both may exist.
func createNode(ctx context.Context, db *ydb.Driver, folder string) error {
	path := folderPath(db, folder)
	if err := db.Scheme().MakeDirectory(ctx, path); err != nil {
		return fmt.Errorf("migrate: making folder %s: %w", path, err)
	}
	err := db.Coordination().CreateNode(ctx, nodePath(db, folder), coordination.NodeConfig{
		SelfCheckPeriodMillis:    selfCheckMillis,
		SessionGracePeriodMillis: graceMillis,
		ReadConsistencyMode:      coordination.ConsistencyModeStrict,
		AttachConsistencyMode:    coordination.ConsistencyModeStrict,
	})
	if err != nil {
		return fmt.Errorf("migrate: creating coordination node %s: %w", nodePath(db, folder), err)
	}
	return nil
}

// withLock runs f while no other process migrates this folder. The context that
// f gets ends when the lock is lost.
func withLock(ctx context.Context, db *ydb.Driver, o Options, f func(ctx context.Context) error) error {
	session, err := coord.Open(ctx, db, nodePath(db, o.Folder), coord.Config{Description: "taskfleet migrate"})
	if err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	defer func() { _ = session.Close(context.WithoutCancel(ctx)) }() // what it holds expires by itself
	lease, err := session.Acquire(ctx, lockName, coord.Request{Exclusive: true, Timeout: o.LockWait})
	if errors.Is(err, coord.ErrTimeout) {
		return fmt.Errorf("migrate: %w in folder %s: wait for it, then look at %s", ErrBusy, o.Folder, command(db, o.Folder, "status"))
	}
	if err != nil {
		return fmt.Errorf("migrate: taking the lock: %w", err)
	}
	held, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(lease.Context(), func() { cancel(context.Cause(lease.Context())) })()
	err = f(held)
	return errors.Join(err, lease.Release(context.WithoutCancel(ctx)))
}

func nodePath(db *ydb.Driver, folder string) string { return folderPath(db, folder) + "/" + NodeName }
