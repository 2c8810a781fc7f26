package types

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestTextForms(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind Kind
		text string // "": not the canonical form
		in   []string
	}{
		{Bool, "true", []string{"TRUE"}},
		{Int8, "-128", nil},
		{Uint64, "18446744073709551615", nil},
		{Double, "1.5", []string{"1.50", "15e-1"}},
		{Double, "inf", []string{"Inf"}},
		{Date, "2024-02-29", nil},
		{Datetime, "2024-01-01T00:00:00Z", nil},
		{Timestamp, "2024-01-01T00:00:00Z", []string{"2024-01-01T00:00:00.000Z"}},
		{Timestamp, "2024-01-01T23:59:59.000001Z", nil},
		{Timestamp, "2024-01-01T23:59:59.5Z", []string{"2024-01-01T23:59:59.500000Z"}},
		{Interval, "PT5M", []string{"PT300S", "PT4M60S"}},
		{Interval, "PT0S", []string{"P0D", "-PT0S"}},
		{Interval, "P1DT2H3M4.5S", nil},
		{Interval, "-P14D", []string{"-P2W"}},
		{Interval, "PT0.000001S", nil},
		{UUID, "6e73b41c-4ede-4d08-9cfb-b7462d9e498b", []string{"6E73B41C-4EDE-4D08-9CFB-B7462D9E498B"}},
		{JSON, `{"a":1}`, nil},
		{String, "any \xff", nil},
	} {
		for _, in := range append(c.in, c.text) {
			v, err := Parse(c.kind, in)
			require.NoError(t, err)
			require.Equal(t, c.text, v.String(), "%s %q", c.kind, in)
		}
	}
}

func TestTextIsRefused(t *testing.T) {
	t.Parallel()
	for kind, texts := range map[Kind][]string{
		Bool:      {"", "1", "yes"},
		Int8:      {"", " 1", "128", "1.0", "0x1", "1_0"},
		Uint8:     {"-1", "256"},
		Double:    {"", "1,5", "0x1p-2", "1_0"},
		Date:      {"2024-02-30", "2024-2-3", "2106-01-01", "1969-12-31", "2024-01-01T00:00:00Z"},
		Datetime:  {"2024-01-01", "2024-01-01T00:00:00", "2024-01-01T00:00:00.5Z", "2024-01-01T5:00:00Z"},
		Timestamp: {"2024-01-01T00:00:00.1234567Z", "2024-01-01T00:00:00,5Z", "2024-01-01 00:00:00Z", "2024-01-01T00:00:00.Z"},
		Interval: {
			"", "P", "PT", "P1DT", "5M", "PT5", "PTM", "P1M", "P1Y", "PT1S1M", "PT1.5M", "PT1.1234567S", "PT-1S", "+PT1S",
			"P9999999W", "PT99999999999999999999S", "pt1s", "PT1.S", "PT1.+5S", "PT+5S",
		},
		UUID: {"", "6e73b41c4ede4d089cfbb7462d9e498b", "6e73b41c-4ede-4d08-9cfb-b7462d9e498", "{6e73b41c-4ede-4d08-9cfb-b7462d9e498b}"},
		Utf8: {"\xff"},
		JSON: {"", "{", "nul"},
		List: {"(1)"},
	} {
		for _, in := range texts {
			_, err := Parse(kind, in)
			require.Error(t, err, "%s %q", kind, in)
		}
	}
}

func TestTextRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		k := Kind(rapid.IntRange(int(Bool), int(UUID)).Draw(t, "kind"))
		v := present(t, k)
		got, err := Parse(k, v.String())
		require.NoError(t, err)
		require.Zero(t, Compare(v, got), "%s became %s", v, got)
	})
}

func FuzzParse(f *testing.F) {
	f.Add(uint8(Interval), "-P1DT2H3M4.5S")
	f.Add(uint8(Timestamp), "2024-01-01T00:00:00.123456Z")
	f.Add(uint8(UUID), "6e73b41c-4ede-4d08-9cfb-b7462d9e498b")
	f.Fuzz(func(t *testing.T, kind uint8, text string) {
		k := Kind(kind % uint8(Tuple+1))
		v, err := Parse(k, text)
		if err != nil {
			return
		}
		if !v.Fits(k) {
			t.Fatalf("%q parsed as %s does not fit", text, k)
		}
		again, err := Parse(k, v.String())
		if err != nil || Compare(v, again) != 0 {
			t.Fatalf("%q is %s, which parses as %s, %v", text, v, again, err)
		}
	})
}
