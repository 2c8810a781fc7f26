package rebalancer

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/taskfleet/taskfleet/internal/coord"
)

func entry(id, state string, weight int) []byte {
	return Config{WorkerID: id, Weight: weight, Incarnation: "i", Version: "v1"}.registration(state)
}

func TestRegistrationIsReadable(t *testing.T) {
	t.Parallel()
	require.JSONEq(t, `{"worker":"w","incarnation":"i","weight":2,"state":"active","version":"v1"}`,
		string(entry("w", stateActive, 2)))
}

func TestReadView(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		owners []coord.Owner
		want   view
	}{
		{name: "nobody", want: view{}},
		{
			name:   "we and another",
			owners: []coord.Owner{{SessionID: 7, Data: entry("me", stateActive, 1)}, {SessionID: 8, Data: entry("other", stateActive, 3)}},
			want:   view{members: []Member{{"me", 1}, {"other", 3}}, present: true},
		},
		{
			name:   "a draining one gets nothing",
			owners: []coord.Owner{{SessionID: 7, Data: entry("me", stateActive, 1)}, {SessionID: 8, Data: entry("other", stateDraining, 3)}},
			want:   view{members: []Member{{"me", 1}}, present: true},
		},
		{
			name:   "our earlier run is not counted",
			owners: []coord.Owner{{SessionID: 5, Data: entry("me", stateActive, 9)}, {SessionID: 7, Data: entry("me", stateActive, 1)}},
			want:   view{members: []Member{{"me", 1}}, present: true},
		},
		{
			name:   "an earlier run that drains does not drain us",
			owners: []coord.Owner{{SessionID: 5, Data: entry("me", stateDraining, 1)}, {SessionID: 7, Data: entry("me", stateActive, 1)}},
			want:   view{members: []Member{{"me", 1}}, present: true},
		},
		{
			name:   "somebody took our id",
			owners: []coord.Owner{{SessionID: 7, Data: entry("me", stateActive, 1)}, {SessionID: 9, Data: entry("me", stateActive, 2)}},
			want:   view{members: []Member{{"me", 2}}, present: true, superseded: true},
		},
		{
			name: "what cannot be read is left out",
			owners: []coord.Owner{
				{SessionID: 1}, {SessionID: 2, Data: []byte("{")}, {SessionID: 3, Data: []byte(`{"worker":""}`)},
				{SessionID: 4, Data: []byte(`{"worker":5}`)}, {SessionID: 7, Data: entry("me", stateActive, 1)},
			},
			want: view{members: []Member{{"me", 1}}, present: true, malformed: 4},
		},
		{
			name:   "we are not in it",
			owners: []coord.Owner{{SessionID: 8, Data: entry("other", stateActive, 1)}},
			want:   view{members: []Member{{"other", 1}}},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, readView(c.owners, "me", 7))
		})
	}
}

func FuzzReadView(f *testing.F) {
	f.Add([]byte(`{"worker":"a","weight":-1,"state":"active"}`), []byte(`null`))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		v := readView([]coord.Owner{{SessionID: 1, Data: a}, {SessionID: 2, Data: b}}, "me", 1)
		seen := make(map[string]bool)
		for _, m := range v.members {
			if m.ID == "" || seen[m.ID] {
				t.Errorf("members %v", v.members)
			}
			seen[m.ID] = true
		}
		owners := Plan(v.members, 16)
		if len(v.members) > 0 && len(owners) != 16 {
			t.Errorf("plan %v", owners)
		}
		if !json.Valid(a) && !json.Valid(b) && len(v.members) > 0 {
			t.Errorf("members of nothing: %v", v.members)
		}
	})
}
