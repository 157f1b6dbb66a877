//go:build unix && !linux

package pgserver

import "syscall"

// attributes sets no death signal, because only Linux has one. If the parent is killed, the next
// Start shuts the server down.
func attributes(syscall.Signal) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{}
}
