package customer

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/tenancy"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
)

// importBatches imports batches in one stream and returns the outcome of each line: "created", "existed", or
// "refused" with the field and the rule.
func (w *world) importBatches(dryRun bool, batches ...[]*customerv1.ImportedCustomer) (outcomes []string) {
	w.t.Helper()
	stream, err := w.client.ImportCustomers(w.ctx())
	if err != nil {
		w.t.Fatal(err)
	}
	for _, batch := range batches {
		if err := stream.Send(&customerv1.ImportCustomersRequest{Customers: batch, DryRun: dryRun}); err != nil {
			w.t.Fatal(err)
		}
		res, err := stream.Recv()
		if err != nil {
			w.t.Fatal(err)
		}
		for _, r := range res.GetResults() {
			name := strings.ToLower(strings.TrimPrefix(r.GetOutcome().String(), "IMPORT_OUTCOME_"))
			outcomes = append(outcomes, strings.TrimSpace(fmt.Sprint(r.GetReference(), " ", name, " ", r.GetField(), " ", r.GetRule())))
			if dryRun && name == "created" && r.GetId() != "" {
				w.t.Errorf("%s has the identifier %s, but was not stored", r.GetReference(), r.GetId())
			}
		}
	}
	return outcomes
}

func TestDryRun(t *testing.T) { // invariant 5
	for name, unique := range map[string]bool{"any addresses": false, "unique addresses": true} {
		t.Run("answers as an import into a company with "+name+" and stores nothing", func(t *testing.T) {
			w := open(t)
			w.auth.unique = unique
			line := func(reference, email string) *customerv1.ImportedCustomer {
				return &customerv1.ImportedCustomer{Reference: reference, FirstName: "A", LastName: "B", Email: email}
			}
			w.importBatches(false, []*customerv1.ImportedCustomer{line("known", "known@example.com")})
			batches := [][]*customerv1.ImportedCustomer{
				{line("a", "a@example.com"), line("b", "nonsense"), line("known", "x@example.com"), line("a", "y@example.com"), line("c", "KNOWN@example.com")},
				{line("a", "a@example.com"), line("d", "A@example.com"), line("e", "e@example.com"), line("f", "e@example.com"), line(" ", "g@example.com")},
			}
			before, events := w.total(), w.events(subjectCreated)
			foreseen := w.importBatches(true, batches...)
			if w.total() != before || w.events(subjectCreated) != events {
				t.Errorf("stored %d customers and %d events", w.total()-before, w.events(subjectCreated)-events)
			}
			if diff := cmp.Diff(w.importBatches(false, batches...), foreseen); diff != "" {
				t.Errorf("-import +dry run:\n%s", diff)
			}
		})
	}
	t.Run("refuses more customers than a stream can have", func(t *testing.T) {
		w := open(t)
		_, err := w.server.rehearse(t.Context(), tenancy.Company{ID: w.company}, &rehearsal{read: maxRehearsed}, []*customerv1.ImportedCustomer{{}})
		if !fault.Is(err, fault.TooLarge) {
			t.Errorf("got %v", err)
		}
	})
}

func TestImportOfIdentifiers(t *testing.T) { // invariant 5
	w := open(t)
	ann, ben := w.create("ann").GetId(), w.create("ben").GetId()
	if err := w.delete(w.ctx(), ben, nil); err != nil {
		t.Fatal(err)
	}
	unknown := id.New[id.Customer]().String()
	line := func(reference string) *customerv1.ImportedCustomer {
		return &customerv1.ImportedCustomer{Reference: reference, FirstName: "A", LastName: "B", Email: "new@example.com"}
	}
	want := []string{ann + " existed", ben + " refused reference deleted", unknown + " created"}
	batch := []*customerv1.ImportedCustomer{line(ann), line(ben), line(unknown)}
	for _, dryRun := range []bool{true, false} {
		t.Run(fmt.Sprintf("takes an identifier as a reference for its customer, and never revives a deleted one, dry run %t", dryRun), func(t *testing.T) {
			if diff := cmp.Diff(want, w.importBatches(dryRun, batch)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
