package pass

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
)

// importPasses imports batches in one stream and returns the results.
func (w *world) importPasses(dryRun bool, batches ...[]*passv1.ImportedCustomerPass) (results []*passv1.ImportCustomerPassResult) {
	w.t.Helper()
	stream, err := w.client.ImportCustomerPasses(w.as(w.company))
	if err != nil {
		w.t.Fatal(err)
	}
	for _, batch := range batches {
		if err := stream.Send(&passv1.ImportCustomerPassesRequest{CustomerPasses: batch, DryRun: dryRun}); err != nil {
			w.t.Fatal(err)
		}
		res, err := stream.Recv()
		if err != nil {
			w.t.Fatal(err)
		}
		results = append(results, res.GetResults()...)
	}
	if err := stream.CloseSend(); err != nil {
		w.t.Error(err)
	}
	if _, err := stream.Recv(); !errors.Is(err, io.EOF) {
		w.t.Errorf("the stream ended with %v", err)
	}
	return results
}

// importOutcome returns "created", "existed", or "refused" with the field and the rule.
func importOutcome(r *passv1.ImportCustomerPassResult) string {
	name := strings.ToLower(strings.TrimPrefix(r.GetOutcome().String(), "IMPORT_OUTCOME_"))
	return strings.TrimSpace(fmt.Sprint(name, " ", r.GetField(), " ", r.GetRule()))
}

// importedRows counts what an import can add.
func (w *world) importedRows() string {
	w.t.Helper()
	text, err := pg.One[string](w.t.Context(), w.db, pg.AllCompanies(), `select concat_ws(' ', (select count(*) from customer_passes),
		(select count(*) from ledger_entries), (select sum(customer_passes) from pass_totals), (select count(*) from outbox), (select count(*) from customers))`)
	if err != nil {
		w.t.Fatal(err)
	}
	return text
}

func TestImportCustomerPasses(t *testing.T) { // invariant 21
	w := open(t)
	kind, customer := w.passType(), w.customer()
	row := func(reference string, change func(*passv1.ImportedCustomerPass)) *passv1.ImportedCustomerPass {
		p := &passv1.ImportedCustomerPass{Reference: reference, CustomerId: customer, PassTypeId: kind.GetId(), StartDate: "2025-01-31"}
		if change != nil {
			change(p)
		}
		return p
	}
	t.Run("stores the pass with its ledger, and publishes that it was imported", func(t *testing.T) {
		sold := time.Date(2025, 1, 30, 15, 0, 0, 0, time.UTC)
		got := w.importPasses(false, []*passv1.ImportedCustomerPass{row("used", func(p *passv1.ImportedCustomerPass) {
			p.TotalUses, p.RemainingUses, p.CreatedAt = proto.Int32(12), proto.Int32(5), timestamppb.New(sold)
			p.ExpiryDate, p.Status = "2099-12-31", passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_PAUSED
			p.Purchase = &passv1.ImportedPassPurchase{Gross: 9900, Currency: "EUR", Method: "CASH", Reference: "R-1"}
		})})
		if importOutcome(got[0]) != "created" {
			t.Fatalf("got %v", got)
		}
		p := w.get(got[0].GetId())
		want := &passv1.CustomerPass{
			Id: got[0].GetId(), CustomerId: customer, PassTypeId: kind.GetId(), Title: kind.GetTitle(), TotalUses: 12, RemainingUses: 5,
			StartDate: "2025-01-31", ExpiryDate: "2099-12-31", Status: passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_PAUSED,
			CreatedAt: timestamppb.New(sold), CreatedOn: "2025-01-30", UpdatedAt: p.GetUpdatedAt(), PausedSince: p.GetPausedSince(), Version: 1,
			Purchase: &passv1.PassPurchase{Gross: proto.Int64(9900), Currency: "EUR", Method: "CASH", Reference: "R-1"},
		}
		if !proto.Equal(want, p) || p.GetPausedSince() == nil {
			t.Errorf("got %v, want %v", p, want)
		}
		var ledger []string
		for _, e := range w.ledger(p.GetId()) {
			ledger = append(ledger, fmt.Sprint(e.GetSequence(), e.GetKind(), e.GetCredits(), e.GetBalance(), e.GetReason(), e.GetCreatedAt().AsTime().Equal(sold)))
		}
		if diff := cmp.Diff([]string{fmt.Sprint(1, passv1.LedgerEntryKind_LEDGER_ENTRY_KIND_ASSIGNED, 12, 12, "", true),
			fmt.Sprint(2, passv1.LedgerEntryKind_LEDGER_ENTRY_KIND_ADJUSTED, -7, 5, noteUsedBefore, false)}, ledger); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
		published := w.published()
		if !proto.Equal(published.passes[p.GetId()], p) || len(published.entries[p.GetId()]) != 2 {
			t.Errorf("published %v with %v", published.passes[p.GetId()], published.entries[p.GetId()])
		}
		n, err := pg.One[int64](t.Context(), w.db, pg.AllCompanies(), `select count(*) from outbox where subject = $1`, subjectCustomerPassAssigned)
		if err != nil || n != 0 {
			t.Errorf("%d events say that the pass was assigned, %v", n, err)
		}
	})
	t.Run("takes the terms that are not given from the pass type", func(t *testing.T) {
		got := w.importPasses(false, []*passv1.ImportedCustomerPass{row("plain", func(p *passv1.ImportedCustomerPass) {
			p.PassTypeId, p.Title = id.New[id.PassType]().String(), strings.ToUpper(kind.GetTitle())
		})})
		p := w.get(got[0].GetId())
		if p.GetTotalUses() != 10 || p.GetRemainingUses() != 10 || p.GetExpiryDate() != "2025-02-28" || p.GetPurchase() != nil ||
			p.GetStatus() != passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_EXPIRED || len(w.ledger(p.GetId())) != 1 {
			t.Errorf("got %v", p)
		}
	})
	t.Run("imports unlimited passes without credits in the ledger", func(t *testing.T) {
		got := w.importPasses(false, []*passv1.ImportedCustomerPass{row("unlimited", func(p *passv1.ImportedCustomerPass) {
			p.UnlimitedUses, p.ExpiryDate = true, "9999-12-31"
		})})
		if p := w.get(got[0].GetId()); !p.GetUnlimitedUses() || p.GetRemainingUses() != unlimitedUses || !p.GetNeverExpires() {
			t.Errorf("got %v", p)
		}
	})
	t.Run("finds passes by reference or identifier", func(t *testing.T) {
		used := w.importPasses(true, []*passv1.ImportedCustomerPass{row("used", nil)})[0].GetId()
		found, err := w.client.FindImportedPasses(w.as(w.company), &passv1.FindImportedPassesRequest{References: []string{"used", used, "x\x00", "never"}})
		if err != nil || len(found.GetPasses()) != 2 || found.GetPasses()[0].GetCustomerPassId() != used || found.GetPasses()[1].GetReference() != used {
			t.Errorf("got %v, %v", found, err)
		}
		other, err := w.client.FindImportedPasses(w.as(id.New[id.Company]()), &passv1.FindImportedPassesRequest{References: []string{"used", used}})
		if err != nil || len(other.GetPasses()) != 0 {
			t.Errorf("another company: got %v, %v", other, err)
		}
	})
	w.verify()
}

