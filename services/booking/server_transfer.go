package booking

import (
	"context"
	"slices"

	"reservation.dev/platform/check"
	"reservation.dev/platform/id"
	"reservation.dev/platform/idem"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/tenancy"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/convert"
	"reservation.dev/services/booking/model"
)

// TransferBooking implements BookingChangeService.
func (s *Server) TransferBooking(ctx context.Context, req *bookingv1.TransferBookingRequest) (*bookingv1.TransferBookingResponse, error) {
	company, err := s.companies.Claimed(ctx)
	if err != nil {
		return nil, err
	}
	which, err := check.ID[id.Booking](req.GetBookingId(), "booking")
	if err != nil {
		return nil, err
	}
	wanted := model.Transfer{BuyerKeepsControl: req.GetBuyerKeepsControl()}
	if wanted.To, err = convert.IDIn[id.Customer]("customer_id", req.GetCustomerId(), "customer"); err != nil {
		return nil, err
	}
	if wanted.AfterStart, err = afterStartReason(req.GetAfterStartReason()); err != nil {
		return nil, err
	}
	resp := &bookingv1.TransferBookingResponse{}
	err = s.fetchMissingCustomers(ctx, company.ID, func() error {
		_, err := idem.Write(ctx, s.store, company.ID, req, resp, func(ctx context.Context, tx *pg.Tx) error {
			found, err := s.store.LockBooking(ctx, tx, company.ID, which)
			if err != nil {
				return err
			}
			if err := check.Version(found.Transaction.Version, req.ExpectedVersion, "registration"); err != nil {
				return err
			}
			resp.Changed, err = s.transfer(ctx, tx, company, found.Transaction, wanted)
			resp.Registration = convert.Registration(&model.Registration{Transaction: *found.Transaction})
			return err
		})
		return err
	})
	if unknown, ok := model.AsUnknownCustomers(err); ok && slices.Contains(unknown.Ids, wanted.To) {
		return nil, model.MissingIn("customer_id", "customer")
	}
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// afterStartReason reads and checks the reason of a change after the start of a date.
func afterStartReason(text string) (string, error) {
	var faults check.Fields
	text = faults.Prose("after_start_reason", text, 0, model.MaxReason)
	return text, faults.Err()
}

// transfer gives the only booking of t, which is locked, to another customer, and reports whether that
// changed anything.
func (s *Server) transfer(ctx context.Context, tx *pg.Tx, company tenancy.Company, t *model.Transaction, wanted model.Transfer) (bool, error) {
	b := &t.Bookings[0]
	of, err := s.store.LockOffer(ctx, tx, company.ID, model.Demand{
		Dates: []id.EventDate{b.Date.ID}, Customers: wanted.Customers(t), Attendees: []id.Customer{wanted.To},
	})
	if err != nil {
		return false, err
	}
	now := pg.Instant(s.clock(company))
	snapshot, facts := convert.PreviousSnapshot(t, b), model.FactsOf(t, b)
	changed, err := wanted.Apply(t, of, now)
	if err != nil || !changed {
		return false, err
	}
	t.Version, t.UpdatedAt = t.Version+1, now
	by := momentOf(ctx, company, now)
	entry := by.entry(model.Transferred, t, facts)
	if of.Dates[b.Date.ID].StartsAt.Before(now) {
		entry.Reason = wanted.AfterStart
	}
	t.Record(b, &entry, by.timezone)
	if err := s.store.SaveBooking(ctx, tx, company.ID, t, 0, entry); err != nil {
		return false, err
	}
	return true, s.append(ctx, tx, company, now, bookingTransferred(convert.Snapshot(t, b), snapshot, by.actor))
}
