package admin

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/csvfile"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
)

// things is a fake of the imports of passes and bookings. It stores what it is sent, by reference.
type things struct {
	*backend
	mu       sync.Mutex
	passes   map[string]*passv1.ImportedCustomerPass
	bookings map[string]*bookingv1.ImportedTransaction
	// refusal is why the fake refuses the reference "no".
	refusal *bookingv1.ImportTransactionResult
	batches []int // the number of things of each request
}

// thingStream is the stream of one import.
type thingStream struct {
	grpc.ClientStream
	f         *things
	rehearsed map[string]bool // the passes of a dry run
	answer    proto.Message
}

func (f *things) NewStream(context.Context, *grpc.StreamDesc, string, ...grpc.CallOption) (grpc.ClientStream, error) {
	return &thingStream{f: f, rehearsed: map[string]bool{}}, nil
}

func (s *thingStream) SendMsg(m any) error {
	s.f.mu.Lock()
	defer s.f.mu.Unlock()
	switch req := m.(type) {
	case *passv1.ImportCustomerPassesRequest:
		s.f.batches = append(s.f.batches, len(req.GetCustomerPasses()))
		res := &passv1.ImportCustomerPassesResponse{}
		for _, p := range req.GetCustomerPasses() {
			r := &passv1.ImportCustomerPassResult{Reference: p.GetReference(), Outcome: passv1.ImportOutcome_IMPORT_OUTCOME_CREATED}
			switch {
			case p.GetReference() == "no":
				r.Outcome, r.Field, r.Message = passv1.ImportOutcome_IMPORT_OUTCOME_REFUSED, "purchase.reference", "must be shorter"
			case s.f.passes[p.GetReference()] != nil || s.rehearsed[p.GetReference()]:
				r.Outcome = passv1.ImportOutcome_IMPORT_OUTCOME_EXISTED
			case !req.GetDryRun():
				s.f.passes[p.GetReference()] = p
			default:
				s.rehearsed[p.GetReference()] = true
			}
			res.Results = append(res.Results, r)
		}
		s.answer = res
	case *bookingv1.ImportTransactionsRequest:
		s.f.batches = append(s.f.batches, len(req.GetTransactions()))
		res := &bookingv1.ImportTransactionsResponse{}
		for _, t := range req.GetTransactions() {
			r := &bookingv1.ImportTransactionResult{Reference: t.GetReference(), Outcome: bookingv1.ImportOutcome_IMPORT_OUTCOME_CREATED}
			switch {
			case t.GetReference() == "no":
				r = s.f.refusal
			case s.f.bookings[t.GetReference()] != nil:
				r.Outcome = bookingv1.ImportOutcome_IMPORT_OUTCOME_EXISTED
			case !req.GetDryRun():
				s.f.bookings[t.GetReference()] = t
			}
			res.Results = append(res.Results, r)
		}
		s.answer = res
	default:
		return fmt.Errorf("no fake of %T", m)
	}
	return nil
}

func (s *thingStream) RecvMsg(m any) error {
	if s.answer == nil {
		return io.EOF
	}
	proto.Merge(m.(proto.Message), s.answer)
	return nil
}

func (s *thingStream) CloseSend() error { return nil }

// newThings returns the dashboard with the fake. Ann and Ben are customers, and two customers are called Twin.
func newThings(t *testing.T) (*world, *things) {
	t.Helper()
	w := newWorld(t)
	f := &things{
		backend: w.backend, passes: map[string]*passv1.ImportedCustomerPass{}, bookings: map[string]*bookingv1.ImportedTransaction{},
		refusal: &bookingv1.ImportTransactionResult{
			Outcome: bookingv1.ImportOutcome_IMPORT_OUTCOME_REFUSED, Field: "bookings[1].existing_date", Message: "bookings[1].existing_date does not exist: no event",
		},
	}
	w.web.services = connectionsTo(f).services()
	w.signIn()
	all := []*customerv1.Customer{
		{Id: "cust_1", Email: "Ann@example.com", Reference: "C-1"}, {Id: "cust_2", Email: "ben@example.com"},
		{Id: "cust_3", Email: "twin@example.com"}, {Id: "cust_4", Email: "twin@example.com"},
	}
	on(w.backend, "BatchGetCustomers", func(req *customerv1.BatchGetCustomersRequest) (*customerv1.BatchGetCustomersResponse, error) {
		if n := len(req.GetIds()) + len(req.GetReferences()) + len(req.GetEmails()); n > 5000 {
			t.Errorf("looks up %d names with one call", n)
		}
		res := &customerv1.BatchGetCustomersResponse{}
		for _, c := range all {
			named := slices.ContainsFunc(req.GetEmails(), func(e string) bool { return strings.EqualFold(e, c.GetEmail()) })
			if named || slices.Contains(req.GetIds(), c.GetId()) || slices.Contains(req.GetReferences(), c.GetReference()) {
				res.Customers = append(res.Customers, c)
			}
		}
		return res, nil
	})
	on(w.backend, "FindImportedPasses", func(req *passv1.FindImportedPassesRequest) (*passv1.FindImportedPassesResponse, error) {
		res := &passv1.FindImportedPassesResponse{}
		if slices.Contains(req.GetReferences(), "cp_old") {
			res.Passes = []*passv1.ImportedPass{{Reference: "cp_old", CustomerPassId: "cp_new"}}
		}
		return res, nil
	})
	return w, f
}

