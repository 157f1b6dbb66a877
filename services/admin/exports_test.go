package admin

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/devkit/testkit"
	"reservation.dev/platform/fault"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
)

// listCustomers answers ListCustomers with n customers, page by page.
func (w *world) listCustomers(n int) {
	on(w.backend, "ListCustomers", func(req *customerv1.ListCustomersRequest) (*customerv1.ListCustomersResponse, error) {
		first, _ := strconv.Atoi(req.GetPageToken())
		res := &customerv1.ListCustomersResponse{Total: min(int64(n), req.GetTotalLimit())}
		for i := first; i < min(first+int(req.GetPageSize()), n); i++ {
			res.Customers = append(res.Customers, &customerv1.Customer{
				Id: fmt.Sprintf("cust_%d", i), FirstName: "Zoë", LastName: fmt.Sprint("Ö", i), Email: "z@example.com", Mobile: "+44 1",
				CreatedAt: timestamppb.New(time.Date(2026, 3, 29, 8, 30, 0, 0, time.UTC)),
			})
		}
		if next := first + int(req.GetPageSize()); next < n {
			res.NextPageToken = strconv.Itoa(next)
		}
		return res, nil
	})
}

// exported returns the rows of a file, without the mark and the header, as maps.
func (w *world) exported(path string) (rows []map[string]string, a answer) {
	w.t.Helper()
	a = w.get(path)
	text, marked := strings.CutPrefix(a.body, "\ufeff")
	if a.StatusCode != http.StatusOK || !marked {
		w.t.Fatalf("%s", describe(a))
	}
	all, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		w.t.Fatal(err)
	}
	for _, cells := range all[1:] {
		row := map[string]string{}
		for i, cell := range cells {
			if cell != "" {
				row[all[0][i]] = cell
			}
		}
		rows = append(rows, row)
	}
	return rows, a
}

// TestExportColumnsAreDocumented compares the columns of the files with the page about the dashboard.
func TestExportColumnsAreDocumented(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "DASHBOARD.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "## Export data")
	quoted := func(columns []string) string { return "`" + strings.Join(columns, "`, `") + "`" }
	section = strings.ReplaceAll(strings.Join(strings.Fields(section), " "), "` and `", "`, `")
	booking := quoted(bookingHeader())
	if !strings.Contains(section, booking) {
		t.Errorf("the page lacks %s", booking)
	}
	for _, kind := range exportKinds() {
		if want := strings.TrimSuffix(quoted(kind.header), ", "+booking); !strings.Contains(section, "| "+want) {
			t.Errorf("the page lacks the columns of %s: %s", kind.name, want)
		}
	}
}

const march = "&from=2026-03-01&to=2026-03-31"

func TestExportForm(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.signIn()
	w.listCustomers(1234)
	t.Run("says how many rows the file will have, and links to it", func(t *testing.T) {
		a := w.get("/exports?what=customers" + march)
		a.must(t, "1,234 match", `src="/assets/data.`, `href="/exports/file?from=2026-03-01&amp;to=2026-03-31&amp;what=customers"`, "Europe/London")
	})
	t.Run("does not count more than it has to", func(t *testing.T) {
		w.listCustomers(2_000_000)
		w.get("/exports?what=customers"+march).must(t, "At least 10,000 match")
	})
	for query, want := range map[string]string{
		"what=shoes" + march:                           "Choose what to export",
		"what=customers&from=2026-03-32&to=":           "Enter a day",
		"what=customers&from=2026-03-02&to=2026-03-01": "must not be before",
		"what=customers&from=2000-01-01&to=2026-03-01": "at most ten years",
	} {
		t.Run("refuses "+query, func(t *testing.T) {
			for _, path := range []string{"/exports?", "/exports/file?"} {
				a := w.get(path + query)
				if a.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(a.body, want) {
					t.Errorf("%s%s: %s", path, query, describe(a))
				}
			}
		})
	}
}

