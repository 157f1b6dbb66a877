package booking

import (
	"context"
	"encoding/binary"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

// registration is a confirmed booking as those see it who run the event: its
// transaction holds it alone.
type registration struct {
	Transaction
	changedAt time.Time
}

func (r *registration) booking() *Booking { return &r.Bookings[0] }

// createdAt is when the booking was made, to the millisecond. Its identifier
// begins with it (UUID version 7), so that the order of identifiers is that of
// creation, and no other column or index is needed for it.
func (r *registration) createdAt() time.Time { return madeAt(r.booking().ID.UUID()) }

// madeAt is the time with which an identifier begins.
func madeAt(u id.UUID) time.Time {
	return time.UnixMilli(int64(binary.BigEndian.Uint64(u[:8]) >> 16)).UTC()
}

// firstAt is the least identifier that could be made at a time.
func firstAt(at time.Time) id.UUID {
	var u id.UUID
	binary.BigEndian.PutUint64(u[:8], uint64(max(at.UnixMilli(), 0))<<16)
	return u
}

func (r *registration) toProto() *bookingv1.Registration {
	created := r.createdAt()
	updated := r.changedAt
	if updated.Before(created) {
		updated = created
	}
	return &bookingv1.Registration{
		Booking: bookingToProto(r.booking()), TransactionId: r.ID.String(), Purchaser: customerToProto(&r.Purchaser),
		CreatedAt: timestamppb.New(created), UpdatedAt: timestamppb.New(updated), Version: r.Version,
	}
}

// registrationsQuery says which registrations a list is to hold.
type registrationsQuery struct {
	paging
	event     id.Event
	date      id.EventDate // zero: of all
	customer  *id.Customer // nil: for all
	cancelled *bool        // nil: both
	since     time.Time    // zero: none
}

// registrationsQueryOf reads which registrations a list is to hold.
func registrationsQueryOf(r *bookingv1.ListRegistrationsRequest) (*registrationsQuery, error) {
	order := registrationsByCreation
	switch r.GetOrder() {
	case bookingv1.RegistrationOrder_REGISTRATION_ORDER_UNSPECIFIED, bookingv1.RegistrationOrder_REGISTRATION_ORDER_CREATED:
	case bookingv1.RegistrationOrder_REGISTRATION_ORDER_CREATED_DESC:
		order = registrationsByCreationDesc
	default:
		return nil, fault.InvalidParameter("order", "enum", "is not an order of registrations")
	}
	p, err := pagingOf(order, r.GetPageSize(), r.GetPageToken(), r.GetOffset(), usualPage, maxPage)
	if err != nil {
		return nil, err
	}
	q := &registrationsQuery{paging: p, cancelled: r.Cancelled}
	if q.since, err = boundOf("updated_since", r.GetUpdatedSince()); err != nil {
		return nil, err
	}
	if q.event, err = eventIDOf(r.GetEventId()); err != nil {
		return nil, err
	}
	if r.GetEventDateId() != "" {
		if q.date, err = id.Parse[id.EventDate](r.GetEventDateId()); err != nil {
			return nil, fault.Missing("event date")
		}
	}
	q.customer = id.Filter[id.Customer](r.GetCustomerId())
	return q, nil
}

// ListRegistrations implements BookingService.
func (s *Server) ListRegistrations(ctx context.Context, req *bookingv1.ListRegistrationsRequest) (*bookingv1.ListRegistrationsResponse, error) {
	company, err := s.tenant(ctx)
	if err != nil {
		return nil, err
	}
	q, err := registrationsQueryOf(req)
	if err != nil {
		return nil, err
	}
	ids, total, err := s.store.registrationIDs(ctx, company.ID, q)
	if err != nil {
		return nil, err
	}
	resp := &bookingv1.ListRegistrationsResponse{Total: total}
	if len(ids) > q.size {
		ids = ids[:q.size]
		resp.NextPageToken = cursor{order: q.order, id: ids[q.size-1].UUID()}.token()
	}
	list, err := s.store.registrations(ctx, company.ID, ids)
	if err != nil {
		return nil, err
	}
	for i := range list {
		resp.Registrations = append(resp.Registrations, list[i].toProto())
	}
	return resp, nil
}

// GetRegistration implements BookingService.
func (s *Server) GetRegistration(ctx context.Context, req *bookingv1.GetRegistrationRequest) (*bookingv1.GetRegistrationResponse, error) {
	company, err := s.tenant(ctx)
	if err != nil {
		return nil, err
	}
	which, err := bookingIDOf(req.GetBookingId())
	if err != nil {
		return nil, err
	}
	list, err := s.store.registrations(ctx, company.ID, []id.Booking{which})
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, fault.Missing("booking")
	}
	return &bookingv1.GetRegistrationResponse{Registration: list[0].toProto()}, nil
}
