package fleet

import "syscall"

// childAttributes keeps a terminal's Ctrl-C away from the children, which are
// stopped in order, and ends them when their parent dies.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
