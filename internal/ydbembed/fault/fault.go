// Package fault lets a test script the server: it catches the calls of a kind
// and fails, delays, holds or counts them, or drops the answer of a commit that
// was applied. The wire layer asks a Set before each call; a Set without faults
// costs one atomic load.
package fault

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// ErrLost, as the error of a Rule, lets the call run and loses its answer: the
// client sees a broken connection and cannot know what happened.
var ErrLost = status.Error(codes.Unavailable, "fault: the answer is lost")

// Call is a request as faults see it.
type Call struct {
	Kind string // method or coordination request, for example ExecuteQuery
	Text string // the query text of calls that carry one
}

// Rule says which calls a fault catches and what becomes of them.
type Rule struct {
	Kind     string        // "" catches every call
	Contains string        // only calls whose text contains it
	Keep     bool          // catch every call until Stop, not only the next one
	Delay    time.Duration // wait before the call goes on
	Hold     bool          // wait until Release or Stop
	Err      error         // the answer; nil lets the call go on
	Commit   bool          // act after a commit was applied, not before the call
}

// Fault is an armed rule. Its methods may be called from any goroutine.
type Fault struct {
	set     *Set
	rule    Rule
	release chan struct{}

	mu       sync.Mutex
	hits     int
	changed  chan struct{} // closed and replaced at every hit
	released bool
}

// Hits returns how many calls the fault has caught.
func (f *Fault) Hits() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.hits
}

// Wait returns when the fault has caught n calls, or with the context's error.
func (f *Fault) Wait(ctx context.Context, n int) error {
	for {
		f.mu.Lock()
		hits, changed := f.hits, f.changed
		f.mu.Unlock()
		if hits >= n {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("fault: %s was hit %d times of %d: %w", f.rule.Kind, hits, n, ctx.Err())
		}
	}
}

// Release lets the calls go on that the fault holds, and all later ones.
func (f *Fault) Release() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.released {
		f.released = true
		close(f.release)
	}
}

// Stop disarms the fault and lets go what it holds.
func (f *Fault) Stop() {
	f.set.remove(f)
	f.Release()
}

func (f *Fault) hit() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.hits++
	close(f.changed)
	f.changed = make(chan struct{})
}

func (f *Fault) matches(call Call, commit bool) bool {
	return f.rule.Commit == commit &&
		(f.rule.Kind == "" || f.rule.Kind == call.Kind) &&
		(f.rule.Contains == "" || strings.Contains(call.Text, f.rule.Contains))
}

// apply does what the rule says to one call.
func (f *Fault) apply(ctx context.Context) error {
	if f.rule.Delay > 0 {
		timer := time.NewTimer(f.rule.Delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-f.release:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	if f.rule.Hold {
		select {
		case <-f.release:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return f.rule.Err
}

// Set holds the armed faults of one server. The zero Set has none.
type Set struct {
	armed  atomic.Int32
	mu     sync.Mutex
	faults []*Fault
}

// Add arms a rule. Faults act in the order in which they were added.
func (s *Set) Add(rule Rule) *Fault {
	f := &Fault{set: s, rule: rule, release: make(chan struct{}), changed: make(chan struct{})}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, f)
	s.armed.Add(1)
	return f
}

func (s *Set) remove(f *Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, armed := range s.faults {
		if armed == f {
			s.faults = append(s.faults[:i:i], s.faults[i+1:]...)
			s.armed.Add(-1)
			return
		}
	}
}

// Clear disarms every fault and lets go what they hold.
func (s *Set) Clear() {
	s.mu.Lock()
	faults := s.faults
	s.faults = nil
	s.armed.Store(0)
	s.mu.Unlock()
	for _, f := range faults {
		f.Release()
	}
}

// Before applies the faults to a call that is about to run. An error is the
// call's answer.
func (s *Set) Before(ctx context.Context, call Call) error { return s.run(ctx, call, false) }

// Committed applies the faults that wait for a commit to have been applied. An
// error takes the place of the answer.
func (s *Set) Committed(ctx context.Context, call Call) error { return s.run(ctx, call, true) }

func (s *Set) run(ctx context.Context, call Call, commit bool) error {
	if s.armed.Load() == 0 {
		return nil
	}
	for _, f := range s.take(call, commit) {
		f.hit()
		if err := f.apply(ctx); err != nil {
			return err
		}
	}
	return nil
}

// take returns the faults that catch the call, up to the first one that answers
// it, and disarms those that were for one call only.
func (s *Set) take(call Call, commit bool) []*Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	var caught, left []*Fault
	answered := false
	for _, f := range s.faults {
		if !answered && f.matches(call, commit) {
			caught = append(caught, f)
			answered = f.rule.Err != nil
			if !f.rule.Keep {
				s.armed.Add(-1)
				continue
			}
		}
		left = append(left, f)
	}
	s.faults = left
	return caught
}
