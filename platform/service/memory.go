package service

import (
	"os"
	"runtime/debug"
)

const (
	gcPercent   = 200
	memoryLimit = 512 << 20 // bytes
)

// SpendMemory lets garbage pile up to twice what is in use, as requests
// make much of it and leave little behind: collecting as often as Go does by
// itself takes a sixth of a process's CPU. Near the limit it is collected as
// often as it takes. GOGC or GOMEMLIMIT in the environment have the say instead.
func SpendMemory() {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	debug.SetGCPercent(gcPercent)
	debug.SetMemoryLimit(memoryLimit)
}
