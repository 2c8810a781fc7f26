package types

import "unsafe"

// valueBytes is what a Value takes itself.
const valueBytes = int(unsafe.Sizeof(Value{}))

// Memory returns the bytes that the value takes in memory. Values share texts
// and items, which count for each.
func (v Value) Memory() int {
	n := valueBytes + len(v.text)
	for _, item := range v.items {
		n += item.Memory()
	}
	return n
}

// RowMemory returns the bytes that a row takes in memory.
func RowMemory(row []Value) int {
	n := 24 // the slice
	for _, v := range row {
		n += v.Memory()
	}
	return n
}

// WireSize estimates the bytes of a row on the wire, and counts the values in it.
func WireSize(row []Value) (bytes, values int) {
	bytes, values = 4, len(row)
	for _, v := range row {
		bytes += 4
		switch {
		case v.IsNull():
		case v.kind.IsText():
			bytes += len(v.text)
		case v.kind >= List:
			b, n := WireSize(v.items)
			bytes += b
			values += n
		default:
			bytes += 6
		}
	}
	return bytes, values
}

// ItemsMemory returns the bytes that a container of n items takes without what
// the items refer to.
func ItemsMemory(n int) int { return n * valueBytes }
