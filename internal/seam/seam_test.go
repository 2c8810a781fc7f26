package seam

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

type text string

func (t text) String() string { return string(t) }

func TestPartsAreWrappedByType(t *testing.T) {
	require.Equal(t, fmt.Stringer(text("a")), Part[fmt.Stringer](text("a")))
	Wrap(func(s fmt.Stringer) fmt.Stringer { return text("(" + s.String() + ")") })
	require.Equal(t, "(a)", Part[fmt.Stringer](text("a")).String())
	require.Equal(t, text("a"), Part(text("a")), "of another type")
}
