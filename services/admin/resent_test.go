package admin

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"reservation.dev/platform/fault"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	webhookv1 "reservation.dev/proto/gen/reservation/webhook/v1"
)

// TestFormsOfOnePage checks that a form sent twice is one write, and that another form of the
// same page, which has the same key, is another write.
func TestFormsOfOnePage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.signIn()
	on(w.backend, "RecordAttendance", func(*bookingv1.RecordAttendanceRequest) (*bookingv1.RecordAttendanceResponse, error) {
		return &bookingv1.RecordAttendanceResponse{Changed: true}, nil
	})
	key := strings.Repeat("k", 26)
	send := func(booking, attendance string) (write, record string) {
		w.postKeyed("/bookings/"+booking+"/attendance", keyField, key, "attendance", attendance, "back", "/events")
		writes, records := w.backend.called("RecordAttendance"), w.backend.called("RecordAuditEntry")
		return writes[len(writes)-1].key, records[len(records)-1].key
	}
	write, record := send("booking_1", "checked-in")
	if write == "" || record == "" || write == record || len(record) > 255 {
		t.Fatalf("written under %q, recorded under %q", write, record)
	}
	if again, recorded := send("booking_1", "checked-in"); again != write || recorded != record {
		t.Error("a form that is sent twice is written twice")
	}
	for _, other := range [][2]string{{"booking_2", "checked-in"}, {"booking_1", "no-show"}} {
		if another, recorded := send(other[0], other[1]); another == write || recorded == record {
			t.Errorf("%v has the key of another form", other)
		}
	}
}

// TestCheckingInStaysAtTheRow checks that the page returns to the row after a check-in.
func TestCheckingInStaysAtTheRow(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.signIn()
	withEvent(w, "Yoga", "Ann")
	on(w.backend, "RecordAttendance", func(req *bookingv1.RecordAttendanceRequest) (*bookingv1.RecordAttendanceResponse, error) {
		if req.GetAttendance() == bookingv1.Attendance_ATTENDANCE_NO_SHOW {
			return nil, fault.Refuse("ALREADY_CANCELLED", "no")
		}
		return &bookingv1.RecordAttendanceResponse{Changed: true}, nil
	})
	const path = "/events/evt_1/dates/date_1"
	w.get(path).must(t, `<li id="booking_1">`)
	send := func(booking, action, attendance string) string {
		return w.post("/bookings/"+booking+action, "attendance", attendance, "back", path).to()
	}
	if to := send("booking_1", "/attendance", "checked-in"); to != path+"#booking_1" {
		t.Error(to)
	}
	if to := send("x%0D%0A%2F%2Fevil.example", "/attendance", "checked-in"); to != path+"#x%0D%0A%2F%2Fevil.example" {
		t.Error(to)
	}
	if to := send("booking_1", "/no-show", ""); to != path {
		t.Error("the message at the top is not visible:", to)
	}
}

// checkIn calls the handler directly, so that the log is complete when it returns.
func checkIn(ctx context.Context, w *world) (answered *httptest.ResponseRecorder, logged string) {
	var log bytes.Buffer
	w.web.log = slog.New(slog.NewTextHandler(&log, nil))
	form := url.Values{csrfField: {tokenOf(sessionToken, liveMode)}, "attendance": {"checked-in"}, "back": {"/events"}}
	req := httptest.NewRequestWithContext(ctx, http.MethodPost, w.server.URL+"/bookings/booking_1/attendance", strings.NewReader(form.Encode()))
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.AddCookie(&http.Cookie{Name: sessionCookie, Value: sessionToken})
	answered = httptest.NewRecorder()
	w.web.ServeHTTP(answered, req)
	return answered, log.String()
}

