package service

import (
	"os"
	"runtime/debug"
)

const (
	gcPercent   = 400
	memoryLimit = 512 << 20 // bytes
)

// TuneGarbageCollection lets garbage grow to four times the live memory before a collection.
// Requests create much garbage and keep little, so with Go's default a process spends a
// sixth of its CPU on collections. Near the memory limit (512 MiB), collections run as
// often as needed. If GOGC or GOMEMLIMIT is set, TuneGarbageCollection does nothing.
func TuneGarbageCollection() {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	debug.SetGCPercent(gcPercent)
	debug.SetMemoryLimit(memoryLimit)
}
