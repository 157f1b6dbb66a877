package admin

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/bounds"
	"reservation.dev/platform/csvfile"
	"reservation.dev/platform/fault"
)

// importBatch is how many rows are sent to a service in one message. A thing with several rows is never divided.
const importBatch = 1000

// importRun is the import of one file.
type importRun struct {
	*request
	kind   importKind
	dryRun bool
	file   *csvfile.Reader
	// expected is the number of rows of each thing, by its key.
	expected map[string]int
	// gathered are the rows of things that are not complete yet, by key.
	gathered map[string][]csvfile.Row
}

// open reads the header and counts the rows, before anything is stored. It adds what is wrong with the file to the
// form.
func (run *importRun) open(data []byte, f *form) error {
	file, err := csvfile.NewReader(bytes.NewReader(data), run.kind.columns)
	if err != nil {
		f.add("file", msg("data.import.header", "problem", withFullStop(err.Error())))
		return nil
	}
	run.expected, run.gathered = map[string]int{}, map[string][]csvfile.Row{}
	n := 0
	for ; n <= importRowsMost; n++ {
		row, err := file.Read()
		var why *csvfile.Refusal
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil && !errors.As(err, &why) {
			f.add("file", msg("data.import.header", "problem", withFullStop(err.Error())))
			return nil
		}
		if key := run.keyOf(row); err == nil && key != "" {
			run.expected[key]++
		}
	}
	switch {
	case n == 0:
		f.add("file", msg("data.import.empty"))
		return nil
	case n > importRowsMost:
		f.add("file", msg("data.import.too_long", "count", importRowsMost))
		return nil
	}
	run.file, err = csvfile.NewReader(bytes.NewReader(data), run.kind.columns)
	return err
}

// keyOf returns the key that the rows of one thing share; "" if the row is a thing of its own.
func (run *importRun) keyOf(row csvfile.Row) string {
	if run.kind.key == nil {
		return ""
	}
	return run.kind.key(row)
}

// next returns the rows of the next thing that is complete. Rows of one thing can be anywhere in the file. For a row
// that cannot be read, it returns the row and a *csvfile.Refusal.
func (run *importRun) next() ([]csvfile.Row, error) {
	for {
		row, err := run.file.Read()
		if err != nil {
			return []csvfile.Row{row}, err
		}
		key := run.keyOf(row)
		if run.expected[key] <= 1 {
			return []csvfile.Row{row}, nil
		}
		rows := append(run.gathered[key], row)
		if len(rows) == run.expected[key] {
			delete(run.gathered, key)
			return rows, nil
		}
		run.gathered[key] = rows
	}
}

// result imports the file, and returns what happened up to an error.
func (run *importRun) result() (*importResult, error) {
	res := &importResult{Kind: run.kind.name, Ignored: run.file.Ignored}
	err := run.kind.run(run, res, func(row refusedRow) error {
		if len(res.First) < refusedShown {
			res.First = append(res.First, row)
		}
		return nil
	})
	return res, err
}

// download responds with a file of the rows that the import refuses. Its columns are those of the imported file, after
// the number of the line and the reason.
func (run *importRun) download(name string) error {
	var b bytes.Buffer
	w := csvfile.NewWriter(&b, run.file.Comma)
	kept := func(i int) bool { return i >= len(run.file.Header) || !csvfile.IsReport(run.file.Header[i]) }
	header := []string{"refused_line", "error"}
	for i, title := range run.file.Header {
		if kept(i) {
			header = append(header, title)
		}
	}
	if err := w.Begin(header); err != nil {
		return err
	}
	err := run.kind.run(run, &importResult{}, func(row refusedRow) error {
		cells := []csvfile.Cell{csvfile.Int(row.Line), csvfile.Text(row.Reason)}
		values := row.Cells
		if values == nil { // the row could not be read
			values = []string{string(row.Raw)}
		}
		for i, value := range values {
			if kept(i) {
				cells = append(cells, csvfile.Text(strings.ToValidUTF8(value, "\uFFFD")))
			}
		}
		return w.Write(cells...)
	})
	if err == nil {
		err = w.Flush()
	}
	if err != nil {
		return err
	}
	run.w.Header().Set("Content-Disposition", `attachment; filename="`+name+`"`)
	run.answer(http.StatusOK, "text/csv; charset=utf-8", b.Bytes())
	return nil
}

// imported is a thing that an import sends to a service.
type imported interface {
	proto.Message
	// GetReference returns the key of the thing in the system that the file comes from.
	GetReference() string
}

// importSteps is how the things of one kind are imported.
type importSteps[M imported] struct {
	// read returns the thing of rows, which have the same key.
	read func(rows []csvfile.Row) (M, error)
	// resolve looks up what the things of a batch refer to, and refuses those that refer to nothing; nil: nothing to
	// look up.
	resolve func(items []*importItem[M]) error
	// send sends things and returns their results, in the same order.
	send func(things []M) ([]importOutcome, error)
	// end ends the import.
	end func() error
}

// importItem is a thing with its rows.
type importItem[M imported] struct {
	rows   []csvfile.Row
	thing  M
	failed error // why it is refused; nil if it is not
}

// refuse refuses the thing because of one of its rows, unless it is refused already.
func (i *importItem[M]) refuse(row int, field, reason string) {
	if i.failed == nil {
		i.failed = &rowRefusal{row, field, reason}
	}
}

