package verify

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/linter"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
	"github.com/stretchr/testify/require"
)

// TestImage: the Dockerfile parses as BuildKit does it, without a warning, and
// makes what it promises: static programs, all of them, nothing else, not as root.
func TestImage(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../Dockerfile")
	require.NoError(t, err)
	parsed, err := parser.Parse(bytes.NewReader(text))
	require.NoError(t, err)
	require.Empty(t, parsed.Warnings)
	var warnings []string
	lint := linter.New(&linter.Config{Warn: func(rule, _, _, message string, _ []parser.Range) {
		warnings = append(warnings, rule+": "+message)
	}})
	stages, _, err := instructions.Parse(parsed.AST, lint)
	require.NoError(t, err)
	require.Empty(t, warnings)
	require.Len(t, stages, 2)

	build, final := stages[0], stages[1]
	require.Equal(t, "golang:"+goVersion(t)+"-bookworm", build.BaseName)
	var run string
	for _, command := range build.Commands {
		if r, ok := command.(*instructions.RunCommand); ok && strings.Contains(r.String(), "go build") {
			run = strings.Join(r.CmdLine, " ")
		}
	}
	require.Contains(t, run, "CGO_ENABLED=0")
	mains, err := filepath.Glob("../../cmd/*/main.go")
	require.NoError(t, err)
	for _, main := range mains {
		require.Contains(t, run, " ./cmd/"+filepath.Base(filepath.Dir(main)))
	}

	require.Equal(t, "scratch", final.BaseName)
	has := map[string]bool{}
	for _, command := range final.Commands {
		has[command.Name()] = true
		switch c := command.(type) {
		case *instructions.UserCommand:
			require.Regexp(t, `^[1-9]\d*:[1-9]\d*$`, c.User, "not root, and a number: there is no /etc/passwd")
		case *instructions.CmdCommand:
			require.False(t, c.PrependShell, "there is no shell")
		case *instructions.StopSignalCommand:
			require.Equal(t, "SIGTERM", c.Signal)
		case *instructions.CopyCommand:
			require.Equal(t, "build", c.From)
		}
	}
	for _, name := range []string{"USER", "CMD", "EXPOSE", "STOPSIGNAL"} {
		require.True(t, has[strings.ToLower(name)] || has[name], name)
	}
}

// goVersion is the minor version that go.mod asks for.
func goVersion(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../go.mod")
	require.NoError(t, err)
	for _, line := range strings.Split(string(text), "\n") {
		if version, ok := strings.CutPrefix(line, "go "); ok {
			return strings.Join(strings.Split(version, ".")[:2], ".")
		}
	}
	t.Fatal("go.mod names no version")
	return ""
}
