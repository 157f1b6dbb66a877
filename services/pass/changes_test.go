package pass

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"reservation.dev/platform/fault"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
)

func TestUpdateCustomerPass(t *testing.T) { // invariants 1 and 3
	w := open(t)
	customer := w.customer()
	paused, active := passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_PAUSED, passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_ACTIVE
	t.Run("a pause moves the expiry date by its number of days", func(t *testing.T) {
		now := time.Date(2026, 3, 20, 12, 0, 0, 0, time.UTC)
		w.server.now = func() time.Time { return now }
		defer func() { w.server.now = time.Now }()
		p := w.give(customer, nil) // expires on 20 April
		p = w.update(&passv1.UpdateCustomerPassRequest{Id: p.GetId(), Status: paused})
		if p.GetStatus() != paused || p.GetExpiryDate() != "2026-04-20" {
			t.Errorf("got %v", p)
		}
		w.update(&passv1.UpdateCustomerPassRequest{Id: p.GetId(), Status: paused})
		now = now.AddDate(0, 0, 10) // the clocks change on 29 March
		p = w.update(&passv1.UpdateCustomerPassRequest{Id: p.GetId(), Status: active})
		if p.GetStatus() != active || p.GetExpiryDate() != "2026-04-30" {
			t.Errorf("got %v", p)
		}
	})
	t.Run("a reason is stored unchanged, and its leading and trailing spaces count towards its length", func(t *testing.T) {
		p := w.give(customer, nil)
		adjust := func(reason string) error {
			_, err := w.client.AdjustCredits(w.as(w.company), &passv1.AdjustCreditsRequest{CustomerPassId: p.GetId(), Credits: 1, Reason: reason})
			return err
		}
		long := " " + strings.Repeat("é", maxReason-1)
		if err := adjust(long); err != nil {
			t.Fatal(err)
		}
		if entries := w.ledger(p.GetId()); entries[len(entries)-1].GetReason() != long {
			t.Errorf("got %v", entries)
		}
		if err := adjust(long + " "); reason(err) != fault.ReasonValidation {
			t.Errorf("got %v", err)
		}
	})
	t.Run("changing the uses adds an adjustment with the reason", func(t *testing.T) {
		p := w.give(customer, nil)
		uses := int32(7)
		p = w.update(&passv1.UpdateCustomerPassRequest{Id: p.GetId(), RemainingUses: &uses, Reason: "a class fell through"})
		entries := w.ledger(p.GetId())
		if last := entries[len(entries)-1]; p.GetRemainingUses() != 7 || last.GetCredits() != -3 || last.GetReason() != "a class fell through" ||
			last.GetKind() != passv1.LedgerEntryKind_LEDGER_ENTRY_KIND_ADJUSTED {
			t.Errorf("got %v, %v", p, last)
		}
		res, err := w.client.AdjustCredits(w.as(w.company), &passv1.AdjustCreditsRequest{CustomerPassId: p.GetId(), Credits: 5, Reason: "a gift"})
		if err != nil || res.GetCustomerPass().GetRemainingUses() != 12 {
			t.Errorf("got %v, %v", res, err)
		}
		if _, err := w.client.AdjustCredits(w.as(w.company), &passv1.AdjustCreditsRequest{CustomerPassId: p.GetId(), Credits: -13, Reason: "x"}); reason(err) != ReasonPassExhausted {
			t.Errorf("got %v", err)
		}
	})
	t.Run("a change without effect stores nothing", func(t *testing.T) {
		p := w.give(customer, nil)
		again := w.update(&passv1.UpdateCustomerPassRequest{Id: p.GetId(), Status: active, RemainingUses: &p.RemainingUses, ExpiryDate: &p.ExpiryDate})
		if again.GetVersion() != p.GetVersion() || len(w.ledger(p.GetId())) != 1 {
			t.Errorf("got %v", again)
		}
	})
	t.Run("a cancelled pass stays cancelled", func(t *testing.T) {
		p := w.give(customer, nil)
		for range 2 {
			w.update(&passv1.UpdateCustomerPassRequest{Id: p.GetId(), Status: passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_CANCELLED})
		}
		uses := int32(3)
		for _, req := range []*passv1.UpdateCustomerPassRequest{{Id: p.GetId(), Status: active}, {Id: p.GetId(), Status: paused}, {Id: p.GetId(), RemainingUses: &uses}} {
			if _, err := w.client.UpdateCustomerPass(w.as(w.company), req); reason(err) != ReasonPassNotActive {
				t.Errorf("%v: got %v", req, err)
			}
		}
	})
	t.Run("refuses an invalid or stale update", func(t *testing.T) {
		p := w.give(customer, nil)
		bad, before, stale, minus := "31/12/2026", "2000-01-01", int64(7), int32(-1)
		for name, c := range map[string]struct {
			req  *passv1.UpdateCustomerPassRequest
			want string
		}{
			"not a date":       {&passv1.UpdateCustomerPassRequest{ExpiryDate: &bad}, fault.ReasonValidation},
			"before the start": {&passv1.UpdateCustomerPassRequest{ExpiryDate: &before}, fault.ReasonValidation},
			"negative uses":    {&passv1.UpdateCustomerPassRequest{RemainingUses: &minus}, fault.ReasonValidation},
			"a derived status": {&passv1.UpdateCustomerPassRequest{Status: passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_EXPIRED}, fault.ReasonValidation},
			"a stale version":  {&passv1.UpdateCustomerPassRequest{Status: paused, ExpectedVersion: &stale}, fault.ReasonVersionMismatch},
			"a long reason":    {&passv1.UpdateCustomerPassRequest{Reason: strings.Repeat("é", 501)}, fault.ReasonValidation},
		} {
			c.req.Id = p.GetId()
			if _, err := w.client.UpdateCustomerPass(w.as(w.company), c.req); reason(err) != c.want {
				t.Errorf("%s: got %v, want %s", name, err, c.want)
			}
		}
	})
	w.verify()
}

