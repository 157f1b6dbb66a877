package gatewayb

import (
	"context"

	"reservation.dev/platform/edge"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/resource"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	edgebv1 "reservation.dev/proto/gen/reservation/edge/b/v1"
)

const (
	reasonNotOffered    = "NOT_OFFERED"
	reasonWaitlistEnded = "WAITLIST_ENDED"
)

// JoinWaitlist is POST /event-dates/{id}/waitlist.
func (f *facade) JoinWaitlist(ctx context.Context, req *edgebv1.JoinWaitlistRequest) (*edgebv1.JoinWaitlistResponse, error) {
	join, err := newWaitlistEntry(req.GetId(), req.GetEntry())
	if err != nil {
		return nil, f.missingDateOr(ctx, req.GetId(), err)
	}
	res, err := f.waitlist.JoinWaitlist(ctx, join)
	if err != nil {
		return nil, renameFields(err, waitlistNames(req.GetEntry()))
	}
	return &edgebv1.JoinWaitlistResponse{Entry: resource.WaitlistEntry(setCreated(ctx, "waitlist-entries", res.GetEntry()))}, nil
}

// ListWaitlistEntries is GET /waitlist-entries.
func (f *facade) ListWaitlistEntries(ctx context.Context, req *edgebv1.ListWaitlistEntriesRequest) (*edgebv1.ListWaitlistEntriesResponse, error) {
	var q edge.Query
	p := newPage(&q, parameters{req.Page, req.PerPage, req.Cursor, req.Sort, req.UpdatedSince}, 4)
	list := &bookingv1.ListWaitlistRequest{
		PageSize: p.size, PageToken: p.cursor, Offset: p.offset(), UpdatedSince: p.since, Order: bookingv1.WaitlistOrder(p.sort), IncludeEnded: true, WithClosed: true,
		EventDateId: identifier(req.EventDateId), CustomerId: identifier(req.CustomerId),
		State: queryChoice[bookingv1.WaitlistState](&q, "status", req.Status, resource.WaitlistStatusNames()),
	}
	if err := q.Err(); err != nil {
		return nil, err
	}
	res, err := noneIfMissing(f.waitlist.ListWaitlist(ctx, list))
	if err != nil {
		return nil, err
	}
	return &edgebv1.ListWaitlistEntriesResponse{
		WaitlistEntries: edge.Convert(res.GetEntries(), resource.WaitlistEntry),
		Total:           res.GetTotal(), Page: p.number, PerPage: p.size, NextCursor: nextCursor(res.GetNextPageToken()),
	}, nil
}

// GetWaitlistEntry is GET /waitlist-entries/{id}.
func (f *facade) GetWaitlistEntry(ctx context.Context, req *edgebv1.GetWaitlistEntryRequest) (*edgebv1.GetWaitlistEntryResponse, error) {
	res, err := f.waitlist.GetWaitlistEntry(ctx, &bookingv1.GetWaitlistEntryRequest{Id: req.GetId()})
	if err != nil {
		return nil, err
	}
	return &edgebv1.GetWaitlistEntryResponse{Entry: resource.WaitlistEntry(edge.Tag(ctx, res.GetEntry()))}, nil
}

// AcceptOffer is POST /waitlist-entries/{id}/accept.
func (f *facade) AcceptOffer(ctx context.Context, req *edgebv1.AcceptOfferRequest) (*edgebv1.AcceptOfferResponse, error) {
	var b body
	accept := &bookingv1.AcceptOfferRequest{Id: req.GetId(), ExpectedVersion: edge.ExpectedVersion(ctx)}
	accept.PaymentMethod, accept.CustomerPassId, accept.PaymentReference = b.payment(req.GetConfirmation().GetPayment())
	if err := b.Err(); err != nil {
		_, look := f.waitlist.GetWaitlistEntry(ctx, &bookingv1.GetWaitlistEntryRequest{Id: req.GetId()})
		return nil, missingOr(look, err)
	}
	res, err := f.waitlist.AcceptOffer(ctx, accept)
	if err != nil {
		return nil, renameFields(err, paymentNames(req.GetConfirmation().GetPayment()))
	}
	if res.GetAlreadyAccepted() {
		return nil, fault.Refuse(reasonNotOffered, "the spots are already booked")
	}
	return &edgebv1.AcceptOfferResponse{Transaction: taggedTransaction(ctx, res.GetTransaction())}, nil
}

// DeleteWaitlistEntry is DELETE /waitlist-entries/{id}.
func (f *facade) DeleteWaitlistEntry(ctx context.Context, req *edgebv1.DeleteWaitlistEntryRequest) (*edgebv1.DeleteWaitlistEntryResponse, error) {
	res, err := f.waitlist.LeaveWaitlist(ctx, &bookingv1.LeaveWaitlistRequest{Id: req.GetId(), ExpectedVersion: edge.ExpectedVersion(ctx)})
	if err != nil {
		return nil, err
	}
	if !res.GetChanged() {
		return nil, fault.Refuse(reasonWaitlistEnded, "the waitlist entry has already ended")
	}
	return &edgebv1.DeleteWaitlistEntryResponse{Id: req.GetId(), Deleted: true, Status: resource.StatusLeft}, nil
}
