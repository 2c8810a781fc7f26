package cli

import (
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/spf13/pflag"
)

// LogFlags are the values of --log-level and --log-format.
type LogFlags struct {
	Level  string
	Format string
	// ClockOffset is added to the time of every record.
	ClockOffset time.Duration
}

// RegisterLogFlags adds --log-level (info) and --log-format (text) to fs.
func RegisterLogFlags(fs *pflag.FlagSet) *LogFlags {
	f := &LogFlags{}
	fs.StringVar(&f.Level, "log-level", "info", "least `level` that is logged: debug, info, warn or error")
	fs.StringVar(&f.Format, "log-format", "text", "`format` of the log on stderr: text or json")
	return f
}

// Logger builds the logger that the flags ask for. It writes to w.
func (f *LogFlags) Logger(w io.Writer) (*slog.Logger, error) {
	var level slog.Level
	switch f.Level {
	case "debug":
		level = slog.LevelDebug
	case "info":
		level = slog.LevelInfo
	case "warn":
		level = slog.LevelWarn
	case "error":
		level = slog.LevelError
	default:
		return nil, fmt.Errorf("--log-level %q: must be debug, info, warn or error", f.Level)
	}
	options := &slog.HandlerOptions{Level: level, ReplaceAttr: f.replace}
	switch f.Format {
	case "text":
		return slog.New(slog.NewTextHandler(w, options)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(w, options)), nil
	}
	return nil, fmt.Errorf("--log-format %q: must be text or json", f.Format)
}

// replace shows errors as Text does, and the time of a clock that is off.
func (f *LogFlags) replace(groups []string, a slog.Attr) slog.Attr {
	switch value := a.Value.Any().(type) {
	case error:
		a.Value = slog.StringValue(Text(value))
	case time.Time:
		if a.Key == slog.TimeKey && len(groups) == 0 {
			a.Value = slog.TimeValue(value.Add(f.ClockOffset))
		}
	}
	return a
}
