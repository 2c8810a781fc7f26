package wire

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/ydb-platform/ydb-go-genproto/Ydb_Coordination_V1"
	"github.com/ydb-platform/ydb-go-genproto/Ydb_Discovery_V1"
	"github.com/ydb-platform/ydb-go-genproto/Ydb_Query_V1"
	"github.com/ydb-platform/ydb-go-genproto/Ydb_Scheme_V1"
	"github.com/ydb-platform/ydb-go-genproto/Ydb_Table_V1"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Coordination"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Operations"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Query"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/taskfleet/taskfleet/internal/ydbembed/fault"
	"github.com/taskfleet/taskfleet/internal/ydbembed/issue"
)

// outcome is what every response of YDB has, at the top or in its operation.
type outcome interface {
	GetStatus() Ydb.StatusIds_StatusCode
}

func TestEveryMethodCanRefuse(t *testing.T) {
	t.Parallel()
	for _, service := range []grpc.ServiceDesc{
		Ydb_Discovery_V1.DiscoveryService_ServiceDesc, Ydb_Scheme_V1.SchemeService_ServiceDesc,
		Ydb_Query_V1.QueryService_ServiceDesc, Ydb_Table_V1.TableService_ServiceDesc,
		Ydb_Coordination_V1.CoordinationService_ServiceDesc,
	} {
		var methods []string
		for _, m := range service.Methods {
			methods = append(methods, m.MethodName)
		}
		for _, m := range service.Streams {
			if !m.ClientStreams {
				methods = append(methods, m.StreamName)
			}
		}
		for _, name := range methods {
			method := "/" + service.ServiceName + "/" + name
			m, err := refusal(method, issue.BadRequest("no"))
			require.NoError(t, err, method)
			var got outcome
			if op, ok := m.(interface {
				GetOperation() *Ydb_Operations.Operation
			}); ok {
				require.True(t, op.GetOperation().GetReady(), method)
				got = op.GetOperation()
			} else {
				got = m.(outcome)
			}
			require.Equal(t, Ydb.StatusIds_BAD_REQUEST, got.GetStatus(), method)
		}
	}
}

func TestErrorsBecomeStatusesOrStayTransportErrors(t *testing.T) {
	t.Parallel()
	refused, err := failure("/S/M", status.Error(codes.Unimplemented, "x"))
	require.NoError(t, err)
	require.Equal(t, Ydb.StatusIds_UNSUPPORTED, refused.Status)
	require.ErrorContains(t, refused, "ydbembed does not implement S/M")

	refused, err = failure("/S/M", errors.New("odd"))
	require.NoError(t, err)
	require.Equal(t, Ydb.StatusIds_INTERNAL_ERROR, refused.Status)

	for in, want := range map[error]codes.Code{
		context.Canceled: codes.Canceled, context.DeadlineExceeded: codes.DeadlineExceeded,
		fault.ErrLost: codes.Unavailable,
	} {
		refused, err = failure("/S/M", in)
		require.Nil(t, refused)
		require.Equal(t, want, status.Code(err))
	}
}

func TestPanicBecomesInternalError(t *testing.T) {
	t.Parallel()
	s := &Server{cfg: Config{Faults: &fault.Set{}, Logger: slog.New(slog.DiscardHandler)}}
	resp, err := s.unary(t.Context(), &Ydb_Query.CommitTransactionRequest{},
		&grpc.UnaryServerInfo{FullMethod: Ydb_Query_V1.QueryService_CommitTransaction_FullMethodName},
		func(context.Context, any) (any, error) { panic("boom") })
	require.NoError(t, err)
	require.Equal(t, Ydb.StatusIds_INTERNAL_ERROR, resp.(*Ydb_Query.CommitTransactionResponse).GetStatus())
}

func TestCoordinationRequestsAreNamedAndRefused(t *testing.T) {
	t.Parallel()
	type request = Ydb_Coordination.SessionRequest
	acquire := &request{Request: &Ydb_Coordination.SessionRequest_AcquireSemaphore_{
		AcquireSemaphore: &Ydb_Coordination.SessionRequest_AcquireSemaphore{ReqId: 7, Name: "lock"},
	}}
	kind, text, id := coordinationFacts(acquire)
	require.Equal(t, []any{"AcquireSemaphore", "lock", uint64(7)}, []any{kind, text, id})
	reply := coordinationRefusal(acquire, issue.BadRequest("no")).GetAcquireSemaphoreResult()
	require.Equal(t, uint64(7), reply.GetReqId())
	require.Equal(t, Ydb.StatusIds_BAD_REQUEST, reply.GetStatus())
	require.False(t, reply.GetAcquired())

	ping := &request{Request: &Ydb_Coordination.SessionRequest_Ping{Ping: &Ydb_Coordination.SessionRequest_PingPong{}}}
	kind, _, _ = coordinationFacts(ping)
	require.Equal(t, "Ping", kind)
	require.Equal(t, Ydb.StatusIds_BAD_REQUEST, coordinationRefusal(ping, issue.BadRequest("no")).GetFailure().GetStatus())

	start := &request{Request: &Ydb_Coordination.SessionRequest_SessionStart_{
		SessionStart: &Ydb_Coordination.SessionRequest_SessionStart{Path: "/local/node"},
	}}
	kind, text, _ = coordinationFacts(start)
	require.Equal(t, []string{"SessionStart", "/local/node"}, []string{kind, text})
	kind, _, _ = coordinationFacts(&request{})
	require.Empty(t, kind)
}
