package demo

import (
	"fmt"
	"io"
	"os"
	"sort"
	"strings"
	"time"

	"golang.org/x/term"
)

// Frame is one moment of a run.
type Frame struct {
	Elapsed, Expected time.Duration
	Note              string // what happens now
	Stored            int    // tasks in the database, wherever they are
	Delivered         int    // distinct tasks at the sink
	Runnable, Delayed int
	Partitions        map[string]int // by worker
	Dead              map[string]bool
}

// view shows frames: redrawn in place on a terminal, a line each elsewhere.
type view struct {
	w     io.Writer
	live  bool
	lines int // of the block on the screen
	last  Frame
}

func newView(w io.Writer) *view {
	file, ok := w.(*os.File)
	return &view{w: w, live: ok && term.IsTerminal(int(file.Fd()))}
}

// rate is what came in the time between two frames, per second.
func rate(from, to int, d time.Duration) float64 {
	if d <= 0 {
		return 0
	}
	return float64(to-from) / d.Seconds()
}

func (v *view) show(f Frame) {
	step := f.Elapsed - v.last.Elapsed
	in, out := rate(v.last.Stored, f.Stored, step), rate(v.last.Delivered, f.Delivered, step)
	v.last = f
	if !v.live {
		fmt.Fprintf(v.w, "%3.0fs  in %5.0f/s  out %5.0f/s  runnable %5d  delayed %5d  partitions %s  %s\n",
			f.Elapsed.Seconds(), in, out, f.Runnable, f.Delayed, shares(f, ""), f.Note)
		return
	}
	block := []string{
		fmt.Sprintf("taskfleet demo  %.0f s of about %.0f s   %s", f.Elapsed.Seconds(), f.Expected.Seconds(), f.Note),
		fmt.Sprintf("  in   %6.0f tasks/s   %7d stored", in, f.Stored),
		fmt.Sprintf("  out  %6.0f tasks/s   %7d delivered", out, f.Delivered),
		fmt.Sprintf("  backlog  %d runnable, %d delayed", f.Runnable, f.Delayed),
		"  partitions per worker",
	}
	block = append(block, strings.Split(shares(f, "\n"), "\n")...)
	if v.lines > 0 {
		fmt.Fprintf(v.w, "\x1b[%dA", v.lines)
	}
	for _, line := range block {
		fmt.Fprintf(v.w, "\x1b[2K%s\n", line)
	}
	for range v.lines - len(block) { // a shorter block than before
		fmt.Fprint(v.w, "\x1b[2K\n")
	}
	v.lines = max(v.lines, len(block))
}

// shares lists the partitions of each worker, with bars when each has its line.
func shares(f Frame, separator string) string {
	names := make([]string, 0, len(f.Partitions)+len(f.Dead))
	for name := range f.Partitions {
		names = append(names, name)
	}
	for name := range f.Dead {
		if _, listed := f.Partitions[name]; !listed {
			names = append(names, name)
		}
	}
	sort.Strings(names)
	parts := make([]string, len(names))
	for i, name := range names {
		switch n := f.Partitions[name]; {
		case separator == "" && f.Dead[name]:
			parts[i] = "x"
		case separator == "":
			parts[i] = fmt.Sprint(n)
		case f.Dead[name]:
			parts[i] = fmt.Sprintf("    %-10s killed", name)
		default:
			parts[i] = fmt.Sprintf("    %-10s %4d  %s", name, n, strings.Repeat("█", n/4))
		}
	}
	if separator == "" {
		return strings.Join(parts, "/")
	}
	return strings.Join(parts, separator)
}
