// Package conformance runs the integration tests of the YDB SDK, unmodified and
// out of the module cache, against ydbembed. It is a module of its own, so that
// the SDK's test dependencies stay out of the project's.
package conformance

// The import keeps the SDK's version in go.mod.
import _ "github.com/ydb-platform/ydb-go-sdk/v3"
