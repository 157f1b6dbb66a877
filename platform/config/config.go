// Package config reads a part's settings from its environment into one struct
// with defaults, and reports every fault at once.
//
// A settings struct uses the tags of caarlos0/env (`env:"NAME" envDefault:"…"`)
// and `doc:"…"` for the one-line description that the settings table in the
// documentation is made of. If it has a method Validate() error, that is called
// after reading; errors.Join lets it report several faults.
package config

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"reflect"
	"strings"

	"github.com/caarlos0/env/v11"
)

// Env is where settings come from: the process's environment, or a map when
// several parts share one process.
type Env map[string]string

// fileSuffix marks the variable that names a file with the value: DATABASE_URL_FILE.
const fileSuffix = "_FILE"

// OS returns the environment of the process. A variable NAME_FILE gives NAME
// the content of that file, so that secrets can be mounted. Files that cannot be
// read are passed over here, because strangers' variables end in _FILE too; Read
// reports those of the settings it is asked for.
func OS() Env {
	e := Env(env.ToMap(os.Environ()))
	values := Env{}
	for name := range e {
		base, ok := strings.CutSuffix(name, fileSuffix)
		if !ok {
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

// Read fills dst, a pointer to a settings struct, and validates it and the
// structs within it. An empty variable counts as one that is not set.
func Read(e Env, dst any) error {
	values, err := e.settings(dst)
	if parseErr := env.ParseWithOptions(dst, env.Options{Environment: values}); parseErr != nil {
		err = errors.Join(err, parseErr)
	}
	if err = errors.Join(err, validate(reflect.ValueOf(dst))); err != nil {
		return fmt.Errorf("settings: %w", err)
	}
	return nil
}

// settings returns the variables that dst asks for and that have a value.
func (e Env) settings(dst any) (map[string]string, error) {
	fields, err := env.GetFieldParams(dst)
	if err != nil {
		return nil, err
	}
	values := make(map[string]string, len(fields))
	var faults []error
	for _, f := range fields {
		value, given, err := e.lookup(f.Key)
		switch {
		case err != nil:
			faults = append(faults, err)
		case given:
			values[f.Key] = value
		}
	}
	return values, errors.Join(faults...)
}

// validate joins the faults of v and of the structs within it. A method that is
// promoted from an embedded struct is found twice and reported once.
func validate(v reflect.Value) error {
	var faults []error
	told := map[string]bool{}
	report := func(err error) {
		if err != nil && !told[err.Error()] {
			told[err.Error()] = true
			faults = append(faults, err)
		}
	}
	var walk func(v reflect.Value)
	walk = func(v reflect.Value) {
		if s := reflect.Indirect(v); s.Kind() == reflect.Struct {
			for i := range s.NumField() {
				if s.Type().Field(i).IsExported() && s.Field(i).Kind() == reflect.Struct {
					walk(s.Field(i).Addr())
				}
			}
		}
		if section, ok := v.Interface().(interface{ Validate() error }); ok {
			report(section.Validate())
		}
	}
	walk(v)
	return errors.Join(faults...)
}

// Secret is a setting that prints as ***.
type Secret string

// Reveal returns the secret itself, for the one place that uses it.
func (s Secret) Reveal() string { return string(s) }

// String hides the secret.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return "***"
}

// Format hides the secret whatever the verb: %d and %#v would print it.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

// MarshalText hides the secret from encoders, slog's among them.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
