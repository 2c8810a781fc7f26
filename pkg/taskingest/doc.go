// Package taskingest takes tasks over HTTP: an API for programs, and the webhooks
// of GitHub, GitLab and Gitea.
//
//	POST /v1/tasks         tasks as JSON or NDJSON, with a bearer token
//	POST /hooks/{service}  a webhook, with its signature or token
//	GET  /healthz          the process lives
//	GET  /readyz           tasks can be stored
//
// Acknowledged means committed: a 2xx is sent after the commit, never before. A
// request is stored as a whole or not at all.
//
//	handler, err := taskingest.New(taskingest.Config{Producer: producer, Tokens: tokens})
//	err = handler.Serve(ctx, listener, 30*time.Second)
//
// The handler can also be mounted in a server of the caller's own, which then has
// to bound headers and slow clients itself.
package taskingest
