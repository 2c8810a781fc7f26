package taskingest

import "time"

// Request is a request that was answered.
type Request struct {
	Route string // tasks, hooks/github, healthz, ...; "other" for what there is not
	Code  int    // of the answer
	Bytes int64  // of the body, as far as it was read
	Tasks int    // that were to be stored
	Took  time.Duration
}

// Observer is told what a Handler does. Its methods are called from several
// goroutines and must return at once. Embed NopObserver to implement some of them.
type Observer interface {
	// Request: a request was answered.
	Request(r Request)
	// Hook: a webhook of a service came in. outcome is stored, duplicate, ignored,
	// ping, refused (not genuine), bad (not understood) or failed (not stored).
	Hook(service, outcome string)
	// Backpressure: a request was refused, or gave way to another, because too many
	// requests or bytes are in flight; limit is requests, bytes, unverified_requests
	// or unverified_bytes.
	Backpressure(limit string)
	// InFlight: so many more requests are being worked on, or fewer if negative, and
	// hold so many more bytes.
	InFlight(requests int, bytes int64)
}

// NopObserver does nothing.
type NopObserver struct{}

// Request does nothing.
func (NopObserver) Request(Request) {}

// Hook does nothing.
func (NopObserver) Hook(string, string) {}

// Backpressure does nothing.
func (NopObserver) Backpressure(string) {}

// InFlight does nothing.
func (NopObserver) InFlight(int, int64) {}