func TestCustomersExport(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.company.Name = "Riverside Yoga & Söhne"
	w.signIn()
	w.listCustomers(401)
	w.backend.count()
	rows, a := w.exported("/exports/file?what=customers" + march)
	if len(rows) != 401 {
		t.Fatalf("got %d rows", len(rows))
	}
	want := map[string]string{
		"customer_id": "cust_400", "firstname": "Zoë", "lastname": "Ö400", "email": "z@example.com", "mobile": "'+44 1", "archived": "false",
		"created_at": "2026-03-29T08:30:00Z", "created_local": "2026-03-29T09:30:00", "zone": "Europe/London",
	}
	if diff := cmp.Diff(want, rows[400]); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for header, want := range map[string]string{
		"Content-Type":        "text/csv; charset=utf-8",
		"Content-Disposition": `attachment; filename="riverside-yoga-s-hne-customers-2026-03-01-2026-03-31.csv"`,
		"Cache-Control":       "no-store",
	} {
		if got := a.Header.Get(header); got != want {
			t.Errorf("%s: %q, want %q", header, got, want)
		}
	}
	t.Run("reads pages of customers of the company's days, and does not count them", func(t *testing.T) {
		calls := w.backend.called("ListCustomers")
		if len(calls) != 3 {
			t.Fatalf("%d calls", len(calls))
		}
		for _, c := range calls {
			req := c.req.(*customerv1.ListCustomersRequest)
			// Summer time begins on 29 March in London.
			from, before := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), time.Date(2026, 3, 31, 23, 0, 0, 0, time.UTC)
			if !req.GetCreatedFrom().AsTime().Equal(from) || !req.GetCreatedBefore().AsTime().Equal(before) || req.GetPageSize() != 200 || req.GetTotalLimit() != 1 ||
				req.GetOrder() != customerv1.CustomerOrder_CUSTOMER_ORDER_CREATED || c.token != "ada's token" {
				t.Errorf("got %v with %q", req, c.token)
			}
		}
	})
	t.Run("is in the audit log with its span and its rows", func(t *testing.T) {
		calls := w.backend.called("RecordAuditEntry")
		if len(calls) != 1 {
			t.Fatalf("%d entries", len(calls))
		}
		want := &authv1.RecordAuditEntryRequest{Action: "company_data.export", Target: "customers", Details: []*authv1.AuditDetail{
			{Field: "first_day", After: "2026-03-01"}, {Field: "last_day", After: "2026-03-31"}, {Field: "rows", After: "401"}, {Field: "incomplete"},
		}}
		if got := calls[0].req; !proto.Equal(got, want) {
			t.Errorf("got %v", got)
		}
	})
	t.Run("is a file with a header alone if nothing matches", func(t *testing.T) {
		w.listCustomers(0)
		if rows, _ := w.exported("/exports/file?what=customers" + march); len(rows) != 0 {
			t.Errorf("got %v", rows)
		}
	})
}

// booking returns a booking with a title that a spreadsheet would evaluate.
func exportedBooking() *bookingv1.Booking {
	return &bookingv1.Booking{
		Id: "booking_1", EventId: "evt_1", EventDateId: "date_1", PricingOptionId: "po-1", EventTitle: "=HYPERLINK(1)", EventType: bookingv1.EventType_EVENT_TYPE_CLASS,
		StartsAt: timestamppb.New(time.Date(2026, 3, 29, 8, 30, 0, 0, time.UTC)), Timezone: "Europe/Berlin", DurationMinutes: 60, Spaces: 2,
		Attendance: bookingv1.Attendance_ATTENDANCE_CHECKED_IN, Price: 2400, RefundDue: 5,
		BoughtFor: &bookingv1.CustomerReference{Id: "cust_2", FirstName: "Ben"},
		Payment: &bookingv1.Booking_Card{Card: &bookingv1.CardPayment{
			Currency: "GBP", Gross: 2400, Net: 2000, Method: bookingv1.PaymentMethod_PAYMENT_METHOD_BANK_TRANSFER, Reference: "-7",
		}},
	}
}

