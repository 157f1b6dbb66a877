package reservectl

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"reservation.dev/platform/csvfile"
)

// report writes refused lines to a file, which is created with the first line. The file has the
// format of the imported file and holds each refused line with the reason, so that it can be
// corrected and imported.
type report struct {
	file   string
	format string
	header []string // of CSV
	comma  rune

	mu    sync.Mutex
	count int
	f     *os.File
	w     *bufio.Writer
	err   error
}

// reportHeader returns the columns that a CSV report puts before the columns of the file.
func reportHeader() []string {
	return []string{"refused_line", "refused_reference", "refused_field", "refused_message"}
}

// newReport returns the report of an import. file is its path; "": next to the imported file.
func newReport(in *records, file string) (*report, error) {
	if file == "" {
		name := "import"
		if in.path != "-" {
			name = strings.TrimSuffix(in.path, filepath.Ext(in.path))
		}
		file = name + ".refused." + in.format
	}
	from, err := os.Stat(in.path)
	to, toErr := os.Stat(file)
	if in.path != "-" && err == nil && toErr == nil && os.SameFile(from, to) {
		return nil, usageError{errors.New("--refused names the file that is imported: give another file")}
	}
	return &report{file: file, format: in.format, header: in.header, comma: in.comma}, nil
}

// refuse reports that an item was not stored, with the lines that it was read from. A made-up
// item has no lines and gets an empty one.
func (r *report) refuse(reference string, lines []record, why refusal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.count++
	if r.f == nil && r.err == nil {
		r.err = r.create()
	}
	if len(lines) == 0 {
		lines = []record{{}}
	}
	for _, line := range lines {
		if r.err != nil {
			return
		}
		if r.format == formatCSV {
			r.err = r.writeCSV(reference, line, why)
		} else {
			r.err = r.writeJSON(reference, line, why)
		}
	}
}

func (r *report) create() (err error) {
	if r.f, err = os.OpenFile(r.file, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600); err != nil {
		return err
	}
	r.w = bufio.NewWriter(r.f)
	if r.format != formatCSV {
		return nil
	}
	return writeRow(r.w, r.comma, append(reportHeader(), r.header[r.earlierReportColumns():]...))
}

// earlierReportColumns returns the number of columns that an earlier report put before the header.
func (r *report) earlierReportColumns() int {
	n := 0
	for n < len(r.header) && strings.HasPrefix(csvfile.Column(r.header[n]), csvfile.ReportColumn) {
		n++
	}
	return n
}

func writeRow(out io.Writer, comma rune, values []string) error {
	w := csvfile.NewWriter(out, comma)
	cells := make([]csvfile.Cell, len(values))
	for i, value := range values {
		cells[i] = csvfile.Text(value)
	}
	return cmp.Or(w.Write(cells...), w.Flush())
}

func (r *report) writeCSV(reference string, line record, why refusal) error {
	values := []string{strconv.Itoa(line.line), reference, why.field, why.sentence()}
	if line.row != nil {
		return writeRow(r.w, r.comma, append(values, line.row[min(r.earlierReportColumns(), len(line.row)):]...))
	}
	// A row that could not be read is copied unchanged.
	var start bytes.Buffer
	if err := writeRow(&start, r.comma, values); err != nil {
		return err
	}
	text := append(bytes.TrimRight(start.Bytes(), "\n"), string(r.comma)...)
	_, err := r.w.Write(append(append(text, line.raw...), '\n'))
	return err
}

func (r *report) writeJSON(reference string, line record, why refusal) error {
	reason := row{
		{"line", line.line}, {"reference", reference}, {"field", why.field}, {"rule", why.rule}, {"message", why.sentence()},
	}
	members, text := originalOf(line.raw)
	if text != "" {
		reason = append(reason, member{"text", text})
	}
	object, err := encode(append(row{{csvfile.ReportColumn, reason}}, members...))
	if err != nil {
		return err
	}
	_, err = r.w.Write(append(object, '\n'))
	return err
}

// originalOf returns the members of an imported object, without those of an earlier report. It
// returns the text of a line that is not an object.
func originalOf(raw []byte) (members row, text string) {
	if len(raw) == 0 {
		return nil, ""
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	if !json.Valid(raw) || raw[0] != '{' {
		return nil, strings.ToValidUTF8(string(raw), "\uFFFD")
	}
	_, _ = d.Token() // the opening brace
	for d.More() {
		name, err := d.Token()
		var value json.RawMessage
		if err != nil || d.Decode(&value) != nil { // cannot happen: the text is valid
			break
		}
		if name != csvfile.ReportColumn {
			members = append(members, member{fmt.Sprint(name), value})
			continue
		}
		var earlier struct {
			Text string `json:"text"`
		}
		if json.Unmarshal(value, &earlier) == nil {
			text = earlier.Text
		}
	}
	if len(members) > 0 {
		text = ""
	}
	return members, text
}

// refusals returns the number of refused items.
func (r *report) refusals() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.count
}

// path returns the report's file, or "" if nothing was refused.
func (r *report) path() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.count == 0 {
		return ""
	}
	return r.file
}

func (r *report) close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.f == nil {
		return r.err
	}
	return errors.Join(r.err, r.w.Flush(), r.f.Close())
}
