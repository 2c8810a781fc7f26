// Package verify holds the checks of what the project ships for operation and
// that is not Go: the image, the compose file, the Terraform module with the
// cloud-init that it renders, and the links of the documentation. They need no
// engine, no cloud and no network. `make verify` runs them.
//
// It is a module of its own, so that the parsers stay out of the product's go.mod.
package verify
