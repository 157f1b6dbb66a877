package pgserver

import "syscall"

func attributes(deathSignal syscall.Signal) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: deathSignal}
}
