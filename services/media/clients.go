package media

import (
	"context"
	"errors"
	"strconv"
	"time"

	"google.golang.org/grpc"

	"reservation.dev/platform/customers"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/rpc"
	"reservation.dev/platform/token"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
	subscriptionv1 "reservation.dev/proto/gen/reservation/subscription/v1"
)

// Clients looks up customers, and what they hold, in other services. It uses the media service's own
// credential, because a caller with the right to play media does not need the right to read bookings. Its
// errors are faults.
type Clients struct {
	source        *token.Source
	customers     *customers.Client
	passes        passv1.PassServiceClient
	plans         subscriptionv1.PlanServiceClient
	subscriptions subscriptionv1.SubscriptionServiceClient
	events        bookingv1.EventServiceClient
	bookings      bookingv1.BookingServiceClient
}

// Conns are the connections to the other services.
type Conns struct{ Customer, Pass, Subscription, Booking grpc.ClientConnInterface }

// NewClients returns clients of the services at conns that use the tokens of source.
func NewClients(conns Conns, source *token.Source) *Clients {
	return &Clients{
		source: source, customers: customers.NewClient(conns.Customer, source), passes: passv1.NewPassServiceClient(conns.Pass),
		plans: subscriptionv1.NewPlanServiceClient(conns.Subscription), subscriptions: subscriptionv1.NewSubscriptionServiceClient(conns.Subscription),
		events: bookingv1.NewEventServiceClient(conns.Booking), bookings: bookingv1.NewBookingServiceClient(conns.Booking),
	}
}

// requirePassType returns fault.NotFound unless the pass type exists.
func (c *Clients) requirePassType(ctx context.Context, company id.Company, passType id.PassType) error {
	_, err := c.passes.GetPassType(rpc.As(ctx, c.source, company), &passv1.GetPassTypeRequest{Id: passType.String()})
	return required("pass", "pass type", err)
}

// requirePlan returns fault.NotFound unless the plan exists.
func (c *Clients) requirePlan(ctx context.Context, company id.Company, plan id.Plan) error {
	_, err := c.plans.GetPlan(rpc.As(ctx, c.source, company), &subscriptionv1.GetPlanRequest{Id: plan.String()})
	return required("subscription", "plan", err)
}

// requireEvent returns fault.NotFound unless the event exists.
func (c *Clients) requireEvent(ctx context.Context, company id.Company, event id.Event) error {
	_, err := c.events.GetEvent(rpc.As(ctx, c.source, company), &bookingv1.GetEventRequest{Id: event.String(), MaxDates: 1})
	return required("booking", "event", err)
}

// required converts the error of a lookup of something that a request names.
func required(service, resource string, err error) error {
	if fault.Is(err, fault.NotFound) {
		return fault.Missing(resource)
	}
	return rpc.OwnError(service, err)
}

const (
	heldAtOnce = 200
	// maxHeld bounds what the service reads of one customer.
	maxHeld = 10_000
)

// ReasonTooManyHoldings is the reason for a customer who has more than the service reads.
const ReasonTooManyHoldings = "TOO_MANY_HOLDINGS"

func errTooMuchHeld() *fault.Error {
	return fault.Refuse(ReasonTooManyHoldings, "the customer has more than "+strconv.Itoa(maxHeld)+" current passes, subscriptions or bookings")
}

// pages calls read with the token of each page until there are no more. held is the number of current
// passes, subscriptions or bookings that were read so far.
func pages(read func(token string) (held int, next string, err error)) error {
	for token := ""; ; {
		held, next, err := read(token)
		switch {
		case err != nil:
			return err
		case held > maxHeld:
			return errTooMuchHeld()
		case next == "":
			return nil
		}
		token = next
	}
}

// heldPasses returns the passes of a customer that are active or exhausted, and valid on a day.
func (c *Clients) heldPasses(ctx context.Context, company id.Company, customer id.Customer, today time.Time) (held []holding, err error) {
	err = pages(func(token string) (int, string, error) {
		res, err := c.passes.ListCustomerPasses(rpc.As(ctx, c.source, company), &passv1.ListCustomerPassesRequest{
			CustomerId: customer.String(), PageSize: heldAtOnce, PageToken: token,
		})
		for _, p := range res.GetCustomerPasses() {
			held = appendPass(held, p, customer, today)
		}
		return len(held), res.GetNextPageToken(), rpc.OwnError("pass", err)
	})
	return held, err
}

