package rebalancer

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestKindsStandInTheRegistryInBounds(t *testing.T) {
	t.Parallel()
	var many []string
	for i := range 1000 {
		many = append(many, fmt.Sprintf("kind-%03d", i))
	}
	for _, c := range []struct {
		name  string
		kinds []string
		want  []string
		cut   bool
	}{
		{name: "not known", kinds: nil, want: nil},
		{name: "in order, once", kinds: []string{"sms", "http", "sms"}, want: []string{"http", "sms"}},
		{name: "as many as fit", kinds: many, want: many[:186], cut: true}, // 11 bytes each, with quotes and comma
		{name: "one that does not fit", kinds: []string{strings.Repeat("\x01", 500)}, want: nil, cut: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var r registration
			require.NoError(t, json.Unmarshal(Config{WorkerID: "w", Kinds: c.kinds}.registration(stateActive), &r))
			require.Equal(t, c.want, r.Kinds)
			require.Equal(t, c.cut, r.KindsCut)
			data, err := json.Marshal(r.Kinds)
			require.NoError(t, err)
			require.LessOrEqual(t, len(data), maxKindsBytes+len("]"))
		})
	}
}
