// Package config reads the settings of a service from its environment into one struct with
// defaults, and reports all faults together.
//
// The fields of a settings struct have the tags `env:"NAME" envDefault:"…"` or
// `env:"NAME,required"`, and `doc:"…"` with a one-line description for the settings table
// in the documentation. The tag envPrefix:"…" on a section is put before the names in it.
// If a struct has a method Validate() error, Read calls it after reading. Validate can
// return several faults with errors.Join.
package config

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"reflect"
	"strings"
)

// Env is the source of settings: the environment of the process, or another map if several
// services share one process.
type Env map[string]string

// fileSuffix ends the name of a variable that names a file with the value, for example
// DATABASE_URL_FILE.
const fileSuffix = "_FILE"

// OS returns the environment of the process. A variable NAME_FILE sets NAME to the content
// of that file, so that secrets can be mounted. If NAME is set too, it wins, and NAME_FILE
// counts as not set. OS ignores files that cannot be read, because variables of other
// programs end in _FILE too. Read reports them if they belong to one of its settings.
func OS() Env {
	e, values := Env{}, Env{}
	for _, variable := range os.Environ() {
		name, value, _ := strings.Cut(variable, "=")
		e[name] = value
	}
	for name := range e {
		base, ok := strings.CutSuffix(name, fileSuffix)
		if !ok {
			continue
		}
		if e[base] != "" {
			delete(e, name)
			continue
		}
		if value, given, err := e.lookup(base); given && err == nil {
			values[base] = value
		}
	}
	maps.Copy(e, values)
	return e
}

// lookup returns the value of the variable name, or the content of the file that NAME_FILE
// names. An empty value counts as not given.
func (e Env) lookup(name string) (value string, given bool, err error) {
	if value := e[name]; value != "" {
		return value, true, nil
	}
	path := e[name+fileSuffix]
	if path == "" {
		return "", false, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return "", false, fmt.Errorf("%s%s: %w", name, fileSuffix, err)
	}
	value = strings.TrimRight(string(text), "\r\n")
	return value, value != "", nil
}

// Value returns the value of a setting from its variable or its file, or "" if it is not
// set.
func (e Env) Value(name string) string {
	value, _, _ := e.lookup(name)
	return value
}

// Read fills dst, a pointer to a settings struct, and validates it and the structs in it.
// An empty variable counts as not set. The error is a *Faults; each fault names its
// variable. A field whose value is invalid gets its default, so that the other fields can
// still be validated.
func Read(e Env, dst any) error {
	var all Faults
	for _, f := range fields(reflect.ValueOf(dst), "") {
		all.add(f.read(e))
	}
	all.add(validate(reflect.ValueOf(dst)))
	return all.orNil()
}

// validate joins the faults of v and of the structs in it.
func validate(v reflect.Value) error {
	var faults []error
	each(v, func(section any) {
		if s, ok := section.(interface{ Validate() error }); ok {
			faults = append(faults, s.Validate())
		}
	})
	return errors.Join(faults...)
}

// each calls visit with pointers to the structs in v, innermost first, and then with v
// itself.
func each(v reflect.Value, visit func(section any)) {
	if s := reflect.Indirect(v); s.Kind() == reflect.Struct {
		for i := range s.NumField() {
			if s.Type().Field(i).IsExported() && s.Field(i).Kind() == reflect.Struct {
				each(s.Field(i).Addr(), visit)
			}
		}
	}
	visit(v.Interface())
}
