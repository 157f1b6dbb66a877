package admin

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/timestamppb"

	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
)

// withEndlessPass adds a pass with unlimited uses that never expires, and its type.
func withEndlessPass(w *world) {
	kind := &passv1.PassType{Id: "pass_1", Title: "Everything", TotalUses: 999999, UnlimitedUses: true, NeverExpires: true, Price: 9900, Currency: "GBP"}
	pass := &passv1.CustomerPass{
		Id: "cp_1", CustomerId: "cust_1", PassTypeId: "pass_1", RemainingUses: 999999, TotalUses: 999999, UnlimitedUses: true,
		StartDate: "2026-11-23", ExpiryDate: "9999-12-31", NeverExpires: true, Status: passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_ACTIVE,
	}
	on(w.backend, "ListPassTypes", func(*passv1.ListPassTypesRequest) (*passv1.ListPassTypesResponse, error) {
		return &passv1.ListPassTypesResponse{PassTypes: []*passv1.PassType{kind}}, nil
	})
	on(w.backend, "GetPassType", func(*passv1.GetPassTypeRequest) (*passv1.GetPassTypeResponse, error) {
		return &passv1.GetPassTypeResponse{PassType: kind}, nil
	})
	on(w.backend, "ListCustomerPasses", func(*passv1.ListCustomerPassesRequest) (*passv1.ListCustomerPassesResponse, error) {
		return &passv1.ListCustomerPassesResponse{CustomerPasses: []*passv1.CustomerPass{pass}, Total: 1}, nil
	})
	on(w.backend, "ListEligiblePasses", func(*passv1.ListEligiblePassesRequest) (*passv1.ListEligiblePassesResponse, error) {
		return &passv1.ListEligiblePassesResponse{CustomerPasses: []*passv1.CustomerPass{pass}}, nil
	})
	on(w.backend, "GetCustomerPass", func(*passv1.GetCustomerPassRequest) (*passv1.GetCustomerPassResponse, error) {
		return &passv1.GetCustomerPassResponse{CustomerPass: pass}, nil
	})
	on(w.backend, "ListLedgerEntries", func(*passv1.ListLedgerEntriesRequest) (*passv1.ListLedgerEntriesResponse, error) {
		return &passv1.ListLedgerEntriesResponse{Entries: []*passv1.LedgerEntry{
			{Kind: passv1.LedgerEntryKind_LEDGER_ENTRY_KIND_ASSIGNED, Credits: 999999, Balance: 999999, CreatedAt: timestamppb.Now()},
		}}, nil
	})
	on(w.backend, "UpdateCustomerPass", func(*passv1.UpdateCustomerPassRequest) (*passv1.UpdateCustomerPassResponse, error) {
		return &passv1.UpdateCustomerPassResponse{CustomerPass: pass}, nil
	})
	on(w.backend, "UpdatePassType", func(*passv1.UpdatePassTypeRequest) (*passv1.UpdatePassTypeResponse, error) {
		return &passv1.UpdatePassTypeResponse{PassType: kind}, nil
	})
	on(w.backend, "CreatePassType", func(*passv1.CreatePassTypeRequest) (*passv1.CreatePassTypeResponse, error) {
		return &passv1.CreatePassTypeResponse{PassType: kind}, nil
	})
}

// endlessNumbers are how 999999 and 9999-12-31 could appear on a page.
var endlessNumbers = []string{"999999", "999,999", "9999", "1,000,000"}

