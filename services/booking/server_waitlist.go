package booking

import (
	"cmp"
	"context"
	"time"

	"reservation.dev/platform/check"
	"reservation.dev/platform/enum"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/idem"
	"reservation.dev/platform/page"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/tenancy"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/convert"
	"reservation.dev/services/booking/model"
	"reservation.dev/services/booking/store"
)

// JoinWaitlist implements WaitlistService.
func (s *Server) JoinWaitlist(ctx context.Context, req *bookingv1.JoinWaitlistRequest) (*bookingv1.JoinWaitlistResponse, error) {
	company, err := s.companies.Claimed(ctx)
	if err != nil {
		return nil, err
	}
	w, err := convert.NewWaitlistEntry(req)
	if err != nil {
		return nil, err
	}
	w.Timezone = company.Timezone
	resp := &bookingv1.JoinWaitlistResponse{}
	err = s.fetchMissingCustomers(ctx, company.ID, func() error {
		_, err := idem.Write(ctx, s.store, company.ID, req, resp, func(ctx context.Context, tx *pg.Tx) error {
			of, err := s.store.LockOffer(ctx, tx, company.ID, model.Demand{
				Dates: []id.EventDate{w.Date}, Customers: []id.Customer{w.Customer}, Attendees: []id.Customer{w.Customer},
			})
			if err != nil {
				return err
			}
			now := s.clock(company)
			if err := of.Admits(w, now); err != nil {
				return err
			}
			if err := of.CheckCustomers([]id.Customer{w.Customer}); err != nil {
				return err
			}
			w.ID, w.JoinedAt = id.WaitlistEntry(s.newID()), pg.Instant(now)
			w.UpdatedAt = w.JoinedAt
			if err := s.store.AddWaitlistEntry(ctx, tx, company.ID, w); err != nil {
				return err
			}
			stored, err := s.store.WaitlistEntryInTx(ctx, tx, company.ID, w.ID)
			if err != nil {
				return err
			}
			resp.Entry = convert.WaitlistEntry(stored, now)
			return s.append(ctx, tx, company, now, waitlistJoined(stored, now))
		})
		return err
	})
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// LeaveWaitlist implements WaitlistService.
func (s *Server) LeaveWaitlist(ctx context.Context, req *bookingv1.LeaveWaitlistRequest) (*bookingv1.LeaveWaitlistResponse, error) {
	company, which, err := s.waitlistEntryID(ctx, req.GetId())
	if err != nil {
		return nil, err
	}
	resp := &bookingv1.LeaveWaitlistResponse{}
	return idem.Write(ctx, s.store, company.ID, req, resp, func(ctx context.Context, tx *pg.Tx) error {
		w, err := s.store.LockWaitlistEntry(ctx, tx, company.ID, which)
		if err != nil {
			return err
		}
		now := s.clock(company)
		if err := check.Version(convert.EntryVersion(w, now), req.ExpectedVersion, "waitlist entry"); err != nil {
			return err
		}
		switch state := w.At(now); {
		case state == model.EntryWaiting && w.State == model.EntryBooking:
			return errBeingBooked()
		case state == model.EntryWaiting || state == model.EntryOffered:
			resp.Changed, err = true, s.leaveWaitlist(ctx, tx, company, w, now)
		default:
			resp.Changed = false
		}
		resp.Entry = convert.WaitlistEntry(w, now)
		return err
	})
}

// leaveWaitlist ends a locked entry that is waiting or offered, and releases its offer.
func (s *Server) leaveWaitlist(ctx context.Context, tx *pg.Tx, company tenancy.Company, w *model.WaitlistEntry, now time.Time) error {
	before := *w
	w.End(model.EntryLeft, now)
	if err := s.store.SaveWaitlistEntries(ctx, tx, company.ID, []*model.WaitlistEntry{w}); err != nil {
		return err
	}
	if err := s.append(ctx, tx, company, now, waitlistEnded(w, &before, now)); err != nil || before.Transaction.IsZero() {
		return err
	}
	n, err := s.release(ctx, tx, company, []id.Transaction{before.Transaction}, model.HoldReleased, model.Held)
	if err == nil && n == 0 {
		return errBeingBooked() // a purchase by pass is in progress
	}
	return err
}

// errBeingBooked refuses to end an entry while the credits for its spaces are being taken.
func errBeingBooked() error {
	return fault.New(fault.Conflict, fault.ReasonIdempotencyInProgress,
		"the spaces are being booked now: try again").After(2 * time.Second)
}

// waitlistEntryID reads the identifier of a waitlist entry of the caller's company.
func (s *Server) waitlistEntryID(ctx context.Context, text string) (tenancy.Company, id.WaitlistEntry, error) {
	company, err := s.companies.Claimed(ctx)
	if err != nil {
		return company, id.WaitlistEntry{}, err
	}
	which, err := check.ID[id.WaitlistEntry](text, "waitlist entry")
	return company, which, err
}

// GetWaitlistEntry implements WaitlistService.
func (s *Server) GetWaitlistEntry(ctx context.Context, req *bookingv1.GetWaitlistEntryRequest) (*bookingv1.GetWaitlistEntryResponse, error) {
	company, which, err := s.waitlistEntryID(ctx, req.GetId())
	if err != nil {
		return nil, err
	}
	w, err := s.store.WaitlistEntry(ctx, company.ID, which)
	if err != nil {
		return nil, err
	}
	return &bookingv1.GetWaitlistEntryResponse{Entry: convert.WaitlistEntry(w, s.clock(company))}, nil
}

// ListWaitlist implements WaitlistService.
func (s *Server) ListWaitlist(ctx context.Context, req *bookingv1.ListWaitlistRequest) (*bookingv1.ListWaitlistResponse, error) {
	company, err := s.companies.Claimed(ctx)
	if err != nil {
		return nil, err
	}
	q, err := waitlistQuery(req, s.clock(company))
	if err != nil {
		return nil, err
	}
	entries, total, err := s.store.WaitlistEntries(ctx, company.ID, q)
	if err != nil {
		return nil, err
	}
	resp := &bookingv1.ListWaitlistResponse{Total: total}
	entries, resp.NextPageToken = page.Cut(q.Page, entries, func(w **model.WaitlistEntry) page.Cursor { return q.Next(*w) })
	for _, w := range entries {
		resp.Entries = append(resp.Entries, convert.WaitlistEntry(w, q.Now))
	}
	return resp, nil
}

// waitlistQuery reads a list request.
func waitlistQuery(req *bookingv1.ListWaitlistRequest, now time.Time) (*store.WaitlistQuery, error) {
	order, err := waitlistOrder(req)
	if err != nil {
		return nil, err
	}
	q := &store.WaitlistQuery{Customer: id.Filter[id.Customer](req.GetCustomerId()), Ended: req.GetIncludeEnded(), Closed: req.GetWithClosed(), Now: now}
	if q.Page, err = page.Read(page.Of(req), order, pageSizes()); err != nil {
		return nil, err
	}
	if req.GetEventDateId() != "" {
		if q.Date, err = check.ID[id.EventDate](req.GetEventDateId(), "event date"); err != nil {
			return nil, err
		}
	}
	if state := req.GetState(); state != 0 {
		if q.State = model.WaitlistState(enum.Name(state)); q.State == "" {
			return nil, fault.InvalidParameter("state", "enum", fault.OneOf(enum.Names[bookingv1.WaitlistState]()))
		}
	}
	q.Since, err = check.Bound("updated_since", req.GetUpdatedSince())
	return q, err
}

// waitlistOrder reads the order of a list request.
func waitlistOrder(req *bookingv1.ListWaitlistRequest) (page.Order, error) {
	switch req.GetOrder() {
	case bookingv1.WaitlistOrder_WAITLIST_ORDER_UNSPECIFIED:
		if req.GetEventDateId() == "" {
			return page.Order{}, fault.InvalidParameter("order", "required", "is required for the entries of all dates")
		}
		return store.WaitersByJoining(), nil
	case bookingv1.WaitlistOrder_WAITLIST_ORDER_CREATED:
		return store.WaitersByCreation(), nil
	case bookingv1.WaitlistOrder_WAITLIST_ORDER_CREATED_DESC:
		return store.WaitersByCreationDesc(), nil
	case bookingv1.WaitlistOrder_WAITLIST_ORDER_UPDATED:
		return store.WaitersByChange(), nil
	case bookingv1.WaitlistOrder_WAITLIST_ORDER_UPDATED_DESC:
		return store.WaitersByChangeDesc(), nil
	default:
		return page.Order{}, fault.InvalidParameter("order", "enum", "is not an order of waitlist entries")
	}
}

// AcceptOffer implements WaitlistService.
func (s *Server) AcceptOffer(ctx context.Context, req *bookingv1.AcceptOfferRequest) (*bookingv1.AcceptOfferResponse, error) {
	company, which, err := s.waitlistEntryID(ctx, req.GetId())
	if err != nil {
		return nil, err
	}
	how, err := convert.Payment(convert.PaymentRequest{Method: req.GetPaymentMethod(), Reference: req.GetPaymentReference(), Pass: req.GetCustomerPassId()})
	if err != nil {
		return nil, err
	}
	w, err := s.store.WaitlistEntry(ctx, company.ID, which)
	if err != nil {
		return nil, err
	}
	// The end of an offer also ends its hold, so an offer that changes after this read is refused with
	// its hold.
	isCurrent := func() error {
		return check.Version(convert.EntryVersion(w, s.clock(company)), req.ExpectedVersion, "waitlist entry")
	}
	if refused := withoutOffer(w); refused != nil {
		return nil, cmp.Or(isCurrent(), refused)
	}
	resp := &bookingv1.AcceptOfferResponse{}
	p, err := newPurchase(ctx, req, resp, company, model.Purchase{Status: model.Pending})
	if err != nil {
		return nil, err
	}
	p.answer = func() { resp.Transaction = convert.Transaction(p.Bought) }
	already, err := s.confirmHold(ctx, p, payment{lock: s.store.LockOffered, which: w.Transaction, how: how, check: isCurrent})
	if err != nil {
		return nil, err
	}
	resp.AlreadyAccepted = already
	return resp, nil
}

// withoutOffer refuses to accept an entry that has neither an offer nor its booking.
func withoutOffer(w *model.WaitlistEntry) error {
	switch {
	case w.State == model.EntryOffered || w.State == model.EntryBooked:
		return nil
	case w.State == model.EntryExpired:
		return fault.Refuse(ReasonHoldExpired, "the offer has expired and its spaces were released")
	case w.State == model.EntryClosed && w.DateStatus == model.DateCancelled:
		return model.EventIsCancelled()
	default:
		return fault.Refuse(model.ReasonNotOffered, "the entry has no open offer")
	}
}
