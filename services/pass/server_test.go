package pass

import (
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/outbox"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/rpc"
	"reservation.dev/platform/token"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
)

func TestPolicyCoversEveryMethod(t *testing.T) {
	if err := Policy().Check(&passv1.PassService_ServiceDesc, &authv1.CompanyCopyService_ServiceDesc); err != nil {
		t.Error(err)
	}
}

func TestPassTypes(t *testing.T) {
	w := open(t)
	ctx := w.as(w.company)
	t.Run("the created, read and listed pass types are equal", func(t *testing.T) {
		made := w.passType()
		if made.GetCurrency() != "GBP" || len(made.GetEligibleEventTypes()) != 1 || made.GetStatus() != passv1.PassTypeStatus_PASS_TYPE_STATUS_ACTIVE {
			t.Errorf("got %v", made)
		}
		got, err := w.client.GetPassType(ctx, &passv1.GetPassTypeRequest{Id: made.GetId()})
		if err != nil || !proto.Equal(got.GetPassType(), made) {
			t.Errorf("got %v, %v, want %v", got, err, made)
		}
	})
	t.Run("pass types are listed in pages without gaps or duplicates", func(t *testing.T) {
		for range 6 {
			w.passType()
		}
		seen := map[string]bool{}
		for req := (&passv1.ListPassTypesRequest{PageSize: 3}); ; {
			res, err := w.client.ListPassTypes(ctx, req)
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range res.GetPassTypes() {
				if seen[p.GetId()] {
					t.Errorf("%s twice", p.GetId())
				}
				seen[p.GetId()] = true
			}
			if res.GetTotal() != 7 {
				t.Errorf("total %d", res.GetTotal())
			}
			if req.PageToken = res.GetNextPageToken(); req.PageToken == "" {
				break
			}
		}
		if len(seen) != 7 {
			t.Errorf("saw %d", len(seen))
		}
	})
	t.Run("a refused pass type is reported with every fault", func(t *testing.T) {
		_, err := w.client.CreatePassType(ctx, &passv1.CreatePassTypeRequest{
			Title: " ", Description: "a\x00b", Price: -1, Currency: "XXX", EligibleEventTypes: []string{"class", "yoga"},
		})
		var got []string
		for _, f := range fault.From(err).Fields {
			got = append(got, f.Field+":"+f.Rule)
		}
		want := "title:required description:characters total_uses:range validity_count:range validity_unit:enum price:range currency:enum eligible_event_types[1]:enum"
		if strings.Join(got, " ") != want {
			t.Errorf("got %v, want %s", got, want)
		}
	})
	t.Run("a pass type is created once per Idempotency-Key", func(t *testing.T) {
		keyed := rpc.WithIdempotencyKey(ctx, "k1")
		one, err := w.client.CreatePassType(keyed, tenClasses())
		if err != nil {
			t.Fatal(err)
		}
		two, err := w.client.CreatePassType(keyed, tenClasses())
		if err != nil || two.GetPassType().GetId() != one.GetPassType().GetId() {
			t.Errorf("got %v, %v, want %v again", two, err, one)
		}
	})
}

