package coord

import (
	"time"

	"github.com/ydb-platform/ydb-go-sdk/v3/coordination/options"
)

// Config holds the timings of a session. Zero values mean the defaults.
type Config struct {
	// Description is shown by the server to people; at most 1024 bytes.
	Description string
	// SessionTimeout is how long the server keeps the semaphores of a session that
	// it does not hear, and how long this side believes in a mute server. Default 10 s.
	SessionTimeout time.Duration
	// KeepAlive is the silence after which the stream is opened anew. It must be
	// shorter than SessionTimeout. Default: 60 % of SessionTimeout.
	KeepAlive time.Duration
	// StartTimeout bounds one handshake. Default 1 s, at most a quarter of SessionTimeout.
	StartTimeout time.Duration
	// ReconnectDelay is the least time between two openings of the stream. Default
	// 200 ms, at most a tenth of SessionTimeout.
	ReconnectDelay time.Duration
	// CallTimeout bounds every call beyond the time that it is asked to wait.
	// Default: SessionTimeout.
	CallTimeout time.Duration
	// OpenTimeout bounds Open. Default: SessionTimeout.
	OpenTimeout time.Duration
}

func (c Config) withDefaults() Config {
	set := func(field *time.Duration, value time.Duration) {
		if *field <= 0 {
			*field = value
		}
	}
	set(&c.SessionTimeout, 10*time.Second)
	set(&c.KeepAlive, c.SessionTimeout*6/10)
	set(&c.StartTimeout, min(time.Second, c.SessionTimeout/4))
	set(&c.ReconnectDelay, min(200*time.Millisecond, c.SessionTimeout/10))
	set(&c.CallTimeout, c.SessionTimeout)
	set(&c.OpenTimeout, c.SessionTimeout)
	return c
}

// options returns the SDK's settings, all of them: its defaults are unsafe. The
// stop timeout is set through the field, because its option sets another one.
func (c Config) options() []options.SessionOption {
	return []options.SessionOption{func(o *options.CreateSessionOptions) {
		o.Description = c.Description
		o.SessionTimeout = c.SessionTimeout
		o.SessionKeepAliveTimeout = c.KeepAlive
		o.SessionStartTimeout = c.StartTimeout
		o.SessionStopTimeout = c.StartTimeout
		o.SessionReconnectDelay = c.ReconnectDelay
	}}
}
