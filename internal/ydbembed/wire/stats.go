package wire

import (
	"strconv"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_TableStats"
	"google.golang.org/grpc/metadata"

	"github.com/taskfleet/taskfleet/internal/ydbembed/session"
)

// consumedUnits is the trailer with what a query cost, in request units.
func consumedUnits(o *session.Outcome) metadata.MD {
	return metadata.Pairs("x-ydb-consumed-units", strconv.FormatUint(o.Units(), 10))
}

// statsProto tells what a query did and took; with its plan on demand.
func statsProto(o *session.Outcome, withPlan bool) *Ydb_TableStats.QueryStats {
	phase := &Ydb_TableStats.QueryPhaseStats{
		DurationUs: uint64(o.Duration.Microseconds()),
		CpuTimeUs:  uint64(o.CPU.Microseconds()),
	}
	for _, path := range o.Stats.Order {
		a := o.Stats.Tables[path]
		phase.TableAccess = append(phase.TableAccess, &Ydb_TableStats.TableAccessStats{
			Name:            path,
			Reads:           operationStats(a.ReadRows, a.ReadBytes),
			Updates:         operationStats(a.UpdateRows, a.UpdateBytes),
			Deletes:         operationStats(a.DeleteRows, 0),
			PartitionsCount: 1,
		})
	}
	phase.AffectedShards = uint64(len(phase.TableAccess))
	out := &Ydb_TableStats.QueryStats{
		QueryPhases: []*Ydb_TableStats.QueryPhaseStats{phase},
		Compilation: &Ydb_TableStats.CompilationStats{
			FromCache:  o.Cached,
			DurationUs: uint64(o.Compile.Microseconds()),
			CpuTimeUs:  uint64(o.Compile.Microseconds()),
		},
		TotalDurationUs: uint64(o.Duration.Microseconds()),
		TotalCpuTimeUs:  uint64((o.Compile + o.CPU).Microseconds()),
	}
	if withPlan {
		out.QueryPlan, out.QueryAst = o.Plan.ExplainJSON(), o.Plan.ExplainAST()
	}
	return out
}

func operationStats(rows, bytes uint64) *Ydb_TableStats.OperationStats {
	if rows == 0 && bytes == 0 {
		return nil
	}
	return &Ydb_TableStats.OperationStats{Rows: rows, Bytes: bytes}
}