func TestAssign(t *testing.T) {
	w := open(t)
	ctx := w.as(w.company)
	t.Run("opens the ledger with the uses", func(t *testing.T) { // invariants 1 and 2
		p := w.assign("2026-01-31")
		if p.GetRemainingUses() != 10 || p.GetStartDate() != "2026-01-31" || p.GetExpiryDate() != "2026-02-28" {
			t.Errorf("got %v", p)
		}
		res, err := w.client.ListLedgerEntries(ctx, &passv1.ListLedgerEntriesRequest{CustomerPassId: p.GetId()})
		if err != nil || len(res.GetEntries()) != 1 {
			t.Fatalf("got %v, %v", res, err)
		}
		e := res.GetEntries()[0]
		if e.GetCredits() != 10 || e.GetBalance() != 10 || e.GetSequence() != 1 || !strings.HasPrefix(e.GetActor(), "m2m_") {
			t.Errorf("got %v", e)
		}
	})
	t.Run("starts today in the company's zone by default", func(t *testing.T) {
		w.server.now = func() time.Time { return time.Date(2026, 6, 30, 23, 30, 0, 0, time.UTC) } // 1 July in London
		defer func() { w.server.now = time.Now }()
		if p := w.assign(""); p.GetStartDate() != "2026-07-01" || p.GetExpiryDate() != "2026-08-01" || p.GetStatus() != passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_ACTIVE {
			t.Errorf("got %v", p)
		}
	})
	t.Run("a platform credential assigns in the zone of the company in its metadata", func(t *testing.T) {
		w.server.now = func() time.Time { return time.Date(2026, 7, 1, 3, 0, 0, 0, time.UTC) } // 30 June in New York
		defer func() { w.server.now = time.Now }()
		source := token.NewSource(func(context.Context) (string, time.Time, error) {
			return w.issuer.Admin(), time.Now().Add(time.Hour), nil
		})
		res, err := w.client.AssignCustomerPass(rpc.As(t.Context(), source, w.company), &passv1.AssignCustomerPassRequest{
			CustomerId: w.customer(), PassTypeId: w.passType().GetId(),
		})
		if err != nil || res.GetCustomerPass().GetStartDate() != "2026-06-30" {
			t.Errorf("got %v, %v", res, err)
		}
	})
	t.Run("refuses an unknown customer, an unknown pass type, and invalid days", func(t *testing.T) { // invariant 4
		passType := w.passType().GetId()
		for name, req := range map[string]*passv1.AssignCustomerPassRequest{
			"a customer":           {CustomerId: id.New[id.Customer]().String(), PassTypeId: passType},
			"a malformed customer": {CustomerId: "cust_'", PassTypeId: passType},
			"a pass type":          {CustomerId: w.customer(), PassTypeId: id.New[id.PassType]().String()},
			"no pass type":         {CustomerId: w.customer()},
		} {
			if _, err := w.client.AssignCustomerPass(ctx, req); !fault.Is(err, fault.NotFound) {
				t.Errorf("%s: got %v", name, err)
			}
		}
		for _, bad := range []string{"2026-02-30", "31/01/2026", "2026-1-1", "0001-01-01", "9999-12-31", "x"} {
			_, err := w.client.AssignCustomerPass(ctx, &passv1.AssignCustomerPassRequest{CustomerId: w.customer(), PassTypeId: passType, StartDate: bad})
			if f := fault.From(err); f == nil || f.Kind != fault.Invalid || f.Fields[0].Field != "start_date" {
				t.Errorf("%s: got %v", bad, err)
			}
		}
	})
	t.Run("reports a temporary failure while the customer service is unavailable", func(t *testing.T) {
		w.customers.Fail(fault.Away(errors.New("down")))
		defer w.customers.Fail(nil)
		_, err := w.client.AssignCustomerPass(ctx, &passv1.AssignCustomerPassRequest{CustomerId: w.customer(), PassTypeId: w.passType().GetId()})
		if !fault.Is(err, fault.Unavailable) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("lists only the passes of the customer", func(t *testing.T) {
		p := w.assign("2026-01-01")
		w.assign("2026-01-01")
		res, err := w.client.ListCustomerPasses(ctx, &passv1.ListCustomerPassesRequest{CustomerId: p.GetCustomerId()})
		if err != nil || res.GetTotal() != 1 || len(res.GetCustomerPasses()) != 1 || res.GetCustomerPasses()[0].GetId() != p.GetId() {
			t.Errorf("got %v, %v", res, err)
		}
		all, err := w.client.ListCustomerPasses(ctx, &passv1.ListCustomerPassesRequest{PageSize: 200})
		if err != nil || int(all.GetTotal()) != len(all.GetCustomerPasses()) || all.GetTotal() < 2 {
			t.Errorf("got %v, %v", all, err)
		}
	})
}

func TestLedgerInDatabase(t *testing.T) { // invariant 1
	w := open(t)
	p := w.assign("2026-01-01")
	pass, err := id.Parse[id.CustomerPass](p.GetId())
	if err != nil {
		t.Fatal(err)
	}
	for name, sql := range map[string]string{
		"an entry cannot be changed":                   `update ledger_entries set credits = 5 where company_id = $1 and customer_pass_id = $2`,
		"an entry cannot be removed":                   `delete from ledger_entries where company_id = $1 and customer_pass_id = $2`,
		"an entry must follow from the one before":     `insert into ledger_entries values ($1, $2, 2, 'assigned', 1, 12, 'x', now())`,
		"an entry must not skip one":                   `insert into ledger_entries values ($1, $2, 3, 'assigned', 1, 11, 'x', now())`,
		"an entry must match the pass's uses":          `insert into ledger_entries values ($1, $2, 2, 'assigned', 1, 11, 'x', now())`,
		"a balance cannot be negative":                 `insert into ledger_entries values ($1, $2, 2, 'assigned', -11, -1, 'x', now())`,
		"remaining uses cannot be negative":            `update customer_passes set remaining_uses = -1 where company_id = $1 and id = $2`,
		"an expiry cannot be before the start":         `update customer_passes set expiry_date = start_date - 1 where company_id = $1 and id = $2`,
		"a status cannot be one that is only derived ": `update customer_passes set status = 'expired' where company_id = $1 and id = $2`,
	} {
		t.Run(name, func(t *testing.T) {
			err := w.db.InTx(t.Context(), pg.For(w.company), func(ctx context.Context, tx *pg.Tx) error {
				_, err := tx.Exec(ctx, sql, w.company, pass)
				return err
			})
			if err == nil {
				t.Error("the database let it through")
			}
		})
	}
}

func TestAnotherCompany(t *testing.T) { // invariant 6
	w := open(t)
	p := w.assign("2026-01-01")
	stranger := w.as(id.New[id.Company]())
	own := w.give(w.customer(), nil)
	redeemed := redeemRequest(own.GetCustomerId(), own.GetId(), 1)
	w.mustRedeem(redeemed)
	calls := map[string]func() error{
		"GetPassType": func() error {
			_, err := w.client.GetPassType(stranger, &passv1.GetPassTypeRequest{Id: p.GetPassTypeId()})
			return err
		},
		"GetCustomerPass": func() error {
			_, err := w.client.GetCustomerPass(stranger, &passv1.GetCustomerPassRequest{Id: p.GetId()})
			return err
		},
		"AssignCustomerPass": func() error {
			_, err := w.client.AssignCustomerPass(stranger, &passv1.AssignCustomerPassRequest{CustomerId: p.GetCustomerId(), PassTypeId: p.GetPassTypeId()})
			return err
		},
		"UpdatePassType": func() error {
			_, err := w.client.UpdatePassType(stranger, &passv1.UpdatePassTypeRequest{Id: p.GetPassTypeId(), Price: new(int64)})
			return err
		},
		"UpdateCustomerPass": func() error {
			_, err := w.client.UpdateCustomerPass(stranger, &passv1.UpdateCustomerPassRequest{Id: p.GetId(), RemainingUses: new(int32)})
			return err
		},
		"AdjustCredits": func() error {
			_, err := w.client.AdjustCredits(stranger, &passv1.AdjustCreditsRequest{CustomerPassId: p.GetId(), Credits: 1, Reason: "x"})
			return err
		},
		"RedeemCredits": func() error {
			_, err := w.client.RedeemCredits(stranger, redeemRequest(p.GetCustomerId(), p.GetId(), 1))
			return err
		},
		"ReturnCredits": func() error {
			_, err := w.client.ReturnCredits(stranger, &passv1.ReturnCreditsRequest{
				ReturnId: id.New[id.Booking]().String(), RedemptionId: redeemed.GetRedemptionId(), Credits: 1, CustomerPassId: p.GetId(),
			})
			return err
		},
		"ListLedgerEntries": func() error {
			_, err := w.client.ListLedgerEntries(stranger, &passv1.ListLedgerEntriesRequest{CustomerPassId: p.GetId()})
			return err
		},
	}
	for name, call := range calls {
		t.Run(name+" finds nothing", func(t *testing.T) {
			if err := call(); !fault.Is(err, fault.NotFound) {
				t.Errorf("got %v", err)
			}
		})
	}
	t.Run("CancelRedemption of another company's cancels nothing", func(t *testing.T) {
		res, err := w.client.CancelRedemption(stranger, &passv1.CancelRedemptionRequest{RedemptionId: redeemed.GetRedemptionId()})
		if err != nil || res.GetCredits() != 0 || w.get(own.GetId()).GetRemainingUses() != 9 {
			t.Errorf("got %v, %v", res, err)
		}
	})
	t.Run("lists are empty", func(t *testing.T) {
		eligible, err := w.client.ListEligiblePasses(stranger, &passv1.ListEligiblePassesRequest{CustomerId: own.GetCustomerId()})
		if err != nil || len(eligible.GetCustomerPasses()) != 0 {
			t.Errorf("got %v, %v", eligible, err)
		}
		types, err := w.client.ListPassTypes(stranger, &passv1.ListPassTypesRequest{})
		if err != nil || types.GetTotal() != 0 || len(types.GetPassTypes()) != 0 {
			t.Errorf("got %v, %v", types, err)
		}
		passes, err := w.client.ListCustomerPasses(stranger, &passv1.ListCustomerPassesRequest{CustomerId: p.GetCustomerId()})
		if err != nil || passes.GetTotal() != 0 || len(passes.GetCustomerPasses()) != 0 {
			t.Errorf("got %v, %v", passes, err)
		}
	})
}

func TestBadPaging(t *testing.T) {
	w := open(t)
	ctx := w.as(w.company)
	for _, size := range []int32{-1, 201} {
		if _, err := w.client.ListPassTypes(ctx, &passv1.ListPassTypesRequest{PageSize: size}); !fault.Is(err, fault.Invalid) {
			t.Errorf("page_size %d: got %v", size, err)
		}
	}
	for _, bad := range []string{"x", "pass_01jb4x9m3vf6ksn8w2d7pq5r0t", strings.Repeat("a", 10_000)} {
		if _, err := w.client.ListCustomerPasses(ctx, &passv1.ListCustomerPassesRequest{PageToken: bad}); !fault.Is(err, fault.Invalid) {
			t.Errorf("page_token %.20q: got %v", bad, err)
		}
	}
	p := w.assign("2026-01-01")
	for _, bad := range []string{"x", "_____________", "__________8"} {
		if _, err := w.client.ListLedgerEntries(ctx, &passv1.ListLedgerEntriesRequest{CustomerPassId: p.GetId(), PageToken: bad}); !fault.Is(err, fault.Invalid) {
			t.Errorf("page_token %q: got %v", bad, err)
		}
	}
}

var update = flag.Bool("update", false, "write the golden events")

func TestGoldenEvents(t *testing.T) { // invariant 2
	w := open(t)
	at := time.Date(2026, 1, 31, 9, 30, 0, 0, time.UTC)
	next := byte(0)
	w.server.now = func() time.Time { return at }
	w.server.newID = func() id.UUID {
		next++
		return id.UUID{0x01, 0x9c, 15: next}
	}
	customer := id.Customer{0x01, 0x9c, 15: 0xcc}
	w.customers.Add(w.company, customer)
	passType := w.passType()
	assigned, err := w.client.AssignCustomerPass(w.as(w.company), &passv1.AssignCustomerPassRequest{
		CustomerId: customer.String(), PassTypeId: passType.GetId(), Purchase: &passv1.PassPurchase{Reference: "pi_1"},
	})
	if err != nil {
		t.Fatal(err)
	}
	req := redeemRequest(customer.String(), assigned.GetCustomerPass().GetId(), 1)
	w.mustRedeem(req)
	title := "Eleven Classes"
	if _, err := w.client.UpdatePassType(w.as(w.company), &passv1.UpdatePassTypeRequest{Id: passType.GetId(), Title: &title}); err != nil {
		t.Fatal(err)
	}
	w.importPasses(false, []*passv1.ImportedCustomerPass{{
		Reference: "P-1", CustomerId: customer.String(), PassTypeId: passType.GetId(), StartDate: "2026-01-01", RemainingUses: proto.Int32(4),
		CreatedAt: timestamppb.New(time.Date(2026, 1, 1, 15, 0, 0, 0, time.UTC)), Purchase: &passv1.ImportedPassPurchase{Gross: 11000},
	}})
	payloads := map[string]proto.Message{
		subjectCustomerPassImported: &passv1.CustomerPassImported{}, subjectPassTypeCreated: &passv1.PassTypeCreated{}, subjectPassTypeUpdated: &passv1.PassTypeUpdated{},
		subjectCustomerPassAssigned: &passv1.CustomerPassAssigned{}, subjectCustomerPassUpdated: &passv1.CustomerPassUpdated{},
	}
	found := 0
	err = w.db.Read(t.Context(), pg.AllCompanies(), pg.Query{SQL: `select subject, payload from outbox`, Scan: func(rows pgx.Rows) error {
		for rows.Next() {
			var subject string
			var payload []byte
			if err := rows.Scan(&subject, &payload); err != nil {
				return err
			}
			if strings.HasSuffix(subject, outbox.ChangeRecorded) { // for the audit log: the import is by a credential
				continue
			}
			if payloads[subject] == nil {
				t.Errorf("unexpected event %s", subject)
				continue
			}
			if err := proto.Unmarshal(payload, payloads[subject]); err != nil {
				return err
			}
			found++
		}
		return nil
	}})
	if err != nil || found != len(payloads) {
		t.Fatalf("found %d events, %v", found, err)
	}
	for _, p := range payloads {
		if p, ok := p.(interface{ GetLedgerEntries() []*passv1.LedgerEntry }); ok {
			for _, e := range p.GetLedgerEntries() { // the test chooses these at random
				e.Actor = "m2m_01kg0000000000000000000001"
				if e.GetRedemptionId() != "" {
					e.RedemptionId, e.ItemId = "txn_01kg0000000000000000000002", "booking_01kg0000000000000000000003"
				}
			}
		}
	}
	for subject, payload := range payloads {
		file := filepath.Join("testdata", strings.TrimPrefix(subject, "pass.v1.")+".json")
		if *update {
			if err := os.WriteFile(file, []byte(protojson.MarshalOptions{Multiline: true}.Format(payload)+"\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		want := payload.ProtoReflect().New().Interface()
		if err := protojson.Unmarshal(text, want); err != nil || !proto.Equal(payload, want) {
			t.Errorf("%s: got %v, the golden file has %v (%v)", subject, payload, want, err)
		}
	}
}
