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
// the content of that file, so that secrets can be mounted; where NAME is set
// too, it wins, and NAME_FILE counts as not set. Files that cannot be read are
// passed over here, because strangers' variables end in _FILE too; Read reports
// those of the settings it is asked for.
func OS() Env {
	e := Env(env.ToMap(os.Environ()))
	values := Env{}
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

// Read fills dst, a pointer to a settings struct, and validates it and the
// structs within it. An empty variable counts as one that is not set. The error
// is a *Faults, each of which names the variable that it is about.
func Read(e Env, dst any) error {
	var all Faults
	values, faults := e.settings(dst)
	all.add(faults...)
	if err := env.ParseWithOptions(dst, env.Options{Environment: values}); err != nil {
		unread, faults := parseFaults(err, values, dst)
		all.add(faults...)
		for _, name := range unread { // its default does for the checks of the others
			delete(values, name)
		}
		_ = env.ParseWithOptions(dst, env.Options{Environment: values})
	}
	all.add(validate(reflect.ValueOf(dst)))
	return all.orNil()
}

// settings returns the variables that dst asks for and that have a value.
func (e Env) settings(dst any) (values map[string]string, faults []error) {
	fields, err := env.GetFieldParams(dst)
	if err != nil {
		return nil, []error{err}
	}
	values = make(map[string]string, len(fields))
	for _, f := range fields {
		value, given, err := e.lookup(f.Key)
		switch {
		case err != nil:
			faults = append(faults, err)
		case given:
			values[f.Key] = value
		}
	}
	return values, faults
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