// imported checks a file and imports it, and returns the page of the check and of the import.
func (w *world) imported(kind, file string) (preview, done answer) {
	w.t.Helper()
	preview = w.uploadOf(kind, "preview", file)
	return preview, w.uploadOf(kind, "import", file, "digest", digestOf(w.t, preview))
}

const passesFile = `customer_pass_id,customer_id,email,pass_type_id,title,subscription_id,status,total_uses,remaining_uses,unlimited_uses,start_date,expiry_date,gross,currency,method,payment_reference,created_at
cp_1,cust_elsewhere,ann@example.com,pass_1,Ten,,paused,10,4,false,2026-01-01,2026-12-31,110.50,eur,cash,R-1,2026-01-01T09:00:00Z
cp_2,C-1,,,Ten,,expired,,,true,2026-01-01,,,,,,
cp_3,,nobody@example.com,,Ten,,,,,,2026-01-01,,,,,,
cp_4,,twin@example.com,,Ten,,,,,,2026-01-01,,,,,,
cp_5,cust_elsewhere,,,Ten,,,,,,2026-01-01,,,,,,
cp_6,,,,Ten,,,,,,2026-01-01,,,,,,
cp_7,,ben@example.com,,Ten,sub_1,,,,,2026-01-01,,,,,,
cp_8,,ben@example.com,,Ten,,gone,,,,2026-01-01,,,,,,
cp_9,,ben@example.com,,Ten,,,ten,,,2026-01-01,,,,,,
no,,ben@example.com,,Ten,,,,,,2026-01-01,,"1,000.00",,,,
no,,ben@example.com,,Ten,,,,,,2026-01-01,,1,,,,
`

func TestImportOfPasses(t *testing.T) {
	t.Parallel()
	w, fake := newThings(t)
	preview, done := w.imported("passes", passesFile)
	t.Run("says what it would do, with the reasons by line", func(t *testing.T) {
		preview.must(t, "2 passes would be imported", "9 rows would be refused", "Import 2 passes", `action="/imports/passes"`,
			`<td>4</td>`, "no customer with the e-mail address “nobody@example.com”", "several customers with the e-mail address “twin@example.com”: fill in customer_id",
			"no customer with the identifier or reference “cust_elsewhere”", "no customer: fill in email or customer_id", "belongs to a subscription",
			"must be active, paused or cancelled", "must be a whole number", "must be an amount such as 12.50", "must be shorter")
	})
	t.Run("imports the columns of the export, for the customers of this company", func(t *testing.T) {
		done.must(t, "2 passes were imported", "9 rows were refused")
		first, second := fake.passes["cp_1"], fake.passes["cp_2"]
		want := &passv1.ImportedCustomerPass{
			Reference: "cp_1", CustomerId: "cust_1", PassTypeId: "pass_1", Title: "Ten", TotalUses: proto.Int32(10), RemainingUses: proto.Int32(4),
			StartDate: "2026-01-01", ExpiryDate: "2026-12-31", Status: passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_PAUSED, CreatedAt: first.GetCreatedAt(),
			Purchase: &passv1.ImportedPassPurchase{Gross: 11050, Currency: "EUR", Method: "CASH", Reference: "R-1"},
		}
		if !proto.Equal(want, first) || first.GetCreatedAt().AsTime().Format("2006-01-02T15:04") != "2026-01-01T09:00" {
			t.Errorf("got %v, want %v", first, want)
		}
		if second.GetCustomerId() != "cust_1" || !second.GetUnlimitedUses() || second.TotalUses != nil || second.GetPurchase() != nil {
			t.Errorf("got %v", second)
		}
	})
	t.Run("is in the audit log", func(t *testing.T) {
		calls := w.backend.called("RecordAuditEntry")
		if len(calls) != 1 || calls[0].req.(*authv1.RecordAuditEntryRequest).GetTarget() != "passes" {
			t.Errorf("got %v", calls)
		}
	})
	t.Run("changes nothing the second time", func(t *testing.T) {
		_, again := w.imported("passes", passesFile)
		again.must(t, "0 passes were imported", "2 passes exist already")
	})
	t.Run("refuses a row whose reference is that of a row before, unless that one is refused", func(t *testing.T) {
		const file = "reference,customer_id,pass_type_id,title,start_date,total_uses,remaining_uses,gross,currency,payment_reference\n" +
			"new,cust_nobody,pass_1,Ten,2026-03-01,10,10,,,\nnew,cust_1,pass_1,Ten,2026-01-01,10,4,,,\nnew,cust_1,pass_1,Ten,2026-02-01,10,10,,,\n"
		preview, done := w.imported("passes", file)
		preview.must(t, "1 pass would be imported", "2 rows would be refused", `<td>4</td>`, "is the same as in line 3")
		done.must(t, "1 pass was imported", "2 rows were refused")
		if got := fake.passes["new"].GetStartDate(); got != "2026-01-01" {
			t.Errorf("the pass starts on %s", got)
		}
		_, again := w.imported("passes", file)
		again.must(t, "0 passes were imported", "1 pass exists already", "2 rows were refused")
	})
}

