package reservectl

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/id"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
	reportsv1 "reservation.dev/proto/gen/reservation/reports/v1"
	subscriptionv1 "reservation.dev/proto/gen/reservation/subscription/v1"
)

// factory has the things of a company in the services that own them, and the facts of reports about them.
type factory struct {
	mu        sync.Mutex
	facts     map[string]*reportsv1.ReportFact
	events    []*bookingv1.Event
	bookings  []*bookingv1.BookingSnapshot
	passes    []*passv1.CustomerPassSnapshot
	subs      []*subscriptionv1.SubscriptionMovements
	customers []*customerv1.CustomerSnapshot
	wait      time.Duration
	// generation is 0 before the first build has ended, and isLate is set while reports lag.
	generation int64
	isLate     bool
	// sell is called after each reading of bookings or of their facts, if it is set.
	sell func(n int)
	read int
}

func newFactory() *factory {
	return &factory{facts: map[string]*reportsv1.ReportFact{}, generation: 1, wait: time.Minute}
}

// after returns the items after an identifier, and all items if it is "".
func after[T any](all []T, text string, idOf func(T) string) []T {
	i := slices.IndexFunc(all, func(v T) bool { return idOf(v) > text })
	if i < 0 {
		return nil
	}
	return all[i:]
}

func (b *books) StreamBookings(req *bookingv1.StreamBookingsRequest, out grpc.ServerStreamingServer[bookingv1.StreamBookingsResponse]) error {
	f := b.facts
	f.mu.Lock()
	defer f.mu.Unlock()
	all := after(f.bookings, req.GetAfterId(), func(s *bookingv1.BookingSnapshot) string { return s.GetBooking().GetId() })
	var err error
	for chunk := range slices.Chunk(all, 7) {
		err = errors.Join(err, out.Send(&bookingv1.StreamBookingsResponse{Bookings: chunk}))
	}
	f.sale()
	return err
}

// sale changes bookings.
func (f *factory) sale() {
	if f.read++; f.sell != nil {
		f.sell(f.read)
	}
}

func (b *books) StreamEvents(req *bookingv1.StreamEventsRequest, out grpc.ServerStreamingServer[bookingv1.StreamEventsResponse]) error {
	for chunk := range slices.Chunk(after(b.facts.events, req.GetAfterId(), (*bookingv1.Event).GetId), 2) {
		if err := out.Send(&bookingv1.StreamEventsResponse{Events: chunk}); err != nil {
			return err
		}
	}
	return nil
}

func (b *books) StreamCustomerPasses(req *passv1.StreamCustomerPassesRequest, out grpc.ServerStreamingServer[passv1.StreamCustomerPassesResponse]) error {
	idOf := func(s *passv1.CustomerPassSnapshot) string { return s.GetCustomerPass().GetId() }
	for _, s := range after(b.facts.passes, req.GetAfterId(), idOf) {
		for _, e := range s.GetLedgerEntries() { // an entry in each message
			part := &passv1.CustomerPassSnapshot{CustomerPass: s.GetCustomerPass(), LedgerEntries: []*passv1.LedgerEntry{e}}
			if err := out.Send(&passv1.StreamCustomerPassesResponse{CustomerPasses: []*passv1.CustomerPassSnapshot{part}}); err != nil {
				return err
			}
		}
	}
	return nil
}

func (b *books) StreamSubscriptionMovements(req *subscriptionv1.StreamSubscriptionMovementsRequest,
	out grpc.ServerStreamingServer[subscriptionv1.StreamSubscriptionMovementsResponse]) error {
	all := after(b.facts.subs, req.GetAfterId(), (*subscriptionv1.SubscriptionMovements).GetSubscriptionId)
	return out.Send(&subscriptionv1.StreamSubscriptionMovementsResponse{Subscriptions: all})
}

