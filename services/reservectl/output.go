package reservectl

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"golang.org/x/term"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// row is one object of the output, with its members in order.
type row []member

type member struct {
	name  string
	value any
}

// MarshalJSON writes the members in their order.
func (r row) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range r {
		if i > 0 {
			b.WriteByte(',')
		}
		name, err := encode(m.name)
		if err != nil {
			return nil, err
		}
		value, err := encode(m.value)
		if err != nil {
			return nil, err
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// encode is json.Marshal without the escaping of &, < and >.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// printOne prints one object.
func (a *app) printOne(r row) error {
	table, err := a.table()
	if err != nil {
		return err
	}
	if !table {
		return a.printJSON(r)
	}
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	for _, m := range r.flat("") {
		fmt.Fprintf(w, "%s\t%s\n", m.name, cell(m.value))
	}
	return w.Flush()
}

// flat returns r with the members of nested objects, whose names get the prefix, and with one
// member for each object of a list.
func (r row) flat(prefix string) row {
	var all row
	for _, m := range r {
		switch value := m.value.(type) {
		case row:
			all = append(all, value.flat(prefix+m.name+".")...)
		case []row:
			for i, item := range value {
				all = append(all, member{fmt.Sprintf("%s%s[%d]", prefix, m.name, i), item})
			}
		default:
			all = append(all, member{prefix + m.name, value})
		}
	}
	return all
}

// at returns the member with a path such as "purchaser.id", or nil.
func (r row) at(path string) any {
	name, rest, nested := strings.Cut(path, ".")
	for _, m := range r {
		if m.name != name {
			continue
		}
		if inner, ok := m.value.(row); nested && ok {
			return inner.at(rest)
		}
		if !nested {
			return m.value
		}
	}
	return nil
}

// String returns the members that are set, on one line.
func (r row) String() string {
	var parts []string
	for _, m := range r.flat("") {
		if text := cell(m.value); m.value != nil && text != "" {
			parts = append(parts, m.name+"="+text)
		}
	}
	return strings.Join(parts, " ")
}

// printAll prints a list of objects. An empty list is [] in JSON; instead of an empty table, it
// prints the message none to standard error.
func (a *app) printAll(rows []row, none string) error {
	table, err := a.table()
	if err != nil {
		return err
	}
	if !table {
		if rows == nil {
			rows = []row{}
		}
		return a.printJSON(rows)
	}
	if len(rows) == 0 {
		fmt.Fprintln(a.errOut, none)
		return nil
	}
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	for i, r := range rows {
		if i == 0 {
			for _, m := range r {
				fmt.Fprintf(w, "%s\t", strings.ToUpper(m.name))
			}
			fmt.Fprintln(w)
		}
		for _, m := range r {
			fmt.Fprintf(w, "%s\t", cell(m.value))
		}
		fmt.Fprintln(w)
	}
	return w.Flush()
}

func (a *app) printJSON(v any) error {
	e := json.NewEncoder(a.out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

func cell(v any) string {
	switch v := v.(type) {
	case nil:
		return "–"
	case []string:
		return oneLine(strings.Join(v, ","))
	case []int64:
		return strings.ReplaceAll(strings.Trim(fmt.Sprint(v), "[]"), " ", ",")
	case json.RawMessage:
		return oneLine(string(v))
	}
	return oneLine(fmt.Sprint(v))
}

// oneLine returns a text for a cell of a table.
func oneLine(text string) string {
	return printableText(strings.NewReplacer("\r\n", " ", "\n", " ", "\t", " ").Replace(text))
}

// printableText replaces the control characters that a terminal would obey: invariant 6.
func printableText(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 {
			return '\ufffd'
		}
		return r
	}, text)
}

func (a *app) table() (bool, error) {
	switch a.output {
	case "json":
		return false, nil
	case "table":
		return true, nil
	case "auto":
		return isTerminal(a.out), nil
	}
	return false, usageError{fmt.Errorf("--output must be json, table or auto, not %q", a.output)}
}

func isTerminal(w any) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// timeOrNil returns an instant for the output, or nil if there is none.
func timeOrNil(t *timestamppb.Timestamp) any {
	if t == nil {
		return nil
	}
	return t.AsTime().Format(time.RFC3339)
}

// textOrNil returns a text for the output, or nil if it is empty.
func textOrNil(text string) any {
	if text == "" {
		return nil
	}
	return text
}