func TestEndlessPasses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.signIn()
	event, _ := withEvent(w, "Yoga", "Ann")
	event.PricingOptions[0].Credits = new(int32(1))
	withEndlessPass(w)
	on(w.backend, "BatchGetCustomers", func(*customerv1.BatchGetCustomersRequest) (*customerv1.BatchGetCustomersResponse, error) {
		return &customerv1.BatchGetCustomersResponse{Customers: []*customerv1.Customer{{Id: "cust_1", FirstName: "Ann"}}}, nil
	})
	for path, want := range map[string][]string{
		"/pass-types":              {"unlimited", "no expiry"},
		"/pass-types/pass_1":       {`name="unlimited" value="on" checked`, `name="never" value="on" checked`},
		"/customers/cust_1":        {"unlimited", "from 23 Nov 2026, no expiry"},
		"/customers/cust_1/assign": {"Everything: unlimited uses, no expiry, £99.00"},
		"/customers/cust_1/erase":  {"with unlimited uses, no expiry"},
		"/passes/cp_1":             {"unlimited", "from 23 Nov 2026, no expiry", `name="never" value="on" checked`},
		"/events/evt_1/dates/date_1/book?customer=cust_1": {"unlimited uses, no expiry"},
	} {
		body := w.page(path)
		for _, part := range want {
			if !strings.Contains(body, part) {
				t.Errorf("%s lacks %q:\n%s", path, part, text(body))
			}
		}
		for _, number := range endlessNumbers {
			if strings.Contains(body, number) {
				t.Errorf("%s shows %s", path, number)
			}
		}
	}
	if strings.Contains(w.page("/passes/cp_1"), "/passes/cp_1/adjust") {
		t.Error("the credits of an unlimited pass can be adjusted")
	}
}

func TestChangingEndlessPasses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.signIn()
	withEvent(w, "Yoga", "Ann")
	withEndlessPass(w)
	t.Run("adds a type without a number of credits and a period", func(t *testing.T) {
		if a := w.post("/pass-types", "title", "Everything", "unlimited", "on", "never", "on", "uses", "10", "count", "", "unit", "month"); a.to() != "/pass-types" {
			t.Fatal(describe(a))
		}
		req := last[*passv1.CreatePassTypeRequest](w, "CreatePassType")
		if !req.GetUnlimitedUses() || !req.GetNeverExpires() || req.GetTotalUses() != 0 || req.GetValidityCount() != 0 || req.GetValidityUnit() != 0 {
			t.Errorf("%v", req)
		}
	})
	t.Run("asks for the number of credits and the period of another type", func(t *testing.T) {
		w.post("/pass-types", "title", "Ten").must(t, "Enter the number of credits.", "Enter how long the pass is valid.")
	})
	t.Run("ends both when the type is changed", func(t *testing.T) {
		w.post("/pass-types/pass_1", "title", "Ten", "uses", "10", "count", "6", "unit", "month")
		req := last[*passv1.UpdatePassTypeRequest](w, "UpdatePassType")
		if req.UnlimitedUses == nil || req.GetUnlimitedUses() || req.NeverExpires == nil || req.GetNeverExpires() || req.GetTotalUses() != 10 || req.GetValidityCount() != 6 {
			t.Errorf("%v", req)
		}
		w.post("/pass-types/pass_1", "title", "Everything", "unlimited", "on", "never", "on", "uses", "0", "count", "x")
		req = last[*passv1.UpdatePassTypeRequest](w, "UpdatePassType")
		if !req.GetUnlimitedUses() || !req.GetNeverExpires() || req.TotalUses != nil || req.ValidityCount != nil {
			t.Errorf("%v", req)
		}
	})
	t.Run("removes the last day of a pass", func(t *testing.T) {
		a := w.post("/passes/cp_1/expiry", "never", "on", "expiry", "2027-01-31")
		if req := last[*passv1.UpdateCustomerPassRequest](w, "UpdateCustomerPass"); req.GetExpiryDate() != "9999-12-31" {
			t.Errorf("%v", req)
		}
		w.get(a.to()).must(t, "The pass now has no expiry.")
		w.post("/passes/cp_1/expiry").must(t, "Enter a date.")
	})
	t.Run("shows no expiry in the audit log", func(t *testing.T) {
		withAuditLog(w, entry("customer_pass.expiry", "cp_1", "expiry_date", "2027-01-31", "9999-12-31"))
		if body := text(w.page("/settings/audit")); !strings.Contains(body, "Last day: from 31 Jan 2027 to no expiry") {
			t.Error(body)
		}
	})
	if calls := w.backend.called("RecordAuditEntry"); len(calls) != 4 || calls[3].req.(*authv1.RecordAuditEntryRequest).GetAction() != "customer_pass.expiry" {
		t.Errorf("%d entries in the audit log", len(calls))
	}
}
