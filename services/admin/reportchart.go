package admin

import (
	"fmt"
	"math"
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
	// reportPlot is the height of the columns' area, and tickRoom the height of a line of text.
	reportPlot = reportChartHeight - reportTop - reportLabelRow
	tickRoom   = 14
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

// HasBelow reports whether a column is below 0.
func (c *reportChart) HasBelow() bool {
	return slices.ContainsFunc(c.Columns, reportBar.isBelow)
}

// reportBar is a row of a report in a chart.
type reportBar struct {
	Row                          reportRow
	X, Y, Width, Height          float64
	BeforeY, BeforeHeight, Whole float64
	// Share and BeforeShare are the lengths of bars across, also of figures below 0.
	Share, BeforeShare float64
}

func (b reportBar) isBelow() bool { return b.Row.Headline().size() < 0 }

// Class returns the class of the bar, which shows whether its figure is below 0.
func (b reportBar) Class() string {
	if b.isBelow() {
		return "in-span below"
	}
	return "in-span"
}

// chartOf returns the chart of rows; nil if all figures are 0.
func chartOf(x *texts, rows []reportRow, overTime bool) *reportChart {
	var most float64
	for _, r := range rows {
		most = max(most, math.Abs(r.Headline().size()), math.Abs(r.HeadlineBefore().size()))
	}
	if most <= 0 {
		return nil
	}
	if !overTime {
		return barsAcross(rows, most)
	}
	return columnsOf(x, rows)
}

// barsAcross returns a chart of the first rows. most is the largest figure, regardless of its sign.
func barsAcross(rows []reportRow, most float64) *reportChart {
	c := &reportChart{More: max(0, len(rows)-maxBars)}
	for _, r := range rows[:min(len(rows), maxBars)] {
		length := func(f figure) float64 { return math.Abs(f.size()) / most * barLength }
		c.Bars = append(c.Bars, reportBar{Row: r, Share: length(r.Headline()), BeforeShare: length(r.HeadlineBefore())})
	}
	return c
}

// columnsOf returns a chart with a column for each row, and the span before as a line on it. Columns of figures
// below 0 hang from the line of 0.
func columnsOf(x *texts, rows []reportRow) *reportChart {
	c := &reportChart{
		Width: reportChartWidth, Height: reportChartHeight, Left: reportLeft, Right: reportChartWidth - reportRight, Bottom: reportChartHeight - 6,
	}
	axis := axisOf(rows)
	for _, f := range axis.ticks() {
		c.Ticks = append(c.Ticks, chartTick{axis.y(f.size()), f.print(x)})
	}
	step := float64(reportChartWidth-reportLeft-reportRight) / float64(len(rows))
	// A label needs about 70 units.
	every := max(1, int(70/step)+1)
	for i, r := range rows {
		bar := reportBar{Row: r, X: reportLeft + float64(i)*step, Width: min(step*.8, widestColumn), Whole: reportPlot}
		bar.Y, bar.Height = axis.column(r.Headline())
		bar.BeforeY, bar.BeforeHeight = axis.column(r.HeadlineBefore())
		c.Columns = append(c.Columns, bar)
		if i%every == 0 {
			c.Labels = append(c.Labels, chartLabel{bar.X, r.Label})
		}
	}
	return c
}

// reportAxis is the axis of a chart with columns: round figures around all others and 0.
type reportAxis struct{ low, zero, top figure }

// axisOf returns the axis of rows.
func axisOf(rows []reportRow) reportAxis {
	var figures []figure
	for _, r := range rows {
		figures = append(figures, r.Headline(), r.HeadlineBefore())
	}
	a := reportAxis{slices.MinFunc(figures, compare), rows[0].Headline(), slices.MaxFunc(figures, compare)}
	if a.zero.unit == share {
		return reportAxis{part(0, 1), part(0, 1), part(1, 1)}
	}
	a.low.n, a.zero.n, a.top.n = min(a.low.n, 0), 0, max(a.top.n, 0)
	if a.low.n < 0 {
		a.low.n = -roundUp(-a.low.n)
	}
	if a.top.n > 0 {
		a.top.n = roundUp(a.top.n)
	}
	return a
}

// y returns where a number is in the drawing.
func (a reportAxis) y(n float64) float64 {
	return reportTop + reportPlot*(a.top.size()-n)/(a.top.size()-a.low.size())
}

// column returns the top and the height of a figure's column.
func (a reportAxis) column(f figure) (y, height float64) {
	at, zero := a.y(f.size()), a.y(0)
	return min(at, zero), math.Abs(at - zero)
}

// ticks returns the figures that the axis names: its ends, 0, and the middle of each side that has room for it.
func (a reportAxis) ticks() []figure {
	var all []figure
	for _, end := range []figure{a.low, a.top} {
		room := math.Abs(a.y(end.size()) - a.y(0))
		if end == a.top {
			all = append(all, a.zero)
		}
		if room >= 4*tickRoom {
			middle := end
			middle.n, middle.of = end.n, 2*end.of
			if end.unit != share {
				middle.n = end.n / 2
			}
			all = append(all, middle)
		}
		if room >= tickRoom {
			all = append(all, end)
		}
	}
	return all
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
