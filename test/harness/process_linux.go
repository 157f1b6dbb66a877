package harness

import "syscall"

// attributes has the kernel kill the child when the test process dies.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
