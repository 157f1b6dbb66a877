package config

import (
	"errors"
	"strings"
)

// Faults are all that is wrong with the settings of a process.
type Faults struct{ list []error }

// Error lists them, a line each.
func (f *Faults) Error() string {
	lines := make([]string, 0, len(f.list)+1)
	lines = append(lines, "settings:")
	for _, err := range f.list {
		lines = append(lines, "  "+err.Error())
	}
	return strings.Join(lines, "\n")
}

// Unwrap gives each fault to errors.Is and errors.As.
func (f *Faults) Unwrap() []error { return f.list }

// JoinFaults returns the faults of several errors as one error; nil: there are
// none. What is told twice, because two parts of a process share a setting, is
// told once.
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
		if joined, ok := err.(interface{ Unwrap() []error }); ok { // a wrapped one keeps its words
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
