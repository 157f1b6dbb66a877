package csvfile

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

// Row is a row of a file.
type Row struct {
	Line int
	Raw  []byte // the unchanged text, without the end of the line
	// Values are the values of the known columns, without surrounding spaces, by normalised name.
	Values map[string]string
	// Cells are all values in their order; nil if the row could not be read.
	Cells []string
}

// Get returns the first of the named columns that is not empty, or "".
func (r Row) Get(names ...string) string {
	for _, name := range names {
		if v := r.Values[name]; v != "" {
			return v
		}
	}
	return ""
}

// Refusal is the reason why a row cannot be used.
type Refusal struct{ Field, Rule, Message string }

// Error returns the message with the field before it.
func (r *Refusal) Error() string { return Sentence(r.Field, r.Message) }

// Sentence returns a message with the field before it. Some services send it that way already.
func Sentence(field, message string) string {
	if field == "" || strings.HasPrefix(message, field) {
		return message
	}
	return field + " " + message
}

// Reader reads a file row by row.
type Reader struct {
	Header []string // unchanged; nil if the file is empty
	Comma  rune
	// Ignored are the titles of unknown columns.
	Ignored []string

	csv    *csv.Reader
	tape   *tape
	normal []string
}

// MaxRow is the maximum length of a row, in bytes.
const MaxRow = 4 << 20

// NewReader reads the header of a file, which can have the known columns in any order.
func NewReader(in io.Reader, known Columns) (*Reader, error) {
	buffered := bufio.NewReaderSize(in, 64<<10)
	if err := SkipMark(buffered); err != nil {
		return nil, err
	}
	r := &Reader{Comma: commaOf(buffered), tape: &tape{in: buffered}}
	r.csv = csv.NewReader(r.tape)
	r.csv.Comma, r.csv.FieldsPerRecord = r.Comma, -1
	header, err := r.csv.Read()
	if errors.Is(err, io.EOF) {
		return r, nil
	}
	if err != nil {
		return nil, fmt.Errorf("the header: %w", err)
	}
	r.Header = header
	r.normal, r.Ignored, err = known.header(header)
	_ = r.tape.cut(r.csv.InputOffset())
	return r, err
}

// SkipMark skips the UTF-8 byte order mark that spreadsheets write, and refuses UTF-16.
func SkipMark(in *bufio.Reader) error {
	mark, _ := in.Peek(len(Mark))
	switch {
	case string(mark) == Mark:
		_, err := in.Discard(len(mark))
		return err
	case bytes.HasPrefix(mark, []byte("\xff\xfe")), bytes.HasPrefix(mark, []byte("\xfe\xff")):
		return errors.New("the file is UTF-16: save it as UTF-8 (in a spreadsheet: \"CSV UTF-8\")")
	}
	return nil
}

// Read returns the next row, and io.EOF after the last one. For a row that cannot be read, it returns a *Refusal
// and as much of the row as could be read; the next call reads the row after it.
func (r *Reader) Read() (Row, error) {
	cells, err := r.csv.Read()
	row := Row{Raw: r.tape.cut(r.csv.InputOffset()), Values: map[string]string{}}
	var wrong *csv.ParseError
	if errors.As(err, &wrong) {
		row.Line = wrong.StartLine
		return row, brokenQuotes(wrong)
	}
	if err != nil {
		return row, err
	}
	row.Line, _ = r.csv.FieldPos(0)
	for i, cell := range cells {
		cells[i] = Unguard(cell)
	}
	row.Cells = cells
	return row, row.fill(r.Header, r.normal)
}

func brokenQuotes(wrong *csv.ParseError) error {
	if wrong.Line > wrong.StartLine {
		return &Refusal{"line", "csv", fmt.Sprintf("opens a quote that is still not closed on line %d", wrong.Line)}
	}
	return &Refusal{"line", "csv", `has a quote (") in the wrong place: put the whole value in quotes, and double each quote inside it`}
}

// fill stores the row's values by column.
func (r *Row) fill(header, normal []string) error {
	for i, value := range r.Cells {
		if i >= len(normal) {
			if strings.TrimSpace(value) != "" {
				return &Refusal{"line", "columns", fmt.Sprintf("has %d values, but the header has %d columns", len(r.Cells), len(normal))}
			}
			continue
		}
		if !utf8.ValidString(value) {
			return &Refusal{header[i], "characters", "must be UTF-8"}
		}
		if normal[i] != "" {
			r.Values[normal[i]] = strings.TrimSpace(value)
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

// tape is a reader that keeps the bytes it has read until cut removes them, so that a refused row can be
// reported unchanged.
type tape struct {
	in   io.Reader
	kept []byte
	cuts int64 // offset of kept in the input
}

// errLongRow is the error of a row without an end, usually because of an unclosed quote.
var errLongRow = fmt.Errorf("a row is longer than %d MiB: probably a quote is not closed", MaxRow>>20)

func (t *tape) Read(p []byte) (int, error) {
	if len(t.kept) > MaxRow {
		return 0, errLongRow
	}
	n, err := t.in.Read(p)
	t.kept = append(t.kept, p[:n]...)
	return n, err
}

// cut removes and returns the bytes up to an offset of the input, without the end of the line.
func (t *tape) cut(end int64) []byte {
	n := min(int(end-t.cuts), len(t.kept))
	piece := bytes.TrimRight(bytes.Clone(t.kept[:n]), "\r\n")
	t.kept = append(t.kept[:0], t.kept[n:]...)
	t.cuts += int64(n)
	return piece
}