func (b *books) StreamCustomers(req *customerv1.StreamCustomersRequest, out grpc.ServerStreamingServer[customerv1.StreamCustomersResponse]) error {
	all := after(b.facts.customers, req.GetAfterId(), (*customerv1.CustomerSnapshot).GetId)
	return out.Send(&customerv1.StreamCustomersResponse{Customers: all})
}

func (b *books) GetReportStatus(_ context.Context, _ *reportsv1.GetReportStatusRequest) (*reportsv1.GetReportStatusResponse, error) {
	f := b.facts
	f.mu.Lock()
	defer f.mu.Unlock()
	asOf := time.Now()
	if f.isLate {
		asOf = asOf.Add(-time.Hour)
	}
	if f.sell != nil { // reports have applied the events of the sales until now
		for _, s := range f.bookings {
			f.know(ownedBooking(s))
		}
	}
	return &reportsv1.GetReportStatusResponse{Status: &reportsv1.ReportStatus{Generation: b.facts.generation, AsOf: timestamppb.New(asOf)}}, nil
}

func (b *books) VerifyReports(req *reportsv1.VerifyReportsRequest, out grpc.ServerStreamingServer[reportsv1.VerifyReportsResponse]) error {
	if b.wrongSum != nil && req.GetKind() == "" {
		if err := out.Send(&reportsv1.VerifyReportsResponse{Difference: b.wrongSum}); err != nil {
			return err
		}
	}
	f := b.facts
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, k := range (owners{}).kinds() {
		var all []*reportsv1.ReportFact
		for _, fact := range f.facts {
			if fact.GetKind() == k.name && (req.GetKind() == "" || slices.Contains(req.GetIds(), fact.GetId())) {
				all = append(all, fact)
			}
		}
		slices.SortFunc(all, func(a, b *reportsv1.ReportFact) int { return strings.Compare(k.key(a), k.key(b)) })
		for chunk := range slices.Chunk(all, 5) {
			if err := out.Send(&reportsv1.VerifyReportsResponse{Facts: chunk, Timezone: "Europe/London"}); err != nil {
				return err
			}
		}
	}
	f.sale()
	return out.Send(&reportsv1.VerifyReportsResponse{Checked: 8, VerifiedAt: timestamppb.Now()})
}

// know makes the facts of reports those of a thing.
func (f *factory) know(owned *ownedFact) {
	fact := owned.in(&reportedFact{timezone: "Europe/London"})
	f.facts[fact.GetId()] = proto.CloneOf(fact.ReportFact)
}

