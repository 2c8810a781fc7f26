package cli

import (
	"fmt"
	"io"
	"log/slog"

	"github.com/spf13/pflag"
)

// LogFlags are the values of --log-level and --log-format.
type LogFlags struct {
	Level  string
	Format string
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
	options := &slog.HandlerOptions{Level: level, ReplaceAttr: shortenErrors}
	switch f.Format {
	case "text":
		return slog.New(slog.NewTextHandler(w, options)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(w, options)), nil
	}
	return nil, fmt.Errorf("--log-format %q: must be text or json", f.Format)
}

// shortenErrors shows errors as Text does.
func shortenErrors(_ []string, a slog.Attr) slog.Attr {
	if err, ok := a.Value.Any().(error); ok {
		a.Value = slog.StringValue(Text(err))
	}
	return a
}
