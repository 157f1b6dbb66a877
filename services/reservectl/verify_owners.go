package reservectl

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"iter"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc"

	"reservation.dev/platform/enum"
	"reservation.dev/platform/id"
	"reservation.dev/platform/zone"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
	reportsv1 "reservation.dev/proto/gen/reservation/reports/v1"
	subscriptionv1 "reservation.dev/proto/gen/reservation/subscription/v1"
)

// owners are sessions with the services that own what reports count.
type owners struct{ bookings, passes, subscriptions, customers *session }

// ownedFact is what an owner has of a thing, in the form of a fact of reports.
type ownedFact struct {
	*reportsv1.ReportFact
	createdAt time.Time // of a customer, whose day depends on the zone of the reports
}

// ownedKind is a kind of things with an owner.
type ownedKind struct {
	name, quantity, entries string
	refersTo                []string
	// isNested is set if the things are ordered by what they refer to.
	isNested bool
	// before returns the identifier after which a stream begins with the thing of a key.
	before func(key string) string
	// read streams the things after one, in the order of their keys. ctx ends the stream.
	read func(ctx context.Context, after string) iter.Seq2[*ownedFact, error]
}

// key returns the place of a fact in the order of its kind.
func (k *ownedKind) key(f *reportsv1.ReportFact) string {
	if k.isNested && len(f.GetRefersTo()) > 0 {
		return f.GetRefersTo()[0] + " " + f.GetId()
	}
	return f.GetId()
}

// kinds returns the kinds in the order in which reports stream them.
func (o owners) kinds() []*ownedKind {
	return []*ownedKind{
		{
			name: "booking", quantity: "spaces", entries: "movements", refersTo: []string{"event", "event_date", "customer"},
			before: before[id.Booking], read: items(o.bookings, o.streamBookings, ownedBooking),
		},
		{name: "customer", before: before[id.Customer], read: items(o.customers, o.streamCustomers, ownedCustomer)},
		{
			name: "customer_pass", quantity: "remaining_uses", entries: "ledger_entries", refersTo: []string{"pass_type", "customer"},
			before: before[id.CustomerPass], read: o.readPasses,
		},
		{
			name: "event_date", quantity: "capacity", refersTo: []string{"event"}, isNested: true,
			before: func(key string) string {
				event, _, _ := strings.Cut(key, " ")
				return before[id.Event](event)
			},
			read: o.readDates,
		},
		{name: "subscription", entries: "movements", before: before[id.Subscription], read: items(o.subscriptions, o.streamSubscriptions, ownedSubscription)},
	}
}

// before returns the identifier before one, or "" if there is none.
func before[T ~[16]byte, P interface {
	*T
	UnmarshalText([]byte) error
	String() string
}](text string) string {
	var v T
	if P(&v).UnmarshalText([]byte(text)) != nil {
		return ""
	}
	for i := len(v) - 1; i >= 0; i-- {
		v[i]--
		if v[i] != 0xff {
			break
		}
	}
	if v == (T{}) {
		return ""
	}
	return P(&v).String()
}

// find reads things by their ascending keys. It skips what lies far between two of them.
func (k *ownedKind) find(ctx context.Context, keys []string) (map[string]*ownedFact, error) {
	found := map[string]*ownedFact{}
	for len(keys) > 0 {
		rest, err := k.findFirst(ctx, keys, found)
		if err != nil {
			return nil, err
		}
		keys = rest
	}
	return found, nil
}

// findFirst reads from the first key on until many things in a row are not wanted, and returns the other keys.
func (k *ownedKind) findFirst(ctx context.Context, keys []string, found map[string]*ownedFact) ([]string, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	unwanted := 0
	for f, err := range k.read(ctx, k.before(keys[0])) {
		if err != nil {
			return nil, err
		}
		key := k.key(f.ReportFact)
		for len(keys) > 0 && keys[0] < key {
			keys = keys[1:]
		}
		if len(keys) == 0 {
			return nil, nil
		}
		unwanted++
		if keys[0] == key {
			found[key] = f
			keys, unwanted = keys[1:], 0
		}
		if unwanted == namedFacts {
			return keys, nil
		}
	}
	return nil, nil
}

