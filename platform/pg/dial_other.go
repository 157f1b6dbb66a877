//go:build !linux

package pg

import "syscall"

// limitUnanswered does nothing: only Linux has the option.
func limitUnanswered(string, string, syscall.RawConn) error { return nil }