// heldPass returns a pass if the customer has it, and it is active or exhausted, and valid on a day.
func (c *Clients) heldPass(ctx context.Context, company id.Company, customer id.Customer, pass id.UUID, today time.Time) ([]holding, error) {
	res, err := c.passes.GetCustomerPass(rpc.As(ctx, c.source, company), &passv1.GetCustomerPassRequest{Id: id.CustomerPass(pass).String()})
	if err != nil {
		return nil, unlessMissing("pass", err)
	}
	return appendPass(nil, res.GetCustomerPass(), customer, today), nil
}

// appendPass adds a pass if it entitles the customer today. A pass whose credits are used up before its first
// day has the status exhausted, so the first day is checked here.
func appendPass(held []holding, p *passv1.CustomerPass, customer id.Customer, today time.Time) []holding {
	switch p.GetStatus() {
	case passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_ACTIVE, passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_EXHAUSTED:
	default:
		return held
	}
	pass, err1 := id.Parse[id.CustomerPass](p.GetId())
	passType, err2 := id.Parse[id.PassType](p.GetPassTypeId())
	if errors.Join(err1, err2) != nil || p.GetCustomerId() != customer.String() {
		return held
	}
	if first := dayIn(p.GetStartDate()); first != nil && first.After(today) {
		return held
	}
	h := holding{kind: reasonPass, id: pass.UUID(), of: passType.UUID()}
	if !p.GetNeverExpires() {
		h.lastDay = dayIn(p.GetExpiryDate())
	}
	return appendCurrent(held, h, today)
}

// appendCurrent adds a holding unless its last day is over.
func appendCurrent(held []holding, h holding, today time.Time) []holding {
	if !h.holds(today) {
		return held
	}
	return append(held, h)
}

// heldSubscriptions returns the subscriptions of a customer that are in good standing at a time.
func (c *Clients) heldSubscriptions(ctx context.Context, company id.Company, customer id.Customer, at moment) (held []holding, err error) {
	err = pages(func(token string) (int, string, error) {
		res, err := c.subscriptions.ListSubscriptions(rpc.As(ctx, c.source, company), &subscriptionv1.ListSubscriptionsRequest{
			CustomerId: customer.String(), PageSize: heldAtOnce, PageToken: token,
		})
		for _, s := range res.GetSubscriptions() {
			held = appendSubscription(held, s, customer, at)
		}
		return len(held), res.GetNextPageToken(), rpc.OwnError("subscription", err)
	})
	return held, err
}

// heldSubscription returns a subscription if the customer has it and it is in good standing at a time.
func (c *Clients) heldSubscription(ctx context.Context, company id.Company, customer id.Customer, subscription id.UUID, at moment) ([]holding, error) {
	res, err := c.subscriptions.GetSubscription(rpc.As(ctx, c.source, company), &subscriptionv1.GetSubscriptionRequest{
		Id: id.Subscription(subscription).String(),
	})
	if err != nil {
		return nil, unlessMissing("subscription", err)
	}
	return appendSubscription(nil, res.GetSubscription(), customer, at), nil
}

// inGoodStanding reports whether a subscription is neither over, paused nor suspended at a time. A step of
// the subscription can be late, so the status alone does not decide.
func inGoodStanding(s *subscriptionv1.Subscription, at moment) bool {
	switch s.GetStatus() {
	case subscriptionv1.SubscriptionStatus_SUBSCRIPTION_STATUS_TRIALING, subscriptionv1.SubscriptionStatus_SUBSCRIPTION_STATUS_ACTIVE,
		subscriptionv1.SubscriptionStatus_SUBSCRIPTION_STATUS_ENDING, subscriptionv1.SubscriptionStatus_SUBSCRIPTION_STATUS_PAST_DUE:
	default:
		return false
	}
	if from := s.GetSuspendedFrom(); from != nil && !at.now.Before(from.AsTime()) {
		return false
	}
	return !isPaused(s.GetPause(), at.today)
}

