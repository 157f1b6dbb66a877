//go:build unix && !linux

package pgserver

import "syscall"

// attributes has no death signal to set here: what a killed parent leaves
// running is shut down by the next Start.
func attributes(syscall.Signal) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{}
}
