package reports

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/id"
	"reservation.dev/platform/rpc"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	outboxv1 "reservation.dev/proto/gen/reservation/outbox/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
	subscriptionv1 "reservation.dev/proto/gen/reservation/subscription/v1"
)

// owned is the data of one company in the services that own them.
type owned struct {
	events    map[string]*bookingv1.Event
	bookings  map[string]*bookingv1.BookingSnapshot
	passTypes map[string]*passv1.PassType
	passes    map[string]*passv1.CustomerPassSnapshot
	plans     map[string]*subscriptionv1.Plan
	subs      map[string]*subscriptionv1.SubscriptionMovements
	customers map[string]*customerv1.CustomerSnapshot
}

func newOwned() *owned {
	return &owned{
		events: map[string]*bookingv1.Event{}, bookings: map[string]*bookingv1.BookingSnapshot{}, passTypes: map[string]*passv1.PassType{},
		passes: map[string]*passv1.CustomerPassSnapshot{}, plans: map[string]*subscriptionv1.Plan{},
		subs: map[string]*subscriptionv1.SubscriptionMovements{}, customers: map[string]*customerv1.CustomerSnapshot{},
	}
}

// sources is a fake of the snapshots of the services that own the data. It streams few items in a message.
type sources struct {
	bookingv1.UnimplementedBookingSnapshotServiceServer
	passv1.UnimplementedPassSnapshotServiceServer
	subscriptionv1.UnimplementedSubscriptionSnapshotServiceServer
	customerv1.UnimplementedCustomerSnapshotServiceServer
	outboxv1.UnimplementedOutboxServiceServer

	mu        sync.Mutex
	companies map[id.Company]*owned
	size      int
	// unpublished is when the oldest event was committed that is not published yet; nil: there is none.
	unpublished *time.Time
	now         func() time.Time
	// before is called before each message, without the lock, if it is set.
	before func() error
}

func newSources() *sources { return &sources{companies: map[id.Company]*owned{}, size: 7} }

// of returns the data of a company. The caller holds the lock, or is alone.
func (s *sources) of(company id.Company) *owned {
	if s.companies[company] == nil {
		s.companies[company] = newOwned()
	}
	return s.companies[company]
}

// stream sends the items of a map that come after one, in the order of their identifiers. It reads each
// message's items when it sends them, as the services do.
func stream[T proto.Message, R any](s *sources, out grpc.ServerStreamingServer[R], after string, all func(*owned) map[string]T, message func([]T) *R) error {
	company, err := rpc.Tenant(out.Context())
	if err != nil {
		return err
	}
	for {
		if s.before != nil {
			if err := s.before(); err != nil {
				return err
			}
		}
		s.mu.Lock()
		items := all(s.of(company))
		ids := slices.Sorted(maps.Keys(items))
		ids = slices.DeleteFunc(ids, func(key string) bool { return key <= after })
		ids = ids[:min(len(ids), s.size)]
		var found []T
		for _, key := range ids {
			found = append(found, proto.CloneOf(items[key]))
		}
		s.mu.Unlock()
		if len(found) == 0 {
			return nil
		}
		after = ids[len(ids)-1]
		if err := out.Send(message(found)); err != nil {
			return err
		}
	}
}

// GetPublished returns when the oldest event waits that is not published, or the time of the clock.
func (s *sources) GetPublished(context.Context, *outboxv1.GetPublishedRequest) (*outboxv1.GetPublishedResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.now == nil {
		return nil, errors.New("the service does not answer")
	}
	if s.unpublished == nil {
		return &outboxv1.GetPublishedResponse{PublishedUntil: timestamppb.New(s.now())}, nil
	}
	return &outboxv1.GetPublishedResponse{PublishedUntil: timestamppb.New(*s.unpublished)}, nil
}

func (s *sources) StreamEvents(req *bookingv1.StreamEventsRequest, out grpc.ServerStreamingServer[bookingv1.StreamEventsResponse]) error {
	return stream(s, out, req.GetAfterId(), func(o *owned) map[string]*bookingv1.Event { return o.events },
		func(all []*bookingv1.Event) *bookingv1.StreamEventsResponse {
			return &bookingv1.StreamEventsResponse{Events: all}
		})
}

func (s *sources) StreamBookings(req *bookingv1.StreamBookingsRequest, out grpc.ServerStreamingServer[bookingv1.StreamBookingsResponse]) error {
	return stream(s, out, req.GetAfterId(), func(o *owned) map[string]*bookingv1.BookingSnapshot { return o.bookings },
		func(all []*bookingv1.BookingSnapshot) *bookingv1.StreamBookingsResponse {
			return &bookingv1.StreamBookingsResponse{Bookings: all}
		})
}

func (s *sources) StreamPassTypes(req *passv1.StreamPassTypesRequest, out grpc.ServerStreamingServer[passv1.StreamPassTypesResponse]) error {
	return stream(s, out, req.GetAfterId(), func(o *owned) map[string]*passv1.PassType { return o.passTypes },
		func(all []*passv1.PassType) *passv1.StreamPassTypesResponse {
			return &passv1.StreamPassTypesResponse{PassTypes: all}
		})
}

func (s *sources) StreamCustomerPasses(req *passv1.StreamCustomerPassesRequest, out grpc.ServerStreamingServer[passv1.StreamCustomerPassesResponse]) error {
	return stream(s, out, req.GetAfterId(), func(o *owned) map[string]*passv1.CustomerPassSnapshot { return o.passes },
		func(all []*passv1.CustomerPassSnapshot) *passv1.StreamCustomerPassesResponse {
			return &passv1.StreamCustomerPassesResponse{CustomerPasses: all}
		})
}

func (s *sources) StreamPlans(req *subscriptionv1.StreamPlansRequest, out grpc.ServerStreamingServer[subscriptionv1.StreamPlansResponse]) error {
	return stream(s, out, req.GetAfterId(), func(o *owned) map[string]*subscriptionv1.Plan { return o.plans },
		func(all []*subscriptionv1.Plan) *subscriptionv1.StreamPlansResponse {
			return &subscriptionv1.StreamPlansResponse{Plans: all}
		})
}

func (s *sources) StreamSubscriptionMovements(req *subscriptionv1.StreamSubscriptionMovementsRequest,
	out grpc.ServerStreamingServer[subscriptionv1.StreamSubscriptionMovementsResponse],
) error {
	return stream(s, out, req.GetAfterId(), func(o *owned) map[string]*subscriptionv1.SubscriptionMovements { return o.subs },
		func(all []*subscriptionv1.SubscriptionMovements) *subscriptionv1.StreamSubscriptionMovementsResponse {
			return &subscriptionv1.StreamSubscriptionMovementsResponse{Subscriptions: all}
		})
}

func (s *sources) StreamCustomers(req *customerv1.StreamCustomersRequest, out grpc.ServerStreamingServer[customerv1.StreamCustomersResponse]) error {
	return stream(s, out, req.GetAfterId(), func(o *owned) map[string]*customerv1.CustomerSnapshot {
		return o.customers
	}, func(all []*customerv1.CustomerSnapshot) *customerv1.StreamCustomersResponse {
		return &customerv1.StreamCustomersResponse{Customers: all}
	})
}
