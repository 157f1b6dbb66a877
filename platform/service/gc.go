package service

import (
	"os"
	"runtime/debug"
)

const (
	gcPercent   = 200
	memoryLimit = 512 << 20 // bytes
)

// TuneGarbageCollection lets garbage grow to twice the memory in use before it is
// collected. Requests make much garbage and keep little, and with Go's default a process
// spends a sixth of its CPU on collecting it. Near the memory limit it is collected as
// often as needed. GOGC and GOMEMLIMIT in the environment win.
func TuneGarbageCollection() {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	debug.SetGCPercent(gcPercent)
	debug.SetMemoryLimit(memoryLimit)
}
