package coordsvc

import (
	"fmt"
	"strings"

	pb "github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Coordination"
)

// show writes a message as one line, with everything a client may rely on. The
// model says what it expects in the same words.
func show(msg *pb.SessionResponse) string {
	switch r := msg.GetResponse().(type) {
	case *pb.SessionResponse_Failure_:
		return fmt.Sprintf("failure %s", r.Failure.GetStatus())
	case *pb.SessionResponse_SessionStarted_:
		return fmt.Sprintf("started %d", r.SessionStarted.GetSessionId())
	case *pb.SessionResponse_SessionStopped_:
		return fmt.Sprintf("stopped %d", r.SessionStopped.GetSessionId())
	case *pb.SessionResponse_CreateSemaphoreResult_:
		return fmt.Sprintf("create %d %s", r.CreateSemaphoreResult.GetReqId(), r.CreateSemaphoreResult.GetStatus())
	case *pb.SessionResponse_UpdateSemaphoreResult_:
		return fmt.Sprintf("update %d %s", r.UpdateSemaphoreResult.GetReqId(), r.UpdateSemaphoreResult.GetStatus())
	case *pb.SessionResponse_DeleteSemaphoreResult_:
		return fmt.Sprintf("delete %d %s", r.DeleteSemaphoreResult.GetReqId(), r.DeleteSemaphoreResult.GetStatus())
	case *pb.SessionResponse_AcquireSemaphorePending_:
		return fmt.Sprintf("pending %d", r.AcquireSemaphorePending.GetReqId())
	case *pb.SessionResponse_AcquireSemaphoreResult_:
		a := r.AcquireSemaphoreResult
		return fmt.Sprintf("acquire %d %s %v", a.GetReqId(), a.GetStatus(), a.GetAcquired())
	case *pb.SessionResponse_ReleaseSemaphoreResult_:
		a := r.ReleaseSemaphoreResult
		return fmt.Sprintf("release %d %s %v", a.GetReqId(), a.GetStatus(), a.GetReleased())
	case *pb.SessionResponse_DescribeSemaphoreChanged_:
		c := r.DescribeSemaphoreChanged
		return fmt.Sprintf("changed %d data=%v owners=%v", c.GetReqId(), c.GetDataChanged(), c.GetOwnersChanged())
	case *pb.SessionResponse_DescribeSemaphoreResult_:
		d := r.DescribeSemaphoreResult
		line := fmt.Sprintf("describe %d %s watch=%v", d.GetReqId(), d.GetStatus(), d.GetWatchAdded())
		if s := d.GetSemaphoreDescription(); s != nil {
			line += fmt.Sprintf(" %s data=%q %d/%d ephemeral=%v owners=%s waiters=%s",
				s.GetName(), s.GetData(), s.GetCount(), s.GetLimit(), s.GetEphemeral(),
				showPlaces(s.GetOwners()), showPlaces(s.GetWaiters()))
		}
		return line
	}
	return fmt.Sprintf("%v", msg)
}

func showPlaces(list []*pb.SemaphoreSession) string {
	var b strings.Builder
	for _, p := range list {
		fmt.Fprintf(&b, "[%d s%d x%d %q t%d]", p.GetOrderId(), p.GetSessionId(), p.GetCount(), p.GetData(), p.GetTimeoutMillis())
	}
	return b.String()
}
