package booking

import (
	"context"
	"time"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

// ReasonAlreadyCancelled is why nobody attends a cancelled booking.
const ReasonAlreadyCancelled = "ALREADY_CANCELLED"

// Attendance says whether somebody came. The value is what is stored; "" is NULL.
type Attendance string

// What is known of attendance.
const (
	NotRecorded Attendance = ""
	CheckedIn   Attendance = "checked_in"
	NoShow      Attendance = "no_show"
)

// attend records attendance and reports whether that changed anything.
func (b *Booking) attend(a Attendance) (bool, error) {
	switch {
	case b.Cancelled:
		return false, fault.Refuse(ReasonAlreadyCancelled, "the booking is cancelled")
	case b.Attendance == a:
		return false, nil
	}
	b.Attendance = a
	return true, nil
}

// RecordAttendance implements BookingService.
func (s *Server) RecordAttendance(ctx context.Context, req *bookingv1.RecordAttendanceRequest) (*bookingv1.RecordAttendanceResponse, error) {
	company, err := s.tenant(ctx)
	if err != nil {
		return nil, err
	}
	attendance, ok := attendances()[req.GetAttendance()]
	if !ok {
		var faults fields
		faults.add("attendance", "enum", "must be unknown, checked in or no-show")
		return nil, faults.err()
	}
	which, err := bookingIDOf(req.GetBookingId())
	if err != nil {
		return nil, err
	}
	resp := &bookingv1.RecordAttendanceResponse{}
	err = s.write(ctx, company.ID, req, resp, func(ctx context.Context, tx *pg.Tx) error {
		t, _, err := s.store.lockBooking(ctx, tx, company.ID, which)
		if err != nil {
			return err
		}
		b := &t.Bookings[0]
		if resp.Changed, err = b.attend(attendance); err != nil {
			return err
		}
		resp.Booking = bookingToProto(b)
		if !resp.Changed {
			return nil
		}
		t.Version++
		now := s.now()
		if err := s.store.saveAttendance(ctx, tx, company.ID, t, now); err != nil {
			return err
		}
		return s.append(ctx, tx, company.ID, now, attendanceRecorded(snapshotToProto(t, b)))
	})
	if err != nil {
		return nil, err
	}
	return resp, nil
}

func bookingIDOf(text string) (id.Booking, error) {
	b, err := id.Parse[id.Booking](text)
	if err != nil {
		return b, fault.Missing("booking")
	}
	return b, nil
}

// attendances are what requests may record.
func attendances() map[bookingv1.Attendance]Attendance {
	return map[bookingv1.Attendance]Attendance{
		bookingv1.Attendance_ATTENDANCE_UNKNOWN: NotRecorded, bookingv1.Attendance_ATTENDANCE_CHECKED_IN: CheckedIn,
		bookingv1.Attendance_ATTENDANCE_NO_SHOW: NoShow,
	}
}

func attendanceToProto(a Attendance) bookingv1.Attendance {
	switch a {
	case CheckedIn:
		return bookingv1.Attendance_ATTENDANCE_CHECKED_IN
	case NoShow:
		return bookingv1.Attendance_ATTENDANCE_NO_SHOW
	}
	return bookingv1.Attendance_ATTENDANCE_UNKNOWN
}

const attendanceSQL = `update bookings set attendance = $3, attendance_at = $4 where company_id = $1 and id = $2`

// saveAttendance stores the attendance of t's only booking, and t's version.
func (s *store) saveAttendance(ctx context.Context, tx *pg.Tx, company id.Company, t *Transaction, now time.Time) error {
	b := &t.Bookings[0]
	return tx.Pipeline(ctx,
		pg.Query{SQL: attendanceSQL, Args: []any{company, b.ID, orNull(string(b.Attendance)), now}},
		pg.Query{SQL: raiseTransactionSQL, Args: []any{company, t.ID, t.Version}})
}
