package ydbembed_test

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Query"
	"github.com/ydb-platform/ydb-go-sdk/v3"
	"github.com/ydb-platform/ydb-go-sdk/v3/config"
	"github.com/ydb-platform/ydb-go-sdk/v3/query"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/taskfleet/taskfleet/pkg/ydbembed"
)

func TestBigMessagesBothWays(t *testing.T) {
	t.Parallel()
	_, db := setup(t)
	big := strings.Repeat("x", 20<<20)
	row, err := db.Query().QueryRow(t.Context(), "SELECT $v AS v", query.WithParameters(
		ydb.ParamsBuilder().Param("$v").Text(big).Build()))
	require.NoError(t, err)
	var got string
	require.NoError(t, row.Scan(&got))
	require.Len(t, got, len(big))
}

// A request of the largest size is read, whatever comes of it; a larger one is
// refused by gRPC.
func TestMessagesAreBounded(t *testing.T) {
	t.Parallel()
	const limit = 64_000_000
	server, _ := setup(t)
	client := rawClient(t, server)
	create := func(size int) error {
		req := &Ydb_Query.CreateSessionRequest{}
		req.ProtoReflect().SetUnknown(protowire.AppendBytes(protowire.AppendTag(nil, 1000, protowire.BytesType), make([]byte, size-6)))
		require.Equal(t, size, proto.Size(req))
		_, err := client.CreateSession(t.Context(), req)
		return err
	}
	require.NoError(t, create(limit))
	require.Equal(t, codes.ResourceExhausted, status.Code(create(limit+1)))
}

func TestCompressedCalls(t *testing.T) {
	t.Parallel()
	server := start(t, ydbembed.Config{Memory: true})
	db := connect(t, server, ydb.With(config.WithGrpcOptions(grpc.WithDefaultCallOptions(grpc.UseCompressor(gzip.Name)))))
	kv(t, db, 2)
	require.EqualValues(t, 2, number(t, db, "SELECT COUNT(*) FROM kv"))
}

// TestKeepAlivePingsAreWelcome pings a connection without calls as often as
// clients of YDB may. A server that minds says GOAWAY at the third ping.
func TestKeepAlivePingsAreWelcome(t *testing.T) {
	t.Parallel()
	const (
		interval                       = 5100 * time.Millisecond
		settings, pingFrame, goAway, a = 0x4, 0x6, 0x7, 0x1 // HTTP/2 frame types, and the ACK flag
	)
	server := start(t, ydbembed.Config{Memory: true})
	conn, err := net.Dial("tcp", server.Addr())
	require.NoError(t, err)
	defer conn.Close()
	frame := func(kind, flags byte, payload string) {
		head := []byte{0, 0, byte(len(payload)), kind, flags, 0, 0, 0, 0}
		_, err := conn.Write(append(head, payload...))
		require.NoError(t, err)
	}
	_, err = io.WriteString(conn, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
	require.NoError(t, err)
	frame(settings, 0, "")

	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for answers := 0; answers < 4; answers++ {
		if answers > 0 {
			<-ticker.C
		}
		frame(pingFrame, 0, "pingpong")
		for acknowledged := false; !acknowledged; {
			require.NoError(t, conn.SetReadDeadline(time.Now().Add(patience)))
			head := make([]byte, 9)
			_, err := io.ReadFull(conn, head)
			require.NoError(t, err)
			payload := make([]byte, binary.BigEndian.Uint32(append([]byte{0}, head[:3]...)))
			_, err = io.ReadFull(conn, payload)
			require.NoError(t, err)
			require.NotEqual(t, byte(goAway), head[3], "the server minds: %s", payload)
			switch {
			case head[3] == pingFrame && head[4]&a == 0: // its own
				frame(pingFrame, a, string(payload))
			case head[3] == pingFrame:
				acknowledged = bytes.Equal(payload, []byte("pingpong"))
			}
		}
	}
}