// items returns a reader of a stream each of whose items is a fact.
func items[Res, T any](s *session, open func(ctx context.Context, after string) (grpc.ServerStreamingClient[Res], func(*Res) []T, error),
	convert func(T) *ownedFact) func(context.Context, string) iter.Seq2[*ownedFact, error] {
	return func(ctx context.Context, after string) iter.Seq2[*ownedFact, error] {
		return func(yield func(*ownedFact, error) bool) {
			for item, err := range messages(s, ctx, after, open) {
				var f *ownedFact
				if err == nil {
					f = convert(item)
				}
				if !yield(f, err) {
					return
				}
			}
		}
	}
}

// messages returns the items of a stream of a service. ctx ends the stream, and s has the credentials.
func messages[Res, T any](s *session, ctx context.Context, after string,
	open func(ctx context.Context, after string) (grpc.ServerStreamingClient[Res], func(*Res) []T, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		streamCtx, cancel := context.WithCancel(s.ctx)
		defer cancel()
		defer context.AfterFunc(ctx, cancel)()
		stream, itemsOf, err := open(streamCtx, after)
		for err == nil {
			var res *Res
			if res, err = stream.Recv(); err != nil {
				break
			}
			for _, item := range itemsOf(res) {
				if !yield(item, nil) {
					return
				}
			}
		}
		if !errors.Is(err, io.EOF) {
			yield(none, err)
		}
	}
}

// pull returns the next item of a sequence on each call, and io.EOF at its end.
func pull[T any](seq iter.Seq2[T, error]) (next func() ([]T, error), stop func()) {
	one, stop := iter.Pull2(seq)
	return func() ([]T, error) {
		item, err, ok := one()
		switch {
		case !ok:
			return nil, io.EOF
		case err != nil:
			return nil, err
		}
		return []T{item}, nil
	}, stop
}

func (o owners) streamBookings(ctx context.Context, after string) (grpc.ServerStreamingClient[bookingv1.StreamBookingsResponse],
	func(*bookingv1.StreamBookingsResponse) []*bookingv1.BookingSnapshot, error) {
	s, err := bookingv1.NewBookingSnapshotServiceClient(o.bookings.conn).StreamBookings(ctx, &bookingv1.StreamBookingsRequest{AfterId: after})
	return s, (*bookingv1.StreamBookingsResponse).GetBookings, err
}

func (o owners) streamEvents(ctx context.Context, after string) (grpc.ServerStreamingClient[bookingv1.StreamEventsResponse],
	func(*bookingv1.StreamEventsResponse) []*bookingv1.Event, error) {
	s, err := bookingv1.NewBookingSnapshotServiceClient(o.bookings.conn).StreamEvents(ctx, &bookingv1.StreamEventsRequest{AfterId: after})
	return s, (*bookingv1.StreamEventsResponse).GetEvents, err
}

func (o owners) streamCustomers(ctx context.Context, after string) (grpc.ServerStreamingClient[customerv1.StreamCustomersResponse],
	func(*customerv1.StreamCustomersResponse) []*customerv1.CustomerSnapshot, error) {
	s, err := customerv1.NewCustomerSnapshotServiceClient(o.customers.conn).StreamCustomers(ctx, &customerv1.StreamCustomersRequest{AfterId: after})
	return s, (*customerv1.StreamCustomersResponse).GetCustomers, err
}

func (o owners) streamPasses(ctx context.Context, after string) (grpc.ServerStreamingClient[passv1.StreamCustomerPassesResponse],
	func(*passv1.StreamCustomerPassesResponse) []*passv1.CustomerPassSnapshot, error) {
	s, err := passv1.NewPassSnapshotServiceClient(o.passes.conn).StreamCustomerPasses(ctx, &passv1.StreamCustomerPassesRequest{AfterId: after})
	return s, (*passv1.StreamCustomerPassesResponse).GetCustomerPasses, err
}

func (o owners) streamSubscriptions(ctx context.Context, after string) (grpc.ServerStreamingClient[subscriptionv1.StreamSubscriptionMovementsResponse],
	func(*subscriptionv1.StreamSubscriptionMovementsResponse) []*subscriptionv1.SubscriptionMovements, error) {
	s, err := subscriptionv1.NewSubscriptionSnapshotServiceClient(o.subscriptions.conn).StreamSubscriptionMovements(ctx,
		&subscriptionv1.StreamSubscriptionMovementsRequest{AfterId: after})
	return s, (*subscriptionv1.StreamSubscriptionMovementsResponse).GetSubscriptions, err
}

