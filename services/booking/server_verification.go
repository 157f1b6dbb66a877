package booking

import (
	"google.golang.org/grpc"

	"reservation.dev/platform/id"
	"reservation.dev/platform/privacy"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

// paymentChunk is how many payments a message of an export holds.
const paymentChunk = 1000

// VerifyBookings implements VerificationService.
func (s *Server) VerifyBookings(_ *bookingv1.VerifyBookingsRequest, out grpc.ServerStreamingServer[bookingv1.VerifyBookingsResponse]) error {
	ctx := out.Context()
	company, err := s.companies.Claimed(ctx)
	if err != nil {
		return err
	}
	v := verification{out: out}
	for _, of := range []struct {
		statement verified
		what      string
		name      func(id.UUID) string
	}{
		{verifyDates, "event_date.booked", privacy.Named[id.EventDate]},
		{verifyCodes, "discount_code.uses", privacy.Named[id.DiscountCode]},
		{verifyWaitlist, "waitlist_entry.spaces", privacy.Named[id.WaitlistEntry]},
	} {
		err := s.store.verifiedCounts(ctx, company.ID, of.statement, func(c checkedCount) error { return v.check(of.what, of.name(c.id), c) })
		if err != nil {
			return err
		}
	}
	stored, computed, err := s.store.verifiedEvents(ctx, company.ID)
	if err != nil {
		return err
	}
	if err := v.check("events.total", "", checkedCount{stored: stored, computed: computed}); err != nil {
		return err
	}
	return out.Send(&bookingv1.VerifyBookingsResponse{Checked: v.checked})
}

// verification sends the differences that it finds.
type verification struct {
	out     grpc.ServerStreamingServer[bookingv1.VerifyBookingsResponse]
	checked int64
}

func (v *verification) check(what, which string, c checkedCount) error {
	v.checked++
	if c.stored != c.computed {
		if err := v.send(what, which, c.stored, c.computed); err != nil {
			return err
		}
	}
	if c.most != nil && c.computed > int64(*c.most) {
		return v.send("event_date.capacity", which, int64(*c.most), c.computed)
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
	err = s.store.passPayments(out.Context(), company.ID, func(p passPayment) error {
		chunk.Payments = append(chunk.Payments, &bookingv1.BookedCredits{
			TransactionId: p.transaction.String(), BookingId: p.booking.String(), CustomerPassId: p.pass.String(), Credits: p.credits,
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
