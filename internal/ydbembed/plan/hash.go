package plan

import (
	"encoding/binary"
	"math"

	"github.com/taskfleet/taskfleet/internal/ydbembed/types"
)

// HashKey returns a text that is equal for equal values, numbers of different
// kinds and String and Utf8 included, as the = of YQL sees them.
func HashKey(v types.Value) string {
	var buf [48]byte
	return string(AppendHash(buf[:0], v))
}

// AppendHash appends what HashKey makes of a value; it delimits itself, so the
// texts of several values may follow each other.
func AppendHash(dst []byte, v types.Value) []byte {
	k := v.Kind()
	switch {
	case k == types.Null:
		return append(dst, 0)
	case k.IsText():
		dst = append(dst, 's')
		dst = binary.AppendUvarint(dst, uint64(len(v.Text())))
		return append(dst, v.Text()...)
	case k == types.List || k == types.Struct || k == types.Tuple:
		dst = append(dst, 'l')
		dst = binary.AppendUvarint(dst, uint64(len(v.Items())))
		for _, item := range v.Items() {
			dst = AppendHash(dst, item)
		}
		return dst
	case k == types.Float || k == types.Double:
		x := v.Float()
		if x == math.Trunc(x) && math.Abs(x) < 1<<63 {
			return appendInt(dst, int64(x) < 0, uint64(int64(x)))
		}
		return binary.BigEndian.AppendUint64(append(dst, 'f'), math.Float64bits(x))
	case k == types.Datetime || k == types.Date || k == types.Timestamp:
		return binary.BigEndian.AppendUint64(append(dst, 't'), uint64(v.Time().UnixMicro()))
	}
	return appendInt(dst, (k.IsSigned() || k == types.Interval) && v.Int() < 0, v.Uint())
}

func appendInt(dst []byte, negative bool, bits uint64) []byte {
	tag := byte('n')
	if negative {
		tag = 'm'
	}
	return binary.BigEndian.AppendUint64(append(dst, tag), bits)
}
