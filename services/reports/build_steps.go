package reports

import (
	"context"

	"google.golang.org/grpc"

	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
	subscriptionv1 "reservation.dev/proto/gen/reservation/subscription/v1"
)

// step is a step of a build: it reads one snapshot.
type step struct {
	name  string
	shown string // in ReportStatus
	read  reading
}

const (
	firstStep = "events"
	// lastStep reads nothing: reports show the generation from then on.
	lastStep = "closing"
)

// steps are the steps of a build in their order, without the last one. Events come before bookings and
// customers come last, so that each fact is completed with the fewest changes; any order gives the same sums.
var steps = []step{
	{firstStep, "events", reads("booking",
		func(s *Snapshots, ctx context.Context, after string) (grpc.ServerStreamingClient[bookingv1.StreamEventsResponse], error) {
			return s.booking.StreamEvents(ctx, &bookingv1.StreamEventsRequest{AfterId: after})
		}, (*bookingv1.StreamEventsResponse).GetEvents, func(p *chunk, e *bookingv1.Event) {
			p.event(e)
			p.ids = append(p.ids, e.GetId())
		})},
	{"bookings", "bookings", reads("booking",
		func(s *Snapshots, ctx context.Context, after string) (grpc.ServerStreamingClient[bookingv1.StreamBookingsResponse], error) {
			return s.booking.StreamBookings(ctx, &bookingv1.StreamBookingsRequest{AfterId: after})
		}, (*bookingv1.StreamBookingsResponse).GetBookings, func(p *chunk, b *bookingv1.BookingSnapshot) {
			p.booking(b)
			p.ids = append(p.ids, b.GetBooking().GetId())
		})},
	{"pass_types", "passes", reads("pass",
		func(s *Snapshots, ctx context.Context, after string) (grpc.ServerStreamingClient[passv1.StreamPassTypesResponse], error) {
			return s.pass.StreamPassTypes(ctx, &passv1.StreamPassTypesRequest{AfterId: after})
		}, (*passv1.StreamPassTypesResponse).GetPassTypes, func(p *chunk, t *passv1.PassType) {
			p.passType(t)
			p.ids = append(p.ids, t.GetId())
		})},
	{"passes", "passes", reads("pass",
		func(s *Snapshots, ctx context.Context, after string) (grpc.ServerStreamingClient[passv1.StreamCustomerPassesResponse], error) {
			return s.pass.StreamCustomerPasses(ctx, &passv1.StreamCustomerPassesRequest{AfterId: after})
		}, (*passv1.StreamCustomerPassesResponse).GetCustomerPasses, func(p *chunk, c *passv1.CustomerPassSnapshot) {
			p.pass(c.GetCustomerPass(), c.GetLedgerEntries())
			p.ids = append(p.ids, c.GetCustomerPass().GetId())
		})},
	{"plans", "subscriptions", reads("subscription",
		func(s *Snapshots, ctx context.Context, after string) (grpc.ServerStreamingClient[subscriptionv1.StreamPlansResponse], error) {
			return s.subscription.StreamPlans(ctx, &subscriptionv1.StreamPlansRequest{AfterId: after})
		}, (*subscriptionv1.StreamPlansResponse).GetPlans, func(p *chunk, t *subscriptionv1.Plan) {
			p.plan(t)
			p.ids = append(p.ids, t.GetId())
		})},
	{"subscriptions", "subscriptions", reads("subscription",
		func(s *Snapshots, ctx context.Context, after string) (grpc.ServerStreamingClient[subscriptionv1.StreamSubscriptionMovementsResponse], error) {
			return s.subscription.StreamSubscriptionMovements(ctx, &subscriptionv1.StreamSubscriptionMovementsRequest{AfterId: after})
		}, (*subscriptionv1.StreamSubscriptionMovementsResponse).GetSubscriptions, func(p *chunk, m *subscriptionv1.SubscriptionMovements) {
			p.subscription(m.GetSubscriptionId(), m.GetMovements())
			p.ids = append(p.ids, m.GetSubscriptionId())
		})},
	{"customers", "customers", reads("customer",
		func(s *Snapshots, ctx context.Context, after string) (grpc.ServerStreamingClient[customerv1.StreamCustomersResponse], error) {
			return s.customer.StreamCustomers(ctx, &customerv1.StreamCustomersRequest{AfterId: after})
		}, (*customerv1.StreamCustomersResponse).GetCustomers, func(p *chunk, c *customerv1.CustomerSnapshot) {
			p.customer(c)
			p.ids = append(p.ids, c.GetId())
		})},
}

// nextStep returns the name of the step after one.
func nextStep(name string) string {
	for i, s := range steps[:len(steps)-1] {
		if s.name == name {
			return steps[i+1].name
		}
	}
	return lastStep
}

// stepNamed returns a step, or nil for the last one.
func stepNamed(name string) *step {
	for i := range steps {
		if steps[i].name == name {
			return &steps[i]
		}
	}
	return nil
}

// shownStep returns what ReportStatus calls a step.
func shownStep(name string) string {
	if s := stepNamed(name); s != nil {
		return s.shown
	}
	return name
}
