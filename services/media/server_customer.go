package media

import (
	"context"
	"time"

	"reservation.dev/platform/check"
	"reservation.dev/platform/customers"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/idem"
	"reservation.dev/platform/outbox"
	"reservation.dev/platform/page"
	"reservation.dev/platform/pg"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	mediav1 "reservation.dev/proto/gen/reservation/media/v1"
)

// reason returns why a customer can play an item, or nil. It looks up what the customer holds only as far
// as it is necessary, and begins with what costs least.
func (s *Server) reason(ctx context.Context, company tenant, customer id.Customer, p playable) (*Reason, error) {
	i, today := p.item, s.today(company)
	n := needsOf(p.rules, len(i.Collections) > 0)
	for _, source := range []struct {
		needed bool
		look   func() ([]holding, error)
	}{
		{true, func() ([]holding, error) { return nil, nil }}, // given
		{n.passes, func() ([]holding, error) { return s.clients.heldPasses(ctx, company.ID, customer, today) }},
		{n.subscriptions, func() ([]holding, error) {
			return s.clients.heldSubscriptions(ctx, company.ID, customer, s.moment(company))
		}},
		{n.bookings, func() ([]holding, error) {
			return s.clients.heldBookings(ctx, company.ID, customer, eventsOf(p.rules))
		}},
	} {
		if !source.needed {
			continue
		}
		held, err := source.look()
		if err != nil {
			return nil, err
		}
		if r := decide(i.ID, i.Collections, customer, p.rules, held, today); r != nil {
			return r, nil
		}
	}
	return nil, nil
}

// customerAndItem reads the customer and the item of a request. The customer must exist.
func (s *Server) customerAndItem(ctx context.Context, company tenant, customerText, itemText string) (customer id.Customer, p playable, err error) {
	if customer, err = customerOf(customerText); err != nil {
		return customer, p, err
	}
	item, err := itemOf(itemText)
	if err != nil {
		return customer, p, err
	}
	if p, err = s.store.playable(ctx, company.ID, customer, item, s.today(company)); err != nil {
		return customer, p, err
	}
	if p.absent {
		return customer, p, fault.Missing("customer")
	}
	return customer, p, s.clients.customers.Require(ctx, company.ID, customer)
}

// GetCustomerMedia implements MediaService.
func (s *Server) GetCustomerMedia(ctx context.Context, req *mediav1.GetCustomerMediaRequest) (*mediav1.GetCustomerMediaResponse, error) {
	company, err := s.tenant(ctx)
	if err != nil {
		return nil, err
	}
	customer, p, err := s.customerAndItem(ctx, company, req.GetCustomerId(), req.GetItemId())
	if err == nil && p.item.Status != statusPublished { // invariant 1
		err = fault.Missing("media item")
	}
	if err != nil {
		return nil, err
	}
	r, err := s.reason(ctx, company, customer, p)
	if err != nil {
		return nil, err
	}
	return &mediav1.GetCustomerMediaResponse{Media: &mediav1.CustomerMedia{
		Item: s.shown(company, p.item), Reason: reasonMessage(r), Progress: progressMessage(p.progress),
	}}, nil
}

// ListCustomerMedia implements MediaService. It looks up what the customer holds once, and not for each
// item.
func (s *Server) ListCustomerMedia(ctx context.Context, req *mediav1.ListCustomerMediaRequest) (*mediav1.ListCustomerMediaResponse, error) {
	company, err := s.tenant(ctx)
	if err != nil {
		return nil, err
	}
	customer, err := customerOf(req.GetCustomerId())
	if err != nil {
		return nil, err
	}
	p, err := page.Read(page.Of(req), page.Order{Code: customerOrder, ID: "i.id", Within: customer.UUID()}, page.Sizes{Default: 50, Max: 200})
	if err != nil {
		return nil, err
	}
	if err := s.clients.customers.Require(ctx, company.ID, customer); err != nil {
		return nil, err
	}
	held, err := s.held(ctx, company, customer)
	if err != nil {
		return nil, err
	}
	g := grantsOf(customer, held, s.today(company))
	items, total, err := s.store.customerItems(ctx, company.ID, g, p)
	if err != nil {
		return nil, err
	}
	resp := &mediav1.ListCustomerMediaResponse{Total: total}
	items, resp.NextPageToken = page.Cut(p, items, func(i *Item) page.Cursor { return page.Cursor{ID: i.ID.UUID()} })
	resp.Media, err = s.customerMedia(ctx, company, g, held, items)
	return resp, err
}

// held returns what a customer holds that can matter in the company.
func (s *Server) held(ctx context.Context, company tenant, customer id.Customer) (held []holding, err error) {
	n, events, err := s.store.needs(ctx, company.ID, s.today(company))
	if err != nil {
		return nil, err
	}
	if n.passes {
		if held, err = s.clients.heldPasses(ctx, company.ID, customer, s.today(company)); err != nil {
			return nil, err
		}
	}
	if n.subscriptions {
		more, err := s.clients.heldSubscriptions(ctx, company.ID, customer, s.moment(company))
		if err != nil {
			return nil, err
		}
		held = append(held, more...)
	}
	if n.bookings {
		more, err := s.clients.heldBookings(ctx, company.ID, customer, events)
		if err != nil {
			return nil, err
		}
		held = append(held, more...)
	}
	return held, nil
}

