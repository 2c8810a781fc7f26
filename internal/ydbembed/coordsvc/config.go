package coordsvc

import (
	"fmt"
	"time"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	pb "github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Coordination"
	"google.golang.org/protobuf/proto"
)

const (
	defaultSelfCheck = time.Second
	minSelfCheck     = 500 * time.Millisecond
	maxSelfCheck     = 10 * time.Second
	defaultGrace     = 10 * time.Second
	minGraceMargin   = time.Second // over the self check
	maxGrace         = 30 * time.Second
)

// checkConfig refuses what YDB refuses in a node's config.
func checkConfig(c *pb.Config) error {
	if c.GetPath() != "" {
		return &Error{Ydb.StatusIds_GENERIC_ERROR, "Setting path is not allowed"}
	}
	for _, f := range []struct {
		name  string
		value int32
		known map[int32]string
	}{
		{"read_consistency_mode", int32(c.GetReadConsistencyMode()), pb.ConsistencyMode_name},
		{"attach_consistency_mode", int32(c.GetAttachConsistencyMode()), pb.ConsistencyMode_name},
		{"rate_limiter_counters_mode", int32(c.GetRateLimiterCountersMode()), pb.RateLimiterCountersMode_name},
	} {
		if _, ok := f.known[f.value]; !ok {
			return &Error{Ydb.StatusIds_BAD_REQUEST, fmt.Sprintf("config.%s: unknown value %d", f.name, f.value)}
		}
	}
	return nil
}

// defaultConfig is what an empty config means.
func defaultConfig() *pb.Config {
	return &pb.Config{
		SelfCheckPeriodMillis:    uint32(defaultSelfCheck.Milliseconds()),
		SessionGracePeriodMillis: uint32(defaultGrace.Milliseconds()),
		ReadConsistencyMode:      pb.ConsistencyMode_CONSISTENCY_MODE_RELAXED,
		AttachConsistencyMode:    pb.ConsistencyMode_CONSISTENCY_MODE_STRICT,
		RateLimiterCountersMode:  pb.RateLimiterCountersMode_RATE_LIMITER_COUNTERS_MODE_AGGREGATED,
	}
}

// merge overwrites in base what is set in c.
func merge(base, c *pb.Config) *pb.Config {
	out := proto.Clone(base).(*pb.Config)
	proto.Merge(out, c)
	out.ProtoReflect().SetUnknown(nil)
	return out
}

// gracePeriod is the config's grace period within the bounds that take effect.
func gracePeriod(c *pb.Config) time.Duration {
	check := time.Duration(c.GetSelfCheckPeriodMillis()) * time.Millisecond
	grace := time.Duration(c.GetSessionGracePeriodMillis()) * time.Millisecond
	check = min(max(check, minSelfCheck), maxSelfCheck)
	return min(max(grace, check+minGraceMargin), maxGrace)
}