// fill adds things of every kind, which reports know.
func (f *factory) fill() {
	for range 3 {
		e := &bookingv1.Event{Id: id.New[id.Event]().String(), Version: 3}
		for i := range 4 {
			e.Dates = append(e.Dates, &bookingv1.EventDate{
				Id: id.New[id.EventDate]().String(), Timezone: "Europe/London", Capacity: proto.Int32(8),
				StartsAt: timestamppb.New(time.Date(2027, 5, 20-i, 23, 30, 0, 0, time.UTC)),
			})
		}
		slices.Reverse(e.Dates) // by start, as the owner streams them
		f.events = append(f.events, e)
		for _, d := range e.Dates {
			f.know(ownedDate(e, d))
		}
	}
	for i := range 40 {
		c := &customerv1.CustomerSnapshot{Id: id.New[id.Customer]().String(), Version: 1, CreatedAt: timestamppb.New(time.Date(2027, 5, 20, 23, 30, 0, 0, time.UTC))}
		f.customers = append(f.customers, c)
		f.know(ownedCustomer(c))
		b := f.booking(c.GetId())
		f.bookings = append(f.bookings, b)
		f.know(ownedBooking(b))
		p := &passv1.CustomerPassSnapshot{
			CustomerPass: &passv1.CustomerPass{
				Id: id.New[id.CustomerPass]().String(), Version: 2, RemainingUses: 9, TotalUses: 10, CreatedOn: "2027-05-01", ExpiryDate: "2028-05-01",
				PassTypeId: id.New[id.PassType]().String(), CustomerId: c.GetId(), Purchase: &passv1.PassPurchase{Gross: proto.Int64(9900), Currency: "GBP", Method: "CARD"},
			},
			LedgerEntries: []*passv1.LedgerEntry{
				{Sequence: 1, Kind: passv1.LedgerEntryKind_LEDGER_ENTRY_KIND_ASSIGNED, Credits: 10, Day: "2027-05-01"},
				{Sequence: 2, Kind: passv1.LedgerEntryKind_LEDGER_ENTRY_KIND_REDEEMED, Credits: -1, Day: "2027-05-02"},
			},
		}
		f.passes = append(f.passes, p)
		owned := ownedPass(p.GetCustomerPass())
		var ledger entryDigest
		ledger.add(1, "assigned", 10, "2027-05-01")
		ledger.add(2, "redeemed", -1, "2027-05-02")
		owned.Entries, owned.EntriesDigest = ledger.sum()
		f.know(owned)
		if i%10 == 0 {
			s := &subscriptionv1.SubscriptionMovements{SubscriptionId: id.New[id.Subscription]().String(), Movements: []*subscriptionv1.SubscriptionMovement{
				{Period: 1, Amount: 4000, Currency: "GBP", Method: "CARD", PlanId: id.New[id.Plan]().String(), Day: "2027-05-01"},
				{AccountEntry: 4, Amount: -1000, Currency: "GBP", Method: "CARD", PlanId: id.New[id.Plan]().String(), Day: "2027-05-09"},
			}}
			f.subs = append(f.subs, s)
			f.know(ownedSubscription(s))
		}
	}
}

// booking returns a booking of the first date.
func (f *factory) booking(customer string) *bookingv1.BookingSnapshot {
	return &bookingv1.BookingSnapshot{
		Version: 1, Purchaser: &bookingv1.CustomerReference{Id: customer},
		Booking: &bookingv1.Booking{
			Id: id.New[id.Booking]().String(), EventId: f.events[0].GetId(), EventDateId: f.events[0].GetDates()[0].GetId(), Spaces: 2,
		},
		Movements: []*bookingv1.MoneyMovement{{
			Sequence: 1, Day: "2027-05-01", Gross: 1160, Net: 967, Currency: "GBP", Method: bookingv1.PaymentMethod_PAYMENT_METHOD_CARD, TaxRateBasisPoints: 2000,
		}},
	}
}

