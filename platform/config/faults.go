package config

import (
	"errors"
	"strings"
)

// Faults is the error that lists every wrong setting of a process.
type Faults struct{ list []error }

// Error lists the faults, one per line.
func (f *Faults) Error() string {
	lines := make([]string, 0, len(f.list)+1)
	lines = append(lines, "settings:")
	for _, err := range f.list {
		lines = append(lines, "  "+err.Error())
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns the faults, for errors.Is and errors.As.
func (f *Faults) Unwrap() []error { return f.list }

// JoinFaults returns the faults of several errors as one error, or nil if there are none.
// A fault that occurs twice, because two services in a process share a setting, is listed
// once.
func JoinFaults(errs ...error) error {
	var all Faults
	all.add(errs...)
	return all.orNil()
}

func (f *Faults) add(errs ...error) {
	for _, err := range errs {
		var nested *Faults
		if err == nil {
			continue
		}
		if errors.As(err, &nested) {
			f.add(nested.list...)
			continue
		}
		if joined, ok := err.(interface{ Unwrap() []error }); ok { // errors.Join; an error wrapped with %w keeps its text
			f.add(joined.Unwrap()...)
			continue
		}
		if !f.has(err.Error()) {
			f.list = append(f.list, err)
		}
	}
}

func (f *Faults) has(text string) bool {
	for _, err := range f.list {
		if err.Error() == text {
			return true
		}
	}
	return false
}

func (f *Faults) orNil() error {
	if len(f.list) == 0 {
		return nil
	}
	return f
}
