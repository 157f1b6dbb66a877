package csvfile

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// Mark is the UTF-8 byte order mark. Spreadsheets read a file without it in the encoding of the computer.
const Mark = "\ufeff"

// Cell is a value of a row.
type Cell struct{ text string }

// Text is a cell with a text that people or other systems wrote. Windows line breaks in it become "\n".
func Text(text string) Cell { return Cell{Guard(unixLines(text))} }

// unixLines returns a text whose lines end in "\n" alone: a reader of CSV removes carriage returns before it.
func unixLines(text string) string {
	if !strings.Contains(text, "\r\n") {
		return text
	}
	lines := strings.Split(text, "\n")
	for i := range lines[:len(lines)-1] {
		lines[i] = strings.TrimRight(lines[i], "\r")
	}
	return strings.Join(lines, "\n")
}

// Own is a cell with a text of the platform, such as an identifier or the name of a status. It is written unchanged.
func Own(text string) Cell { return Cell{text} }

// Int is a cell with a number.
func Int[N ~int | ~int32 | ~int64](n N) Cell { return Cell{strconv.FormatInt(int64(n), 10)} }

// Amount is a cell with an amount of minor units, as a decimal number: -1250 is "-12.50".
func Amount(minor int64) Cell {
	sign := ""
	if minor < 0 {
		sign, minor = "-", -minor
	}
	return Cell{fmt.Sprintf("%s%d.%02d", sign, minor/100, minor%100)}
}

// Bool is a cell with "true" or "false".
func Bool(value bool) Cell { return Cell{strconv.FormatBool(value)} }

// Time is a cell with a time in ISO 8601, in the zone and to the second. The zero time is an empty cell.
func Time(at time.Time, zone *time.Location) Cell {
	if at.IsZero() {
		return Cell{}
	}
	return Cell{at.In(zone).Format("2006-01-02T15:04:05")}
}

// UTC is a cell with a time in ISO 8601, in UTC and to the second. The zero time is an empty cell.
func UTC(at time.Time) Cell {
	if at.IsZero() {
		return Cell{}
	}
	return Cell{at.UTC().Format(time.RFC3339)}
}

// Writer writes a file.
type Writer struct {
	out io.Writer
	csv *csv.Writer
	row []string
	n   int64
}

// NewWriter returns a writer of a file in which comma separates values.
func NewWriter(out io.Writer, comma rune) *Writer {
	w := csv.NewWriter(out)
	w.Comma = comma
	return &Writer{out: out, csv: w}
}

// Begin writes the byte order mark and the header.
func (w *Writer) Begin(header []string) error {
	if _, err := io.WriteString(w.out, Mark); err != nil {
		return err
	}
	return w.csv.Write(header)
}

// Write writes a row.
func (w *Writer) Write(cells ...Cell) error {
	w.row = w.row[:0]
	for _, cell := range cells {
		w.row = append(w.row, cell.text)
	}
	if err := w.csv.Write(w.row); err != nil {
		return err
	}
	w.n++
	return nil
}

// Rows returns the number of rows that Write has written.
func (w *Writer) Rows() int64 { return w.n }

// Flush passes what was written to the underlying writer.
func (w *Writer) Flush() error {
	w.csv.Flush()
	return w.csv.Error()
}
