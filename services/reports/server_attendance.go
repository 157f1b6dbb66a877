package reports

import (
	"cmp"
	"context"
	"slices"
	"strconv"

	reportsv1 "reservation.dev/proto/gen/reservation/reports/v1"
)

// GetAttendance implements ReportService.
func (s *Server) GetAttendance(ctx context.Context, req *reportsv1.GetAttendanceRequest) (*reportsv1.GetAttendanceResponse, error) {
	company, err := s.companies.Claimed(ctx)
	if err != nil {
		return nil, err
	}
	r, err := s.begin(ctx, company, req.GetSpan())
	if err != nil {
		return nil, err
	}
	out := &attendanceReport{report: r}
	if err := out.read(ctx, s.store, req.GetGroupBy()); err != nil {
		return nil, err
	}
	return &reportsv1.GetAttendanceResponse{Compared: r.head, Rows: out.rows, Total: out.total.proto(), TotalBefore: out.totalBefore.proto()}, nil
}

// attendanceReport is a report of attendance.
type attendanceReport struct {
	report
	rows        []*reportsv1.AttendanceRow
	total       counted
	totalBefore counted
}

// read reads the rows.
func (r *attendanceReport) read(ctx context.Context, s *store, by reportsv1.AttendanceGrouping) error {
	switch by {
	case reportsv1.AttendanceGrouping_ATTENDANCE_GROUPING_WEEKDAY:
		return r.readDays(ctx, s, weekdays)
	case reportsv1.AttendanceGrouping_ATTENDANCE_GROUPING_DAY:
		return r.readDays(ctx, s, periodsOf(daily))
	case reportsv1.AttendanceGrouping_ATTENDANCE_GROUPING_WEEK:
		return r.readDays(ctx, s, periodsOf(weekly))
	case reportsv1.AttendanceGrouping_ATTENDANCE_GROUPING_MONTH:
		return r.readDays(ctx, s, periodsOf(monthly))
	}
	return r.readEvents(ctx, s)
}

// division divides the days of a span into rows: it returns the keys of the rows, and the place of a day of
// another span, or of this one, in them.
type division func(s span) (keys []string, place func(of span, d Day) int)

// weekdays is the division into ISO weekdays, from the first day of the week.
func weekdays(s span) ([]string, func(span, Day) int) {
	var keys []string
	for weekday := range 7 {
		keys = append(keys, strconv.Itoa((s.firstWeekday()-1+weekday)%7+1))
	}
	return keys, span.dayOfWeek
}

// periodsOf returns the division into periods.
func periodsOf(p period) division {
	return func(s span) ([]string, func(span, Day) int) {
		var keys []string
		for _, part := range p.split(s) {
			keys = append(keys, part.from.String())
		}
		return keys, p.index
	}
}

func (r *attendanceReport) readDays(ctx context.Context, s *store, divide division) error {
	rows, err := s.attendanceByDay(ctx, r.compared)
	if err != nil {
		return err
	}
	keys, place := divide(r.span)
	now, before := make([]counted, len(keys)), make([]counted, len(keys))
	for _, row := range rows {
		if r.span.contains(row.day) {
			at := place(r.span, row.day)
			now[at], r.total = now[at].plus(row.counted, 1), r.total.plus(row.counted, 1)
			continue
		}
		r.totalBefore = r.totalBefore.plus(row.counted, 1)
		if at := place(r.before, row.day); at < len(before) {
			before[at] = before[at].plus(row.counted, 1)
		}
	}
	for i, key := range keys {
		r.rows = append(r.rows, &reportsv1.AttendanceRow{Key: key, Attendance: now[i].proto(), Before: before[i].proto()})
	}
	return nil
}

func (r *attendanceReport) readEvents(ctx context.Context, s *store) error {
	rows, err := s.attendanceByEvent(ctx, r.compared)
	if err != nil {
		return err
	}
	slices.SortFunc(rows, func(a, b eventAttendance) int {
		return cmp.Or(cmp.Compare(b.now.booked, a.now.booked), cmp.Compare(a.event.String(), b.event.String()))
	})
	rest := &eventAttendance{}
	for i, row := range rows {
		r.total, r.totalBefore = r.total.plus(row.now, 1), r.totalBefore.plus(row.before, 1)
		if i < maxRows {
			r.rows = append(r.rows, &reportsv1.AttendanceRow{
				Key: row.event.String(), Title: row.title, Attendance: row.now.proto(), Before: row.before.proto(),
			})
			continue
		}
		rest.now, rest.before = rest.now.plus(row.now, 1), rest.before.plus(row.before, 1)
	}
	if len(rows) > maxRows {
		r.rows = append(r.rows, &reportsv1.AttendanceRow{Attendance: rest.now.proto(), Before: rest.before.proto()})
	}
	return nil
}

func (c counted) proto() *reportsv1.Attendance {
	return &reportsv1.Attendance{
		Dates: c.dates, Booked: c.booked, Attended: c.attended, NoShows: c.noShows, NotRecorded: c.booked - c.attended - c.noShows,
		Cancelled: c.cancelled, CancelledLate: c.cancelledLate, Capacity: c.capacity, BookedOfCapacity: c.bookedOfCapacity,
	}
}
