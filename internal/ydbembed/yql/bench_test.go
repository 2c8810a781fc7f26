package yql

import "testing"

// BenchmarkParse reads the text of a claim's candidates, as a query of the
// product looks; texts are parsed once, so this bounds the cost of a new one.
func BenchmarkParse(b *testing.B) {
	text := accepted[4]
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse(text); err != nil {
			b.Fatal(err)
		}
	}
}
