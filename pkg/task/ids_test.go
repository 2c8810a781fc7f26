package task

import (
	"slices"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

func TestNewIDIsAUUIDOfVersion8ThatOrdersByTime(t *testing.T) {
	t.Parallel()
	var ids []string
	for range 5000 {
		ids = append(ids, NewID())
	}
	require.True(t, slices.IsSorted(ids))
	v7 := uuid.Must(uuid.NewV7())
	for _, id := range ids {
		parsed, err := uuid.Parse(id)
		require.NoError(t, err)
		require.EqualValues(t, 8, parsed.Version())
		require.Equal(t, uuid.RFC4122, parsed.Variant())
		require.Equal(t, parsed.String(), id)
		require.Equal(t, v7[:2], parsed[:2], "the time stands where version 7 has it")
	}
}

func TestNewIDsOfSeveralGoroutinesDiffer(t *testing.T) {
	t.Parallel()
	const each = 1000
	made := make([][]string, 4)
	var all sync.WaitGroup
	for i := range made {
		all.Go(func() {
			for range each {
				made[i] = append(made[i], NewID())
			}
		})
	}
	all.Wait()
	ticks := map[string]bool{} // not only the random part differs
	for _, ids := range made {
		require.True(t, slices.IsSorted(ids))
		for _, id := range ids {
			ticks[id[:18]] = true
		}
	}
	require.Len(t, ticks, len(made)*each)
}

func TestReserved(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]string{
		"":                                     "",
		"order-1":                              "",
		"keys-1":                               "",
		"GitHub-1":                             "",
		uuid.Must(uuid.NewV7()).String():       "",
		uuid.NewString():                       "",
		"0198c0de-0000-8000-0000-000000000001": "", // the variant is another
		"0198c0de-0000-8000-8000-00000000000g": "",
		"0198c0de000080008000000000000001":     "",
		"--------0198c0de00008000800000000001": "",
		"0198c0de-0000-8000-8000-000000000001": "version 8",
		"0198C0DE-0000-8ABC-BFFF-00000000000F": "version 8",
		NewID():                                "version 8",
		"key-1":                                `"key-"`,
		"github-1":                             `"github-"`,
		"gitlab-":                              `"gitlab-"`,
		"gitea-x":                              `"gitea-"`,
	} {
		err := CheckGivenID(id)
		require.Equal(t, want != "", Reserved(id), id)
		if want == "" {
			require.NoError(t, err, id)
			continue
		}
		require.ErrorIs(t, err, ErrInvalid, id)
		require.ErrorContains(t, err, want, id)
		require.ErrorContains(t, err, "id ", id)
	}
}
