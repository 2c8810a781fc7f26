package crashtest

import (
	"context"
	"fmt"
	"strings"

	"github.com/ydb-platform/ydb-go-sdk/v3"
	"github.com/ydb-platform/ydb-go-sdk/v3/query"
	"github.com/ydb-platform/ydb-go-sdk/v3/table/types"
)

// Each transaction writes the parts of one write and one seal that tells how
// many there are; those of the counting kind also raise a counter that they share.
const (
	schemeText = `
		CREATE TABLE parts (writer Uint32 NOT NULL, seq Uint64 NOT NULL, part Uint32 NOT NULL, body Utf8,
			PRIMARY KEY (writer, seq, part));
		CREATE TABLE seals (writer Uint32 NOT NULL, seq Uint64 NOT NULL, parts Uint32 NOT NULL,
			PRIMARY KEY (writer, seq));
		CREATE TABLE counters (id Uint32 NOT NULL, value Uint64 NOT NULL, PRIMARY KEY (id))`
	counterText = `UPSERT INTO counters (id, value) VALUES (1u, 0ul)`
	partsText   = `UPSERT INTO parts SELECT writer, seq, part, body FROM AS_TABLE($parts);`
	sealText    = `UPSERT INTO seals (writer, seq, parts) VALUES ($writer, $seq, $count);`
	raiseText   = `UPDATE counters SET value = value + 1ul WHERE id = 1u;`
)

// kind is how a writer commits.
type kind uint32

const (
	implicit   kind = iota // one text, no transaction named
	explicit               // two calls and a commit call
	withLast               // the commit rides on the last call
	counting               // a read, a raise of a shared counter, a commit
	countKinds = iota
)

// writer writes one transaction after another through a client of its own.
type writer struct {
	id   uint32
	next uint64 // seq of the next write; each is tried once, for good or ill
	acks []uint64
}

func (w *writer) kind() kind { return kind(w.id % countKinds) }

// run writes until the server or the context is gone and calls acked after each
// commit that the server acknowledged.
func (w *writer) run(ctx context.Context, db *ydb.Driver, acked func()) {
	for ctx.Err() == nil {
		seq := w.next
		w.next++
		if err := w.write(ctx, db, seq); err != nil {
			continue // unknown: it may be there or not
		}
		w.acks = append(w.acks, seq)
		acked()
	}
}

func (w *writer) write(ctx context.Context, db *ydb.Driver, seq uint64) error {
	count := partCount(w.id, seq)
	parts := make([]types.Value, count)
	for i := range parts {
		parts[i] = types.StructValue(
			types.StructFieldValue("writer", types.Uint32Value(w.id)),
			types.StructFieldValue("seq", types.Uint64Value(seq)),
			types.StructFieldValue("part", types.Uint32Value(uint32(i))),
			types.StructFieldValue("body", types.OptionalValue(types.TextValue(body(w.id, seq, uint32(i))))),
		)
	}
	// Every call gets all parameters; a text takes those that it names.
	params := query.WithParameters(ydb.ParamsBuilder().
		Param("$parts").Any(types.ListValue(parts...)).
		Param("$writer").Uint32(w.id).Param("$seq").Uint64(seq).Param("$count").Uint32(count).Build())
	if w.kind() == implicit {
		return db.Query().Exec(ctx, partsText+sealText, params)
	}
	return db.Query().DoTx(ctx, func(ctx context.Context, tx query.TxActor) error {
		if w.kind() == counting {
			if err := tx.Exec(ctx, raiseText); err != nil {
				return err
			}
		}
		if err := tx.Exec(ctx, partsText, params); err != nil {
			return err
		}
		if w.kind() == withLast {
			return tx.Exec(ctx, sealText, params, query.WithCommit())
		}
		return tx.Exec(ctx, sealText, params)
	})
}

// partCount is how many parts a write has: 1 to 7.
func partCount(writer uint32, seq uint64) uint32 { return 1 + (writer+uint32(seq))%7 }

// body is what a part must hold, from a few bytes to about a kilobyte.
func body(writer uint32, seq uint64, part uint32) string {
	return strings.Repeat(fmt.Sprintf("%d/%d/%d ", writer, seq, part), 1+int(seq*11+uint64(part)*5)%100)
}
