// Package derived marks the calls in which task ids with a reserved prefix may
// stand: those of the library's own parts, which derive them. No code outside
// this module can mark a call.
package derived

import "context"

type mark struct{}

// Allow returns a context whose enqueues may give ids that task.CheckGivenID refuses.
func Allow(ctx context.Context) context.Context { return context.WithValue(ctx, mark{}, true) }

// Allowed reports whether ctx comes from Allow.
func Allowed(ctx context.Context) bool { return ctx.Value(mark{}) != nil }
