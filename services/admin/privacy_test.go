package admin

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
	privacyv1 "reservation.dev/proto/gen/reservation/privacy/v1"
)

// recordStream is a stream of exported records that ends with end.
type recordStream struct {
	grpc.ClientStream
	records []*privacyv1.PersonalRecord
	end     error
}

func (s *recordStream) RecvMsg(m any) error {
	if len(s.records) == 0 {
		return s.end
	}
	proto.Merge(m.(proto.Message), &privacyv1.ExportPersonalDataResponse{Record: s.records[0]})
	s.records = s.records[1:]
	return nil
}

func (s *recordStream) SendMsg(any) error { return nil }
func (s *recordStream) CloseSend() error  { return nil }

// storing is a backend in which every service has one record to export.
type storing struct {
	*backend
	end error
}

func (s storing) NewStream(context.Context, *grpc.StreamDesc, string, ...grpc.CallOption) (grpc.ClientStream, error) {
	return &recordStream{records: []*privacyv1.PersonalRecord{{Service: "booking", Kind: "transaction", Id: "txn_1", Json: `{"id":"txn_1","who":"<Ann>"}`}}, end: s.end}, nil
}

// privacyWorld is a dashboard with a customer, <Ann> Smith.
func privacyWorld(t *testing.T, end error) *world {
	w := newWorld(t)
	w.web.services = connectionsTo(storing{w.backend, end}).services()
	on(w.backend, "GetCustomer", func(*customerv1.GetCustomerRequest) (*customerv1.GetCustomerResponse, error) {
		return &customerv1.GetCustomerResponse{Customer: &customerv1.Customer{Id: "cust_1", FirstName: "<Ann>", LastName: "Smith", CreatedAt: timestamppb.Now()}}, nil
	})
	on(w.backend, "ListTransactions", func(*bookingv1.ListTransactionsRequest) (*bookingv1.ListTransactionsResponse, error) {
		return &bookingv1.ListTransactionsResponse{}, nil
	})
	withoutPasses(w)
	on(w.backend, "EraseCustomer", func(*privacyv1.EraseCustomerRequest) (*privacyv1.EraseCustomerResponse, error) {
		return &privacyv1.EraseCustomerResponse{}, nil
	})
	withoutNotes(w)
	w.signIn()
	return w
}

func TestExportCustomer(t *testing.T) {
	t.Parallel()
	t.Run("gives an owner one file with the data of every service, and records the export", func(t *testing.T) {
		w := privacyWorld(t, io.EOF)
		a := w.get("/customers/cust_1/export")
		var document struct {
			Records []struct{ Data struct{ Who string } }
		}
		if err := json.Unmarshal([]byte(a.body), &document); err != nil || len(document.Records) != 7 || document.Records[0].Data.Who != "<Ann>" {
			t.Fatal(describe(a), err)
		}
		if a.Header.Get("Content-Disposition") != `attachment; filename="cust_1.json"` || !strings.HasPrefix(a.Header.Get("Content-Type"), "application/json") {
			t.Errorf("got %v", a.Header)
		}
		if calls := w.backend.called("RecordAuditEntry"); len(calls) != 1 || calls[0].req.(*authv1.RecordAuditEntryRequest).GetAction() != "customer.export" {
			t.Errorf("recorded %v", calls)
		}
	})
	t.Run("gives no file if a service fails", func(t *testing.T) {
		w := privacyWorld(t, fault.Away(io.ErrUnexpectedEOF))
		if a := w.get("/customers/cust_1/export"); a.StatusCode != http.StatusServiceUnavailable || strings.Contains(a.body, "txn_1") || a.Header.Get("Content-Disposition") != "" {
			t.Error(describe(a))
		}
		if calls := w.backend.called("RecordAuditEntry"); len(calls) != 0 {
			t.Errorf("recorded %v", calls)
		}
	})
}

