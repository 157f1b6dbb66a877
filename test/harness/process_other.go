//go:build unix && !linux

package harness

import "syscall"

func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{} }
