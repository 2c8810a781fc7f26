package issue_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"

	"github.com/taskfleet/taskfleet/internal/ydbembed/issue"
)

func TestErrorTree(t *testing.T) {
	t.Parallel()
	e := issue.TableNotFound("/local/x").At(3, 7)
	require.Equal(t, Ydb.StatusIds_SCHEME_ERROR, e.Status)
	require.True(t, e.Has(issue.CodeSchemeError))
	require.True(t, e.Has(issue.CodeTableMetadata))
	require.False(t, e.Has(issue.CodeConstraint))
	require.ErrorContains(t, e, "SCHEME_ERROR: 3:7: Cannot find table 'db.[/local/x]'")

	wire := e.Proto()
	require.Len(t, wire, 1)
	require.Equal(t, issue.CodeTableMetadata, wire[0].GetIssueCode())
	require.Nil(t, wire[0].GetPosition())
	leaf := wire[0].GetIssues()[0]
	require.Equal(t, issue.CodeSchemeError, leaf.GetIssueCode())
	require.Equal(t, issue.Err, leaf.GetSeverity())
	require.EqualValues(t, 3, leaf.GetPosition().GetRow())
	require.EqualValues(t, 7, leaf.GetPosition().GetColumn())
}

func TestFrom(t *testing.T) {
	t.Parallel()
	e := issue.KeyExists()
	require.Same(t, e, issue.From(fmt.Errorf("exec: %w", e)))
	other := issue.From(errors.New("boom"))
	require.Equal(t, Ydb.StatusIds_INTERNAL_ERROR, other.Status)
	require.ErrorContains(t, other, "boom")
}

// Every case has the status and the code that clients look at.
func TestCases(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		e      *issue.Error
		status Ydb.StatusIds_StatusCode
		code   uint32
	}{
		{issue.LocksInvalidated("/t"), Ydb.StatusIds_ABORTED, 2001},
		{issue.SchemeChanged("/t"), Ydb.StatusIds_ABORTED, 2028},
		{issue.TableNotFound("/t"), Ydb.StatusIds_SCHEME_ERROR, 2003},
		{issue.Generic("x"), Ydb.StatusIds_GENERIC_ERROR, 0},
		{issue.Type("x"), Ydb.StatusIds_GENERIC_ERROR, 1030},
		{issue.BadRequest("x"), Ydb.StatusIds_BAD_REQUEST, 2017},
		{issue.Unsupported("x"), Ydb.StatusIds_UNSUPPORTED, 2030},
		{issue.MissingNotNull("c"), Ydb.StatusIds_BAD_REQUEST, 2032},
		{issue.NullIntoNotNull("c"), Ydb.StatusIds_BAD_REQUEST, 2031},
		{issue.KeyExists(), Ydb.StatusIds_PRECONDITION_FAILED, 2012},
		{issue.DuplicateKeys(), Ydb.StatusIds_PRECONDITION_FAILED, 2012},
		{issue.Runtime("x"), Ydb.StatusIds_PRECONDITION_FAILED, 1060},
		{issue.ReadOnly(), Ydb.StatusIds_GENERIC_ERROR, 2008},
		{issue.DDLInTransaction(), Ydb.StatusIds_PRECONDITION_FAILED, 0},
		{issue.MixedDDL(), Ydb.StatusIds_GENERIC_ERROR, 2009},
		{issue.TxNotFound("1"), Ydb.StatusIds_NOT_FOUND, 2015},
		{issue.TooManyTx(10), Ydb.StatusIds_BAD_SESSION, 2014},
		{issue.SessionNotFound("1"), Ydb.StatusIds_BAD_SESSION, 0},
		{issue.SessionBusy(), Ydb.StatusIds_SESSION_BUSY, 0},
		{issue.Overloaded("x"), Ydb.StatusIds_OVERLOADED, 2006},
		{issue.Timeout(), Ydb.StatusIds_TIMEOUT, 2020},
		{issue.Cancelled(), Ydb.StatusIds_CANCELLED, 2021},
	} {
		require.Equal(t, c.status, c.e.Status, c.e)
		require.True(t, c.e.Has(c.code), c.e)
	}
}