func TestEraseCustomer(t *testing.T) {
	t.Parallel()
	t.Run("requires the exact name", func(t *testing.T) {
		w := privacyWorld(t, io.EOF)
		w.get("/customers/cust_1/erase").must(t, "&lt;Ann&gt; Smith", "You cannot undo this.", "stay in your records")
		for _, typed := range []string{"", "<ann> smith", "Smith"} {
			if a := w.post("/customers/cust_1/erase", "name", typed); a.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(a.body, "exactly as it appears above") {
				t.Error(describe(a))
			}
		}
		if len(w.backend.called("EraseCustomer")) != 0 {
			t.Fatal("the customer was erased")
		}
		if a := w.post("/customers/cust_1/erase", "name", " <Ann>  Smith "); a.to() != "/customers/cust_1/erase" {
			t.Error(describe(a))
		}
		if calls := w.backend.called("EraseCustomer"); len(calls) != 1 || calls[0].req.(*privacyv1.EraseCustomerRequest).GetCustomerId() != "cust_1" {
			t.Errorf("got %v", calls)
		}
		if calls := w.backend.called("RecordAuditEntry"); len(calls) != 1 || calls[0].req.(*authv1.RecordAuditEntryRequest).GetAction() != "customer.erase" {
			t.Errorf("recorded %v", calls)
		}
	})
	t.Run("requires upcoming bookings and open passes to be cancelled first", func(t *testing.T) {
		w := privacyWorld(t, io.EOF)
		on(w.backend, "ListTransactions", func(*bookingv1.ListTransactionsRequest) (*bookingv1.ListTransactionsResponse, error) {
			return &bookingv1.ListTransactionsResponse{Transactions: []*bookingv1.Transaction{{Bookings: []*bookingv1.Booking{
				{Id: "booking_1", EventTitle: "Vinyasa", StartsAt: timestamppb.New(time.Now().Add(time.Hour))}, {Id: "booking_2", IsCancelled: true},
			}}}, Total: 1}, nil
		})
		on(w.backend, "ListCustomerPasses", func(req *passv1.ListCustomerPassesRequest) (*passv1.ListCustomerPassesResponse, error) {
			if req.GetStatus() != passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_PAUSED {
				return &passv1.ListCustomerPassesResponse{}, nil
			}
			return &passv1.ListCustomerPassesResponse{CustomerPasses: []*passv1.CustomerPass{{Id: "cp_1", RemainingUses: 3, ExpiryDate: "2027-01-31"}}}, nil
		})
		for _, a := range []answer{w.get("/customers/cust_1/erase"), w.post("/customers/cust_1/erase", "name", "<Ann> Smith")} {
			a.must(t, "/bookings/booking_1", "/passes/cp_1", "3 credits")
			if strings.Contains(a.body, "booking_2") || strings.Contains(a.body, "Erase permanently") {
				t.Error(describe(a))
			}
		}
		if len(w.backend.called("EraseCustomer")) != 0 {
			t.Error("the customer was erased")
		}
	})
	t.Run("shows the progress of an erasure", func(t *testing.T) {
		w := privacyWorld(t, io.EOF)
		on(w.backend, "GetErasure", func(*privacyv1.GetErasureRequest) (*privacyv1.GetErasureResponse, error) {
			return &privacyv1.GetErasureResponse{Erasure: &privacyv1.Erasure{CustomerId: "cust_1", RequestedAt: timestamppb.Now(), Services: []*privacyv1.ErasureProgress{
				{Service: "booking", ErasedAt: timestamppb.Now()}, {Service: "webhook"},
			}}}, nil
		})
		w.get("/customers/cust_1/erase").must(t, "Erased customer", "booking", "webhook", "In progress", "In a few minutes")
		on(w.backend, "GetCustomer", func(*customerv1.GetCustomerRequest) (*customerv1.GetCustomerResponse, error) {
			return nil, fault.Missing("customer")
		})
		w.post("/customers/cust_1/erase", "name", "<Ann> Smith").must(t, "Erased customer", "In progress")
	})
	t.Run("hides export and erasure from staff", func(t *testing.T) {
		w := privacyWorld(t, io.EOF)
		w.role = authv1.AdministratorRole_ADMINISTRATOR_ROLE_MANAGER
		for _, a := range []answer{w.get("/customers/cust_1/export"), w.get("/customers/cust_1/erase"), w.post("/customers/cust_1/erase", "name", "<Ann> Smith")} {
			if a.StatusCode != http.StatusForbidden {
				t.Error(describe(a))
			}
		}
		withoutAppointments(w)
		withoutVisits(w)
		if body := w.page("/customers/cust_1"); strings.Contains(body, "/erase") || strings.Contains(body, "/export") {
			t.Error("the page offers export or erasure")
		}
		if len(w.backend.called("EraseCustomer")) != 0 {
			t.Error("the customer was erased")
		}
	})
}