// readPasses reads passes. A pass with many entries comes in several items.
func (o owners) readPasses(ctx context.Context, after string) iter.Seq2[*ownedFact, error] {
	return func(yield func(*ownedFact, error) bool) {
		var last *ownedFact
		var ledger entryDigest
		finish := func() bool {
			if last == nil {
				return true
			}
			last.Entries, last.EntriesDigest = ledger.sum()
			return yield(last, nil)
		}
		for item, err := range messages(o.passes, ctx, after, o.streamPasses) {
			if err != nil {
				yield(nil, err)
				return
			}
			if last.id() != item.GetCustomerPass().GetId() {
				if !finish() {
					return
				}
				last, ledger = ownedPass(item.GetCustomerPass()), entryDigest{}
			}
			for _, e := range item.GetLedgerEntries() {
				ledger.add(e.GetSequence(), enum.Name(e.GetKind()), e.GetCredits(), e.GetDay())
			}
		}
		finish()
	}
}

// readDates reads the dates of events, without those of appointments. An event with many dates comes in several items.
func (o owners) readDates(ctx context.Context, after string) iter.Seq2[*ownedFact, error] {
	return func(yield func(*ownedFact, error) bool) {
		event := ""
		var dates []*ownedFact
		finish := func() bool {
			slices.SortFunc(dates, func(a, b *ownedFact) int { return compareText(a.GetId(), b.GetId()) })
			for _, d := range dates {
				if !yield(d, nil) {
					return false
				}
			}
			dates = nil
			return true
		}
		for item, err := range messages(o.bookings, ctx, after, o.streamEvents) {
			if err != nil {
				yield(nil, err)
				return
			}
			if item.GetId() != event && !finish() {
				return
			}
			event = item.GetId()
			if item.GetAppointmentTypeId() == "" && item.GetType() != bookingv1.EventType_EVENT_TYPE_APPOINTMENT {
				for _, d := range item.GetDates() {
					dates = append(dates, ownedDate(item, d))
				}
			}
		}
		finish()
	}
}

// entryDigest counts entries and computes their SHA-256, line by line.
type entryDigest struct {
	count int64
	hash  hash.Hash
}

func (d *entryDigest) add(values ...any) {
	if d.hash == nil {
		d.hash = sha256.New()
	} else {
		_, _ = d.hash.Write([]byte("\n"))
	}
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = fmt.Sprint(v)
	}
	_, _ = d.hash.Write([]byte(strings.Join(texts, " ")))
	d.count++
}

func (d *entryDigest) sum() (count int64, digest []byte) {
	if d.hash == nil {
		d.hash = sha256.New()
	}
	return d.count, d.hash.Sum(nil)
}

func (f *ownedFact) id() string {
	if f == nil {
		return ""
	}
	return f.GetId()
}

// dayIn returns the local day of a time; in UTC if the zone is unknown.
func dayIn(at time.Time, timezone string) string {
	loc, err := zone.Load(timezone)
	if err != nil {
		loc = time.UTC
	}
	return at.In(loc).Format(time.DateOnly)
}

func compareText(a, b string) int { return cmp.Compare(a, b) }

// isSame reports whether an owner has not changed a thing between two readings.
func isSame(a, b *ownedFact) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.GetVersion() == b.GetVersion() && isEqual(a.ReportFact, b.ReportFact)
}

// isEqual compares the contents of facts. The version of a booking rises with others of its purchase, and that of a
// date with its event, so versions can differ.
func isEqual(a, b *reportsv1.ReportFact) bool {
	return a.GetGross() == b.GetGross() && a.GetNet() == b.GetNet() && a.GetQuantity() == b.GetQuantity() && a.GetStatus() == b.GetStatus() &&
		a.GetDay() == b.GetDay() && slices.Equal(a.GetRefersTo(), b.GetRefersTo()) && slices.Equal(a.GetTerms(), b.GetTerms()) &&
		a.GetEntries() == b.GetEntries() && bytes.Equal(a.GetEntriesDigest(), b.GetEntriesDigest())
}
