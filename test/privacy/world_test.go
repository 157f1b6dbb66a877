// Package privacy searches everything that a running platform stores (each database, the files of
// NATS, the logs) for the data of a customer, before and after the customer is erased.
package privacy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/rpc"
	"reservation.dev/platform/webhookevent"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
	privacyv1 "reservation.dev/proto/gen/reservation/privacy/v1"
	"reservation.dev/test/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }

const (
	// limit is the time limit for work of other processes.
	limit = time.Minute
	aDay  = 24 * time.Hour
)

// world is a cluster and a company that uses every feature with personal data.
type world struct {
	*harness.Cluster
	op       *harness.Operator
	company  *harness.Company
	waitlist bookingv1.WaitlistServiceClient
	audit    authv1.AuditServiceClient
	erasures privacyv1.ErasureServiceClient
	notes    customerv1.NoteServiceClient
	stores   map[string]privacyv1.PersonalDataServiceClient

	class, full *bookingv1.Event
	kind        string // the pass type
}

func newWorld(t *testing.T) *world {
	w := &world{Cluster: harness.StartCluster(t, harness.ClusterOptions{Webhooks: 1, GatewaysB: 1, Env: map[string]string{
		"ERASURE_SETTLE": "2s", "WEBHOOK_RETRIES": "1h", "WEBHOOK_BREAKER_FAILURES": "1000", "SHUTDOWN_DRAIN": "2s", "LOG_LEVEL": "debug",
	}})}
	w.op = w.Operator(t)
	w.company = w.op.NewCompany(t, "Europe/London")
	conns := map[string]*grpc.ClientConn{
		"auth": w.Connect(t, w.Auth), "customer": w.Connect(t, w.Customer), "booking": w.Connect(t, w.Booking),
		"pass": w.Connect(t, w.Pass), "subscription": w.Connect(t, w.Subscription), "media": w.Connect(t, w.Media), "webhook": w.Connect(t, w.Webhook),
	}
	w.stores = map[string]privacyv1.PersonalDataServiceClient{}
	for name, conn := range conns {
		w.stores[name] = privacyv1.NewPersonalDataServiceClient(conn)
	}
	w.waitlist, w.audit = bookingv1.NewWaitlistServiceClient(conns["booking"]), authv1.NewAuditServiceClient(conns["auth"])
	w.erasures, w.notes = privacyv1.NewErasureServiceClient(conns["customer"]), customerv1.NewNoteServiceClient(conns["customer"])

	// Both receivers repeat the request in their answer, one with a success, the other with a
	// refusal.
	for _, status := range []int{http.StatusOK, http.StatusInternalServerError} {
		w.company.NewEndpoint(t, w.Listen(t, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			rw.WriteHeader(status)
			_, _ = rw.Write(body)
		})), webhookevent.Types()...)
	}
	w.class, w.full = w.event(t, nil), w.event(t, proto.Int32(1))
	kind, err := w.op.Passes.CreatePassType(w.ctx(t, ""), &passv1.CreatePassTypeRequest{
		Title: "Ten classes", TotalUses: 10, Price: 9000, ValidityCount: 6, ValidityUnit: passv1.ValidityUnit_VALIDITY_UNIT_MONTH,
	})
	if err != nil {
		t.Fatal(err)
	}
	w.kind = kind.GetPassType().GetId()
	return w
}

