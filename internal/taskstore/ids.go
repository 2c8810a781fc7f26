package taskstore

import (
	"context"
	"time"

	"github.com/ydb-platform/ydb-go-sdk/v3/query"
	"github.com/ydb-platform/ydb-go-sdk/v3/types"
)

// memory is how long the id that a caller gave is remembered after its task is
// completed or dead: longer than dead_tasks keeps what became of it.
const memory = 45 * 24 * time.Hour

const knownIDText = `SELECT id FROM task_ids WHERE id >= $from AND id < $to ORDER BY id LIMIT 1;
`

// KnownID returns the first of the remembered ids that begin with prefix, ""
// when there is none. prefix must be ASCII and not empty.
func (s *Store) KnownID(ctx context.Context, prefix string) (id string, err error) {
	last := len(prefix) - 1
	behind := prefix[:last] + string(rune(prefix[last]+1))
	_, err = s.run(ctx, statement{
		op: "known id", text: s.texts.knownID, snapshot: true,
		params: params{"$from": types.TextValue(prefix), "$to": types.TextValue(behind)},
		reset:  func() { id = "" },
		row:    func(_ int, row query.Row) error { return row.Scan(&id) },
	})
	return id, err
}
