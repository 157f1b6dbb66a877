package admin

import (
	"fmt"
	"slices"
)

// The drawing area of a report's chart, in units of its viewBox.
const (
	reportChartWidth, reportChartHeight                = 840, 220
	reportLeft, reportTop, reportRight, reportLabelRow = 64, 8, 6, 24
	// maxBars is how many rows a chart of bars across shows.
	maxBars = 15
	// widestColumn is the width of a column of a chart with few of them.
	widestColumn = 56
	// barLength is the length of the longest bar across, in units of its viewBox.
	barLength = 100
)

// reportChart is the headline of a report's rows: columns over time, or bars across for anything else.
type reportChart struct {
	Width, Height, Left, Right, Bottom int
	Columns                            []reportBar
	Ticks                              []chartTick
	Labels                             []chartLabel
	Bars                               []reportBar
	More                               int // rows that the chart does not show
}

// reportBar is a row of a report in a chart.
type reportBar struct {
	Row                          reportRow
	X, Y, Width, Height          float64
	BeforeY, BeforeHeight, Whole float64
	// Share and BeforeShare are the lengths of bars across.
	Share, BeforeShare float64
}

// Empty reports whether all figures are 0.
func (c *reportChart) Empty() bool { return c == nil || len(c.Columns)+len(c.Bars) == 0 }

// chartOf returns the chart of rows; nil if there is nothing to show.
func chartOf(x *texts, rows []reportRow, overTime bool) *reportChart {
	var top float64
	for _, r := range rows {
		top = max(top, r.Headline().size(), r.HeadlineBefore().size())
	}
	if top <= 0 {
		return nil
	}
	if !overTime {
		return barsAcross(rows, top)
	}
	return columnsOf(x, rows)
}

// barsAcross returns a chart of the first rows.
func barsAcross(rows []reportRow, top float64) *reportChart {
	c := &reportChart{More: max(0, len(rows)-maxBars)}
	for _, r := range rows[:min(len(rows), maxBars)] {
		length := func(f figure) float64 { return max(0, f.size()/top*barLength) }
		c.Bars = append(c.Bars, reportBar{Row: r, Share: length(r.Headline()), BeforeShare: length(r.HeadlineBefore())})
	}
	return c
}

// columnsOf returns a chart with a column for each row, and the span before as a line on it.
func columnsOf(x *texts, rows []reportRow) *reportChart {
	c := &reportChart{
		Width: reportChartWidth, Height: reportChartHeight, Left: reportLeft, Right: reportChartWidth - reportRight, Bottom: reportChartHeight - 6,
	}
	const plot = reportChartHeight - reportTop - reportLabelRow
	top := axisTop(rows)
	for i := range int64(3) {
		f := rows[0].Headline()
		f.n = top.n * i / 2
		f.of = top.of
		c.Ticks = append(c.Ticks, chartTick{reportTop + plot*(1-float64(i)/2), f.print(x)})
	}
	step := float64(reportChartWidth-reportLeft-reportRight) / float64(len(rows))
	// A label needs about 70 units.
	every := max(1, int(70/step)+1)
	for i, r := range rows {
		at := reportLeft + float64(i)*step
		height := func(f figure) float64 { return max(0, f.size()/top.size()*plot) }
		h, before := height(r.Headline()), height(r.HeadlineBefore())
		c.Columns = append(c.Columns, reportBar{
			Row: r, X: at, Width: min(step*.8, widestColumn), Y: reportTop + plot - h, Height: h, BeforeY: reportTop + plot - before, BeforeHeight: before, Whole: plot,
		})
		if i%every == 0 {
			c.Labels = append(c.Labels, chartLabel{at, r.Label})
		}
	}
	return c
}

// axisTop returns the figure at the top of the axis.
func axisTop(rows []reportRow) figure {
	most := slices.MaxFunc(rows, func(a, b reportRow) int { return compare(larger(a), larger(b)) })
	f := larger(most)
	if f.unit == share {
		return part(1, 1)
	}
	f.n = roundUp(f.n)
	return f
}

// larger returns the larger figure of a row, now or before.
func larger(r reportRow) figure {
	if r.HeadlineBefore().size() > r.Headline().size() {
		return r.HeadlineBefore()
	}
	return r.Headline()
}

func compare(a, b figure) int {
	switch {
	case a.size() < b.size():
		return -1
	case a.size() > b.size():
		return 1
	}
	return 0
}

// Tip describes a bar for people who point at it.
func (b reportBar) Tip() *message {
	return msg("reports.chart.tip", "label", b.Row.Label, "now", b.Row.Headline().Text(), "before", b.Row.HeadlineBefore().Text())
}

// Attr prints a coordinate.
func (reportBar) Attr(x float64) string { return fmt.Sprintf("%.1f", x) }
