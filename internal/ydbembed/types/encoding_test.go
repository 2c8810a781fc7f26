package types

import (
	"bytes"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestKeyOrderIsCompareOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		// Tuples of one to three columns, as tables have them.
		kinds := rapid.SliceOfN(rapid.SampledFrom(keyKinds), 1, 3).Draw(t, "kinds")
		var a, b []byte
		want := 0
		for _, k := range kinds {
			x, y := primitive(t, k), primitive(t, k)
			if rapid.Bool().Draw(t, "same") {
				y = x
			}
			a, b = AppendKey(a, x), AppendKey(b, y)
			if want == 0 {
				want = Compare(x, y)
			}
		}
		if got := bytes.Compare(a, b); got != want {
			t.Fatalf("bytes compare %d, values %d", got, want)
		}
	})
}

func TestKeyRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		k := rapid.SampledFrom(keyKinds).Draw(t, "kind")
		v := primitive(t, k)
		tail := rapid.SliceOf(rapid.Byte()).Draw(t, "tail")
		got, rest, err := DecodeKey(OptionalOf(Primitive(k)), append(AppendKey(nil, v), tail...))
		require.NoError(t, err)
		require.Zero(t, Compare(v, got))
		require.True(t, got.Fits(k))
		require.True(t, bytes.Equal(tail, rest))
	})
}

func TestStoredRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		k := Kind(rapid.IntRange(int(Bool), int(UUID)).Draw(t, "kind"))
		v := primitive(t, k)
		tail := rapid.SliceOf(rapid.Byte()).Draw(t, "tail")
		b := append(AppendStored(nil, v), tail...)
		got, rest, err := DecodeStored(Primitive(k), b)
		require.NoError(t, err)
		if v.IsNull() {
			require.True(t, got.IsNull())
		} else {
			require.Equal(t, v, got)
		}
		require.True(t, bytes.Equal(tail, rest))
		_, null, rest, err := SplitStored(b)
		require.NoError(t, err)
		require.Equal(t, v.IsNull(), null)
		require.True(t, bytes.Equal(tail, rest))
	})
}

func TestFits(t *testing.T) {
	t.Parallel()
	for _, k := range keyKinds {
		require.True(t, NullValue.Fits(k))
	}
	require.True(t, IntValue(Int8, -128).Fits(Int8))
	require.False(t, IntValue(Int8, 128).Fits(Int8))
	require.False(t, IntValue(Int8, 1).Fits(Int16))
	require.False(t, UintValue(Timestamp, math.MaxUint64).Fits(Timestamp))
	require.False(t, TextValue(UUID, "short").Fits(UUID))
	require.False(t, ItemsValue(List, nil).Fits(List))
}

func FuzzDecodeKey(f *testing.F) {
	f.Add(uint8(Utf8), AppendKey(nil, TextValue(Utf8, "a\x00b")))
	f.Add(uint8(Int16), AppendKey(nil, IntValue(Int16, -5)))
	f.Add(uint8(Double), AppendKey(nil, FloatValue(Double, -1.5)))
	f.Fuzz(func(t *testing.T, kind uint8, b []byte) {
		k := Kind(kind % uint8(Tuple+1))
		v, rest, err := DecodeKey(&Type{Kind: k, Elem: Primitive(Int8)}, b)
		if err != nil || k == Float || k == Double {
			return
		}
		// Every key has one encoding.
		if got := append(AppendKey(nil, v), rest...); !bytes.Equal(got, b) {
			t.Fatalf("%s: %x decoded and encoded is %x", k, b, got)
		}
	})
}

func FuzzDecodeStored(f *testing.F) {
	f.Add(uint8(Utf8), AppendStored(nil, TextValue(Utf8, "text")))
	f.Add(uint8(Int64), AppendStored(nil, IntValue(Int64, math.MinInt64)))
	f.Add(uint8(String), []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01})
	f.Fuzz(func(t *testing.T, kind uint8, b []byte) {
		k := Kind(kind % uint8(Tuple+1))
		v, rest, err := DecodeStored(&Type{Kind: k, Elem: Primitive(Int8)}, b)
		if err != nil {
			return
		}
		if k != Optional && !v.Fits(k) {
			t.Fatalf("%s does not fit %s", v, k)
		}
		if len(rest) >= len(b) {
			t.Fatal("nothing was read")
		}
	})
}
