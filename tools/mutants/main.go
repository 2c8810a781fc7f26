// Mutants breaks the code in the ways that its lists name, one at a time, and
// checks that the tests which should notice do.
//
//	go run ./tools/mutants [-run regexp] [-v] [list ...]
//
// A list is a file of blocks separated by empty lines; without arguments all of
// tools/mutants/*.mutants are used. Lines that begin with # are comments.
//
//	name: claim-fence
//	file: internal/taskstore/claim.go
//	- text that stands once in the file, part of one line
//	+ what replaces it, which may be empty
//	test: ./internal/taskstore -run TestI4|TestFence -timeout 20s
//
// What follows test: goes to `go test`, after -failfast and -timeout 1m.
// No file of the tree is touched: the compiler reads the broken file through an
// overlay. The program fails when a mutant survives, does not compile, does not
// apply, or when its tests fail without it too.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

func main() {
	only := flag.String("run", "", "run only the mutants whose name matches this regular expression")
	verbose := flag.Bool("v", false, "print what the tests print")
	flag.Parse()
	if err := run(*only, *verbose, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

func run(only string, verbose bool, lists []string) error {
	match, err := regexp.Compile(only)
	if err != nil {
		return fmt.Errorf("-run: %w", err)
	}
	if len(lists) == 0 {
		if lists, err = filepath.Glob("tools/mutants/*.mutants"); err != nil {
			return err
		}
	}
	mutants, err := readLists(lists)
	if err != nil {
		return err
	}
	mutants = slices.DeleteFunc(mutants, func(m mutant) bool { return !match.MatchString(m.name) })
	if len(mutants) == 0 {
		return errors.New("no mutant is chosen")
	}
	dir, err := os.MkdirTemp("", "mutants-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	h := hunt{dir: dir, verbose: verbose, healthy: map[string]error{}}
	failed := 0
	for _, m := range mutants {
		began := time.Now()
		verdict := "killed"
		if err := h.kill(m); err != nil {
			failed++
			verdict = err.Error()
		}
		fmt.Printf("%-32s %6.1fs  %s\n", m.name, time.Since(began).Seconds(), verdict)
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d are not killed", failed, len(mutants))
	}
	fmt.Printf("all %d are killed\n", len(mutants))
	return nil
}

// hunt runs tests against mutants.
type hunt struct {
	dir     string // for broken files and overlays
	verbose bool
	healthy map[string]error // of tests that ran without a mutant
}

// kill returns nil when the mutant's tests pass without it and fail with it.
func (h *hunt) kill(m mutant) error {
	overlay, err := h.overlay(m)
	if err != nil {
		return err
	}
	if out, err := command("build", "-overlay", overlay, "./"+filepath.Dir(m.file)); err != nil {
		return fmt.Errorf("does not compile: %s", firstLine(out))
	}
	key := strings.Join(m.test, " ")
	if _, ok := h.healthy[key]; !ok {
		h.healthy[key] = h.test(m.test, "")
	}
	if err := h.healthy[key]; err != nil {
		return fmt.Errorf("its tests do not pass without it: %w", err)
	}
	switch err := h.test(m.test, overlay); {
	case err == nil:
		return fmt.Errorf("SURVIVED go test %s", key)
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

// test runs the tests, and returns errTestsFail when some ran and failed. What
// hangs has failed after a minute.
func (h *hunt) test(args []string, overlay string) error {
	flags := []string{"test", "-json", "-vet=off", "-failfast", "-timeout=1m"}
	if overlay != "" {
		flags = append(flags, "-overlay", overlay)
	}
	out, err := command(append(flags, args...)...)
	if h.verbose {
		os.Stdout.Write(out)
	}
	ran, built := false, true
	var printed []byte
	for line := range bytes.Lines(out) {
		var event struct{ Action, Output, FailedBuild string }
		if json.Unmarshal(line, &event) != nil {
			printed = append(printed, line...)
			continue
		}
		printed = append(printed, event.Output...)
		ran = ran || event.Action == "run"
		built = built && event.FailedBuild == ""
	}
	switch {
	case !built:
		return fmt.Errorf("the tests do not compile: %s", firstLine(printed))
	case !ran:
		return fmt.Errorf("no test runs with go test %s: %s", strings.Join(args, " "), firstLine(printed))
	case err != nil:
		return errTestsFail
	}
	return nil
}

func command(args ...string) ([]byte, error) {
	cmd := exec.Command("go", args...)
	cmd.Env = append(os.Environ(), "RAPID_NOFAILFILE=1") // property tests leave no trace of a failure that is wanted
	return cmd.CombinedOutput()
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
