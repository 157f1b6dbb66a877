package harness

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// ProcessorTimeOfTree returns the processor time of a process and its children.
func ProcessorTimeOfTree(t testing.TB, pid int) time.Duration {
	t.Helper()
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		t.Fatal(err)
	}
	sum := ProcessorTime(t, pid)
	for _, child := range strings.Fields(string(children)) {
		pid, err := strconv.Atoi(child)
		if err != nil {
			t.Fatal(err)
		}
		sum += ProcessorTime(t, pid)
	}
	return sum
}

// ProcessorTime returns the processor time of a process and its ended children, or 0 if it has ended.
func ProcessorTime(t testing.TB, pid int) time.Duration {
	t.Helper()
	const tick = time.Second / 100 // the kernel's unit on every supported architecture
	file := fmt.Sprintf("/proc/%d/stat", pid)
	stat, err := os.ReadFile(file)
	if os.IsNotExist(err) || errors.Is(err, unix.ESRCH) {
		return 0
	}
	if err != nil {
		t.Fatal(err)
	}
	var own unix.Timespec
	clock := int32(^pid)<<3 | 2 // clock_getcpuclockid(3)
	if err := unix.ClockGettime(clock, &own); err != nil {
		if _, found := os.Stat(file); os.IsNotExist(found) {
			return 0 // it has ended since
		}
		t.Fatal(err)
	}
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	var ticks int
	for _, field := range fields[13:15] { // cutime, cstime
		n, err := strconv.Atoi(string(field))
		if err != nil {
			t.Fatal(err)
		}
		ticks += n
	}
	return time.Duration(own.Nano()) + time.Duration(ticks)*tick
}
