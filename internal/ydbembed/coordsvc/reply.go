package coordsvc

import (
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	pb "github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Coordination"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Issue"
)

const severityError = 1

func issues(reason string) []*Ydb_Issue.IssueMessage {
	if reason == "" {
		return nil
	}
	return []*Ydb_Issue.IssueMessage{{Message: reason, Severity: severityError}}
}

func failure(status Ydb.StatusIds_StatusCode, reason string) *pb.SessionResponse {
	return &pb.SessionResponse{Response: &pb.SessionResponse_Failure_{
		Failure: &pb.SessionResponse_Failure{Status: status, Issues: issues(reason)},
	}}
}

func started(id uint64) *pb.SessionResponse {
	return &pb.SessionResponse{Response: &pb.SessionResponse_SessionStarted_{
		SessionStarted: &pb.SessionResponse_SessionStarted{SessionId: id},
	}}
}

func stopped(id uint64) *pb.SessionResponse {
	return &pb.SessionResponse{Response: &pb.SessionResponse_SessionStopped_{
		SessionStopped: &pb.SessionResponse_SessionStopped{SessionId: id},
	}}
}

func ping(opaque uint64) *pb.SessionResponse {
	return &pb.SessionResponse{Response: &pb.SessionResponse_Ping{
		Ping: &pb.SessionResponse_PingPong{Opaque: opaque},
	}}
}

func pong(opaque uint64) *pb.SessionResponse {
	return &pb.SessionResponse{Response: &pb.SessionResponse_Pong{
		Pong: &pb.SessionResponse_PingPong{Opaque: opaque},
	}}
}

func created(req uint64, status Ydb.StatusIds_StatusCode, reason string) *pb.SessionResponse {
	return &pb.SessionResponse{Response: &pb.SessionResponse_CreateSemaphoreResult_{
		CreateSemaphoreResult: &pb.SessionResponse_CreateSemaphoreResult{ReqId: req, Status: status, Issues: issues(reason)},
	}}
}

func updated(req uint64, status Ydb.StatusIds_StatusCode, reason string) *pb.SessionResponse {
	return &pb.SessionResponse{Response: &pb.SessionResponse_UpdateSemaphoreResult_{
		UpdateSemaphoreResult: &pb.SessionResponse_UpdateSemaphoreResult{ReqId: req, Status: status, Issues: issues(reason)},
	}}
}

func deleted(req uint64, status Ydb.StatusIds_StatusCode, reason string) *pb.SessionResponse {
	return &pb.SessionResponse{Response: &pb.SessionResponse_DeleteSemaphoreResult_{
		DeleteSemaphoreResult: &pb.SessionResponse_DeleteSemaphoreResult{ReqId: req, Status: status, Issues: issues(reason)},
	}}
}

func acquireResult(r *pb.SessionResponse_AcquireSemaphoreResult) *pb.SessionResponse {
	return &pb.SessionResponse{Response: &pb.SessionResponse_AcquireSemaphoreResult_{AcquireSemaphoreResult: r}}
}

func acquired(req uint64, got bool) *pb.SessionResponse {
	return acquireResult(&pb.SessionResponse_AcquireSemaphoreResult{
		ReqId: req, Status: Ydb.StatusIds_SUCCESS, Acquired: got,
	})
}

func refused(req uint64, status Ydb.StatusIds_StatusCode, reason string) *pb.SessionResponse {
	return acquireResult(&pb.SessionResponse_AcquireSemaphoreResult{ReqId: req, Status: status, Issues: issues(reason)})
}

func pending(req uint64) *pb.SessionResponse {
	return &pb.SessionResponse{Response: &pb.SessionResponse_AcquireSemaphorePending_{
		AcquireSemaphorePending: &pb.SessionResponse_AcquireSemaphorePending{ReqId: req},
	}}
}

func releaseResult(r *pb.SessionResponse_ReleaseSemaphoreResult) *pb.SessionResponse {
	return &pb.SessionResponse{Response: &pb.SessionResponse_ReleaseSemaphoreResult_{ReleaseSemaphoreResult: r}}
}

func released(req uint64, had bool) *pb.SessionResponse {
	return releaseResult(&pb.SessionResponse_ReleaseSemaphoreResult{
		ReqId: req, Status: Ydb.StatusIds_SUCCESS, Released: had,
	})
}

func describeResult(r *pb.SessionResponse_DescribeSemaphoreResult) *pb.SessionResponse {
	return &pb.SessionResponse{Response: &pb.SessionResponse_DescribeSemaphoreResult_{DescribeSemaphoreResult: r}}
}

func described(req uint64, desc *pb.SemaphoreDescription, watching bool) *pb.SessionResponse {
	return describeResult(&pb.SessionResponse_DescribeSemaphoreResult{
		ReqId: req, Status: Ydb.StatusIds_SUCCESS, SemaphoreDescription: desc, WatchAdded: watching,
	})
}

func undescribed(req uint64, status Ydb.StatusIds_StatusCode, reason string) *pb.SessionResponse {
	return describeResult(&pb.SessionResponse_DescribeSemaphoreResult{ReqId: req, Status: status, Issues: issues(reason)})
}

func changed(req uint64, data, owners bool) *pb.SessionResponse {
	return &pb.SessionResponse{Response: &pb.SessionResponse_DescribeSemaphoreChanged_{
		DescribeSemaphoreChanged: &pb.SessionResponse_DescribeSemaphoreChanged{
			ReqId: req, DataChanged: data, OwnersChanged: owners,
		},
	}}
}
