package config

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/caarlos0/env/v11"
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

// parseFaults names the variables that could not be read. The library tells the
// field alone, and two sections may have fields of one name; so each value is
// tried by itself on a struct of its own.
func parseFaults(err error, values map[string]string, dst any) (unread []string, faults []error) {
	for _, e := range aggregated(err) {
		var missing env.VarIsNotSetError
		var parse env.ParseError
		switch {
		case errors.As(e, &missing):
			faults = append(faults, fmt.Errorf("%s is required", missing.Key))
		case !errors.As(e, &parse): // a mistake in the struct itself
			faults = append(faults, e)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		value, alone := values[name], reflect.New(reflect.TypeOf(dst).Elem()).Interface()
		err := env.ParseWithOptions(alone, env.Options{Environment: map[string]string{name: value}})
		for _, e := range aggregated(err) {
			var parse env.ParseError
			if errors.As(e, &parse) {
				unread = append(unread, name)
				faults = append(faults, fmt.Errorf("%s is %q, want %s", name, value, wanted(parse)))
			}
		}
	}
	return unread, faults
}

func aggregated(err error) []error {
	var all env.AggregateError
	if errors.As(err, &all) {
		return all.Errors
	}
	if err == nil {
		return nil
	}
	return []error{err}
}

// wanted says what a value of the field's type looks like. No secret is of a
// type that a value can fail.
func wanted(e env.ParseError) string {
	t := e.Type
	if t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	switch {
	case t == reflect.TypeFor[time.Duration]():
		return "a duration such as 500ms, 30s or 24h"
	case t.Kind() == reflect.Bool:
		return "true or false"
	case reflect.Int <= t.Kind() && t.Kind() <= reflect.Uint64:
		return "a whole number"
	}
	return "something else: " + e.Err.Error()
}
