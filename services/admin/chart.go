package admin

import (
	"fmt"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	webhookv1 "reservation.dev/proto/gen/reservation/webhook/v1"
)

// The drawing area of a chart, in units of its viewBox.
const (
	chartWidth, chartHeight                = 420, 180
	chartLeft, chartTop, chartRight, below = 44, 8, 6, 24
	plotWidth, plotHeight                  = chartWidth - chartLeft - chartRight, chartHeight - chartTop - below
)

// span is a length of time that charts can show.
type span struct {
	Name   string
	Label  *message
	length time.Duration
	bucket time.Duration
	format string // of the labels
	every  int    // buckets from one label to the next
}

var spans = []span{
	{"day", msg("shared.charts.day"), 24 * time.Hour, time.Hour, "hour", 4},
	{"week", msg("shared.charts.week"), 7 * 24 * time.Hour, 6 * time.Hour, "weekday_number", 4},
	{"month", msg("shared.charts.month"), 30 * 24 * time.Hour, 24 * time.Hour, "month_day", 5},
}

// charts show the number of deliveries over a span of time, by outcome, and their response times.
type charts struct {
	Spans   []span
	Span    span
	Base    string // the path of the page
	Columns []column
	Labels  []chartLabel
	// CountTicks and TimeTicks are the horizontal lines of the two charts.
	CountTicks, TimeTicks []chartTick
	P50, P95              string // points of the lines
	Dots                  []dot
	Right, Bottom         int
	Delivered             int64
	Retried, Failed       int64
	Width, Height         int
}

// Empty reports whether no delivery was attempted.
func (c charts) Empty() bool { return c.Delivered+c.Retried+c.Failed == 0 }

// Show reports whether the statistics have any bucket.
func (c charts) Show() bool { return len(c.Columns) > 0 }

// column is one bucket of the charts.
type column struct {
	X, Width float64
	Parts    []columnPart
	From     string
	Bucket   *webhookv1.StatisticsBucket
	CountTip *message
	TimeTip  *message
	P50, P95 string
}

// columnPart is one section of a stacked bar.
type columnPart struct {
	Class     string
	Y, Height float64
}

// dot marks a point of a line, because a line of one point is invisible.
type dot struct{ X, Y string }

// chartLabel is a text below the horizontal axis.
type chartLabel struct {
	X    float64
	Text string
}

// chartTick is a horizontal line with its value.
type chartTick struct {
	Y    float64
	Text string
}

// charts returns the charts of an endpoint; of all endpoints if endpoint is empty.
func (r *request) charts(endpoint, base string) (charts, error) {
	c := charts{Spans: spans, Span: spans[0], Base: base, Width: chartWidth, Height: chartHeight, Right: chartWidth - chartRight, Bottom: chartHeight - 6}
	for _, s := range spans {
		if s.Name == r.query("span") {
			c.Span = s
		}
	}
	// The last bucket is the current one, in the company's zone.
	zone := r.session.Clock.Zone
	now := r.web.now().In(zone)
	until := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, zone)
	for until.Before(now) || until.Equal(now) {
		until = until.Add(c.Span.bucket)
	}
	res, err := r.services.webhooks.GetStatistics(r.ctx, &webhookv1.GetStatisticsRequest{
		EndpointId: endpoint, Since: timestamppb.New(until.Add(-c.Span.length)), Until: timestamppb.New(until), BucketSeconds: int32(c.Span.bucket / time.Second),
	})
	if err != nil {
		return c, err
	}
	c.layout(r.texts, res.GetBuckets(), zone)
	return c, nil
}

func (c *charts) layout(x *texts, buckets []*webhookv1.StatisticsBucket, zone *time.Location) {
	if len(buckets) == 0 {
		return
	}
	var most, slowest int64
	for _, b := range buckets {
		most = max(most, b.GetDelivered()+b.GetRetried()+b.GetFailed())
		slowest = max(slowest, b.GetP95Microseconds())
		c.Delivered, c.Retried, c.Failed = c.Delivered+b.GetDelivered(), c.Retried+b.GetRetried(), c.Failed+b.GetFailed()
	}
	top, slow := roundUp(most), roundUp(slowest)
	for i := range 3 {
		share := int64(i)
		y := chartTop + plotHeight*(1-float64(i)/2)
		c.CountTicks = append(c.CountTicks, chartTick{y, x.number(top * share / 2)})
		c.TimeTicks = append(c.TimeTicks, chartTick{y, x.shortTime(slow * share / 2)})
	}
	step := float64(plotWidth) / float64(len(buckets))
	var p50, p95 []string
	for i, b := range buckets {
		from := b.GetStartsAt().AsTime().In(zone)
		left := chartLeft + float64(i)*step
		col := column{X: left, Width: step, From: x.format("weekday_month_day_time", from), Bucket: b, P50: "–", P95: "–"}
		y := float64(chartTop + plotHeight)
		for _, part := range []struct {
			class string
			n     int64
		}{{"delivered", b.GetDelivered()}, {"retried", b.GetRetried()}, {"failed", b.GetFailed()}} {
			if part.n == 0 {
				continue
			}
			height := max(float64(part.n)/float64(top)*plotHeight, 1.5)
			y -= height
			col.Parts = append(col.Parts, columnPart{part.class, y, height})
		}
		col.CountTip = msg("shared.charts.count_tip", "from", col.From, "delivered", b.GetDelivered(), "retried", b.GetRetried(), "failed", b.GetFailed())
		col.TimeTip = msg("shared.charts.time_tip_empty", "from", col.From)
		if b.GetDelivered()+b.GetRetried()+b.GetFailed() > 0 {
			col.P50, col.P95 = x.milliseconds(b.GetP50Microseconds()), x.milliseconds(b.GetP95Microseconds())
			col.TimeTip = msg("shared.charts.time_tip", "from", col.From, "p50", col.P50, "p95", col.P95)
			for _, line := range []struct {
				points *[]string
				value  int64
			}{{&p50, b.GetP50Microseconds()}, {&p95, b.GetP95Microseconds()}} {
				at := point(left+step/2, line.value, slow)
				*line.points = append(*line.points, at.X+","+at.Y)
				c.Dots = append(c.Dots, at)
			}
		}
		c.Columns = append(c.Columns, col)
		if i%c.Span.every == 0 {
			c.Labels = append(c.Labels, chartLabel{left, x.format(c.Span.format, from)})
		}
	}
	c.P50, c.P95 = strings.Join(p50, " "), strings.Join(p95, " ")
}

func point(x float64, value, top int64) dot {
	return dot{fmt.Sprintf("%.1f", x), fmt.Sprintf("%.1f", chartTop+plotHeight*(1-float64(value)/float64(top)))}
}

// roundUp returns a round even number of at least n, for the top of an axis.
func roundUp(n int64) int64 {
	for unit := int64(1); ; unit *= 10 {
		for _, m := range []int64{2, 4, 6, 10} {
			if m*unit >= n {
				return m * unit
			}
		}
	}
}

// shortTime prints microseconds for an axis: "250 ms".
func (x *texts) shortTime(microseconds int64) string {
	switch {
	case microseconds == 0:
		return "0"
	case microseconds < 1000:
		return fmt.Sprintf("%d µs", microseconds)
	case microseconds < 1_000_000:
		return fmt.Sprintf("%d ms", microseconds/1000)
	}
	return strings.TrimSuffix(x.decimals(float64(microseconds)/1e6, 1), x.decimal+"0") + " s"
}