func TestImportRefusals(t *testing.T) { // invariant 21
	w := open(t)
	kind, customer, deleted := w.passType(), w.customer(), w.customer()
	gone, err := id.Parse[id.Customer](deleted)
	if err != nil {
		t.Fatal(err)
	}
	w.customers.Delete(gone)
	other := tenClasses()
	for _, title := range []string{"Twice", "twice", "Free yoga"} {
		other.Title, other.UnlimitedUses, other.TotalUses = title, title == "Free yoga", 10
		if other.UnlimitedUses {
			other.TotalUses = 0
		}
		if _, err := w.client.CreatePassType(w.as(w.company), other); err != nil {
			t.Fatal(err)
		}
	}
	tests := []struct {
		behaviour, want string
		change          func(*passv1.ImportedCustomerPass)
	}{
		{"no reference", "reference required", func(p *passv1.ImportedCustomerPass) { p.Reference = " " }},
		{"an unknown customer", "customer_id exists", func(p *passv1.ImportedCustomerPass) { p.CustomerId = id.New[id.Customer]().String() }},
		{"a deleted customer", "customer_id exists", func(p *passv1.ImportedCustomerPass) { p.CustomerId = deleted }},
		{"no customer", "customer_id exists", func(p *passv1.ImportedCustomerPass) { p.CustomerId = "ann@example.com" }},
		{"an unknown pass type", "pass_type_id exists", func(p *passv1.ImportedCustomerPass) { p.PassTypeId = id.New[id.PassType]().String() }},
		{"no pass type", "pass_type_id exists", func(p *passv1.ImportedCustomerPass) { p.PassTypeId = "" }},
		{"an unknown title", "title exists", func(p *passv1.ImportedCustomerPass) { p.PassTypeId, p.Title = "", "Never" }},
		{"a title of two pass types", "title unique", func(p *passv1.ImportedCustomerPass) { p.PassTypeId, p.Title = "", "Twice" }},
		{"no start date", "start_date format", func(p *passv1.ImportedCustomerPass) { p.StartDate = "" }},
		{"an expiry date before the start", "expiry_date min", func(p *passv1.ImportedCustomerPass) { p.ExpiryDate = "2025-01-01" }},
		{"no uses", "total_uses range", func(p *passv1.ImportedCustomerPass) { p.TotalUses = proto.Int32(0) }},
		{"too many uses left", "remaining_uses range", func(p *passv1.ImportedCustomerPass) { p.RemainingUses = proto.Int32(maxUses + 1) }},
		{"uses of an unlimited pass", "unlimited_uses exclusive", func(p *passv1.ImportedCustomerPass) { p.UnlimitedUses, p.TotalUses = true, proto.Int32(3) }},
		{"only uses left of an unlimited pass type", "total_uses required",
			func(p *passv1.ImportedCustomerPass) {
				p.PassTypeId, p.Title, p.RemainingUses = "", "Free yoga", proto.Int32(3)
			}},
		{"a creation to come", "created_at range", func(p *passv1.ImportedCustomerPass) { p.CreatedAt = timestamppb.New(time.Now().Add(time.Hour)) }},
		{"an unknown currency", "purchase.currency enum", func(p *passv1.ImportedCustomerPass) { p.Purchase = &passv1.ImportedPassPurchase{Currency: "XXX"} }},
		{"an unknown method", "purchase.method enum", func(p *passv1.ImportedCustomerPass) { p.Purchase = &passv1.ImportedPassPurchase{Method: "GOLD"} }},
		{"a negative price", "purchase.gross range", func(p *passv1.ImportedCustomerPass) { p.Purchase = &passv1.ImportedPassPurchase{Gross: -1} }},
	}
	for _, tt := range tests {
		t.Run("refuses "+tt.behaviour+" alone, also in a dry run", func(t *testing.T) {
			line := &passv1.ImportedCustomerPass{Reference: "r", CustomerId: customer, PassTypeId: kind.GetId(), StartDate: "2025-01-31"}
			tt.change(line)
			fine := &passv1.ImportedCustomerPass{Reference: tt.behaviour, CustomerId: customer, PassTypeId: kind.GetId(), StartDate: "2025-01-31"}
			for _, dryRun := range []bool{true, false} {
				got := w.importPasses(dryRun, []*passv1.ImportedCustomerPass{line, fine})
				if importOutcome(got[0]) != "refused "+tt.want || got[0].GetMessage() == "" || importOutcome(got[1]) != "created" {
					t.Errorf("dry run %t: got %v", dryRun, got)
				}
			}
		})
	}
	t.Run("refuses a request without passes", func(t *testing.T) {
		stream, err := w.client.ImportCustomerPasses(w.as(w.company))
		if err != nil {
			t.Fatal(err)
		}
		_ = stream.Send(&passv1.ImportCustomerPassesRequest{})
		if _, err := stream.Recv(); !fault.Is(err, fault.Invalid) {
			t.Errorf("got %v", err)
		}
	})
	w.verify()
}

