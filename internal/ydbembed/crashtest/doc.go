// Package crashtest holds ydbembed to its word about durability: its test kills
// the server process while clients write, starts it again on what is left on
// disk, and counts. A commit that was acknowledged is there; one that was not is
// there whole or not at all.
package crashtest
