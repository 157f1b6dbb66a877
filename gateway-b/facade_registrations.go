package gatewayb

import (
	"context"
	"strings"

	"reservation.dev/platform/edge"
	"reservation.dev/platform/enum"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/money"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	edgebv1 "reservation.dev/proto/gen/reservation/edge/b/v1"
	edgev1 "reservation.dev/proto/gen/reservation/edge/v1"
)

// A registration is a booking: its identifier has the same value behind another
// prefix.
const (
	registrationPrefix = "reg_"
	bookingPrefix      = "booking_"
)

func registrationID(booking string) string {
	return registrationPrefix + strings.TrimPrefix(booking, bookingPrefix)
}

// bookingID is "" for what is no registration's identifier.
func bookingID(registration string) string {
	value, ok := strings.CutPrefix(registration, registrationPrefix)
	if !ok {
		return ""
	}
	return bookingPrefix + value
}

// ListRegistrations is GET /events/{id}/registrations.
func (f *facade) ListRegistrations(ctx context.Context, req *edgebv1.ListRegistrationsRequest) (*edgebv1.ListRegistrationsResponse, error) {
	p, err := newPage(parameters{req.Page, req.PerPage, req.Cursor, req.Sort, req.UpdatedSince}, 2)
	if err != nil {
		return nil, f.unlessMissing(ctx, req.GetId(), err)
	}
	list := &bookingv1.ListRegistrationsRequest{
		EventId: req.GetId(), PageSize: p.size, PageToken: p.cursor, Offset: p.offset(), UpdatedSince: p.since,
		Order: bookingv1.RegistrationOrder(p.sort), EventDateId: identifier(req.EventDateId), CustomerId: identifier(req.CustomerId),
	}
	switch {
	case req.Status == nil:
	case req.GetStatus() == statusConfirmed, req.GetStatus() == statusCancelled:
		cancelled := req.GetStatus() == statusCancelled
		list.Cancelled = &cancelled
	default:
		return nil, f.unlessMissing(ctx, req.GetId(), fault.InvalidParameter("status", "enum", "must be confirmed or cancelled"))
	}
	res, err := f.bookings.ListRegistrations(ctx, list)
	if err != nil {
		return nil, named(err, listNames())
	}
	out := &edgebv1.ListRegistrationsResponse{Total: res.GetTotal(), Page: p.number, PerPage: p.size, NextCursor: next(res.GetNextPageToken())}
	for _, r := range res.GetRegistrations() {
		out.Registrations = append(out.Registrations, registration(r, companyCurrency(ctx)))
	}
	return out, nil
}

// CreateRegistration is POST /events/{id}/registrations.
func (f *facade) CreateRegistration(ctx context.Context, req *edgebv1.CreateRegistrationRequest) (*edgebv1.CreateRegistrationResponse, error) {
	create, err := newPurchase(req.GetId(), req.GetRegistration())
	if err != nil {
		return nil, f.unlessMissing(ctx, req.GetId(), err)
	}
	res, err := f.bookings.CreateTransaction(ctx, create)
	if err != nil {
		return nil, named(err, map[string]string{
			"lines[0].event_date_id": "eventDateId", "lines[0].spaces": "spots", "lines[0].pricing_option_id": "pricingOptionId",
			"lines[0].bought_for_id": "customerId", "purchaser_id": "customerId", "payment_reference": "payment.reference",
			"payment_method": "payment.method", "customer_pass_id": "payment.customerPassId",
		})
	}
	t := res.GetTransaction()
	made := registration(&bookingv1.Registration{
		Booking: t.GetBookings()[0], TransactionId: t.GetId(), Purchaser: t.GetPurchaser(), CreatedAt: t.GetBookings()[0].GetCreatedAt(),
	}, companyCurrency(ctx))
	edge.SetETag(ctx, t.GetVersion())
	created(ctx, "events/"+req.GetId()+"/registrations", made.GetId())
	return &edgebv1.CreateRegistrationResponse{Registration: made}, nil
}

// newPurchase converts the body of POST /events/{id}/registrations.
func newPurchase(event string, in *edgebv1.RegistrationWrite) (*bookingv1.CreateTransactionRequest, error) {
	if in == nil {
		in = &edgebv1.RegistrationWrite{}
	}
	var f faults
	line := &bookingv1.TransactionLine{
		EventId: event, EventDateId: identifier(in.EventDateId), PricingOptionId: identifier(in.PricingOptionId), Spaces: 1,
	}
	out := &bookingv1.CreateTransactionRequest{
		PurchaserId: in.GetCustomerId(), Lines: []*bookingv1.TransactionLine{line}, DiscountCode: in.GetDiscountCode(),
		PaymentReference: in.GetPayment().GetReference(), CustomerPassId: in.GetPayment().GetCustomerPassId(),
	}
	if in.CustomerId == nil || in.GetCustomerId() == "" {
		f.add("customerId", "required", "is required")
	}
	if in.PurchasedById != nil {
		out.PurchaserId, line.BoughtForId = in.GetPurchasedById(), in.GetCustomerId()
	}
	if in.Spots != nil {
		if line.Spaces = in.GetSpots(); line.Spaces < 1 {
			f.add("spots", "min", "must be 1 or more")
		}
	}
	if payment := in.GetPayment(); payment != nil {
		out.PaymentMethod = choice[bookingv1.PaymentMethod](&f, "payment.method", payment.Method, money.BookingMethods())
		if out.GetPaymentMethod() == bookingv1.PaymentMethod_PAYMENT_METHOD_PASS {
			out.CustomerPassId = identifier(payment.CustomerPassId)
		}
	}
	return out, f.err()
}