func TestBoughtPass(t *testing.T) {
	w := open(t)
	gross := int64(9900)
	passType := w.passType()
	for name, c := range map[string]struct {
		in   *passv1.PassPurchase
		want string
	}{
		"at the type's price": {&passv1.PassPurchase{}, `gross:11000 method:"CARD" currency:"GBP"`},
		"at another price":    {&passv1.PassPurchase{Gross: &gross, Method: "CASH", Reference: "r1"}, `gross:9900 method:"CASH" reference:"r1" currency:"GBP"`},
		"free of charge":      {&passv1.PassPurchase{Method: "FREE"}, `gross:0 method:"FREE" currency:"GBP"`},
	} {
		t.Run(name, func(t *testing.T) {
			res, err := w.client.AssignCustomerPass(w.as(w.company), &passv1.AssignCustomerPassRequest{CustomerId: w.customer(), PassTypeId: passType.GetId(), Purchase: c.in})
			if err != nil {
				t.Fatal(err)
			}
			read := w.get(res.GetCustomerPass().GetId()).GetPurchase()
			got := fmt.Sprintf("gross:%d method:%q", read.GetGross(), read.GetMethod())
			if read.GetReference() != "" {
				got += fmt.Sprintf(" reference:%q", read.GetReference())
			}
			if got += fmt.Sprintf(" currency:%q", read.GetCurrency()); got != c.want {
				t.Errorf("got %s", got)
			}
		})
	}
	for name, in := range map[string]*passv1.PassPurchase{
		"purchase.method:enum of an undocumented method":            {Method: "Bitcoin"},
		"purchase.method:enum of PASS, which cannot pay for a pass": {Method: "PASS"},
		"purchase.method:enum in lower case":                        {Method: "card"},
		"purchase.gross:method of a free pass with a price":         {Method: "FREE", Gross: &gross},
	} {
		t.Run("refuses "+name, func(t *testing.T) {
			_, err := w.client.AssignCustomerPass(w.as(w.company), &passv1.AssignCustomerPassRequest{CustomerId: w.customer(), PassTypeId: passType.GetId(), Purchase: in})
			f := fault.From(err)
			if f == nil || len(f.Fields) != 1 || !strings.HasPrefix(name, f.Fields[0].Field+":"+f.Fields[0].Rule+" ") {
				t.Errorf("got %+v", f)
			}
		})
	}
	t.Run("refuses an archived type", func(t *testing.T) {
		if _, err := w.client.UpdatePassType(w.as(w.company), &passv1.UpdatePassTypeRequest{Id: passType.GetId(), Status: passv1.PassTypeStatus_PASS_TYPE_STATUS_ARCHIVED}); err != nil {
			t.Fatal(err)
		}
		_, err := w.client.AssignCustomerPass(w.as(w.company), &passv1.AssignCustomerPassRequest{CustomerId: w.customer(), PassTypeId: passType.GetId()})
		if reason(err) != ReasonPassNotActive {
			t.Errorf("got %v", err)
		}
	})
}

func TestUpdatePassType(t *testing.T) {
	w := open(t)
	ctx := w.as(w.company)
	made := w.passType()
	title, price := "  Zehn Stunden  ", int64(12_000)
	res, err := w.client.UpdatePassType(ctx, &passv1.UpdatePassTypeRequest{
		Id: made.GetId(), Title: &title, Price: &price, EligibleEventTypes: &passv1.EventTypes{}, ExpectedVersion: &made.Version,
	})
	got := res.GetPassType()
	if err != nil || got.GetTitle() != "Zehn Stunden" || got.GetPrice() != 12_000 || len(got.GetEligibleEventTypes()) != 0 ||
		got.GetTotalUses() != 10 || got.GetVersion() != 2 {
		t.Errorf("got %v, %v", got, err)
	}
	if _, err := w.client.UpdatePassType(ctx, &passv1.UpdatePassTypeRequest{Id: made.GetId(), Title: &title, ExpectedVersion: &made.Version}); !fault.Is(err, fault.VersionMismatch) {
		t.Errorf("got %v", err)
	}
	empty := " "
	if _, err := w.client.UpdatePassType(ctx, &passv1.UpdatePassTypeRequest{Id: made.GetId(), Title: &empty}); !fault.Is(err, fault.Invalid) {
		t.Errorf("got %v", err)
	}
	same, err := w.client.UpdatePassType(ctx, &passv1.UpdatePassTypeRequest{Id: made.GetId(), Title: &title})
	if err != nil || same.GetPassType().GetVersion() != 2 {
		t.Errorf("got %v, %v", same, err)
	}
}