// unconfirmed is the error of a deletion that a service has not confirmed.
func unconfirmed() error {
	return fault.New(fault.Unavailable, fault.ReasonServiceUnavailable, "repeat the request").With("deletion", "unconfirmed")
}

func TestUnconfirmedDeletion(t *testing.T) {
	t.Parallel()
	t.Run("says that the customer is deleted and how to retry", func(t *testing.T) {
		w := privacyWorld(t, io.EOF)
		on(w.backend, "DeleteCustomer", func(*customerv1.DeleteCustomerRequest) (*customerv1.DeleteCustomerResponse, error) {
			return nil, unconfirmed()
		})
		a := w.post("/customers/cust_1/delete")
		if a.StatusCode != http.StatusServiceUnavailable || !strings.Contains(a.body, "The customer is deleted, but") || !strings.Contains(a.body, "Reload this page") {
			t.Error(describe(a))
		}
	})
	t.Run("confirms an erasure when the form is sent again", func(t *testing.T) {
		w := privacyWorld(t, io.EOF)
		erased := false
		on(w.backend, "GetCustomer", func(*customerv1.GetCustomerRequest) (*customerv1.GetCustomerResponse, error) {
			if erased {
				return nil, fault.Missing("customer")
			}
			return &customerv1.GetCustomerResponse{Customer: &customerv1.Customer{Id: "cust_1", FirstName: "Ann", LastName: "Smith", CreatedAt: timestamppb.Now()}}, nil
		})
		on(w.backend, "BatchGetCustomers", func(*customerv1.BatchGetCustomersRequest) (*customerv1.BatchGetCustomersResponse, error) {
			return &customerv1.BatchGetCustomersResponse{}, nil
		})
		on(w.backend, "GetErasure", func(*privacyv1.GetErasureRequest) (*privacyv1.GetErasureResponse, error) {
			if !erased {
				return nil, fault.Missing("erasure")
			}
			return &privacyv1.GetErasureResponse{Erasure: &privacyv1.Erasure{CustomerId: "cust_1", RequestedAt: timestamppb.Now()}}, nil
		})
		on(w.backend, "EraseCustomer", func(*privacyv1.EraseCustomerRequest) (*privacyv1.EraseCustomerResponse, error) {
			erased = true
			return nil, unconfirmed()
		})
		for range 2 {
			if a := w.post("/customers/cust_1/erase", "name", "Ann Smith"); a.StatusCode != http.StatusServiceUnavailable || !strings.Contains(a.body, "Reload this page") {
				t.Error(describe(a))
			}
		}
		on(w.backend, "EraseCustomer", func(*privacyv1.EraseCustomerRequest) (*privacyv1.EraseCustomerResponse, error) {
			return &privacyv1.EraseCustomerResponse{}, nil
		})
		if a := w.post("/customers/cust_1/erase", "name", "Ann Smith"); a.StatusCode != http.StatusOK {
			t.Error(describe(a))
		}
	})
}
