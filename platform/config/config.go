// Package config reads a part's settings from its environment into one struct
// with defaults, and reports every fault at once.
//
// A settings struct has the tags `env:"NAME" envDefault:"…"`, `env:"NAME,required"`, and
// `doc:"…"` for the one-line description that the settings table in the documentation is
// made of; envPrefix:"…" on a section is put before the names in it. If a struct has a
// method Validate() error, that is called after reading; errors.Join lets it report
// several faults.
package config

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"reflect"
	"strings"
)

// Env is where settings come from: the process's environment, or a map when
// several parts share one process.
type Env map[string]string

// fileSuffix marks the variable that names a file with the value: DATABASE_URL_FILE.
const fileSuffix = "_FILE"

// OS returns the environment of the process. A variable NAME_FILE gives NAME
// the content of that file, so that secrets can be mounted; where NAME is set
// too, it wins, and NAME_FILE counts as not set. Files that cannot be read are
// passed over here, because strangers' variables end in _FILE too; Read reports
// those of the settings it is asked for.
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

// lookup returns the value of name: its own, or the content of the file that
// NAME_FILE names. An empty value is none.
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

// Value returns what a setting is set to, by itself or by its file; "": it is
// not.
func (e Env) Value(name string) string {
	value, _, _ := e.lookup(name)
	return value
}

// Read fills dst, a pointer to a settings struct, and validates it and the structs
// within it. An empty variable counts as one that is not set. The error is a *Faults,
// each of which names the variable that it is about. A field whose value cannot be read
// has its default, so that the others can be validated.
func Read(e Env, dst any) error {
	var all Faults
	for _, f := range fields(reflect.ValueOf(dst), "") {
		all.add(f.read(e))
	}
	all.add(validate(reflect.ValueOf(dst)))
	return all.orNil()
}

// validate joins the faults of v and of the structs within it.
func validate(v reflect.Value) error {
	var faults []error
	each(v, func(section any) {
		if s, ok := section.(interface{ Validate() error }); ok {
			faults = append(faults, s.Validate())
		}
	})
	return errors.Join(faults...)
}

// each calls visit with pointers to the structs within v, innermost first, and
// with v itself.
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
