package reservectl

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"reservation.dev/platform/csvfile"
	"reservation.dev/platform/fault"
)

// lineFields reads the values of a line of an import by name, and keeps the first refusal. Names are in
// snake_case; the file can have them in any spelling that column accepts.
type lineFields struct {
	record  record
	members map[string]any // of NDJSON, by normalised name
	refused error
}

// fieldsOf returns the fields of a line. It returns a refusal if the line is not an object.
func fieldsOf(r record) (*lineFields, error) {
	f := &lineFields{record: r, members: map[string]any{}}
	if r.csv != nil {
		return f, nil
	}
	var raw map[string]any
	if err := r.decode(&raw); err != nil {
		return f, err
	}
	if raw == nil {
		return f, refusal{"line", "type", "must be a JSON object, not null"}
	}
	for name, value := range raw {
		f.members[csvfile.Column(name)] = value
	}
	return f, nil
}

// value returns the first of the named fields that has a value, or nil.
func (f *lineFields) value(names []string) any {
	for _, name := range names {
		if f.record.csv != nil {
			if text := f.record.csv[csvfile.Column(name)]; text != "" {
				return text
			}
		} else if v := f.members[csvfile.Column(name)]; v != nil {
			return v
		}
	}
	return nil
}

func (f *lineFields) refuse(name, rule, message string) {
	if f.refused == nil {
		f.refused = refusal{name, rule, message}
	}
}

// text returns the first of the named fields that has a value, without surrounding spaces.
func (f *lineFields) text(names ...string) string {
	switch v := f.value(names).(type) {
	case nil:
		return ""
	case string:
		return strings.TrimSpace(v)
	}
	f.refuse(names[0], "type", "must be a string")
	return ""
}

// required is text, and refuses a line without it.
func (f *lineFields) required(names ...string) string {
	text := f.text(names...)
	if text == "" {
		f.refuse(names[0], "required", "is required")
	}
	return text
}

// inactive reports whether the line has the field active with the value false.
func (f *lineFields) inactive() bool {
	return f.value([]string{"active"}) != nil && !f.boolean("active")
}

// parts is list, and also accepts numbers.
func (f *lineFields) parts(names ...string) []string {
	numbers, isList := f.value(names).([]any)
	if one, isNumber := f.value(names).(float64); isNumber {
		numbers, isList = []any{one}, true
	}
	if !isList {
		return f.list(names...)
	}
	var all []string
	for _, item := range numbers {
		switch v := item.(type) {
		case float64:
			all = append(all, strconv.FormatFloat(v, 'f', -1, 64))
		case string:
			all = append(all, v)
		default:
			f.refuse(names[0], "type", "must be a list of numbers")
		}
	}
	return all
}

// refuseWith refuses the line for the reason err, which is a refusal.
func (f *lineFields) refuseWith(err error) {
	if f.refused == nil {
		f.refused = err
	}
}

// integer returns a whole number between 0 and most, or nil if the line has none.
func (f *lineFields) integer(name string, most int64) *int64 {
	var n int64
	var err error
	switch v := f.value([]string{name}).(type) {
	case nil:
		return nil
	case string:
		n, err = strconv.ParseInt(v, 10, 64)
	case float64:
		if n = int64(v); v != math.Trunc(v) || math.Abs(v) > 1<<53 {
			err = strconv.ErrSyntax
		}
	default:
		err = strconv.ErrSyntax
	}
	if err != nil || n < 0 || n > most {
		f.refuse(name, "type", fmt.Sprintf("must be a whole number between 0 and %d", most))
		return nil
	}
	return &n
}

// small returns a whole number, or 0 if the line has none.
func (f *lineFields) small(name string) int32 {
	if n := f.integer(name, math.MaxInt32); n != nil {
		return int32(*n)
	}
	return 0
}

// boolean returns a truth value, or false if the line has none.
func (f *lineFields) boolean(name string) bool {
	switch v := f.value([]string{name}).(type) {
	case nil:
		return false
	case bool:
		return v
	case string:
		if value, err := strconv.ParseBool(strings.ToLower(v)); err == nil {
			return value
		}
	}
	f.refuse(name, "type", "must be true or false")
	return false
}

// list returns the texts of a JSON array, or of a text that is split at semicolons.
func (f *lineFields) list(names ...string) []string {
	var all []string
	switch v := f.value(names).(type) {
	case nil:
	case string:
		for part := range strings.SplitSeq(v, ";") {
			if part = strings.TrimSpace(part); part != "" {
				all = append(all, part)
			}
		}
	case []any:
		for _, item := range v {
			text, ok := item.(string)
			if !ok {
				f.refuse(names[0], "type", "must be a list of strings")
				return nil
			}
			all = append(all, strings.TrimSpace(text))
		}
	default:
		f.refuse(names[0], "type", "must be a list of strings")
	}
	return all
}

// choice returns the number of a name in names, from 1, or 0 if the line has no value.
func (f *lineFields) choice(name string, names []string) int32 {
	text := strings.ToLower(f.text(name))
	if text == "" {
		return 0
	}
	for i, known := range names {
		if text == known {
			return int32(i + 1)
		}
	}
	f.refuse(name, "enum", fault.OneOf(names))
	return 0
}
