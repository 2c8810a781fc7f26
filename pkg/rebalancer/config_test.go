package rebalancer

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

type nobody struct{}

func (nobody) Acquired(context.Context, uint16, uint64)                           {}
func (nobody) Revoke(context.Context, uint16) error                               { return nil }
func (nobody) Raise(context.Context, []uint16, string) (map[uint16]uint64, error) { return nil, nil }

func validConfig() Config {
	return Config{WorkerID: "w", Partitions: 256, Node: "/local/f/node", Consumer: nobody{}, Fence: nobody{}}
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	c := validConfig().withDefaults()
	require.NoError(t, c.validate())
	require.Equal(t, 10*time.Second, c.SessionTimeout)
	require.Equal(t, 6*time.Second, c.KeepAlive)
	require.Equal(t, time.Second, c.StartTimeout)
	require.Equal(t, 200*time.Millisecond, c.ReconnectDelay)
	require.Equal(t, 30*time.Second, c.DrainTimeout)
	require.Equal(t, 50*time.Second, c.AcquireTimeout)
	require.Equal(t, 30*time.Second, c.Recheck)
	require.Equal(t, 1, c.Weight)
	require.Equal(t, 64, c.MaxAcquiring)
	require.NotEmpty(t, c.Incarnation)
	require.NotEqual(t, c.Incarnation, validConfig().withDefaults().Incarnation)

	at := validConfig()
	at.DrainTimeout = -1
	require.Zero(t, at.withDefaults().DrainTimeout)
	require.NoError(t, at.withDefaults().validate())
}

func TestEveryWrongFieldIsNamed(t *testing.T) {
	t.Parallel()
	for field, spoil := range map[string]func(*Config){
		"WorkerID":            func(c *Config) { c.WorkerID = "" },
		"Weight 101":          func(c *Config) { c.Weight = 101 },
		"Weight -1":           func(c *Config) { c.Weight = -1 },
		"Partitions 0":        func(c *Config) { c.Partitions = 0 },
		"Partitions 65537":    func(c *Config) { c.Partitions = 65537 },
		"Node":                func(c *Config) { c.Node = "" },
		"Consumer":            func(c *Config) { c.Consumer = nil },
		"Fence":               func(c *Config) { c.Fence = nil },
		"SessionTimeout 10ms": func(c *Config) { c.SessionTimeout = 10 * time.Millisecond },
		"KeepAlive 10s":       func(c *Config) { c.KeepAlive = 10 * time.Second },
		"StartTimeout 11s":    func(c *Config) { c.StartTimeout = 11 * time.Second },
		"ReconnectDelay 1m0s": func(c *Config) { c.ReconnectDelay = time.Minute },
		"AcquireTimeout 30s":  func(c *Config) { c.AcquireTimeout = 30 * time.Second },
		"Debounce -1ns":       func(c *Config) { c.Debounce = -1 },
		"Recheck 1ms":         func(c *Config) { c.Recheck = time.Millisecond },
		"Gather 1m0s":         func(c *Config) { c.Gather = time.Minute },
		"MaxAcquiring -1":     func(c *Config) { c.MaxAcquiring = -1 },
	} {
		t.Run(field, func(t *testing.T) {
			t.Parallel()
			c := validConfig()
			spoil(&c)
			_, err := New(nil, c)
			require.ErrorContains(t, err, "rebalancer: "+field)
		})
	}
	c := validConfig()
	c.WorkerID, c.Node = "", ""
	_, err := New(nil, c)
	require.ErrorContains(t, err, "WorkerID")
	require.ErrorContains(t, err, "Node", "all of them at once")
}