const bookingsFile = `transaction_id,purchaser_id,customer_id,purchased_at,event_date_id,pricing_option_id,customer_pass_id,event,starts_at,zone,email,purchaser_email,spaces,status,method,currency,gross,net,refunded,credits_used
txn_1,cust_a,cust_b,2026-03-01T12:00:00Z,date_1,po-1,,Yoga,2026-03-29T08:30:00Z,Europe/Berlin,ben@example.com,ann@example.com,2,cancelled,BANK_TRANSFER,GBP,24.00,20.00,24.00,
txn_2,,,2026-03-01 12:00,,,cp_old,Yoga,2026-03-29 10:30,Europe/Berlin,ben@example.com,,,booked,PASS,,,,,3
txn_1,cust_a,,2026-03-01T12:00:00Z,date_2,,,,,,,ann@example.com,1,,CASH,GBP,12,,,
txn_3,,,2026-03-01,date_1,,,,,,ben@example.com,,1,,FREE,,,,,
txn_3,,,2026-03-01,date_1,,,,,,nobody@example.com,,1,,FREE,,,,,
no,,,2026-03-01,date_1,,,,,,ben@example.com,,1,,FREE,,,,,
no,,,2026-03-01,,,,Yoga,2026-03-29 10:30,,ben@example.com,,1,,FREE,,,,,
txn_5,,,2026-03-01,date_1,,cp_gone,,,,ben@example.com,,1,,PASS,,,,,1
txn_6,,,2026-03-01,date_1,,,,,,ben@example.com,,1,,CARD,GBP,10.00,,5.00,
txn_7,,,yesterday,date_1,,,,,,ben@example.com,,1,,CARD,GBP,10.00,,,
txn_8,,,2026-03-01,date_1,,,,,Mars/Base,ben@example.com,,1,,GOLD,GBP,10.00,,,
`

