package booking

import (
	"context"
	"time"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

// JoinWaitlist implements WaitlistService.
func (s *Server) JoinWaitlist(ctx context.Context, req *bookingv1.JoinWaitlistRequest) (*bookingv1.JoinWaitlistResponse, error) {
	company, err := s.tenant(ctx)
	if err != nil {
		return nil, err
	}
	w, err := waiterOf(req)
	if err != nil {
		return nil, err
	}
	w.Timezone = company.Timezone
	resp := &bookingv1.JoinWaitlistResponse{}
	err = s.knowing(ctx, company.ID, func() error {
		return s.write(ctx, company.ID, req, resp, func(ctx context.Context, tx *pg.Tx) error {
			of, err := s.store.lockOffer(ctx, tx, company.ID, []id.EventDate{w.Date}, []id.Customer{w.Customer}, nil)
			if err != nil {
				return err
			}
			now := s.now()
			if err := of.admits(w, now); err != nil {
				return err
			}
			if err := of.meets([]id.Customer{w.Customer}); err != nil {
				return err
			}
			w.ID, w.JoinedAt = id.WaitlistEntry(s.newID()), now.Truncate(time.Microsecond)
			if err := s.store.addWaiter(ctx, tx, company.ID, w); err != nil {
				return err
			}
			stored, err := s.store.waiterIn(ctx, tx, company.ID, w.ID)
			if err != nil {
				return err
			}
			resp.Entry = stored.toProto(now)
			return s.append(ctx, tx, company.ID, now, waitlistJoined(stored, now))
		})
	})
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// LeaveWaitlist implements WaitlistService.
func (s *Server) LeaveWaitlist(ctx context.Context, req *bookingv1.LeaveWaitlistRequest) (*bookingv1.LeaveWaitlistResponse, error) {
	company, which, err := s.waiterOf(ctx, req.GetId())
	if err != nil {
		return nil, err
	}
	resp := &bookingv1.LeaveWaitlistResponse{}
	err = s.write(ctx, company.ID, req, resp, func(ctx context.Context, tx *pg.Tx) error {
		w, err := s.store.lockWaiter(ctx, tx, company.ID, which)
		if err != nil {
			return err
		}
		now := s.now()
		resp.Entry, resp.Changed = w.toProto(now), false
		switch w.State {
		case entryBooking:
			return errBeingBooked
		case entryWaiting, entryOffered:
		default:
			return nil
		}
		offer := w.Transaction
		if _, err := tx.Exec(ctx, leaveWaiterSQL, company.ID, w.ID); err != nil {
			return err
		}
		w.State, w.Transaction = entryLeft, id.Transaction{}
		resp.Entry, resp.Changed = w.toProto(now), true
		if err := s.append(ctx, tx, company.ID, now, waitlistEnded(w, now)); err != nil || offer.IsZero() {
			return err
		}
		n, err := s.releaseIn(ctx, tx, company.ID, []id.Transaction{offer}, held)
		if err == nil && n == 0 {
			return errBeingBooked // somebody is paying for it by pass
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// errBeingBooked is told to who leaves while the credits for the place are taken.
var errBeingBooked = fault.New(fault.Conflict, fault.ReasonIdempotencyInProgress,
	"the place is being booked just now; try again").After(2 * time.Second)

// waiterOf names an entry of the caller's company.
func (s *Server) waiterOf(ctx context.Context, text string) (Company, id.WaitlistEntry, error) {
	company, err := s.tenant(ctx)
	if err != nil {
		return company, id.WaitlistEntry{}, err
	}
	which, err := id.Parse[id.WaitlistEntry](text)
	if err != nil {
		err = fault.Missing("waitlist entry")
	}
	return company, which, err
}

// GetWaitlistEntry implements WaitlistService.
func (s *Server) GetWaitlistEntry(ctx context.Context, req *bookingv1.GetWaitlistEntryRequest) (*bookingv1.GetWaitlistEntryResponse, error) {
	company, which, err := s.waiterOf(ctx, req.GetId())
	if err != nil {
		return nil, err
	}
	w, err := s.store.waiter(ctx, company.ID, which)
	if err != nil {
		return nil, err
	}
	return &bookingv1.GetWaitlistEntryResponse{Entry: w.toProto(s.now())}, nil
}

// ListWaitlist implements WaitlistService.
func (s *Server) ListWaitlist(ctx context.Context, req *bookingv1.ListWaitlistRequest) (*bookingv1.ListWaitlistResponse, error) {
	company, err := s.tenant(ctx)
	if err != nil {
		return nil, err
	}
	date, err := id.Parse[id.EventDate](req.GetEventDateId())
	if err != nil {
		return nil, fault.Missing("event date")
	}
	size := int(req.GetPageSize())
	if size == 0 {
		size = usualPage
	}
	if size < 1 || size > maxPage {
		return nil, fault.InvalidParameter("page_size", "range", "must be 1 to 200")
	}
	var after id.WaitlistEntry
	if req.GetPageToken() != "" {
		if after, err = id.Parse[id.WaitlistEntry](req.GetPageToken()); err != nil {
			return nil, fault.InvalidParameter("page_token", "format", "is not a token of an earlier answer")
		}
	}
	page, total, err := s.store.waiters(ctx, company.ID, date, req.GetIncludeEnded(), after, size+1)
	if err != nil {
		return nil, err
	}
	resp := &bookingv1.ListWaitlistResponse{Total: total}
	if len(page) > size {
		page = page[:size]
		resp.NextPageToken = page[size-1].ID.String()
	}
	now := s.now()
	for _, w := range page {
		resp.Entries = append(resp.Entries, w.toProto(now))
	}
	return resp, nil
}

// AcceptOffer implements WaitlistService.
func (s *Server) AcceptOffer(ctx context.Context, req *bookingv1.AcceptOfferRequest) (*bookingv1.AcceptOfferResponse, error) {
	company, which, err := s.waiterOf(ctx, req.GetId())
	if err != nil {
		return nil, err
	}
	how, err := paymentOf(payment{req.GetPaymentMethod(), req.GetPaymentReference(), req.GetCustomerPassId()})
	if err != nil {
		return nil, err
	}
	w, err := s.store.waiter(ctx, company.ID, which)
	if err != nil {
		return nil, err
	}
	switch w.State {
	case entryOffered, entryBooked:
	case entryExpired:
		return nil, fault.Refuse(ReasonHoldExpired, "the offer has expired, its places are given to others")
	case entryClosed:
		return nil, eventCancelledFault()
	default:
		return nil, fault.Refuse(ReasonNotOffered, "no places are offered to this entry")
	}
	t, err := s.confirmHold(ctx, company, w.Transaction, how)
	if err != nil {
		return nil, err
	}
	return &bookingv1.AcceptOfferResponse{Transaction: transactionToProto(t)}, nil
}
