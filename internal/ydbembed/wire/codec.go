package wire

import (
	"errors"
	"fmt"

	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/proto" // the codec that is guarded
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/taskfleet/taskfleet/internal/ydbembed/limits"
)

// countedBytes is the size from which the parts of a message are counted before
// it is read. A part takes two bytes at least, and 150 when it is read.
const countedBytes = 1 << 20

// codec is gRPC's own, but it refuses a request of so many parts that reading it
// would take many times its size.
type codec struct{ encoding.CodecV2 }

func newCodec() codec { return codec{encoding.GetCodecV2("proto")} }

func (c codec) Unmarshal(data mem.BufferSlice, v any) error {
	if m, ok := v.(proto.Message); ok && data.Len() >= countedBytes {
		left := limits.Parts
		if err := countParts(m.ProtoReflect().Descriptor(), data.Materialize(), &left, protowire.DefaultRecursionLimit); err != nil {
			return err
		}
	}
	return c.CodecV2.Unmarshal(data, v)
}

// countParts takes the messages inside a message off what is left. Like protobuf's
// own reader it descends only so deep.
func countParts(md protoreflect.MessageDescriptor, b []byte, left *int, depth int) error {
	if depth == 0 {
		return errors.New("wire: a request that is nested too deep")
	}
	for len(b) > 0 {
		number, wire, n := protowire.ConsumeTag(b)
		if n < 0 {
			return protowire.ParseError(n)
		}
		b = b[n:]
		size := protowire.ConsumeFieldValue(number, wire, b)
		if size < 0 {
			return protowire.ParseError(size)
		}
		field := md.Fields().ByNumber(number)
		if field != nil && wire == protowire.BytesType && field.Message() != nil {
			if *left--; *left < 0 {
				return fmt.Errorf("wire: a request of more than %d parts", limits.Parts)
			}
			part, _ := protowire.ConsumeBytes(b)
			if err := countParts(field.Message(), part, left, depth-1); err != nil {
				return err
			}
		}
		b = b[size:]
	}
	return nil
}
