package reservectl

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"reservation.dev/platform/csvfile"
)

// The formats of an import file.
const (
	formatCSV    = "csv"
	formatNDJSON = "ndjson"
)

// record is one line of an import file: a CSV row or a JSON object.
type record struct {
	line int
	raw  []byte            // the unchanged text, without the end of the line
	csv  map[string]string // the values of a CSV row by normalised column name; nil: NDJSON
	row  []string          // the values of a CSV row in their order; nil if it could not be read
}

// refusal is the reason why a line was not stored.
type refusal struct{ field, rule, message string }

func (r refusal) Error() string { return r.sentence() }

// sentence returns the message with the field before it.
func (r refusal) sentence() string { return csvfile.Sentence(r.field, r.message) }

// refusalFrom returns a refusal of a CSV file as one of the import, and any other error unchanged.
func refusalFrom(err error) error {
	var why *csvfile.Refusal
	if errors.As(err, &why) {
		return refusal{why.Field, why.Rule, why.Message}
	}
	return err
}

// records reads an import file line by line.
type records struct {
	// next returns io.EOF at the end. For a line that cannot be read, it returns a refusal and
	// as much of the record as could be read.
	next  func() (record, error)
	close func() error

	path   string
	format string
	header []string // of CSV, unchanged
	comma  rune     // of CSV
	// ignored are the titles of unknown columns.
	ignored []string
}

// maxLine is the maximum length of a line of an import file, in bytes.
const maxLine = csvfile.MaxRow

// openRecords opens a CSV or NDJSON file; "-" is standard input. format is "csv" or "ndjson"; if
// it is "", the file's extension decides. known are the columns that a CSV file can have.
func (a *app) openRecords(path, format string, known csvfile.Columns) (*records, error) {
	if format == "" {
		switch strings.ToLower(filepath.Ext(path)) {
		case ".csv":
			format = formatCSV
		case ".ndjson", ".jsonl", ".json":
			format = formatNDJSON
		default:
			return nil, usageError{fmt.Errorf("%s: the file's name does not show its format; give --format csv or ndjson", path)}
		}
	}
	if format != formatCSV && format != formatNDJSON {
		return nil, usageError{fmt.Errorf("--format must be csv or ndjson, not %q", format)}
	}
	r := &records{path: path, format: format, close: func() error { return nil }}
	in := a.in
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		in, r.close = f, f.Close
	}
	if err := r.read(in, known); err != nil {
		_ = r.close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return r, nil
}

func (r *records) read(in io.Reader, known csvfile.Columns) error {
	if r.format == formatCSV {
		return r.readCSV(in, known)
	}
	buffered := bufio.NewReaderSize(in, 64<<10)
	if err := csvfile.SkipMark(buffered); err != nil {
		return err
	}
	return r.readNDJSON(buffered)
}

// readCSV reads the header of a CSV file.
func (r *records) readCSV(in io.Reader, known csvfile.Columns) error {
	file, err := csvfile.NewReader(in, known)
	if err != nil {
		return err
	}
	r.header, r.comma, r.ignored = file.Header, file.Comma, file.Ignored
	r.next = func() (record, error) {
		row, err := file.Read()
		return record{line: row.Line, raw: row.Raw, csv: row.Values, row: row.Cells}, refusalFrom(err)
	}
	return nil
}

func (r *records) readNDJSON(in *bufio.Reader) error {
	if first, _ := in.Peek(1); len(first) == 1 && first[0] == '[' {
		return errors.New("the file is a JSON array, but NDJSON has one object on each line (convert it with jq -c '.[]')")
	}
	line := 0
	r.next = func() (record, error) {
		for {
			text, err := readLine(in)
			if errors.Is(err, io.EOF) {
				return record{}, err
			}
			line++
			rec := record{line: line, raw: bytes.TrimSpace(text)}
			if err != nil {
				return rec, err
			}
			if len(rec.raw) == 0 {
				continue
			}
			if !utf8.Valid(rec.raw) {
				return rec, refusal{"line", "characters", "must be UTF-8"}
			}
			return rec, nil
		}
	}
	return nil
}

// readLine returns the next line. If the line is too long, it returns a refusal and the first 80
// bytes.
func readLine(in *bufio.Reader) ([]byte, error) {
	var line []byte
	long := false
	for {
		part, err := in.ReadSlice('\n')
		if !long {
			line = append(line, part...)
			long = len(line) > maxLine
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && (!errors.Is(err, io.EOF) || len(line) == 0):
			return nil, err
		case long:
			return line[:80], refusal{"line", "max_length", fmt.Sprintf("must be at most %d MiB", maxLine>>20)}
		}
		return line, nil
	}
}

// get returns the first of the named columns that is not empty, or "".
func (r record) get(names ...string) string { return csvfile.Row{Values: r.csv}.Get(names...) }

// decode fills v from the JSON object.
func (r record) decode(v any) error {
	err := json.Unmarshal(r.raw, v)
	var wrongType *json.UnmarshalTypeError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &wrongType) && wrongType.Field != "":
		return refusal{wrongType.Field, "type", "must not be of type " + wrongType.Value}
	case errors.As(err, &wrongType):
		return refusal{"line", "type", "must be a JSON object, not of type " + wrongType.Value}
	}
	return refusal{"line", "json", "is not valid JSON: " + err.Error()}
}