func (w *world) event(t *testing.T, capacity *int32) *bookingv1.Event {
	t.Helper()
	made, err := w.op.Events.CreateEvent(w.ctx(t, ""), &bookingv1.CreateEventRequest{
		Title: "Evening Vinyasa", Type: bookingv1.EventType_EVENT_TYPE_WORKSHOP,
		Dates: []*bookingv1.NewEventDate{{
			StartsAt: timestamppb.New(time.Now().Add(7 * aDay).Truncate(time.Second)), DurationMinutes: 60, Capacity: capacity,
		}},
		PricingOptions: []*bookingv1.NewPricingOption{{Name: "Drop-in", Price: 1200, Credits: proto.Int32(1)}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return made.GetEvent()
}

// ctx returns a context for the company's calls, with an idempotency key unless key is "".
func (w *world) ctx(t *testing.T, key string) context.Context {
	ctx := w.company.Ctx(t.Context())
	if key == "" {
		return ctx
	}
	return rpc.WithIdempotencyKey(ctx, key)
}

// person is a customer with every kind of personal data. Each value contains the mark.
type person struct {
	id, mark string
	pass     string
}

// newPerson creates a customer with bookings, passes and all other kinds of data.
func (w *world) newPerson(t *testing.T, mark string) *person {
	t.Helper()
	p := &person{mark: mark}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	results := w.importCustomers(t, p.imported())
	if p.id = results[0].GetId(); p.id == "" {
		t.Fatalf("the import reported %v", results)
	}
	client := w.A(t)
	token := client.Token(t, w.company.NewClient(t))
	profile, err := json.Marshal(map[string]any{"firstname": mark + " first", "lastname": mark + " last", "email": mark + "@example.com", "mobile": mark + " 2"})
	must(err)
	put := harness.Request{Method: http.MethodPut, Path: "/customer/" + p.id + "/profile", Token: token, Body: string(profile),
		Header: http.Header{"Idempotency-Key": {"profile-" + mark}}}
	client.Do(t, put).Into(t, http.StatusOK, nil)

	// By card: one booking that stays, one that is cancelled, and the full class.
	for i, event := range []*bookingv1.Event{w.class, w.class} {
		bought, err := w.op.Bookings.CreateTransaction(w.ctx(t, fmt.Sprint("card-", i, mark)), &bookingv1.CreateTransactionRequest{
			PurchaserId: p.id, PaymentReference: "paid by " + mark, Lines: []*bookingv1.TransactionLine{{EventDateId: event.GetDates()[0].GetId(), Spaces: 1}},
		})
		must(err)
		if i == 1 {
			_, err := w.op.Bookings.CancelBooking(w.ctx(t, "cancel-"+mark), &bookingv1.CancelBookingRequest{BookingId: bought.GetTransaction().GetBookings()[0].GetId()})
			must(err)
		}
	}
	if _, err := w.waitlist.JoinWaitlist(w.ctx(t, "wait-"+mark), &bookingv1.JoinWaitlistRequest{
		EventDateId: w.full.GetDates()[0].GetId(), CustomerId: p.id,
	}); err != nil {
		t.Fatal(err)
	}
	w.company.ImportTransactions(t, &bookingv1.ImportedTransaction{
		Reference: "sale " + mark, Customer: "ref " + mark, PurchasedAt: timestamppb.New(time.Now().Add(-30 * aDay)),
		Bookings: []*bookingv1.ImportedBooking{{
			Spaces: 1, Date: &bookingv1.ImportedBooking_ImportedDate{ImportedDate: &bookingv1.ImportedDate{
				EventReference: "old", Title: "An old class", Type: bookingv1.EventType_EVENT_TYPE_CLASS,
				StartsAt: timestamppb.New(time.Now().Add(-20 * aDay).Truncate(time.Second)), DurationMinutes: 60,
			}},
			Payment: &bookingv1.ImportedBooking_Card{Card: &bookingv1.CardPayment{Currency: "GBP", Gross: 1000, Net: 800, Reference: "slip of " + mark}},
		}},
	})

	// A pass with a note, and a purchase by it.
	_, err = w.notes.CreateNote(w.ctx(t, "note-"+mark), &customerv1.CreateNoteRequest{
		CustomerId: p.id, Body: mark + " has asthma", Kind: customerv1.NoteKind_NOTE_KIND_HEALTH, Author: "friend of " + mark,
	})
	must(err)
	assigned, err := w.op.Passes.AssignCustomerPass(w.ctx(t, "pass-"+mark), &passv1.AssignCustomerPassRequest{
		CustomerId: p.id, PassTypeId: w.kind, Purchase: &passv1.PassPurchase{Reference: "receipt of " + mark},
	})
	must(err)
	p.pass = assigned.GetCustomerPass().GetId()
	_, err = w.op.Passes.AdjustCredits(w.ctx(t, "adjust-"+mark), &passv1.AdjustCreditsRequest{CustomerPassId: p.pass, Credits: 1, Reason: mark + " was ill"})
	must(err)
	_, err = w.op.Bookings.CreateTransaction(w.ctx(t, "by-pass-"+mark), &bookingv1.CreateTransactionRequest{
		PurchaserId: p.id, PaymentMethod: bookingv1.PaymentMethod_PAYMENT_METHOD_PASS, Lines: []*bookingv1.TransactionLine{{EventDateId: w.class.GetDates()[0].GetId(), Spaces: 2}},
	})
	must(err)

	// Audit entries as an internal team's program may write them.
	for i, e := range []*authv1.RecordAuditEntryRequest{
		{Action: "customer.update", Target: p.id, Details: []*authv1.AuditDetail{{Field: "name", Before: mark, After: mark + " last"}}},
		{Action: "customer_pass.adjust", Target: p.pass, Details: []*authv1.AuditDetail{{Field: "customer", After: p.id}, {Field: "reason", After: mark + " was ill"}}},
	} {
		_, err := w.audit.RecordAuditEntry(w.ctx(t, fmt.Sprint("audit-", i, p.id)), e)
		must(err)
	}
	return p
}

// imported returns the customer as an earlier system had it.
func (p *person) imported() *customerv1.ImportedCustomer {
	return &customerv1.ImportedCustomer{
		Reference: "ref " + p.mark, FirstName: p.mark, LastName: "of " + p.mark, Email: "old." + p.mark + "@example.com", Mobile: p.mark,
	}
}

func (w *world) importCustomers(t *testing.T, customers ...*customerv1.ImportedCustomer) []*customerv1.ImportCustomerResult {
	t.Helper()
	stream, err := w.op.Customers.ImportCustomers(w.ctx(t, ""))
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Send(&customerv1.ImportCustomersRequest{Customers: customers}); err != nil {
		t.Fatal(err)
	}
	res, err := stream.Recv()
	if err != nil {
		t.Fatal(err)
	}
	_ = stream.CloseSend()
	return res.GetResults()
}

// fill takes the only space of the full class.
func (w *world) fill(t *testing.T) {
	t.Helper()
	other := w.company.NewCustomer(t, "Somebody", "Else")
	if _, err := w.op.Bookings.CreateTransaction(w.ctx(t, ""), &bookingv1.CreateTransactionRequest{
		PurchaserId: other.GetId(), Lines: []*bookingv1.TransactionLine{{EventDateId: w.full.GetDates()[0].GetId(), Spaces: 1}},
	}); err != nil {
		t.Fatal(err)
	}
}

// export returns the exported records of a person, by service.
func (w *world) export(t *testing.T, p *person) map[string][]*privacyv1.PersonalRecord {
	t.Helper()
	all := map[string][]*privacyv1.PersonalRecord{}
	for name, store := range w.stores {
		stream, err := store.ExportPersonalData(w.ctx(t, ""), &privacyv1.ExportPersonalDataRequest{CustomerId: p.id})
		if err != nil {
			t.Fatal(err)
		}
		for {
			res, err := stream.Recv()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			all[name] = append(all[name], res.GetRecord())
		}
	}
	return all
}

// says reports whether any record contains a text.
func says(records []*privacyv1.PersonalRecord, text string) bool {
	for _, r := range records {
		if strings.Contains(strings.ToLower(r.GetJson()), strings.ToLower(text)) {
			return true
		}
	}
	return false
}
