package reservectl

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// record is one line of an import file: a CSV row by column, or a JSON object.
type record struct {
	line int
	csv  map[string]string // by normalised column name
	json []byte
}

// records reads an import file line by line.
type records struct {
	next  func() (record, error) // io.EOF at the end
	close func() error
	name  string
}

// maxLine is the longest line of an NDJSON file, in bytes.
const maxLine = 4 << 20

// openRecords opens a CSV or NDJSON file; "-" is standard input. format is
// "csv", "ndjson", or "" to go by the file's name.
func (a *app) openRecords(path, format string) (*records, error) {
	if format == "" {
		switch strings.ToLower(filepath.Ext(path)) {
		case ".csv":
			format = "csv"
		case ".ndjson", ".jsonl", ".json":
			format = "ndjson"
		default:
			return nil, usageError{fmt.Errorf("%s: give --format csv or ndjson", path)}
		}
	}
	r := &records{name: path, close: func() error { return nil }}
	in := a.in
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		in, r.close = f, f.Close
	}
	var err error
	switch format {
	case "csv":
		r.next, err = csvRecords(in)
	case "ndjson":
		r.next = jsonRecords(in)
	default:
		err = usageError{fmt.Errorf("--format must be csv or ndjson, not %q", format)}
	}
	if err != nil {
		_ = r.close()
		return nil, err
	}
	return r, nil
}

func csvRecords(in io.Reader) (func() (record, error), error) {
	buffered := bufio.NewReader(in)
	if mark, err := buffered.Peek(3); err == nil && bytes.Equal(mark, []byte("\xef\xbb\xbf")) {
		_, _ = buffered.Discard(len(mark)) // spreadsheets write a byte order mark
	}
	reader := csv.NewReader(buffered)
	reader.FieldsPerRecord = -1
	header, err := reader.Read()
	if errors.Is(err, io.EOF) {
		return func() (record, error) { return record{}, io.EOF }, nil
	}
	if err != nil {
		return nil, fmt.Errorf("header: %w", err)
	}
	for i := range header {
		header[i] = column(header[i])
	}
	return func() (record, error) {
		fields, err := reader.Read()
		if err != nil {
			return record{}, err
		}
		line, _ := reader.FieldPos(0)
		r := record{line: line, csv: make(map[string]string, len(header))}
		for i, value := range fields {
			if i < len(header) {
				r.csv[header[i]] = strings.TrimSpace(value)
			}
		}
		return r, nil
	}, nil
}

// column brings "First Name", "firstName" and "first_name" to "firstname".
func column(name string) string {
	return strings.Map(func(c rune) rune {
		if c == ' ' || c == '_' || c == '-' || c == '.' {
			return -1
		}
		return c
	}, strings.ToLower(strings.TrimSpace(name)))
}

func jsonRecords(in io.Reader) func() (record, error) {
	scanner := bufio.NewScanner(in)
	scanner.Buffer(make([]byte, 64<<10), maxLine)
	line := 0
	return func() (record, error) {
		for scanner.Scan() {
			line++
			if text := bytes.TrimSpace(scanner.Bytes()); len(text) > 0 {
				return record{line: line, json: bytes.Clone(text)}, nil
			}
		}
		if err := scanner.Err(); err != nil {
			return record{}, fmt.Errorf("line %d: %w", line+1, err)
		}
		return record{}, io.EOF
	}
}

// get returns the first of the named columns that is there and not empty.
func (r record) get(names ...string) string {
	for _, name := range names {
		if v := r.csv[name]; v != "" {
			return v
		}
	}
	return ""
}

// decode fills v from the JSON object.
func (r record) decode(v any) error {
	if err := json.Unmarshal(r.json, v); err != nil {
		return refusal{field: "line", rule: "json", message: err.Error()}
	}
	return nil
}

// refusal is why a line was not stored.
type refusal struct{ field, rule, message string }

func (r refusal) Error() string { return r.field + " " + r.message }
