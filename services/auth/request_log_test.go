package auth

import (
	"context"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/devkit/testkit"
	"reservation.dev/platform/bus"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/requestlog"
	"reservation.dev/platform/subjects"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

// logWorld is a replica that stores the request log, and a gateway that publishes it.
type logWorld struct {
	*replica
	requests authv1.RequestLogServiceClient
	gateway  *requestlog.Log
}

func newLogWorld(t *testing.T) *logWorld {
	t.Helper()
	r := newWorld(t).start()
	w := &logWorld{replica: r, requests: authv1.NewRequestLogServiceClient(r.conn), gateway: requestlog.New(r.bus, slog.New(slog.DiscardHandler))}
	r.background(w.gateway.Run)
	return w
}

// consume stores what is published, until the test ends or the result is called.
func (w *logWorld) consume() (stop context.CancelFunc) {
	ctx, cancel := context.WithCancel(w.t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = w.server.consumeRequests(ctx, w.bus)
	}()
	stop = func() {
		cancel()
		<-done
	}
	w.t.Cleanup(stop)
	return stop
}

// record logs a request as a gateway does, and returns its entry.
func (w *logWorld) record(e requestlog.Entry) requestlog.Entry {
	if e.ID.IsZero() {
		e.ID = id.NewUUID()
	}
	if e.RequestID == "" {
		e.RequestID = e.ID.String()
	}
	if e.Interface == 0 {
		e.Interface = authv1.PublicInterface_PUBLIC_INTERFACE_B
	}
	if e.Method == "" {
		e.Method = "GET"
	}
	if e.Status == 0 {
		e.Status = 200
	}
	e.Address = "192.0.2.1"
	w.gateway.Record(httptest.NewRequest(e.Method, "/api/v1/customers?q=somebody", nil), e)
	return e
}

func (w *logWorld) list(company string, req *authv1.ListRequestsRequest) *authv1.ListRequestsResponse {
	w.t.Helper()
	res, err := w.requests.ListRequests(w.as(company), req)
	if err != nil {
		w.t.Fatal(err)
	}
	return res
}

// await waits until the company's log has exactly n requests.
func (w *logWorld) await(company string, n int) []*authv1.LoggedRequest {
	w.t.Helper()
	var got []*authv1.LoggedRequest
	testkit.Eventually(w.t, patience, func() error {
		got = w.list(company, &authv1.ListRequestsRequest{PageSize: 200}).GetRequests()
		if len(got) != n {
			return fmt.Errorf("the log has %d requests, want %d", len(got), n)
		}
		return nil
	})
	return got
}

func TestRequestLog(t *testing.T) {
	t.Parallel()
	w := newLogWorld(t)
	w.consume()
	company, neighbour := w.company(), w.company()
	key, _ := w.key(company)
	client, _ := w.client(company)
	other, _ := w.key(neighbour)
	owner := companyID(t, company)

	first := w.record(requestlog.Entry{
		Company: owner, Credential: key, Route: "/api/v1/customers", Duration: 1500 * time.Microsecond, RequestBytes: 7, ResponseBytes: 70,
		IdempotencyKey: true, Replayed: true,
	})
	refused := w.record(requestlog.Entry{Credential: client, Interface: authv1.PublicInterface_PUBLIC_INTERFACE_A, Method: "POST", Status: 401, ErrorCode: "INVALID_CREDENTIALS"})
	w.record(requestlog.Entry{Company: companyID(t, neighbour), Credential: other})
	for _, unknown := range []string{
		id.New[id.APIClient]().String(), // does not exist
		"key_" + client[len("m2m_"):],   // is of another kind
		"svc_" + client[len("m2m_"):],   // does not call the interfaces
	} {
		w.record(requestlog.Entry{Credential: unknown, Status: 401})
	}
	last := w.record(requestlog.Entry{Company: owner, Credential: key, Method: "PUT", Status: 404, ErrorCode: "NOT_FOUND", RequestID: "mine"})

	t.Run("has the requests of the company's credentials, newest first", func(t *testing.T) {
		got := w.await(company, 3)
		ids := []string{got[0].GetId(), got[1].GetId(), got[2].GetId()}
		if want := []string{"req_" + last.ID.String(), "req_" + refused.ID.String(), "req_" + first.ID.String()}; !slices.Equal(ids, want) {
			t.Errorf("got %v, want %v", ids, want)
		}
		want := &authv1.LoggedRequest{
			Id: "req_" + first.ID.String(), ReceivedAt: timestamppb.New(first.ID.Time()), CredentialId: key, Interface: authv1.PublicInterface_PUBLIC_INTERFACE_B,
			Method: "GET", Path: "/api/v1/customers", Route: "/api/v1/customers", Status: 200, RequestId: first.RequestID, DurationMicroseconds: 1500,
			ClientAddress: "192.0.2.1", RequestBytes: 7, ResponseBytes: 70, IdempotencyKey: true, Replayed: true,
		}
		if !proto.Equal(got[2], want) {
			t.Errorf("got %v, want %v", got[2], want)
		}
	})
	t.Run("finds the company of a refused token request by the credential", func(t *testing.T) {
		if got := w.await(company, 3)[1]; got.GetCredentialId() != client || got.GetErrorCode() != "INVALID_CREDENTIALS" {
			t.Errorf("got %v", got)
		}
	})
	t.Run("hides a request from every other company", func(t *testing.T) {
		w.await(neighbour, 1)
		_, err := w.requests.GetRequest(w.as(neighbour), &authv1.GetRequestRequest{Id: "req_" + first.ID.String()})
		if !fault.Is(err, fault.NotFound) {
			t.Errorf("got %v, want NOT_FOUND", err)
		}
		if got := w.list(neighbour, &authv1.ListRequestsRequest{CredentialId: key}); len(got.GetRequests()) != 0 {
			t.Errorf("got %v", got)
		}
		res, err := w.requests.GetRequest(w.as(company), &authv1.GetRequestRequest{Id: "req_" + last.ID.String()})
		if err != nil || res.GetRequest().GetRequestId() != "mine" {
			t.Errorf("the company itself gets %v, %v", res, err)
		}
	})
}

func TestRequestLogFilters(t *testing.T) {
	t.Parallel()
	w := newLogWorld(t)
	w.consume()
	company := w.company()
	owner := companyID(t, company)
	key, _ := w.key(company)
	client, _ := w.client(company)
	statuses := []int{200, 201, 304, 400, 404, 429, 500}
	var made []requestlog.Entry
	for i := range 21 {
		e := requestlog.Entry{Company: owner, Credential: key, Status: statuses[i%len(statuses)]}
		if i%3 == 0 {
			e.Credential, e.Interface = client, authv1.PublicInterface_PUBLIC_INTERFACE_A
		}
		if i%2 == 0 {
			e.Method = "POST"
		}
		if i%5 == 0 {
			e.RequestID = "repeated"
		}
		made = append(made, w.record(e))
	}
	w.await(company, len(made))
	middle := made[10]
	for name, tt := range map[string]struct {
		req  *authv1.ListRequestsRequest
		want func(e requestlog.Entry) bool
	}{
		"all":                                 {&authv1.ListRequestsRequest{}, func(requestlog.Entry) bool { return true }},
		"a credential":                        {&authv1.ListRequestsRequest{CredentialId: key}, func(e requestlog.Entry) bool { return e.Credential == key }},
		"a credential of no company":          {&authv1.ListRequestsRequest{CredentialId: "key_x"}, func(requestlog.Entry) bool { return false }},
		"a credential as one of another kind": {&authv1.ListRequestsRequest{CredentialId: "m2m_" + key[len("key_"):]}, func(requestlog.Entry) bool { return false }},
		"an interface": {&authv1.ListRequestsRequest{Interface: authv1.PublicInterface_PUBLIC_INTERFACE_A}, func(e requestlog.Entry) bool {
			return e.Interface == authv1.PublicInterface_PUBLIC_INTERFACE_A
		}},
		"a method":                   {&authv1.ListRequestsRequest{Method: "POST"}, func(e requestlog.Entry) bool { return e.Method == "POST" }},
		"one status":                 {&authv1.ListRequestsRequest{MinStatus: 404, MaxStatus: 404}, func(e requestlog.Entry) bool { return e.Status == 404 }},
		"errors":                     {&authv1.ListRequestsRequest{MinStatus: 400}, func(e requestlog.Entry) bool { return e.Status >= 400 }},
		"errors of a credential":     {&authv1.ListRequestsRequest{MinStatus: 400, MaxStatus: 599, CredentialId: client}, func(e requestlog.Entry) bool { return e.Status >= 400 && e.Credential == client }},
		"successes":                  {&authv1.ListRequestsRequest{MinStatus: 200, MaxStatus: 299}, func(e requestlog.Entry) bool { return e.Status < 300 }},
		"an id that the caller sent": {&authv1.ListRequestsRequest{RequestId: "repeated"}, func(e requestlog.Entry) bool { return e.RequestID == "repeated" }},
		"an id of the platform":      {&authv1.ListRequestsRequest{RequestId: made[1].RequestID}, func(e requestlog.Entry) bool { return e.ID == made[1].ID }},
		"the entry's id, if the caller sent another": {&authv1.ListRequestsRequest{RequestId: made[5].ID.String()}, func(requestlog.Entry) bool { return false }},
		"since": {&authv1.ListRequestsRequest{Since: timestamppb.New(middle.ID.Time())}, func(e requestlog.Entry) bool { return !e.ID.Time().Before(middle.ID.Time()) }},
		"until": {&authv1.ListRequestsRequest{Until: timestamppb.New(middle.ID.Time())}, func(e requestlog.Entry) bool { return e.ID.Time().Before(middle.ID.Time()) }},
	} {
		t.Run("lists "+name+", page by page", func(t *testing.T) {
			var want, got []string
			for _, e := range slices.Backward(made) {
				if tt.want(e) {
					want = append(want, "req_"+e.ID.String())
				}
			}
			tt.req.PageSize, tt.req.WithTotal = 2, true
			for {
				res := w.list(company, tt.req)
				for _, r := range res.GetRequests() {
					got = append(got, r.GetId())
				}
				if res.GetTotal() != int64(len(want)) {
					t.Fatalf("the total is %d, want %d", res.GetTotal(), len(want))
				}
				if tt.req.PageToken = res.GetNextPageToken(); tt.req.PageToken == "" {
					break
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("got %v, want %v", got, want)
			}
		})
	}
	for parameter, req := range map[string]*authv1.ListRequestsRequest{
		"min_status": {MinStatus: 99}, "max_status": {MaxStatus: 600}, "interface": {Interface: 7}, "method": {Method: "G\x00T"}, "page_size": {PageSize: 201},
	} {
		t.Run("refuses a wrong "+parameter, func(t *testing.T) {
			_, err := w.requests.ListRequests(w.as(company), req)
			if f := fault.From(err); f == nil || len(f.Fields) != 1 || f.Fields[0].Field != parameter {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestRequestLogDelivery(t *testing.T) {
	t.Parallel()
	w := newLogWorld(t)
	company := w.company()
	key, _ := w.key(company)
	e := requestlog.Entry{Company: companyID(t, company), Credential: key}
	stop := w.consume()
	w.record(e)
	w.await(company, 1)
	stop()
	for range 700 {
		w.record(e)
	}
	owner := companyID(t, company)
	payload, err := proto.Marshal(&authv1.RequestsReceived{Requests: []*authv1.ReceivedRequest{{
		CompanyId: owner[:], Request: &authv1.LoggedRequest{Id: id.New[id.LoggedRequest]().String(), CredentialId: key, Status: 200},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	var batches []bus.Message
	for _, content := range [][]byte{payload, []byte("\xff"), payload} {
		batches = append(batches, bus.Message{ID: id.NewUUID(), Subject: subjects.RequestsReceived, Payload: content, OccurredAt: time.Now()})
	}
	if _, err := w.bus.Publish(t.Context(), batches); err != nil {
		t.Fatal(err)
	}
	w.consume()
	testkit.Eventually(t, patience, func() error {
		res := w.list(company, &authv1.ListRequestsRequest{WithTotal: true})
		if res.GetTotal() != 702 {
			return fmt.Errorf("the log has %d requests, want 702: each once, also those published while nobody consumed", res.GetTotal())
		}
		return nil
	})
}

func TestRequestLogRetention(t *testing.T) {
	t.Parallel()
	w := newLogWorld(t)
	now := time.Now()
	w.server.now = func() time.Time { return now }
	kept := Retention{Audit: 24 * time.Hour, Invitations: time.Hour, Requests: 30 * 24 * time.Hour}
	young := map[string]string{}
	for range 2 {
		company := w.company()
		key, _ := w.key(company)
		credential, kind, _ := loggedCredential(key)
		var list []LoggedRequest
		for i := range retainBatch/2 + 2 {
			r := LoggedRequest{Company: companyID(t, company), Credential: credential, Kind: kind, Interface: 2, Status: 200}
			r.ID = id.LoggedRequest(id.First(now.Add(-kept.Requests - time.Duration(i+1)*time.Millisecond)))
			if i == 0 {
				r.ID = id.LoggedRequest(id.First(now.Add(-kept.Requests)))
				young[company] = r.ID.String()
			}
			list = append(list, r)
		}
		if err := w.server.store.insertRequests(t.Context(), list); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.server.retainOnce(t.Context(), kept); err != nil {
		t.Fatal(err)
	}
	for company, want := range young {
		if got := w.list(company, &authv1.ListRequestsRequest{}).GetRequests(); len(got) != 1 || got[0].GetId() != want {
			t.Errorf("the log of %s has %v, want %s only", company, got, want)
		}
	}
}
