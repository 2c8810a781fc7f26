// Package reference holds the test that writes docs/configuration.md from what
// the programs say of their flags, and checks that it is up to date.
package reference
