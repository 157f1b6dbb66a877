package load

import (
	"context"
	"crypto/rand"
	"fmt"
	mathrand "math/rand/v2"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
	"reservation.dev/test/harness"
)

// studioDates is the number of dates over which bookings are spread.
const studioDates = 400

// studioKeys is the number of API keys. Clients take turns in using them, because a key has a rate
// limit.
const studioKeys = 64

// studioSize is the size of a studio.
type studioSize struct {
	dates, customers int
	clients          int // concurrent clients
}

// studio is a company whose customers book through Interface B. Its dates and its customers'
// passes are large enough for every benchmark.
type studio struct {
	company   *harness.Company
	baseB     string
	transport *http.Transport
	tokens    []string // of Interface B
	customers []string
	dates     []string // identifiers of events with one date each
	hotDate   string   // one more event
	next      atomic.Int64
}

func newStudio(b *testing.B, op *harness.Operator, baseB string, size studioSize) *studio {
	s := &studio{
		company: op.NewCompany(b, "Europe/London"), baseB: baseB, dates: make([]string, size.dates),
		transport: &http.Transport{MaxIdleConnsPerHost: size.clients, DisableCompression: true},
	}
	b.Cleanup(s.transport.CloseIdleConnections)
	face := harness.NewB(b, baseB)
	for range studioKeys {
		s.tokens = append(s.tokens, face.Token(b, s.company.NewKey(b, 10_000)))
	}
	s.customers = s.company.ImportCustomers(b, "buyer", size.customers)
	s.passes(b)
	soon := time.Now().AddDate(0, 1, 0).Truncate(time.Hour)
	each(b, size.dates, func(i int) (err error) {
		s.dates[i], err = s.event(b.Context(), soon.Add(time.Duration(i)*time.Hour))
		return err
	})
	var err error
	if s.hotDate, err = s.event(b.Context(), soon); err != nil {
		b.Fatal(err)
	}
	return s
}

// each calls do for the numbers below n, several at a time.
func each(b *testing.B, n int, do func(i int) error) {
	var next atomic.Int64
	atOnce(b, 8, n, func(int) error { return do(int(next.Add(1)) - 1) })
}

// passes gives every customer a pass.
func (s *studio) passes(b *testing.B) {
	ctx, passes := s.company.Ctx(b.Context()), s.company.Operator().Passes
	kind, err := passes.CreatePassType(ctx, &passv1.CreatePassTypeRequest{
		Title: "Unlimited classes", TotalUses: 100_000, ValidityCount: 6, ValidityUnit: passv1.ValidityUnit_VALIDITY_UNIT_MONTH,
	})
	if err != nil {
		b.Fatal(err)
	}
	each(b, len(s.customers), func(i int) error {
		_, err := passes.AssignCustomerPass(ctx, &passv1.AssignCustomerPassRequest{CustomerId: s.customers[i], PassTypeId: kind.GetPassType().GetId()})
		return err
	})
}

// event creates an event with one date, and returns its identifier.
func (s *studio) event(ctx context.Context, at time.Time) (string, error) {
	made, err := s.company.Operator().Events.CreateEvent(s.company.Ctx(ctx), &bookingv1.CreateEventRequest{
		Title: "Morning Vinyasa", PricingOptions: []*bookingv1.NewPricingOption{{Name: "Drop-in", Price: 1200, Credits: proto.Int32(1)}},
		Dates: []*bookingv1.NewEventDate{{StartsAt: timestamppb.New(at), DurationMinutes: 60, Capacity: proto.Int32(1_000_000)}},
	})
	return made.GetEvent().GetId(), err
}

func (s *studio) customer() string { return s.customers[s.next.Add(1)%int64(len(s.customers))] }
func (s *studio) token() string    { return s.tokens[s.next.Add(1)%studioKeys] }
func (s *studio) spread() string   { return s.dates[mathrand.IntN(len(s.dates))] }
func (s *studio) hot() string      { return s.hotDate }

// book buys one space of an event. The method is CARD or PASS. With keyed, the request has a new
// Idempotency-Key.
func (s *studio) book(ctx context.Context, event, method string, keyed keyed) error {
	body := fmt.Sprintf(`{"customerId":%q,"spots":1,"payment":{"method":%q}}`, s.customer(), method)
	return post(ctx, s.transport, s.baseB+"/events/"+event+"/registrations", s.token(), keyed.key(), body)
}

// keyed tells whether purchases have an Idempotency-Key.
type keyed bool

const (
	withKey    keyed = true
	withoutKey keyed = false
)

// key returns a new key, or "".
func (k keyed) key() string {
	if k == withoutKey {
		return ""
	}
	var u [16]byte
	_, _ = rand.Read(u[:]) // never fails
	u[6], u[8] = u[6]&0x0f|0x40, u[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:])
}

func (k keyed) String() string {
	if k {
		return "with a key"
	}
	return "without a key"
}
