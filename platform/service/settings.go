package service

import (
	"fmt"
	"io"
	"text/tabwriter"

	"reservation.dev/platform/config"
)

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

// PrintSettings writes the settings of the given structs to out as one table.
func PrintSettings(out io.Writer, groups ...any) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "SETTING\tDEFAULT\tMEANING")
	for _, group := range groups {
		for _, s := range config.Settings(group) {
			value := s.Default
			if s.Required {
				value = "(required)"
			}
			fmt.Fprintf(w, "%s\t%s\t%s\n", s.Name, value, s.About)
		}
	}
	return w.Flush()
}
