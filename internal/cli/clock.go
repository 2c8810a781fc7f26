package cli

import (
	"time"

	"github.com/spf13/pflag"
)

// Clock is the wall clock of a program, which tests set wrong.
type Clock struct{ Offset time.Duration }

// RegisterClockFlag adds the hidden --clock-offset to fs.
func RegisterClockFlag(fs *pflag.FlagSet) *Clock {
	c := &Clock{}
	fs.DurationVar(&c.Offset, "clock-offset", 0, "how far the wall clock of this process is off, for tests")
	_ = fs.MarkHidden("clock-offset") // it fails only for a flag that is not there
	return c
}

// Now is the time that the program believes in.
func (c *Clock) Now() time.Time { return time.Now().Add(c.Offset) }
