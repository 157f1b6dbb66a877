package service

import (
	"fmt"
	"io"
	"reflect"
	"strings"
	"text/tabwriter"

	"reservation.dev/platform/config"
)

// Setting is one line of a settings table.
type Setting struct {
	Name, Default, About string
	Required             bool
}

// Settings lists what a settings struct reads from the environment, embedded
// structs included, in the order of their fields.
func Settings(v any) []Setting {
	t := reflect.TypeOf(v)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return settingsOf(t, "")
}

func settingsOf(t reflect.Type, prefix string) []Setting {
	var all []Setting
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Type.Kind() == reflect.Struct && f.Tag.Get("env") == "" {
			all = append(all, settingsOf(f.Type, prefix+f.Tag.Get("envPrefix"))...)
			continue
		}
		name, options, _ := strings.Cut(f.Tag.Get("env"), ",")
		if name == "" {
			continue
		}
		s := Setting{
			Name: prefix + name, Default: f.Tag.Get("envDefault"), About: f.Tag.Get("doc"),
			Required: strings.Contains(options, "required"),
		}
		if f.Type == reflect.TypeFor[config.Secret]() {
			s.Default = config.Secret(s.Default).String()
		}
		all = append(all, s)
	}
	return all
}

func printSettings(out io.Writer, p Part) error {
	groups := []any{Process{}}
	if p.Settings != nil {
		groups = append(groups, p.Settings())
	}
	if p.Migrations != nil {
		groups = append(groups, Owner{})
	}
	return PrintSettings(out, groups...)
}

// PrintSettings prints the settings of settings structs as one table.
func PrintSettings(out io.Writer, groups ...any) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "SETTING\tDEFAULT\tMEANING")
	for _, group := range groups {
		for _, s := range Settings(group) {
			value := s.Default
			if s.Required {
				value = "(required)"
			}
			fmt.Fprintf(w, "%s\t%s\t%s\n", s.Name, value, s.About)
		}
	}
	return w.Flush()
}
