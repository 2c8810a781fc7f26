//go:build !linux

package fleet

import "syscall"

// childAttributes keeps a terminal's Ctrl-C away from the children, which are
// stopped in order.
func childAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