// customerMedia returns the messages of a page of items, with reasons and progress.
func (s *Server) customerMedia(ctx context.Context, company tenant, g grants, held []holding, items []Item) ([]*mediav1.CustomerMedia, error) {
	if len(items) == 0 {
		return nil, nil
	}
	ids := make([]id.MediaItem, len(items))
	for n, i := range items {
		ids[n] = i.ID
	}
	rules, progress, err := s.store.rulesOfItems(ctx, company.ID, g, ids)
	if err != nil {
		return nil, err
	}
	out := make([]*mediav1.CustomerMedia, 0, len(items))
	for _, i := range items {
		m := &mediav1.CustomerMedia{Item: s.shown(company, i), Reason: reasonMessage(decide(i.ID, i.Collections, g.customer, rules, held, g.today))}
		if p, ok := progress[i.ID]; ok {
			m.Progress = progressMessage(&p)
		}
		out = append(out, m)
	}
	return out, nil
}

const (
	linkMinutes    = 240
	maxLinkMinutes = 720
)

// CreatePlaybackLink implements MediaService. It stores nothing, so a repeated call with an
// Idempotency-Key returns another link. The address is a credential, and stored responses are not secret.
func (s *Server) CreatePlaybackLink(ctx context.Context, req *mediav1.CreatePlaybackLinkRequest) (*mediav1.CreatePlaybackLinkResponse, error) {
	company, err := s.tenant(ctx)
	if err != nil {
		return nil, err
	}
	minutes := req.GetMinutes()
	if minutes == 0 {
		minutes = linkMinutes
	}
	var f check.Fields
	f.Range("minutes", int64(minutes), 1, maxLinkMinutes)
	if err := f.Err(); err != nil {
		return nil, err
	}
	customer, p, err := s.customerAndItem(ctx, company, req.GetCustomerId(), req.GetItemId())
	if err != nil {
		return nil, err
	}
	if err := p.item.requirePlayable(); err != nil {
		return nil, err
	}
	r, err := s.reason(ctx, company, customer, p)
	if err != nil {
		return nil, err
	}
	if r == nil {
		return nil, errNotEntitled()
	}
	expires := s.clock(company).Add(time.Duration(minutes) * time.Minute).Truncate(time.Second)
	link := play{company: company.ID, customer: customer, item: p.item.ID, file: p.item.FileID, reason: *r, expires: expires}
	return &mediav1.CreatePlaybackLinkResponse{
		Url: s.links.play(link), ExpiresAt: timestamp(expires), ContentType: p.item.FileType, Reason: reasonMessage(r),
	}, nil
}

func errNotEntitled() *fault.Error {
	return fault.Refuse(ReasonNotEntitled, "the customer has nothing that includes this item")
}

// RecordProgress implements MediaService. As for a playback link, the customer needs a reason to play the item.
func (s *Server) RecordProgress(ctx context.Context, req *mediav1.RecordProgressRequest) (*mediav1.RecordProgressResponse, error) {
	company, err := s.tenant(ctx)
	if err != nil {
		return nil, err
	}
	var f check.Fields
	f.Range("position_seconds", int64(req.GetPositionSeconds()), 0, maxDuration)
	if err := f.Err(); err != nil {
		return nil, err
	}
	customer, p, err := s.customerAndItem(ctx, company, req.GetCustomerId(), req.GetItemId())
	if err == nil && p.item.Status != statusPublished { // invariant 1
		err = fault.Missing("media item")
	}
	if err != nil {
		return nil, err
	}
	r, err := s.reason(ctx, company, customer, p)
	if err != nil {
		return nil, err
	}
	if r == nil {
		return nil, errNotEntitled()
	}
	resp := &mediav1.RecordProgressResponse{}
	return idem.Write(ctx, s.store, company.ID, req, resp, func(ctx context.Context, tx *pg.Tx) error {
		if err := customers.RequirePresent(ctx, tx, company.ID, customer); err != nil {
			return err
		}
		now := s.clock(company)
		before, err := s.store.lockProgress(ctx, tx, company.ID, customer, p.item.ID, now)
		if err != nil {
			return err
		}
		after := Progress{Item: p.item.ID, Position: req.GetPositionSeconds(), Completed: before.Completed || req.GetCompleted(), UpdatedAt: now}
		saveProgress(tx, company.ID, customer, after)
		resp.Progress = progressMessage(&after)
		var events []outbox.Event
		if after.Completed && !before.Completed {
			events = append(events, mediaCompleted(company.ID, p.item, customer))
		}
		return s.appendAll(ctx, tx, events)
	})
}

// ConfirmCustomerDeletion implements CustomerDeletionService. It reads only the customer's identifier from
// the request, so that a caller cannot use it to delete a customer.
//
// From then on, every request for the customer is refused, and so are the customer's links. Progress and
// entitlements stay until the customer is erased. // invariant 10
func (s *Server) ConfirmCustomerDeletion(ctx context.Context, req *customerv1.ConfirmCustomerDeletionRequest) (*customerv1.ConfirmCustomerDeletionResponse, error) {
	company, err := s.tenant(ctx)
	if err != nil {
		return nil, err
	}
	customer, err := customerOf(req.GetCustomerId())
	if err != nil {
		return nil, err
	}
	if err := customers.ConfirmDeletion(ctx, s.store.Store, s.clients.customers, company.ID, customer, s.clock(company)); err != nil {
		return nil, err
	}
	return &customerv1.ConfirmCustomerDeletionResponse{}, nil
}