func TestVerifyFacts(t *testing.T) {
	fact := func(f *factory, kind string) *reportsv1.ReportFact {
		for _, one := range f.facts {
			if one.GetKind() == kind {
				return one
			}
		}
		return nil
	}
	for name, tt := range map[string]struct {
		damage func(f *factory) (want string)
		err    error
	}{
		"finds no difference if reports and owners agree": {func(*factory) string { return "" }, nil},
		"ignores that a booking has a lower version than its purchase": {func(f *factory) string {
			fact(f, "booking").Version = 0
			return ""
		}, nil},
		"names a booking with other money": {func(f *factory) string {
			b := fact(f, "booking")
			b.Gross = 1161
			return "report.booking.gross " + b.GetId() + " 1161 1160"
		}, errDifferences},
		"names a booking whose payment has another day": {func(f *factory) string {
			b := fact(f, "booking")
			was := b.EntriesDigest
			b.EntriesDigest = []byte("other digest")
			return fmt.Sprintf("report.booking.movements %s 1 with digest %x 1 with digest %.8x", b.GetId(), "other di", was)
		}, errDifferences},
		"names a booking that reports miss": {func(f *factory) string {
			b := fact(f, "booking")
			delete(f.facts, b.GetId())
			return "report.booking.missing " + b.GetId() + " nothing version 1, status confirmed, spaces 2, gross 1160, net 967"
		}, errDifferences},
		"names a booking that only reports have": {func(f *factory) string {
			extra := proto.CloneOf(fact(f, "booking"))
			extra.Id = id.New[id.Booking]().String()
			f.facts[extra.Id] = extra
			return "report.booking.surplus " + extra.Id + " version 1, status confirmed, spaces 2, gross 1160, net 967 nothing"
		}, errDifferences},
		"names a date on another day": {func(f *factory) string {
			d := fact(f, "event_date")
			was := d.Day
			d.Day = "2027-01-01"
			return "report.event_date.day " + d.GetId() + " 2027-01-01 " + was
		}, errDifferences},
		"names a date that reports miss": {func(f *factory) string {
			d := fact(f, "event_date")
			delete(f.facts, d.GetId())
			return "report.event_date.missing " + d.GetId() + " nothing version 3, status scheduled, day " + d.Day + ", capacity 8"
		}, errDifferences},
		"names a pass with other credits": {func(f *factory) string {
			p := fact(f, "customer_pass")
			p.Quantity = 8
			return "report.customer_pass.remaining_uses " + p.GetId() + " 8 9"
		}, errDifferences},
		"names a subscription with other money": {func(f *factory) string {
			s := fact(f, "subscription")
			s.Net = 1
			return "report.subscription.net " + s.GetId() + " 1 3000"
		}, errDifferences},
		"names a customer who was created on another day": {func(f *factory) string {
			c := fact(f, "customer")
			c.Day = "2027-05-20"
			return "report.customer.day " + c.GetId() + " 2027-05-20 2027-05-21"
		}, errDifferences},
		"ignores a deleted customer": {func(f *factory) string {
			c := &customerv1.CustomerSnapshot{Id: id.New[id.Customer]().String(), Version: 2, DeletedAt: timestamppb.Now()}
			f.know(ownedCustomer(c))
			return ""
		}, nil},
		"ignores sales during the comparison": {func(f *factory) string {
			f.sell = func(n int) {
				if n > 4 {
					return
				}
				for _, s := range []*bookingv1.BookingSnapshot{f.bookings[n], f.bookings[7]} {
					s.Version++
					s.Booking = proto.CloneOf(s.Booking)
					s.Booking.Spaces++
				}
				f.bookings = append(f.bookings, f.booking(f.customers[0].GetId()))
			}
			f.bookings[20].Booking.Spaces++
			return ""
		}, nil},
		"says that reports are late": {func(f *factory) string {
			f.isLate, f.wait = true, time.Millisecond
			fact(f, "booking").Gross = 1
			return ""
		}, errNotYet},
		"says that reports are not built yet": {func(f *factory) string {
			f.generation, f.facts, f.wait = 0, nil, time.Millisecond
			return ""
		}, errNotYet},
		"says that a booking keeps changing": {func(f *factory) string {
			f.sell = func(int) {
				f.bookings[0] = proto.CloneOf(f.bookings[0])
				f.bookings[0].Version++
				f.bookings[0].Booking.Spaces++
			}
			return ""
		}, errNotYet},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := &books{facts: newFactory()}
			b.facts.fill()
			want := tt.damage(b.facts)
			out, errOut, err := b.verify(t)
			if !errors.Is(err, tt.err) || err == nil != (tt.err == nil) {
				t.Fatalf("got %v: %s %s", err, out, errOut)
			}
			if _, rows, _ := strings.Cut(out, "\n"); strings.Join(strings.Fields(rows), " ") != want {
				t.Errorf("got %q, want %q", rows, want)
			}
			if strings.Contains(errOut, "not compared: ") != errors.Is(tt.err, errNotYet) {
				t.Errorf("printed %q", errOut)
			}
		})
	}
}

func TestBefore(t *testing.T) {
	for text, want := range map[string]string{
		"evt_00000000000000000000000001": "",
		"evt_00000000000000000000000010": "evt_0000000000000000000000000z",
		"nothing":                        "",
	} {
		if got := before[id.Event](text); got != want {
			t.Errorf("before %s: got %q, want %q", text, got, want)
		}
	}
}