// rowRefusal is the reason why a thing is refused. The reason is a sentence.
type rowRefusal struct {
	row           int // of the thing, from 0
	field, reason string
}

func (r *rowRefusal) Error() string { return r.reason }

// importOutcome is the result of a thing.
type importOutcome struct {
	outcome int32 // as ImportOutcome in the protos of services
	why     rowRefusal
}

// The outcomes, which have the same numbers in all services.
const (
	importCreated = 1
	importRefusal = 3
)

// importAll imports all rows of a file and counts the results. It calls refused for each row that is refused, in the
// order of the file within a batch.
func importAll[M imported](run *importRun, steps importSteps[M], res *importResult, refused func(refusedRow) error) error {
	checker, err := bounds.NewChecker()
	if err != nil {
		return err
	}
	lines := map[string]int{} // of the references of things that exist now
	for last := false; !last; {
		var items []*importItem[M]
		if items, last, err = readItems(run, steps); err != nil {
			return err
		}
		if steps.resolve != nil {
			if err := steps.resolve(items); err != nil {
				return err
			}
		}
		for _, item := range items {
			if item.failed == nil {
				item.failed = checker.Check(item.thing)
			}
		}
		rows, err := sendItems(steps, items, lines, res)
		if err != nil {
			return err
		}
		for _, row := range rows {
			if err := refused(row); err != nil {
				return err
			}
		}
	}
	return steps.end()
}

// readItems reads the next things, up to a batch. last says that there are no more.
func readItems[M imported](run *importRun, steps importSteps[M]) (items []*importItem[M], last bool, err error) {
	for n := 0; n < importBatch; {
		rows, err := run.next()
		if errors.Is(err, io.EOF) {
			return items, true, nil
		}
		n += len(rows)
		item := &importItem[M]{rows: rows, failed: err}
		if err == nil {
			item.thing, item.failed = steps.read(rows)
		}
		if _, known := refusalOf(item.failed); item.failed != nil && !known {
			return nil, false, item.failed
		}
		items = append(items, item)
	}
	return items, false, nil
}

// sendItems sends the things that are not refused, adds the results, and returns the refused rows in the order of the
// file. It refuses a thing that exists because of an earlier line of the file, which is in lines.
func sendItems[M imported](steps importSteps[M], items []*importItem[M], lines map[string]int, res *importResult) (refused []refusedRow, err error) {
	var things []M
	var sent []*importItem[M]
	for _, item := range items {
		res.Read += len(item.rows)
		if item.failed == nil {
			things, sent = append(things, item.thing), append(sent, item)
		}
	}
	if len(things) > 0 {
		outcomes, err := steps.send(things)
		if err != nil {
			return nil, err
		}
		if got, want := len(outcomes), len(things); got != want {
			return nil, fmt.Errorf("the service returned %d results for %d things", got, want)
		}
		for i, o := range outcomes {
			item, reference := sent[i], sent[i].thing.GetReference()
			earlier, twice := lines[reference]
			switch {
			case o.outcome == importRefusal:
				item.refuse(o.why.row, o.why.field, o.why.reason)
				continue
			case o.outcome == importCreated:
				res.Created += len(item.rows)
			case twice:
				item.refuse(0, "reference", fmt.Sprintf("reference is the same as in line %d", earlier))
				continue
			default:
				res.Existed += len(item.rows)
			}
			lines[reference] = item.rows[0].Line
		}
	}
	for _, item := range items {
		refused = append(refused, item.refused()...)
	}
	slices.SortStableFunc(refused, func(x, y refusedRow) int { return cmp.Compare(x.Line, y.Line) })
	res.Refused += len(refused)
	return refused, nil
}

// refused returns the rows of a thing that is refused. All of them are refused, because of one.
func (i *importItem[M]) refused() (rows []refusedRow) {
	if i.failed == nil {
		return nil
	}
	why, _ := refusalOf(i.failed)
	at := min(max(why.row, 0), len(i.rows)-1)
	for n, row := range i.rows {
		if n == at {
			rows = append(rows, refusedRow{row, why.field, why.reason})
			continue
		}
		rows = append(rows, refusedRow{row, "", fmt.Sprintf("belongs to the same purchase as line %d, which is refused", i.rows[at].Line)})
	}
	return rows
}

// refusalOf returns why a thing is refused. ok is false for an error that ends the import.
func refusalOf(err error) (why rowRefusal, ok bool) {
	var own *rowRefusal
	var cell *csvfile.Refusal
	switch {
	case err == nil:
		return why, false
	case errors.As(err, &own):
		return *own, true
	case errors.As(err, &cell):
		return rowRefusal{field: cell.Field, reason: cell.Error()}, true
	}
	if f := fault.From(err); len(f.Fields) > 0 {
		return rowRefusal{field: f.Fields[0].Field, reason: csvfile.Sentence(f.Fields[0].Field, f.Fields[0].Message)}, true
	}
	return why, false
}

// duplex is the client's side of an import.
type duplex[Req, Res any] interface {
	Send(Req) error
	Recv() (Res, error)
	CloseSend() error
}

// exchange sends a request and returns its response.
func exchange[Req, Res any](stream duplex[Req, Res], req Req) (res Res, err error) {
	// After an error of Send, Recv has the reason.
	if err := stream.Send(req); err != nil && !errors.Is(err, io.EOF) {
		return res, err
	}
	return stream.Recv()
}