// TestChangesAreCompletedAfterADisconnect checks that a change is completed and recorded if the browser leaves.
func TestChangesAreCompletedAfterADisconnect(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx, leave := context.WithCancel(context.Background())
	defer leave()
	w.backend.methods["RecordAttendance"] = func(ctx context.Context, _ proto.Message) (proto.Message, error) {
		leave()
		return &bookingv1.RecordAttendanceResponse{Changed: true}, ctx.Err()
	}
	w.backend.methods["RecordAuditEntry"] = func(ctx context.Context, _ proto.Message) (proto.Message, error) {
		return &authv1.RecordAuditEntryResponse{}, ctx.Err()
	}
	answered, logged := checkIn(ctx, w)
	if answered.Code != http.StatusSeeOther || answered.Header().Get("Location") != "/events#booking_1" {
		t.Errorf("%d to %q", answered.Code, answered.Header().Get("Location"))
	}
	if len(w.backend.called("RecordAuditEntry")) != 1 || strings.Contains(logged, "not in the audit log") {
		t.Error("the change is not in the audit log:", logged)
	}
}

// TestAChangeIsRecordedIfItsPageFails checks that a change is recorded even if a later call of
// its handler fails.
func TestAChangeIsRecordedIfItsPageFails(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.signIn()
	on(w.backend, "GetEndpoint", func(*webhookv1.GetEndpointRequest) (*webhookv1.GetEndpointResponse, error) {
		return &webhookv1.GetEndpointResponse{Endpoint: &webhookv1.Endpoint{Id: "whe_1"}}, nil
	})
	on(w.backend, "SendTest", func(*webhookv1.SendTestRequest) (*webhookv1.SendTestResponse, error) {
		return &webhookv1.SendTestResponse{}, nil
	})
	if a := w.post("/settings/webhooks/whe_1/test", "event", "pass.purchased"); a.StatusCode != http.StatusNotFound {
		t.Error(describe(a))
	}
	want := &authv1.RecordAuditEntryRequest{
		Action: "webhook_endpoint.test", Target: "whe_1", Details: []*authv1.AuditDetail{{Field: "event", After: "pass.purchased"}},
	}
	if diff := cmp.Diff(want, last[*authv1.RecordAuditEntryRequest](w, "RecordAuditEntry"), protocmp.Transform()); diff != "" {
		t.Error(diff)
	}
}

// TestSecondAuditEntryIsNotAnError checks a form that is sent twice: the second audit entry has
// another "before", so auth refuses it, which is not an error.
func TestSecondAuditEntryIsNotAnError(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	on(w.backend, "RecordAttendance", func(*bookingv1.RecordAttendanceRequest) (*bookingv1.RecordAttendanceResponse, error) {
		return &bookingv1.RecordAttendanceResponse{Changed: true}, nil
	})
	for reason, missing := range map[string]bool{fault.ReasonIdempotencyKeyReused: false, fault.ReasonRateLimitExceeded: true} {
		on(w.backend, "RecordAuditEntry", func(*authv1.RecordAuditEntryRequest) (*authv1.RecordAuditEntryResponse, error) {
			return nil, fault.New(fault.Conflict, reason, "no")
		})
		if _, logged := checkIn(t.Context(), w); strings.Contains(logged, "not in the audit log") != missing {
			t.Errorf("%s: %s", reason, logged)
		}
	}
}

// TestRefusedSearchKeepsThePage checks that a refused search while typing leaves the page as it
// is.
func TestRefusedSearchKeepsThePage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.signIn()
	withEvent(w, "Yoga", "Ann")
	on(w.backend, "ListCustomers", func(*customerv1.ListCustomersRequest) (*customerv1.ListCustomersResponse, error) {
		return nil, fault.InvalidParameter("query", "max_items", "must have at most 5 words")
	})
	const path = "/events/evt_1/dates/date_1/book?q=one+two+three+four+five+six"
	req, err := http.NewRequest(http.MethodGet, w.server.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Hx-Request", "true")
	if a := w.do(req); a.StatusCode != http.StatusBadRequest || a.Header.Get("Hx-Redirect") != "" || len(a.Cookies()) > 0 {
		t.Error(describe(a))
	}
	w.get(w.get(path).to()).must(t, "The query must have at most 5 words.")
}