// isPaused reports whether a day is in a pause, which can be without end.
func isPaused(p *subscriptionv1.Pause, today time.Time) bool {
	first, resumes := dayIn(p.GetFirstDay()), dayIn(p.GetResumesOn())
	return first != nil && !first.After(today) && (resumes == nil || resumes.After(today))
}

// appendSubscription adds a subscription if it entitles the customer at a time.
func appendSubscription(held []holding, s *subscriptionv1.Subscription, customer id.Customer, at moment) []holding {
	if !inGoodStanding(s, at) {
		return held
	}
	subscription, err1 := id.Parse[id.Subscription](s.GetId())
	plan, err2 := id.Parse[id.Plan](s.GetPlanId())
	if errors.Join(err1, err2) != nil || s.GetCustomerId() != customer.String() {
		return held
	}
	h := holding{kind: reasonSubscription, id: subscription.UUID(), of: plan.UUID(), lastDay: dayIn(s.GetLastDay())}
	for _, text := range s.GetMediaCollectionIds() {
		if collection, err := id.Parse[id.Collection](text); err == nil {
			h.collections = append(h.collections, collection)
		}
	}
	return appendCurrent(held, h, at.today)
}

// fewEvents is the number of events up to which each is looked up by itself.
const fewEvents = 3

// heldBookings returns the bookings of events for a customer that are not cancelled.
func (c *Clients) heldBookings(ctx context.Context, company id.Company, customer id.Customer, events []id.Event) (held []holding, err error) {
	if len(events) > fewEvents {
		return c.listBookings(ctx, company, customer, "")
	}
	for _, event := range events {
		found, err := c.listBookings(ctx, company, customer, event.String())
		if err != nil {
			return nil, err
		}
		held = append(held, found...)
	}
	return held, nil
}

func (c *Clients) listBookings(ctx context.Context, company id.Company, customer id.Customer, event string) (held []holding, err error) {
	err = pages(func(token string) (int, string, error) {
		res, err := c.bookings.ListRegistrations(rpc.As(ctx, c.source, company), &bookingv1.ListRegistrationsRequest{
			CustomerId: customer.String(), EventId: event, Cancelled: new(bool), PageSize: heldAtOnce, PageToken: token,
		})
		for _, r := range res.GetRegistrations() {
			held = appendBooking(held, r, customer)
		}
		return len(held), res.GetNextPageToken(), rpc.OwnError("booking", err)
	})
	return held, err
}

// heldBooking returns a booking if it is for the customer and not cancelled.
func (c *Clients) heldBooking(ctx context.Context, company id.Company, customer id.Customer, booking id.UUID) ([]holding, error) {
	res, err := c.bookings.GetRegistration(rpc.As(ctx, c.source, company), &bookingv1.GetRegistrationRequest{BookingId: id.Booking(booking).String()})
	if err != nil {
		return nil, unlessMissing("booking", err)
	}
	return appendBooking(nil, res.GetRegistration(), customer), nil
}

// appendBooking adds a booking if it entitles the customer. A booking for nobody else is for its purchaser.
func appendBooking(held []holding, r *bookingv1.Registration, customer id.Customer) []holding {
	b := r.GetBooking()
	attendee := r.GetPurchaser().GetId()
	if b.GetBoughtFor() != nil {
		attendee = b.GetBoughtFor().GetId()
	}
	booking, err1 := id.Parse[id.Booking](b.GetId())
	event, err2 := id.Parse[id.Event](b.GetEventId())
	if errors.Join(err1, err2) != nil || b.GetIsCancelled() || attendee != customer.String() {
		return held
	}
	return append(held, holding{kind: reasonBooking, id: booking.UUID(), of: event.UUID()})
}

// unlessMissing converts the error of a lookup by identifier. Something that does not exist is not held.
func unlessMissing(service string, err error) error {
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	return rpc.OwnError(service, err)
}

// dayIn reads a day; nil if there is none.
func dayIn(s string) *time.Time {
	day, err := time.Parse(time.DateOnly, s)
	if err != nil {
		return nil
	}
	return &day
}
