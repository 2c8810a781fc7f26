package coord

import (
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Coordination"
)

func created(id uint64, status Ydb.StatusIds_StatusCode) *response {
	return &response{Response: &Ydb_Coordination.SessionResponse_CreateSemaphoreResult_{
		CreateSemaphoreResult: &Ydb_Coordination.SessionResponse_CreateSemaphoreResult{ReqId: id, Status: status},
	}}
}

func updated(id uint64, status Ydb.StatusIds_StatusCode) *response {
	return &response{Response: &Ydb_Coordination.SessionResponse_UpdateSemaphoreResult_{
		UpdateSemaphoreResult: &Ydb_Coordination.SessionResponse_UpdateSemaphoreResult{ReqId: id, Status: status},
	}}
}

// The SDK returns nil for a create and an update that the server refuses.
func TestRefusedCreateAndUpdateSayWhy(t *testing.T) {
	t.Parallel()
	status := map[string]Ydb.StatusIds_StatusCode{
		"there": Ydb.StatusIds_ALREADY_EXISTS, "new": Ydb.StatusIds_SUCCESS, "refused": Ydb.StatusIds_UNAUTHORIZED, "missing": Ydb.StatusIds_NOT_FOUND,
	}
	var srv *scripted
	srv, db := serve(t, func(_ int, s stream) error {
		if err := srv.begin(s, 1); err != nil {
			return err
		}
		return srv.answer(s, func(r *request) *response {
			if c := r.GetCreateSemaphore(); c != nil {
				return created(c.GetReqId(), status[c.GetName()])
			}
			if u := r.GetUpdateSemaphore(); u != nil {
				return updated(u.GetReqId(), status[u.GetName()])
			}
			return nil
		})
	})
	s := open(t, db, quick())
	require.NoError(t, s.Ensure(t.Context(), "new"))
	require.NoError(t, s.Ensure(t.Context(), "there"), "made by somebody else")
	require.EqualError(t, s.Ensure(t.Context(), "refused"), "coord: create refused: UNAUTHORIZED")
	require.NoError(t, s.SetData(t.Context(), "new", []byte("d")))
	require.ErrorIs(t, s.SetData(t.Context(), "missing", nil), ErrNotFound)
	require.EqualError(t, s.SetData(t.Context(), "refused", nil), "coord: update refused: UNAUTHORIZED")
}

func TestWatchOfDataTellsOfChanges(t *testing.T) {
	t.Parallel()
	var srv *scripted
	var version atomic.Int32
	srv, db := serve(t, func(_ int, s stream) error {
		if err := srv.begin(s, 1); err != nil {
			return err
		}
		return srv.answer(s, func(r *request) *response {
			d := r.GetDescribeSemaphore()
			if d == nil || d.GetName() == "missing" {
				return described(d.GetReqId(), Ydb.StatusIds_NOT_FOUND, nil)
			}
			if !d.GetWatchData() || d.GetWatchOwners() {
				return described(d.GetReqId(), Ydb.StatusIds_BAD_REQUEST, nil)
			}
			n := version.Add(1)
			reply := described(d.GetReqId(), Ydb.StatusIds_SUCCESS, &Ydb_Coordination.SemaphoreDescription{
				Name: d.GetName(), Data: []byte{byte(n)},
			})
			if n > 1 {
				return reply
			}
			_ = s.Send(reply)
			return &response{Response: &Ydb_Coordination.SessionResponse_DescribeSemaphoreChanged_{
				DescribeSemaphoreChanged: &Ydb_Coordination.SessionResponse_DescribeSemaphoreChanged{ReqId: d.GetReqId(), DataChanged: true},
			}}
		})
	})
	s := open(t, db, quick())
	data, changed, err := s.Data(t.Context(), "d")
	require.NoError(t, err)
	require.Equal(t, []byte{1}, data)
	<-changed
	data, _, err = s.Data(t.Context(), "d")
	require.NoError(t, err)
	require.Equal(t, []byte{2}, data)
	_, _, err = s.Data(t.Context(), "missing")
	require.ErrorIs(t, err, ErrNotFound)
}