func bookingRow(extra map[string]string) map[string]string {
	row := map[string]string{
		"registration_id": "booking_1", "transaction_id": "txn_1", "customer_id": "cust_2", "purchaser_id": "cust_1",
		"event_id": "evt_1", "event_date_id": "date_1", "pricing_option_id": "po-1", "event": "'=HYPERLINK(1)", "event_type": "class",
		"starts_at": "2026-03-29T08:30:00Z", "starts_local": "2026-03-29T10:30:00", "zone": "Europe/Berlin", "duration_minutes": "60",
		"firstname": "Ben", "purchaser_firstname": "Ann", "spaces": "2", "status": "booked", "attendance": "checked_in", "method": "BANK_TRANSFER",
		"currency": "GBP", "price": "24.00", "gross": "24.00", "net": "20.00", "discount": "0.00", "refunded": "0.00", "refund_due": "0.05", "payment_reference": "'-7",
	}
	for name, value := range extra {
		row[name] = value
	}
	return row
}

func TestTransactionsExport(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.signIn()
	on(w.backend, "ListCompanyTransactions", func(req *bookingv1.ListCompanyTransactionsRequest) (*bookingv1.ListCompanyTransactionsResponse, error) {
		paidByPass := exportedBooking()
		paidByPass.Payment = &bookingv1.Booking_Pass{Pass: &bookingv1.PassPayment{CreditsUsed: 2, CustomerPassId: "cp_1"}}
		return &bookingv1.ListCompanyTransactionsResponse{Transactions: []*bookingv1.Transaction{{
			Id: "txn_1", Purchaser: &bookingv1.CustomerReference{Id: "cust_1", FirstName: "Ann"}, PurchasedAt: timestamppb.New(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)),
			Bookings: []*bookingv1.Booking{exportedBooking(), paidByPass},
		}}}, nil
	})
	rows, _ := w.exported("/exports/file?what=transactions" + march)
	purchase := map[string]string{"purchased_at": "2026-03-01T12:00:00Z", "purchased_local": "2026-03-01T12:00:00", "purchase_zone": "Europe/London"}
	byPass := bookingRow(purchase)
	for _, money := range []string{"currency", "price", "gross", "net", "discount", "refunded", "refund_due", "payment_reference"} {
		delete(byPass, money)
	}
	byPass["method"], byPass["credits_used"], byPass["credits_returned"], byPass["customer_pass_id"] = "PASS", "2", "0", "cp_1"
	if diff := cmp.Diff([]map[string]string{bookingRow(purchase), byPass}, rows); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	req := w.backend.called("ListCompanyTransactions")[0].req.(*bookingv1.ListCompanyTransactionsRequest)
	if req.GetOrder() != bookingv1.TransactionOrder_TRANSACTION_ORDER_PURCHASED || req.GetPurchasedBefore() == nil {
		t.Errorf("got %v", req)
	}
}

func TestRegistrationsExport(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.signIn()
	// The bookings of a crowded hour on 10 March, in pages of 200, and one booking on 30 March.
	crowded, late := time.Date(2026, 3, 10, 9, 0, 0, 0, time.UTC), time.Date(2026, 3, 30, 9, 0, 0, 0, time.UTC)
	on(w.backend, "ListRegistrations", func(req *bookingv1.ListRegistrationsRequest) (*bookingv1.ListRegistrationsResponse, error) {
		from, before := req.GetStartsFrom().AsTime(), req.GetStartsBefore().AsTime()
		in := func(at time.Time) bool { return !at.Before(from) && at.Before(before) }
		n := 0
		if in(crowded) {
			n = 2100
		}
		if in(late) {
			n++
		}
		first, _ := strconv.Atoi(req.GetPageToken())
		res := &bookingv1.ListRegistrationsResponse{Total: min(int64(n), req.GetTotalLimit())}
		for range min(200, n-first) {
			res.Registrations = append(res.Registrations, &bookingv1.Registration{
				Booking: exportedBooking(), TransactionId: "txn_1", Purchaser: &bookingv1.CustomerReference{Id: "cust_1", FirstName: "Ann"},
			})
		}
		if first+200 < n {
			res.NextPageToken = strconv.Itoa(first + 200)
		}
		return res, nil
	})
	rows, _ := w.exported("/exports/file?what=registrations" + march)
	if len(rows) != 2101 {
		t.Fatalf("got %d rows", len(rows))
	}
	if diff := cmp.Diff(bookingRow(nil), rows[0]); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if n := len(w.backend.called("ListRegistrations")); n > 60 {
		t.Errorf("%d calls", n)
	}
}

