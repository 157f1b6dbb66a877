package admin

import (
	"strconv"

	"reservation.dev/platform/csvfile"
)

// unit is what a figure counts.
type unit int

const (
	pieces unit = iota // bookings, customers, credits
	coins              // minor units of a currency
	share              // a part of a whole
)

// figure is a number of a report.
type figure struct {
	unit     unit
	n        int64
	of       int64  // the whole that n is a part of; only for a share
	currency string // only for coins
}

func number(n int64) figure                    { return figure{unit: pieces, n: n} }
func amountOf(n int64, currency string) figure { return figure{unit: coins, n: n, currency: currency} }
func part(n, of int64) figure                  { return figure{unit: share, n: n, of: of} }

// missing reports whether the figure is a share of nothing.
func (f figure) missing() bool { return f.unit == share && f.of == 0 }

// Text says the figure: "1,250", "£12.50" or "83%".
func (f figure) Text() *message { return printed(f.print) }

// print prints the figure for a page.
func (f figure) print(x *texts) string {
	switch {
	case f.missing():
		return "–"
	case f.unit == share:
		return x.text("reports.percent", "number", roundedShare(f.n*100, f.of))
	case f.unit == coins:
		return x.price(f.n, f.currency)
	}
	return x.number(f.n)
}

// cell returns the figure for a file: 1250, 12.50 or 0.8333. A share of nothing is empty.
func (f figure) cell() csvfile.Cell {
	switch {
	case f.missing():
		return csvfile.Cell{}
	case f.unit == share:
		return csvfile.Own(strconv.FormatFloat(float64(f.n)/float64(f.of), 'f', 4, 64))
	case f.unit == coins:
		return csvfile.Amount(f.n)
	}
	return csvfile.Int(f.n)
}

// size returns the number by which a chart draws the figure.
func (f figure) size() float64 {
	if f.unit == share {
		return float64(f.n) / float64(max(f.of, 1))
	}
	return float64(f.n)
}

// change says how the figure differs from the one in the span before: "12% more", "3 points less".
func (f figure) change(before figure) *message {
	if f.unit == share {
		if f.missing() || before.missing() {
			return nil
		}
		points := roundedShare(f.n*100, f.of) - roundedShare(before.n*100, before.of)
		return changed("reports.change.points_more", "reports.change.points_less", points)
	}
	if before.n <= 0 || f.n < 0 {
		return nil
	}
	return changed("reports.change.percent_more", "reports.change.percent_less", roundedShare((f.n-before.n)*100, before.n))
}

// changed says a difference with one of two messages.
func changed(more, less string, by int64) *message {
	switch {
	case by > 0:
		return msg(more, "count", by)
	case by < 0:
		return msg(less, "count", -by)
	}
	return msg("reports.change.same")
}

// roundedShare returns n/of, rounded half away from zero.
func roundedShare(n, of int64) int64 {
	if n < 0 {
		return -roundedShare(-n, of)
	}
	return (n + of/2) / of
}

// measure is a column of a report over rows of T.
type measure[T any] struct {
	name string // in CSV files
	// detail says that the table shows the column, but no tile.
	detail bool
	// hidden says that only CSV files have the column.
	hidden bool
	of     func(T) figure
}

// reportColumn is a column of a table.
type reportColumn struct {
	Name   string
	Label  *message
	Hidden bool
}

// reportRow is a row of a table: what it is about, and its figures now and in the span before.
type reportRow struct {
	Key, Label, URL string
	Now, Before     []figure
}

// Headline returns the figure that a chart shows.
func (r reportRow) Headline() figure { return r.Now[0] }

// HeadlineBefore returns the figure of the span before.
func (r reportRow) HeadlineBefore() figure { return r.Before[0] }

// Change says how the headline differs from the span before.
func (r reportRow) Change() *message { return r.Now[0].change(r.Before[0]) }

// reportTile is a figure of the whole span.
type reportTile struct {
	Label       *message
	Now, Before figure
}

// Change says how the figure differs from the span before.
func (t reportTile) Change() *message { return t.Now.change(t.Before) }

// labelled is a row of a response, with its label.
type labelled[T any] struct {
	key, label, url string
	now, before     T
}

// tabulate fills the columns, rows and tiles of a report. The first measure is the headline.
func tabulate[T any](report *reportTable, measures []measure[T], total labelled[T], rows []labelled[T]) {
	row := func(x labelled[T]) reportRow {
		out := reportRow{Key: x.key, Label: x.label, URL: x.url}
		for _, m := range measures {
			out.Now, out.Before = append(out.Now, m.of(x.now)), append(out.Before, m.of(x.before))
		}
		return out
	}
	for _, m := range measures {
		report.Columns = append(report.Columns, reportColumn{m.name, msg("reports.figure." + report.textID() + "." + m.name), m.hidden})
	}
	report.Total = row(total)
	for i, m := range measures {
		if !m.detail && !m.hidden {
			report.Tiles = append(report.Tiles, reportTile{report.Columns[i].Label, report.Total.Now[i], report.Total.Before[i]})
		}
	}
	for _, x := range rows {
		report.Rows = append(report.Rows, row(x))
	}
}
