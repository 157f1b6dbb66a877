package media

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
	subscriptionv1 "reservation.dev/proto/gen/reservation/subscription/v1"
)

// fakeServices are fakes of the customer, pass, subscription and booking services, over real gRPC.
type fakeServices struct {
	customerv1.UnimplementedCustomerServiceServer
	addr string

	mu            sync.Mutex
	customers     map[string]bool // whether each is deleted
	passes        map[string]*passv1.CustomerPass
	subscriptions map[string]*subscriptionv1.Subscription
	registrations map[string]*bookingv1.Registration
	known         map[string]bool // pass types, plans and events
	down          bool            // pass, subscription and booking do not respond
	calls         map[string]int
}

type (
	fakePasses struct {
		passv1.UnimplementedPassServiceServer
		*fakeServices
	}
	fakePlans struct {
		subscriptionv1.UnimplementedPlanServiceServer
		*fakeServices
	}
	fakeSubscriptions struct {
		subscriptionv1.UnimplementedSubscriptionServiceServer
		*fakeServices
	}
	fakeEvents struct {
		bookingv1.UnimplementedEventServiceServer
		*fakeServices
	}
	fakeBookings struct {
		bookingv1.UnimplementedBookingServiceServer
		*fakeServices
	}
)

func newFakeServices(t testing.TB) *fakeServices {
	t.Helper()
	f := &fakeServices{
		customers: map[string]bool{}, passes: map[string]*passv1.CustomerPass{}, subscriptions: map[string]*subscriptionv1.Subscription{},
		registrations: map[string]*bookingv1.Registration{}, known: map[string]bool{}, calls: map[string]int{},
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := grpc.NewServer(grpc.UnaryInterceptor(f.intercept))
	customerv1.RegisterCustomerServiceServer(srv, f)
	passv1.RegisterPassServiceServer(srv, fakePasses{fakeServices: f})
	subscriptionv1.RegisterPlanServiceServer(srv, fakePlans{fakeServices: f})
	subscriptionv1.RegisterSubscriptionServiceServer(srv, fakeSubscriptions{fakeServices: f})
	bookingv1.RegisterEventServiceServer(srv, fakeEvents{fakeServices: f})
	bookingv1.RegisterBookingServiceServer(srv, fakeBookings{fakeServices: f})
	go func() { _ = srv.Serve(ln) }()
	t.Cleanup(srv.Stop)
	f.addr = ln.Addr().String()
	return f
}

// intercept counts the calls, and converts faults as the platform's servers do.
func (f *fakeServices) intercept(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	f.mu.Lock()
	f.calls[info.FullMethod]++
	down := f.down
	f.mu.Unlock()
	if _, isCustomers := info.Server.(*fakeServices); down && !isCustomers {
		return nil, fault.Status(fault.Away(context.DeadlineExceeded)).Err()
	}
	res, err := handler(ctx, req)
	if err != nil {
		return nil, fault.Status(err).Err()
	}
	return res, nil
}

func (f *fakeServices) conns(t testing.TB) Conns {
	conn := dial(t, f.addr)
	return Conns{Customer: conn, Pass: conn, Subscription: conn, Booking: conn}
}

// total returns the number of calls so far.
func (f *fakeServices) total() (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.calls {
		n += c
	}
	return n
}

func (f *fakeServices) set(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

func (f *fakeServices) customer() string {
	customer := id.New[id.Customer]().String()
	f.set(func() { f.customers[customer] = false })
	return customer
}

func (f *fakeServices) pass(customer, passType string) *passv1.CustomerPass {
	p := &passv1.CustomerPass{
		Id: id.New[id.CustomerPass]().String(), CustomerId: customer, PassTypeId: passType,
		Status: passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_ACTIVE, ExpiryDate: "2099-12-31",
	}
	f.set(func() { f.passes[p.GetId()], f.known[passType] = p, true })
	return p
}

func (f *fakeServices) subscription(customer, plan string, collections ...string) *subscriptionv1.Subscription {
	s := &subscriptionv1.Subscription{
		Id: id.New[id.Subscription]().String(), CustomerId: customer, PlanId: plan,
		Status: subscriptionv1.SubscriptionStatus_SUBSCRIPTION_STATUS_ACTIVE, MediaCollectionIds: collections,
	}
	f.set(func() { f.subscriptions[s.GetId()], f.known[plan] = s, true })
	return s
}

// booking books an event for a customer.
func (f *fakeServices) booking(customer, event string) *bookingv1.Registration {
	r := &bookingv1.Registration{
		Booking:   &bookingv1.Booking{Id: id.New[id.Booking]().String(), EventId: event, BoughtFor: &bookingv1.CustomerReference{Id: customer}},
		Purchaser: &bookingv1.CustomerReference{Id: id.New[id.Customer]().String()},
	}
	f.set(func() { f.registrations[r.GetBooking().GetId()], f.known[event] = r, true })
	return r
}

func (f *fakeServices) GetCustomer(_ context.Context, req *customerv1.GetCustomerRequest) (*customerv1.GetCustomerResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if deleted, ok := f.customers[req.GetId()]; !ok || deleted {
		return nil, fault.Missing("customer")
	}
	return &customerv1.GetCustomerResponse{Customer: &customerv1.Customer{Id: req.GetId()}}, nil
}

func (f *fakeServices) BatchGetCustomers(_ context.Context, req *customerv1.BatchGetCustomersRequest) (*customerv1.BatchGetCustomersResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	res := &customerv1.BatchGetCustomersResponse{}
	for _, customer := range req.GetIds() {
		deleted, ok := f.customers[customer]
		if !ok {
			continue
		}
		found := &customerv1.Customer{Id: customer}
		if deleted {
			found.DeletedAt = timestamppb.New(time.Now())
		}
		res.Customers = append(res.Customers, found)
	}
	return res, nil
}

func (f *fakeServices) require(name string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.known[name] {
		return fault.Missing("resource")
	}
	return nil
}

func (f fakePasses) GetPassType(_ context.Context, req *passv1.GetPassTypeRequest) (*passv1.GetPassTypeResponse, error) {
	return &passv1.GetPassTypeResponse{}, f.require(req.GetId())
}

func (f fakePlans) GetPlan(_ context.Context, req *subscriptionv1.GetPlanRequest) (*subscriptionv1.GetPlanResponse, error) {
	return &subscriptionv1.GetPlanResponse{}, f.require(req.GetId())
}

func (f fakeEvents) GetEvent(_ context.Context, req *bookingv1.GetEventRequest) (*bookingv1.GetEventResponse, error) {
	return &bookingv1.GetEventResponse{}, f.require(req.GetId())
}

func (f fakePasses) GetCustomerPass(_ context.Context, req *passv1.GetCustomerPassRequest) (*passv1.GetCustomerPassResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	p, ok := f.passes[req.GetId()]
	if !ok {
		return nil, fault.Missing("customer pass")
	}
	return &passv1.GetCustomerPassResponse{CustomerPass: p}, nil
}

// ListCustomerPasses returns pages of one pass, so that every test with two passes reads two pages.
func (f fakePasses) ListCustomerPasses(_ context.Context, req *passv1.ListCustomerPassesRequest) (*passv1.ListCustomerPassesResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var next *passv1.CustomerPass
	rest := 0
	for _, p := range f.passes {
		if p.GetCustomerId() == req.GetCustomerId() && p.GetId() > req.GetPageToken() {
			rest++
			if next == nil || p.GetId() < next.GetId() {
				next = p
			}
		}
	}
	res := &passv1.ListCustomerPassesResponse{}
	if next != nil {
		res.CustomerPasses = append(res.CustomerPasses, next)
	}
	if rest > 1 {
		res.NextPageToken = next.GetId()
	}
	return res, nil
}

func (f fakeSubscriptions) GetSubscription(_ context.Context, req *subscriptionv1.GetSubscriptionRequest) (*subscriptionv1.GetSubscriptionResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s, ok := f.subscriptions[req.GetId()]
	if !ok {
		return nil, fault.Missing("subscription")
	}
	return &subscriptionv1.GetSubscriptionResponse{Subscription: s}, nil
}

func (f fakeSubscriptions) ListSubscriptions(_ context.Context, req *subscriptionv1.ListSubscriptionsRequest) (*subscriptionv1.ListSubscriptionsResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	res := &subscriptionv1.ListSubscriptionsResponse{}
	for _, s := range f.subscriptions {
		if s.GetCustomerId() == req.GetCustomerId() {
			res.Subscriptions = append(res.Subscriptions, s)
		}
	}
	return res, nil
}

func (f fakeBookings) GetRegistration(_ context.Context, req *bookingv1.GetRegistrationRequest) (*bookingv1.GetRegistrationResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	r, ok := f.registrations[req.GetBookingId()]
	if !ok {
		return nil, fault.Missing("booking")
	}
	return &bookingv1.GetRegistrationResponse{Registration: r}, nil
}

func (f fakeBookings) ListRegistrations(_ context.Context, req *bookingv1.ListRegistrationsRequest) (*bookingv1.ListRegistrationsResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	res := &bookingv1.ListRegistrationsResponse{}
	for _, r := range f.registrations {
		b := r.GetBooking()
		matches := req.GetEventId() == "" || b.GetEventId() == req.GetEventId()
		if matches && b.GetBoughtFor().GetId() == req.GetCustomerId() && (req.Cancelled == nil || b.GetIsCancelled() == req.GetCancelled()) {
			res.Registrations = append(res.Registrations, r)
		}
	}
	return res, nil
}
