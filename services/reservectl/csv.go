package reservectl

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

func (r *records) readCSV(in *bufio.Reader, known columns) error {
	r.comma = commaOf(in)
	tape := &rawReader{in: in}
	reader := csv.NewReader(tape)
	reader.Comma = r.comma
	reader.FieldsPerRecord = -1
	header, err := reader.Read()
	if errors.Is(err, io.EOF) {
		r.next = func() (record, error) { return record{}, io.EOF }
		return nil
	}
	if err != nil {
		return fmt.Errorf("the header: %w", err)
	}
	r.header = header
	normal, ignored, err := known.header(header)
	if err != nil {
		return err
	}
	r.ignored = ignored
	_ = tape.cut(reader.InputOffset())
	r.next = func() (record, error) {
		row, err := reader.Read()
		rec := record{raw: tape.cut(reader.InputOffset()), csv: map[string]string{}}
		var wrong *csv.ParseError
		if errors.As(err, &wrong) {
			rec.line = wrong.StartLine
			return rec, brokenQuotes(wrong)
		}
		if err != nil {
			return rec, err
		}
		rec.line, _ = reader.FieldPos(0)
		rec.row = row
		return rec, rec.fill(header, normal)
	}
	return nil
}

func brokenQuotes(wrong *csv.ParseError) error {
	if wrong.Line > wrong.StartLine {
		return refusal{"line", "csv", fmt.Sprintf("opens a quote that is still not closed on line %d", wrong.Line)}
	}
	return refusal{"line", "csv", `has a quote (") in the wrong place: put the whole value in quotes, and double each quote inside it`}
}

// fill stores the row's values by column.
func (r *record) fill(header, normal []string) error {
	for i, value := range r.row {
		if i >= len(normal) {
			if strings.TrimSpace(value) != "" {
				return refusal{"line", "columns", fmt.Sprintf("has %d values, but the header has %d columns", len(r.row), len(normal))}
			}
			continue
		}
		if !utf8.ValidString(value) {
			return refusal{header[i], "characters", "must be UTF-8"}
		}
		if normal[i] != "" {
			r.csv[normal[i]] = strings.TrimSpace(value)
		}
	}
	return nil
}

// commaOf guesses the separator of values: a comma, a semicolon or a tab. Spreadsheets write a
// semicolon in languages with a decimal comma.
func commaOf(in *bufio.Reader) rune {
	start, _ := in.Peek(4096)
	line, _, _ := bytes.Cut(start, []byte("\n"))
	comma, most := ',', bytes.Count(line, []byte(","))
	for _, other := range ";\t" {
		if n := bytes.Count(line, []byte(string(other))); n > most {
			comma, most = other, n
		}
	}
	return comma
}

// rawReader is a reader that keeps the bytes it has read until cut removes them, so that a refused
// row can be reported unchanged.
type rawReader struct {
	in   io.Reader
	kept []byte
	cuts int64 // offset of kept in the input
}

// errLongRow is the error of a row without an end, usually because of an unclosed quote.
var errLongRow = fmt.Errorf("a row is longer than %d MiB: probably a quote is not closed", maxLine>>20)

func (t *rawReader) Read(p []byte) (int, error) {
	if len(t.kept) > maxLine {
		return 0, errLongRow
	}
	n, err := t.in.Read(p)
	t.kept = append(t.kept, p[:n]...)
	return n, err
}

// cut removes and returns the bytes up to an offset of the input, without the end of the line.
func (t *rawReader) cut(end int64) []byte {
	n := min(int(end-t.cuts), len(t.kept))
	piece := bytes.TrimRight(bytes.Clone(t.kept[:n]), "\r\n")
	t.kept = append(t.kept[:0], t.kept[n:]...)
	t.cuts += int64(n)
	return piece
}