func TestImportOfBookings(t *testing.T) {
	t.Parallel()
	w, fake := newThings(t)
	preview, done := w.imported("bookings", bookingsFile)
	t.Run("says what it would do, and refuses all rows of a purchase together", func(t *testing.T) {
		preview.must(t, "3 bookings would be imported", "8 rows would be refused", "Import 3 bookings",
			"no customer with the e-mail address “nobody@example.com”", "belongs to the same purchase as line 6, which is refused",
			"does not exist: no event", "belongs to the same purchase as line 8, which is refused",
			"no pass with the identifier or reference “cp_gone”", "must be 0 or the whole price", "must be a date", "must be a time zone")
	})
	t.Run("imports the columns of the export, and joins the rows of a purchase from anywhere in the file", func(t *testing.T) {
		done.must(t, "3 bookings were imported", "8 rows were refused")
		first, second := fake.bookings["txn_1"], fake.bookings["txn_2"]
		if len(fake.bookings) != 2 || first.GetCustomer() != "cust_1" || len(first.GetBookings()) != 2 {
			t.Fatalf("got %v", fake.bookings)
		}
		b := first.GetBookings()[0]
		want := &bookingv1.ImportedBooking{
			Spaces: 2, IsCancelled: true, IsRefunded: true, BoughtFor: "cust_2", PricingOptionId: "po-1",
			Date: &bookingv1.ImportedBooking_ExistingDate{ExistingDate: &bookingv1.ExistingDate{EventDateId: "date_1", Title: "Yoga", StartsAt: b.GetExistingDate().GetStartsAt()}},
			Payment: &bookingv1.ImportedBooking_Card{Card: &bookingv1.CardPayment{
				Method: bookingv1.PaymentMethod_PAYMENT_METHOD_BANK_TRANSFER, Currency: "GBP", Gross: 2400, Net: 2000,
			}},
		}
		if !proto.Equal(want, b) {
			t.Errorf("got %v, want %v", b, want)
		}
		if b := first.GetBookings()[1]; b.GetBoughtFor() != "" || b.GetCard().GetNet() != 1200 || b.GetExistingDate().GetEventDateId() != "date_2" {
			t.Errorf("got %v", b)
		}
		b = second.GetBookings()[0]
		if second.GetCustomer() != "cust_2" || b.GetPass().GetCustomerPassId() != "cp_new" || b.GetPass().GetCreditsUsed() != 3 || b.GetSpaces() != 1 ||
			b.GetExistingDate().GetStartsAt().AsTime().Format("15:04") != "08:30" || second.GetPurchasedAt().AsTime().Format("15:04") != "12:00" {
			t.Errorf("got %v", second)
		}
	})
	t.Run("returns all rows of refused purchases as a file that can be corrected", func(t *testing.T) {
		a := w.uploadOf("bookings", "refused", bookingsFile)
		r, err := csvfile.NewReader(strings.NewReader(a.body), bookingsImport().columns)
		if err != nil {
			t.Fatal(err)
		}
		var references []string
		for {
			row, err := r.Read()
			if err != nil {
				break
			}
			references = append(references, row.Get("transactionid"))
		}
		if diff := cmp.Diff([]string{"txn_3", "txn_3", "no", "no", "txn_5", "txn_6", "txn_7", "txn_8"}, references); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
		if want := `filename="riverside-bookings-refused.csv"`; !strings.Contains(a.Header.Get("Content-Disposition"), want) {
			t.Errorf("got %v", a.Header)
		}
		corrected := strings.Replace(a.body, ",nobody@example.com,", ",ben@example.com,", 1)
		w.uploadOf("bookings", "preview", corrected).must(t, "2 bookings would be imported", "6 rows would be refused")
	})
}

func TestImportOfLargePurchases(t *testing.T) {
	t.Parallel()
	w, fake := newThings(t)
	var file strings.Builder
	file.WriteString("reference,email,purchased_at,event_date_id,method\n")
	rows := func(reference string, n int) {
		for range n {
			fmt.Fprintf(&file, "%s,ben@example.com,2026-03-01,date_1,FREE\n", reference)
		}
	}
	rows("too-many", maxPurchaseRows+1)
	for i := range 30 {
		rows(fmt.Sprint("p", i), maxPurchaseRows)
	}
	w.uploadOf("bookings", "preview", file.String()).must(t, "3,000 bookings would be imported", "101 rows would be refused", "a purchase can have at most 100 bookings")
	if len(fake.batches) < 3 || slices.Max(fake.batches) > importBatch/maxPurchaseRows {
		t.Errorf("batches of %v", fake.batches)
	}
}

// TestExportsCanBeImported imports the files of exports of passes and bookings. The page names the columns that it does
// not import.
func TestExportsCanBeImported(t *testing.T) {
	t.Parallel()
	for kind, headers := range map[string][][]string{
		"passes": {passesExport().header}, "bookings": {transactionsExport().header, registrationsExport().header},
	} {
		for _, header := range headers {
			t.Run(fmt.Sprintf("%s with all %d columns of an export", kind, len(header)), func(t *testing.T) {
				r, err := csvfile.NewReader(strings.NewReader(strings.Join(header, ",")+"\n"), importKindNamed(kind).columns)
				ignored := map[string]string{"passes": "", "bookings": "attendance discount"}[kind]
				if err != nil || strings.Join(r.Ignored, " ") != ignored {
					t.Errorf("ignores %v, %v", r.Ignored, err)
				}
			})
		}
	}
}

func TestImportTabs(t *testing.T) {
	t.Parallel()
	w, _ := newThings(t)
	for _, kind := range importKinds() {
		t.Run("shows the form of "+kind.name, func(t *testing.T) {
			w.get("/exports?import="+kind.name).must(t, `action="/imports/`+kind.name+`"`, `href="/exports?import=`+kind.name+`" aria-current="page"`)
		})
	}
	t.Run("shows the form of customers for an unknown kind", func(t *testing.T) {
		w.get("/exports?import=nonsense").must(t, `action="/imports/customers"`)
	})
}