// find returns a registration of an event.
func (f *facade) find(ctx context.Context, event, registration string) (*bookingv1.Registration, error) {
	found, err := f.bookings.GetRegistration(ctx, &bookingv1.GetRegistrationRequest{BookingId: bookingID(registration)})
	if fault.Is(err, fault.NotFound) || err == nil && found.GetRegistration().GetBooking().GetEventId() != event {
		return nil, fault.Missing("registration")
	}
	return found.GetRegistration(), err
}

// GetRegistration is GET /events/{id}/registrations/{registration_id}.
func (f *facade) GetRegistration(ctx context.Context, req *edgebv1.GetRegistrationRequest) (*edgebv1.GetRegistrationResponse, error) {
	found, err := f.find(ctx, req.GetId(), req.GetRegistrationId())
	if err != nil {
		return nil, err
	}
	edge.SetETag(ctx, found.GetVersion())
	return &edgebv1.GetRegistrationResponse{Registration: registration(found, companyCurrency(ctx))}, nil
}

// DeleteRegistration is DELETE /events/{id}/registrations/{registration_id}.
func (f *facade) DeleteRegistration(ctx context.Context, req *edgebv1.DeleteRegistrationRequest) (*edgebv1.DeleteRegistrationResponse, error) {
	res, err := f.bookings.CancelBooking(ctx, &bookingv1.CancelBookingRequest{
		BookingId: bookingID(req.GetRegistrationId()), EventId: req.GetId(), ExpectedVersion: edge.ExpectedVersion(ctx),
	})
	if fault.Is(err, fault.NotFound) {
		return nil, fault.Missing("registration")
	}
	if err != nil {
		return nil, err
	}
	if !res.GetChanged() {
		return nil, fault.Refuse(reasonAlreadyCancelled, "the registration is cancelled already")
	}
	outcome := res.GetOutcome()
	return &edgebv1.DeleteRegistrationResponse{
		Id: req.GetRegistrationId(), Deleted: true, Status: statusCancelled, Late: outcome.GetLate(),
		CreditsReturned: outcome.GetCreditsReturned(), RefundDue: &edgev1.Amount{Minor: outcome.GetRefundDue()},
	}, nil
}

const (
	statusConfirmed = "confirmed"
	statusCancelled = "cancelled"

	reasonAlreadyCancelled = "ALREADY_CANCELLED"
)

// registration converts a booking. One paid by pass is free in the company's
// currency.
func registration(r *bookingv1.Registration, currency string) *edgebv1.Registration {
	b := r.GetBooking()
	who := b.GetBoughtFor()
	if who == nil {
		who = r.GetPurchaser()
	}
	out := &edgebv1.Registration{
		Id: registrationID(b.GetId()), EventId: b.GetEventId(), EventDateId: b.GetEventDateId(), EventTitle: b.GetEventTitle(),
		EventDate: utc(b.GetStartsAt()), CustomerId: who.GetId(), CustomerEmail: who.GetEmail(),
		CustomerName: strings.TrimSpace(who.GetFirstName() + " " + who.GetLastName()), Spots: b.GetSpaces(), Status: statusConfirmed,
		TransactionId: r.GetTransactionId(), CreatedAt: utc(r.GetCreatedAt()), CancelledAt: &edgev1.NullableText{},
		Attendance: enum.Name(b.GetAttendance()), Refunded: b.GetIsRefunded(),
		PassUsed: &edgev1.NullableText{}, DiscountCode: &edgev1.NullableText{}, TotalPaid: &edgev1.Amount{},
	}
	if out.GetAttendance() == "" {
		out.Attendance = enum.Name(bookingv1.Attendance_ATTENDANCE_UNKNOWN)
	}
	if b.GetIsCancelled() {
		out.Status = statusCancelled
		if at := utc(b.GetCancelledAt()); at != "" {
			out.CancelledAt.Value = &at
		}
	}
	switch p := b.GetPayment().(type) {
	case *bookingv1.Booking_Card:
		out.PaymentMethod, out.Currency, out.TotalPaid.Minor = money.MethodCard, p.Card.GetCurrency(), p.Card.GetGross()
		if code := p.Card.GetDiscountCode(); code != "" {
			out.DiscountCode.Value = &code
		}
	case *bookingv1.Booking_Pass:
		out.PaymentMethod, out.Currency = money.MethodPass, currency
		if pass := p.Pass.GetCustomerPassId(); pass != "" {
			out.PassUsed.Value = &pass
		}
	}
	return out
}

// companyCurrency is that of the caller's company.
func companyCurrency(ctx context.Context) string {
	if c := edge.Claims(ctx); c != nil {
		return c.Currency
	}
	return ""
}
