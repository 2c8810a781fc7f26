// Mutants breaks the code in the ways that its lists name, one at a time, and
// checks that the tests which should notice do.
//
//	go run ./tools/mutants [-run regexp] [-all] [-jobs n] [-v] [list ...]
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
// The timeout is 1m if it is not given: what hangs has failed after it. No file of
// the tree is touched: the compiler reads the broken file through an overlay.
//
// The program stops, and fails, at the first mutant that survives, does not
// compile, does not apply, or whose tests fail without it too; with -all it runs
// the others all the same.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"sync"
	"time"
)

func main() {
	var o options
	flag.StringVar(&o.only, "run", "", "run only the mutants whose name matches this regular expression")
	flag.BoolVar(&o.all, "all", false, "do not stop at the first that is not killed")
	flag.IntVar(&o.jobs, "jobs", runtime.NumCPU(), "how many run side by side")
	flag.BoolVar(&o.verbose, "v", false, "print what the tests print")
	flag.Parse()
	if err := run(o, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

type options struct {
	only         string
	all, verbose bool
	jobs         int
}

func run(o options, lists []string) error {
	match, err := regexp.Compile(o.only)
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
	alive := newHunt(dir, o.verbose, mutants).run(mutants, o)
	if alive > 0 {
		return fmt.Errorf("%d of %d are not killed", alive, len(mutants))
	}
	fmt.Printf("all %d are killed\n", len(mutants))
	return nil
}

// run tries the mutants, prints a verdict on each, and returns how many are not
// killed.
func (h *hunt) run(mutants []mutant, o options) int {
	var mu sync.Mutex
	alive := 0
	next := make(chan mutant)
	var workers sync.WaitGroup
	for range max(o.jobs, 1) {
		workers.Go(func() {
			for m := range next {
				began := time.Now()
				err := h.kill(m)
				mu.Lock()
				verdict := "killed"
				if err != nil {
					alive++
					verdict = err.Error()
				}
				fmt.Printf("%-48s %6.1fs  %s\n", m.name, time.Since(began).Seconds(), verdict)
				mu.Unlock()
			}
		})
	}
	for _, m := range mutants {
		mu.Lock()
		stop := alive > 0 && !o.all
		mu.Unlock()
		if stop {
			break
		}
		next <- m
	}
	close(next)
	workers.Wait()
	return alive
}
