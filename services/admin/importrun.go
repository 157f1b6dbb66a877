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

	"reservation.dev/platform/bounds"
	"reservation.dev/platform/csvfile"
	"reservation.dev/platform/customerfile"
	"reservation.dev/platform/fault"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
)

// importBatch is how many rows are sent to the customer service in one message.
const importBatch = 1000

// importRun is the import of one file.
type importRun struct {
	*request
	dryRun bool
	file   *csvfile.Reader
}

// open reads the header and counts the rows, before anything is stored. It adds what is wrong with the file to the
// form.
func (run *importRun) open(data []byte, f *form) error {
	file, err := csvfile.NewReader(bytes.NewReader(data), customerfile.Columns())
	if err != nil {
		f.add("file", msg("data.import.header", "problem", withFullStop(err.Error())))
		return nil
	}
	n := 0
	for ; n <= importRowsMost; n++ {
		_, err := file.Read()
		var why *csvfile.Refusal
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil && !errors.As(err, &why) {
			f.add("file", msg("data.import.header", "problem", withFullStop(err.Error())))
			return nil
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
	run.file, err = csvfile.NewReader(bytes.NewReader(data), customerfile.Columns())
	return err
}

// result imports the file, and returns what happened up to an error.
func (run *importRun) result() (*importResult, error) {
	res := &importResult{Ignored: run.file.Ignored}
	err := run.each(res, func(row refusedRow) error {
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
	err := run.each(&importResult{}, func(row refusedRow) error {
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

// each sends all rows to the customer service and counts the results. It calls refused for each row that is refused, in
// the order of the file.
func (run *importRun) each(res *importResult, refused func(refusedRow) error) error {
	checker, err := bounds.NewChecker()
	if err != nil {
		return err
	}
	stream, err := run.services.customers.ImportCustomers(run.ctx)
	if err != nil {
		return err
	}
	for {
		b, err := run.read(checker)
		if err != nil {
			return err
		}
		if len(b.customers) > 0 {
			if err := b.send(stream, run.dryRun, res); err != nil {
				return err
			}
		}
		slices.SortStableFunc(b.refused, func(x, y refusedRow) int { return cmp.Compare(x.Line, y.Line) })
		res.Refused += len(b.refused)
		res.Read += len(b.customers) + b.unsent
		for _, row := range b.refused {
			if err := refused(row); err != nil {
				return err
			}
		}
		if b.last {
			return stream.CloseSend()
		}
	}
}

// importedBatch is the rows that are sent in one message, and those that are refused.
type importedBatch struct {
	customers []*customerv1.ImportedCustomer
	rows      []csvfile.Row // of customers
	refused   []refusedRow
	unsent    int // the number of rows that were refused before they were sent
	last      bool
}

// read reads the rows of the next batch.
func (run *importRun) read(checker *bounds.Checker) (b importedBatch, err error) {
	for len(b.customers) < importBatch {
		row, err := run.file.Read()
		if errors.Is(err, io.EOF) {
			b.last = true
			break
		}
		var customer *customerv1.ImportedCustomer
		if err == nil {
			customer, err = customerfile.Read(row.Get)
		}
		if err == nil {
			err = checker.Check(customer)
		}
		if err == nil {
			b.customers, b.rows = append(b.customers, customer), append(b.rows, row)
			continue
		}
		why, ok := refusalOf(row, err)
		if !ok {
			return b, err
		}
		b.refused = append(b.refused, why)
		b.unsent++
	}
	return b, nil
}

// send sends the batch, and adds the results.
func (b *importedBatch) send(stream customerv1.CustomerService_ImportCustomersClient, dryRun bool, res *importResult) error {
	// After an error of Send, Recv has the reason.
	if err := stream.Send(&customerv1.ImportCustomersRequest{Customers: b.customers, DryRun: dryRun}); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	answer, err := stream.Recv()
	if err != nil {
		return err
	}
	if got, want := len(answer.GetResults()), len(b.customers); got != want {
		return fmt.Errorf("the customer service returned %d results for %d rows", got, want)
	}
	for i, r := range answer.GetResults() {
		switch r.GetOutcome() {
		case customerv1.ImportOutcome_IMPORT_OUTCOME_CREATED:
			res.Created++
		case customerv1.ImportOutcome_IMPORT_OUTCOME_REFUSED:
			b.refused = append(b.refused, refusedRow{b.rows[i], r.GetField(), csvfile.Sentence(r.GetField(), r.GetMessage())})
		default:
			res.Existed++
		}
	}
	return nil
}

// refusalOf returns why a row is refused before it is sent. ok is false for an error that ends the import.
func refusalOf(row csvfile.Row, err error) (why refusedRow, ok bool) {
	var own *csvfile.Refusal
	if errors.As(err, &own) {
		return refusedRow{row, own.Field, own.Error()}, true
	}
	if f := fault.From(err); len(f.Fields) > 0 {
		return refusedRow{row, f.Fields[0].Field, csvfile.Sentence(f.Fields[0].Field, f.Fields[0].Message)}, true
	}
	return why, false
}
