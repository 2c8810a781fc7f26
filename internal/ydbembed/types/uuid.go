package types

import (
	"encoding/binary"
	"fmt"

	"github.com/google/uuid"
)

// A Uuid is kept, compared and sent in YDB's memory layout: the 16 bytes of the
// textual form with the first group of four and the next two groups of two
// reversed. On the wire low_128 and high_128 are the two halves, little endian.

// UUIDValue makes a Uuid from the bytes in textual order.
func UUIDValue(u uuid.UUID) Value { return TextValue(UUID, string(swapUUID(u))) }

// uuidText returns the textual form of a Uuid's memory layout.
func uuidText(s string) string {
	var u uuid.UUID
	copy(u[:], s)
	return uuid.UUID(swapUUID(u)).String()
}

func swapUUID(u uuid.UUID) []byte {
	return []byte{
		u[3], u[2], u[1], u[0], u[5], u[4], u[7], u[6],
		u[8], u[9], u[10], u[11], u[12], u[13], u[14], u[15],
	}
}

func parseUUID(s string) (Value, error) {
	u, err := uuid.Parse(s)
	if err != nil || len(s) != 36 {
		return NullValue, fmt.Errorf("types: %q is no Uuid", s)
	}
	return UUIDValue(u), nil
}

func uuidFromPair(low, high uint64) Value {
	var b [16]byte
	binary.LittleEndian.PutUint64(b[:8], low)
	binary.LittleEndian.PutUint64(b[8:], high)
	return TextValue(UUID, string(b[:]))
}

func uuidPair(s string) (low, high uint64) {
	var b [16]byte
	copy(b[:], s)
	return binary.LittleEndian.Uint64(b[:8]), binary.LittleEndian.Uint64(b[8:])
}