func TestImportRehearsal(t *testing.T) { // invariant 21
	w := open(t)
	kind, customer := w.passType(), w.customer()
	row := func(reference string) *passv1.ImportedCustomerPass {
		return &passv1.ImportedCustomerPass{Reference: reference, CustomerId: customer, PassTypeId: kind.GetId(), StartDate: "2025-01-31"}
	}
	assigned := w.assign("2025-01-31").GetId()
	w.importPasses(false, []*passv1.ImportedCustomerPass{row("known")})
	batches := [][]*passv1.ImportedCustomerPass{
		{row("known"), row("a"), row("a"), row(""), row(assigned)},
		{row("a"), row("b"), {Reference: "c", CustomerId: "x", PassTypeId: kind.GetId(), StartDate: "2025-01-31"}, row("known")},
	}
	outcomes := func(results []*passv1.ImportCustomerPassResult) (texts []string) {
		for _, r := range results {
			texts = append(texts, r.GetReference()+" "+importOutcome(r))
		}
		return texts
	}
	t.Run("decides as the import does, over several batches, and changes nothing", func(t *testing.T) {
		before := w.importedRows()
		dry := w.importPasses(true, batches...)
		if after := w.importedRows(); after != before {
			t.Errorf("the dry run changed the rows from %s to %s", before, after)
		}
		for _, r := range dry {
			if importOutcome(r) == "created" && r.GetId() != "" {
				t.Errorf("%s has the identifier %s, but was not stored", r.GetReference(), r.GetId())
			}
		}
		done := outcomes(w.importPasses(false, batches...))
		if diff := cmp.Diff(done, outcomes(dry)); diff != "" {
			t.Errorf("-import +dry run:\n%s", diff)
		}
		want := []string{"known existed", "a created", "a existed", " refused reference required", assigned + " existed",
			"a existed", "b created", "c refused customer_id exists", "known existed"}
		if diff := cmp.Diff(want, done); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
	t.Run("creates each pass once if several import the same file at the same time", func(t *testing.T) {
		var file []*passv1.ImportedCustomerPass
		for i := range 300 {
			file = append(file, row(fmt.Sprint("p", i)))
		}
		var wg sync.WaitGroup
		created := make([]int, 4)
		for i := range created {
			wg.Go(func() {
				for _, r := range w.importPasses(false, file[:150], file[150:]) {
					if importOutcome(r) == "created" {
						created[i]++
					}
				}
			})
		}
		wg.Wait()
		if sum := created[0] + created[1] + created[2] + created[3]; sum != 300 {
			t.Errorf("created %v", created)
		}
	})
	w.verify()
}
