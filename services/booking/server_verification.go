package booking

import (
	"google.golang.org/grpc"

	"reservation.dev/platform/id"
	"reservation.dev/platform/privacy"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/store"
)

// paymentChunk is the number of payments in one message of an export.
const paymentChunk = 1000

// VerifyBookings implements VerificationService.
func (s *Server) VerifyBookings(_ *bookingv1.VerifyBookingsRequest, out grpc.ServerStreamingServer[bookingv1.VerifyBookingsResponse]) error {
	ctx := out.Context()
	company, err := s.companies.Claimed(ctx)
	if err != nil {
		return err
	}
	v := verification{out: out}
	now := s.clock(company)
	for _, of := range []struct {
		statement store.Verification
		what      string
		name      func(id.UUID) string
		args      []any
	}{
		{store.VerifyDates, "event_date.booked", privacy.Named[id.EventDate], nil},
		{store.VerifyCodes, "discount_code.uses", privacy.Named[id.DiscountCode], nil},
		{store.VerifyRefunds, "booking.refunded_amount", privacy.Named[id.Booking], nil},
		{store.VerifyRefundsDue, "booking.refund_due", privacy.Named[id.Booking], nil},
		{store.VerifyPrices, "booking.price", privacy.Named[id.Booking], nil},
		{store.VerifyHistory, "booking.history", privacy.Named[id.Booking], nil},
		{store.VerifyWaitlist, "waitlist_entry.spaces", privacy.Named[id.WaitlistEntry], nil},
		{store.VerifyStaffOverlaps, "staff.overlaps", privacy.Named[id.StaffMember], nil},
		{store.VerifyRoomOverlaps, "room.overlaps", privacy.Named[id.Room], nil},
		{store.VerifyAssignedTimes, "assignment.time", privacy.Named[id.EventDate], nil},
		{store.VerifyAssigned, "assignment.active", privacy.Named[id.EventDate], []any{now}},
		{store.VerifyUnits, "room.unit", privacy.Named[id.Room], []any{now}},
		{store.VerifySlots, "appointment.slot", privacy.Named[id.EventDate], []any{now}},
	} {
		err := s.store.VerifiedCounts(ctx, company.ID, of.statement, of.args, func(c store.CheckedCount) error { return v.check(of.what, of.name(c.ID), c) })
		if err != nil {
			return err
		}
	}
	stored, computed, err := s.store.VerifiedEvents(ctx, company.ID)
	if err != nil {
		return err
	}
	if err := v.check("events.total", "", store.CheckedCount{Stored: stored, Computed: computed}); err != nil {
		return err
	}
	return out.Send(&bookingv1.VerifyBookingsResponse{Checked: v.checked})
}

// verification sends the differences that it finds.
type verification struct {
	out     grpc.ServerStreamingServer[bookingv1.VerifyBookingsResponse]
	checked int64
}

func (v *verification) check(what, which string, c store.CheckedCount) error {
	v.checked++
	if c.Stored != c.Computed {
		if err := v.send(what, which, c.Stored, c.Computed); err != nil {
			return err
		}
	}
	if c.Most != nil && c.Computed > int64(*c.Most) {
		return v.send("event_date.capacity", which, int64(*c.Most), c.Computed)
	}
	return nil
}

func (v *verification) send(what, which string, stored, computed int64) error {
	return v.out.Send(&bookingv1.VerifyBookingsResponse{Difference: &bookingv1.BookingDifference{What: what, Id: which, Stored: stored, Computed: computed}})
}

// ExportPassPayments implements VerificationService.
func (s *Server) ExportPassPayments(_ *bookingv1.ExportPassPaymentsRequest, out grpc.ServerStreamingServer[bookingv1.ExportPassPaymentsResponse]) error {
	company, err := s.companies.Claimed(out.Context())
	if err != nil {
		return err
	}
	chunk := &bookingv1.ExportPassPaymentsResponse{}
	err = s.store.PassPayments(out.Context(), company.ID, func(p store.PassPayment) error {
		chunk.Payments = append(chunk.Payments, &bookingv1.BookedCredits{
			TransactionId: p.Transaction.String(), BookingId: p.Booking.String(), CustomerPassId: p.Pass.String(), Credits: p.Credits, Changing: p.Changing,
		})
		if len(chunk.Payments) < paymentChunk {
			return nil
		}
		err := out.Send(chunk)
		chunk = &bookingv1.ExportPassPaymentsResponse{}
		return err
	})
	if err != nil || len(chunk.GetPayments()) == 0 {
		return err
	}
	return out.Send(chunk)
}
