package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// hunt runs tests against mutants.
type hunt struct {
	dir     string // for broken files and overlays
	verbose bool
	healthy map[group]func() error // runs the tests of a group without a mutant, once
}

// group is a package whose tests are run together without a mutant. Tests that are
// parts of others are a group of their own: expressions with a slash cannot be joined.
type group struct{ pkg, part string }

func groupOf(m mutant) group {
	if strings.Contains(m.tests, "/") {
		return group{m.pkg, m.tests}
	}
	return group{pkg: m.pkg}
}

func newHunt(dir string, verbose bool, mutants []mutant) *hunt {
	h := &hunt{dir: dir, verbose: verbose, healthy: map[group]func() error{}}
	tests := map[group][]string{}
	for _, m := range mutants {
		tests[groupOf(m)] = append(tests[groupOf(m)], m.tests)
	}
	for g, all := range tests {
		slices.Sort(all)
		expression := strings.Join(slices.Compact(all), "|")
		h.healthy[g] = sync.OnceValue(func() error { return h.test("", "5m", g.pkg, expression) })
	}
	return h
}

// kill returns nil when the mutant's tests pass without it and fail with it.
func (h *hunt) kill(m mutant) error {
	overlay, err := h.overlay(m)
	if err != nil {
		return err
	}
	if err := h.healthy[groupOf(m)](); err != nil {
		return fmt.Errorf("the tests of %s do not pass without it: %w", m.pkg, err)
	}
	switch err := h.test(overlay, m.timeout, m.pkg, m.tests); {
	case err == nil:
		return fmt.Errorf("SURVIVED go test %s -run '%s'", m.pkg, m.tests)
	case errors.Is(err, errTestsFail):
		return nil
	default:
		return err
	}
}

// overlay writes the broken file and what tells the compiler of it.
func (h *hunt) overlay(m mutant) (string, error) {
	path, err := filepath.Abs(m.file)
	if err != nil {
		return "", err
	}
	broken, err := m.apply()
	if err != nil {
		return "", err
	}
	standIn := filepath.Join(h.dir, m.name+".go")
	if err := os.WriteFile(standIn, broken, 0o600); err != nil {
		return "", err
	}
	text, err := json.Marshal(map[string]map[string]string{"Replace": {path: standIn}})
	if err != nil {
		return "", err
	}
	name := filepath.Join(h.dir, m.name+".json")
	return name, os.WriteFile(name, text, 0o600)
}

var errTestsFail = errors.New("tests fail")

// test runs tests of a package, and returns errTestsFail when some ran and failed.
func (h *hunt) test(overlay, timeout, pkg, tests string) error {
	args := []string{"test", "-json", "-vet=off", "-failfast", "-timeout", timeout, "-run", tests}
	if overlay != "" {
		args = append(args, "-overlay", overlay)
	}
	cmd := exec.Command("go", append(args, pkg)...)
	cmd.Env = append(os.Environ(), "RAPID_NOFAILFILE=1") // property tests leave no trace of a failure that is wanted
	out, err := cmd.CombinedOutput()
	if h.verbose {
		os.Stdout.Write(out)
	}
	ran, built := false, true
	var printed, red []byte
	for line := range bytes.Lines(out) {
		var event struct{ Action, Test, Output, FailedBuild string }
		if json.Unmarshal(line, &event) != nil {
			printed = append(printed, line...)
			continue
		}
		printed = append(printed, event.Output...)
		ran = ran || event.Action == "run"
		built = built && event.FailedBuild == ""
		if event.Action == "fail" && event.Test != "" {
			red = append(red, " "+event.Test...)
		}
	}
	switch {
	case !built:
		return fmt.Errorf("does not compile: %s", firstLine(printed))
	case !ran:
		return fmt.Errorf("no test runs with go test %s -run '%s': %s", pkg, tests, firstLine(printed))
	case err != nil:
		return fmt.Errorf("%w:%s", errTestsFail, red)
	}
	return nil
}

// firstLine returns the first line of a compiler's output that names no package.
func firstLine(out []byte) string {
	for line := range strings.Lines(string(out)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			return line
		}
	}
	return "no output"
}