func TestPassesAndLedgerExport(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.signIn()
	at := timestamppb.New(time.Date(2026, 3, 29, 8, 30, 0, 0, time.UTC))
	on(w.backend, "ListCustomerPasses", func(*passv1.ListCustomerPassesRequest) (*passv1.ListCustomerPassesResponse, error) {
		return &passv1.ListCustomerPassesResponse{CustomerPasses: []*passv1.CustomerPass{
			{
				Id: "cp_1", CustomerId: "cust_1", PassTypeId: "pass_1", Title: "@Ten", Status: passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_ACTIVE,
				TotalUses: 10, RemainingUses: 9, StartDate: "2026-03-01", ExpiryDate: "2026-06-01", CreatedAt: at,
				Purchase: &passv1.PassPurchase{Gross: proto.Int64(12050), Method: "CASH", Currency: "EUR"},
			},
			{Id: "cp_2", CustomerId: "cust_2", UnlimitedUses: true, NeverExpires: true, TotalUses: 999999, RemainingUses: 999999, ExpiryDate: "9999-12-31"},
		}}, nil
	})
	on(w.backend, "BatchGetCustomers", func(req *customerv1.BatchGetCustomersRequest) (*customerv1.BatchGetCustomersResponse, error) {
		if !req.GetIncludeDeleted() || len(req.GetIds()) != 2 {
			t.Errorf("got %v", req)
		}
		return &customerv1.BatchGetCustomersResponse{Customers: []*customerv1.Customer{{Id: "cust_1", FirstName: "Ann", Email: "a@example.com"}}}, nil
	})
	on(w.backend, "ListCompanyLedgerEntries", func(*passv1.ListCompanyLedgerEntriesRequest) (*passv1.ListCompanyLedgerEntriesResponse, error) {
		return &passv1.ListCompanyLedgerEntriesResponse{Entries: []*passv1.CompanyLedgerEntry{{
			CustomerPassId: "cp_1", CustomerId: "cust_1", PassTitle: "Ten", Entry: &passv1.LedgerEntry{
				Sequence: 2, Kind: passv1.LedgerEntryKind_LEDGER_ENTRY_KIND_ADJUSTED, Credits: -3, Balance: 7, Actor: "admin_1", Reason: "+3 by mistake", CreatedAt: at,
			},
		}}}, nil
	})
	times := func(row map[string]string) map[string]string {
		row["created_at"], row["created_local"], row["zone"] = "2026-03-29T08:30:00Z", "2026-03-29T09:30:00", "Europe/London"
		return row
	}
	passes, _ := w.exported("/exports/file?what=passes" + march)
	if diff := cmp.Diff([]map[string]string{times(map[string]string{
		"customer_pass_id": "cp_1", "customer_id": "cust_1", "pass_type_id": "pass_1", "title": "'@Ten", "firstname": "Ann", "email": "a@example.com",
		"status": "active", "total_uses": "10", "remaining_uses": "9", "unlimited_uses": "false", "start_date": "2026-03-01", "expiry_date": "2026-06-01",
		"currency": "EUR", "gross": "120.50", "method": "CASH",
	}), {"customer_pass_id": "cp_2", "customer_id": "cust_2", "unlimited_uses": "true", "zone": "Europe/London"}}, passes); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	ledger, _ := w.exported("/exports/file?what=ledger" + march)
	if diff := cmp.Diff([]map[string]string{times(map[string]string{
		"customer_pass_id": "cp_1", "sequence": "2", "customer_id": "cust_1", "title": "Ten", "kind": "adjusted", "credits": "-3", "balance": "7",
		"reason": "'+3 by mistake", "made_by": "admin_1",
	})}, ledger); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestExportStreams exports 100,000 rows. The dashboard and the reader together never hold more than a few pages.
func TestExportStreams(t *testing.T) {
	const n = 100_000
	w := newWorld(t)
	w.signIn()
	w.listCustomers(n)
	// The fake does not remember its calls.
	answer := w.backend.methods["ListCustomers"]
	w.backend.methods["ListCustomers"] = func(ctx context.Context, req proto.Message) (proto.Message, error) {
		w.backend.count()
		return answer(ctx, req)
	}
	res, err := w.client.Get(w.server.URL + "/exports/file?what=customers" + march)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	before, most := liveHeap(), uint64(0)
	buffer, lines, size := make([]byte, 64<<10), 0, 0
	for step := 0; ; step++ {
		read, err := res.Body.Read(buffer)
		lines, size = lines+bytes.Count(buffer[:read], []byte("\n")), size+read
		if step%500 == 50 {
			most = max(most, liveHeap())
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if lines != n+1 || size < 10<<20 {
		t.Errorf("%d lines of %d bytes", lines, size)
	}
	if grown := int64(most) - int64(before); grown > 3<<20 {
		t.Errorf("the heap grew by %d kB for a file of %d kB", grown>>10, size>>10)
	}
}

// liveHeap returns the memory in use. While it is measured nobody reads the file, so the dashboard soon waits. A
// collection counts the memory that was allocated during it as used, so the least of several measurements is returned.
func liveHeap() uint64 {
	least := uint64(math.MaxUint64)
	for range 5 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		least = min(least, m.HeapAlloc)
	}
	return least
}

func TestExportThatFails(t *testing.T) {
	t.Parallel()
	after := func(w *world, calls int32, err error) {
		var n atomic.Int32
		w.listCustomers(100_000)
		answer := w.backend.methods["ListCustomers"]
		w.backend.methods["ListCustomers"] = func(ctx context.Context, req proto.Message) (proto.Message, error) {
			if n.Add(1) > calls {
				return nil, err
			}
			return answer(ctx, req)
		}
	}
	down := fault.New(fault.Unavailable, "UNAVAILABLE", "down")
	t.Run("before the first row is an error page", func(t *testing.T) {
		w := newWorld(t)
		w.signIn()
		after(w, 0, down)
		if a := w.get("/exports/file?what=customers" + march); a.StatusCode != http.StatusServiceUnavailable || a.Header.Get("Content-Disposition") != "" {
			t.Errorf("%s", describe(a))
		}
	})
	t.Run("midway cuts the connection, and is in the audit log as incomplete", func(t *testing.T) {
		w := newWorld(t)
		w.signIn()
		after(w, 3, down)
		res, err := w.client.Get(w.server.URL + "/exports/file?what=customers" + march)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if _, err := io.ReadAll(res.Body); err == nil {
			t.Error("the file looks complete")
		}
		testkit.Eventually(t, time.Minute, func() error { return w.auditedExport("600", "true") })
	})
	t.Run("because the access token has expired continues with the session's next one", func(t *testing.T) {
		w := newWorld(t)
		w.signIn()
		w.listCustomers(1000)
		answer, n := w.backend.methods["ListCustomers"], atomic.Int32{}
		w.backend.methods["ListCustomers"] = func(ctx context.Context, req proto.Message) (proto.Message, error) {
			if n.Add(1) == 3 {
				return nil, fault.New(fault.Unauthenticated, "TOKEN_EXPIRED", "expired")
			}
			return answer(ctx, req)
		}
		if rows, _ := w.exported("/exports/file?what=customers" + march); len(rows) != 1000 {
			t.Errorf("got %d rows", len(rows))
		}
	})
	t.Run("because the session has ended stops", func(t *testing.T) {
		w := newWorld(t)
		w.signIn()
		w.listCustomers(1000)
		answer, n := w.backend.methods["ListCustomers"], atomic.Int32{}
		ended := func(context.Context, proto.Message) (proto.Message, error) {
			return nil, fault.New(fault.Unauthenticated, "SESSION_ENDED", "the session has ended")
		}
		w.backend.methods["ListCustomers"] = func(ctx context.Context, req proto.Message) (proto.Message, error) {
			if n.Add(1) < 3 {
				return answer(ctx, req)
			}
			w.backend.mu.Lock()
			w.backend.methods["Authenticate"] = ended
			w.backend.mu.Unlock()
			return ended(ctx, req)
		}
		res, err := w.client.Get(w.server.URL + "/exports/file?what=customers" + march)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if _, err := io.ReadAll(res.Body); err == nil {
			t.Error("the file looks complete")
		}
	})
}

// auditedExport checks the last audit entry of an export.
func (w *world) auditedExport(rows, incomplete string) error {
	calls := w.backend.called("RecordAuditEntry")
	if len(calls) == 0 {
		return fmt.Errorf("no entry")
	}
	details := calls[len(calls)-1].req.(*authv1.RecordAuditEntryRequest).GetDetails()
	if got := details[2].GetAfter() + " " + details[3].GetAfter(); rows != "" && got != rows+" "+incomplete || details[3].GetAfter() != incomplete {
		return fmt.Errorf("got %s", got)
	}
	return nil
}

func TestExportEndsWithTheBrowser(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.signIn()
	w.listCustomers(50_000_000)
	ctx, leave := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, w.server.URL+"/exports/file?what=customers"+march, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := w.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if _, err := io.CopyN(io.Discard, res.Body, 100_000); err != nil {
		t.Fatal(err)
	}
	leave()
	testkit.Eventually(t, 2*time.Minute, func() error { return w.auditedExport("", "true") })
}

func TestExportToSlowBrowser(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.web.readTimeout = 100 * time.Millisecond
	w.signIn()
	w.listCustomers(50_000_000)
	// The browser reads nothing, not even the header: the dashboard may give up before it has sent it.
	browser, err := net.Dial("tcp", w.server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer browser.Close()
	_, err = fmt.Fprintf(browser, "GET /exports/file?what=customers%s HTTP/1.1\r\nHost: %s\r\nCookie: %s=%s\r\n\r\n",
		march, w.server.Listener.Addr(), sessionCookie, sessionToken)
	if err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, 2*time.Minute, func() error { return w.auditedExport("", "true") })
	// The export gives its place back after it is audited.
	testkit.Eventually(t, time.Minute, func() error {
		for range w.web.exporting.perCompany {
			release, free := w.web.exporting.take(w.company.GetId())
			if !free {
				return errors.New("the export holds its place")
			}
			defer release()
		}
		return nil
	})
}

func TestExportsAtTheSameTime(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.signIn()
	w.listCustomers(1)
	company := w.company.GetId()
	first, _ := w.web.exporting.take(company)
	second, free := w.web.exporting.take(company)
	if !free {
		t.Fatal("a company can have one export only")
	}
	a := w.get("/exports/file?what=customers" + march)
	if a.StatusCode != http.StatusTooManyRequests || a.Header.Get("Retry-After") == "" || !strings.Contains(a.body, "two exports") {
		t.Errorf("%s", describe(a))
	}
	if _, free := w.web.exporting.take("comp_other"); !free {
		t.Error("another company has to wait")
	}
	first()
	if rows, _ := w.exported("/exports/file?what=customers" + march); len(rows) != 1 {
		t.Errorf("got %v", rows)
	}
	second()
	if len(w.web.exporting.held) != 1 {
		t.Errorf("held: %v", w.web.exporting.held)
	}
}
