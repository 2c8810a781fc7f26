package reference

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/taskfleet/taskfleet/internal/lab/fleet"
	"github.com/taskfleet/taskfleet/internal/ydbconn"
)

var update = flag.Bool("update", false, "write docs/configuration.md")

const file = "../../../../docs/configuration.md"

// commands are all that have flags of their own.
var commands = []string{
	"producer", "worker", "taskctl migrate", "taskctl stats", "taskctl dead list", "taskctl dead replay", "taskctl demo",
	"ydbembed",
}

const introduction = `# Configuration

Generated from the programs' flags by ` + "`make generate`" + `: do not edit.

Everything is set by flags, and the connection also by the environment; there are no configuration files. A flag that is wrong ends a program with exit code 2 and a text that names the flag and its limits. What a program is for, with examples, stands in its ` + "`--help`" + `; how to run them is in [operating](operating.md).

## Connection

`

// TestConfigurationIsUpToDate: docs/configuration.md is what the programs say.
func TestConfigurationIsUpToDate(t *testing.T) {
	t.Parallel()
	readSources(t)
	bin, err := fleet.Build()
	require.NoError(t, err)
	var b strings.Builder
	b.WriteString(introduction)
	fmt.Fprintf(&b, "```\n%s```\n", ydbconn.Help)
	for _, command := range commands {
		fmt.Fprintf(&b, "\n## %s\n\n| flag | default | meaning |\n|---|---|---|\n", command)
		for _, f := range flags(t, bin, command) {
			fmt.Fprintf(&b, "| `--%s` | %s | %s |\n", strings.TrimSpace(f.name+" "+f.value), f.def, f.meaning)
		}
	}
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(b.String()), 0o644))
	}
	have, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, b.String(), string(have), "run `make generate`")
}

// readSources opens what the flags come from, so that a cached result of this test
// is not taken for one of other sources.
func readSources(t *testing.T) {
	t.Helper()
	for _, pattern := range []string{"../../../*/*.go", "../../../../internal/cli/*.go", "../../../../internal/ydbconn/*.go", "../../../../pkg/*/*.go"} {
		files, err := filepath.Glob(pattern)
		require.NoError(t, err)
		require.NotEmpty(t, files, pattern)
		for _, f := range files {
			_, err := os.ReadFile(f)
			require.NoError(t, err)
		}
	}
}

// described is one flag.
type described struct{ name, value, def, meaning string }

var (
	line = regexp.MustCompile(`^ +(?:-\w, )?--([\w-]+)(?:\[=\S+\])?(?: (\S+))? {2,}(.*)$`)
	def  = regexp.MustCompile(` \(default:? (.*)\)$`)
)

// flags reads what --help says of a command's flags.
func flags(t *testing.T, bin, command string) []described {
	t.Helper()
	words := strings.Fields(command)
	out, err := exec.Command(filepath.Join(bin, words[0]), append(words[1:], "--help")...).Output()
	require.NoError(t, err, command)
	_, text, found := strings.Cut(string(out), "\nFlags:\n")
	require.True(t, found, command)
	var all []described
	for _, l := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
		parts := line.FindStringSubmatch(l)
		require.NotNil(t, parts, "%s: %q", command, l)
		d := described{name: parts[1], value: parts[2], meaning: parts[3]}
		if m := def.FindStringSubmatch(d.meaning); m != nil {
			d.meaning = strings.TrimSuffix(d.meaning, m[0])
			d.def = "`" + strings.Trim(m[1], `"`) + "`"
			if strings.Contains(m[0], "default:") {
				d.def = m[1] // described, not quoted
			}
		}
		d.meaning = strings.ReplaceAll(d.meaning, "|", `\|`)
		all = append(all, d)
	}
	return all
}
