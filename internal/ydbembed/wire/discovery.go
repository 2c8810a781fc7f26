package wire

import (
	"context"
	"net"
	"strconv"

	"github.com/ydb-platform/ydb-go-genproto/Ydb_Discovery_V1"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Discovery"
	"google.golang.org/grpc/metadata"

	"github.com/taskfleet/taskfleet/internal/ydbembed/issue"
)

// nodeID is the number of the only node that there is.
const nodeID = 1

const location = "local"

// discovery tells clients where the nodes are: one, at the address that the
// client dialled, whatever name it used for it.
type discovery struct {
	Ydb_Discovery_V1.UnimplementedDiscoveryServiceServer
	server *Server
}

func (d *discovery) ListEndpoints(ctx context.Context, req *Ydb_Discovery.ListEndpointsRequest) (*Ydb_Discovery.ListEndpointsResponse, error) {
	if asked := cleanPath(req.GetDatabase()); asked != d.server.cfg.Database {
		return nil, issue.New(Ydb.StatusIds_NOT_FOUND, 0, "Requested database unknown: %s; this server has %s", req.GetDatabase(), d.server.cfg.Database)
	}
	host, port, err := d.server.dialled(ctx)
	if err != nil {
		return nil, err
	}
	op, err := operation(&Ydb_Discovery.ListEndpointsResult{
		Endpoints:    []*Ydb_Discovery.EndpointInfo{{Address: host, Port: port, NodeId: nodeID, Location: location}},
		SelfLocation: location,
	})
	return &Ydb_Discovery.ListEndpointsResponse{Operation: op}, err
}

// WhoAmI names the user. There is no authentication: everybody is root.
func (d *discovery) WhoAmI(context.Context, *Ydb_Discovery.WhoAmIRequest) (*Ydb_Discovery.WhoAmIResponse, error) {
	op, err := operation(&Ydb_Discovery.WhoAmIResult{User: owner, IsDatabaseAllowed: true})
	return &Ydb_Discovery.WhoAmIResponse{Operation: op}, err
}

// dialled returns the address by which the client reached the server, which
// HTTP/2 carries in :authority. An authority without a port is a proxy's or a
// test's; the port of the listener completes it.
func (s *Server) dialled(ctx context.Context) (host string, port uint32, _ error) {
	host, text, err := net.SplitHostPort(s.Addr().String())
	if err != nil {
		return "", 0, err
	}
	if md, ok := metadata.FromIncomingContext(ctx); ok && len(md.Get(":authority")) > 0 {
		authority := md.Get(":authority")[0]
		if h, p, err := net.SplitHostPort(authority); err == nil {
			host, text = h, p
		} else if authority != "" {
			host = authority
		}
	}
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return "", 0, issue.BadRequest("Bad port in the dialled address: %s", text)
	}
	return host, uint32(n), nil
}
