package customer

import (
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
)

func TestImport(t *testing.T) { // invariant 5
	w := open(t)
	t.Run("stores new customers, keeps known ones and rejects invalid ones, in the order of the lines", func(t *testing.T) {
		past := time.Date(2019, 5, 1, 10, 0, 0, 0, time.UTC)
		line := func(ref, email string) *customerv1.ImportedCustomer {
			return &customerv1.ImportedCustomer{Reference: ref, FirstName: "A", LastName: "B", Email: email, CreatedAt: timestamppb.New(past)}
		}
		stream, err := w.client.ImportCustomers(w.ctx())
		if err != nil {
			t.Fatal(err)
		}
		send := func(lines ...*customerv1.ImportedCustomer) []*customerv1.ImportCustomerResult {
			t.Helper()
			if err := stream.Send(&customerv1.ImportCustomersRequest{Customers: lines}); err != nil {
				t.Fatal(err)
			}
			res, err := stream.Recv()
			if err != nil {
				t.Fatal(err)
			}
			return res.GetResults()
		}
		future := line("c", "c@example.com")
		future.CreatedAt = timestamppb.New(time.Now().Add(time.Hour))
		got := send(line("a", "a@example.com"), line("b", "nonsense"), line("a", "z@example.com"), future, line(" ", "x@example.com"), line("d", "d@example.com"))
		want := []string{"CREATED", "REFUSED email email", "EXISTED", "REFUSED created_at range", "REFUSED reference required", "CREATED"}
		for i, r := range got {
			text := strings.TrimSpace(strings.TrimPrefix(r.GetOutcome().String(), "IMPORT_OUTCOME_") + " " + strings.TrimSpace(r.GetField()+" "+r.GetRule()))
			if text != want[i] {
				t.Errorf("line %d: got %s, want %s", i, text, want[i])
			}
		}
		if got[0].GetId() != got[2].GetId() || got[0].GetId() == "" {
			t.Errorf("the repeated reference is %s and %s", got[0].GetId(), got[2].GetId())
		}
		again := send(line("a", "other@example.com"), line("e", "e@example.com"))
		if again[0].GetOutcome() != customerv1.ImportOutcome_IMPORT_OUTCOME_EXISTED || again[0].GetId() != got[0].GetId() || again[1].GetOutcome() != customerv1.ImportOutcome_IMPORT_OUTCOME_CREATED {
			t.Errorf("got %v", again)
		}
		batch, err := w.client.BatchGetCustomers(w.ctx(), &customerv1.BatchGetCustomersRequest{References: []string{"a"}, Ids: []string{got[0].GetId()}})
		if err != nil || len(batch.GetCustomers()) != 1 {
			t.Fatalf("got %v, %v", batch, err)
		}
		if c := batch.GetCustomers()[0]; c.GetEmail() != "a@example.com" || !c.GetCreatedAt().AsTime().Equal(past) || c.GetReference() != "a" {
			t.Errorf("got %v", c)
		}
		if w.total() != 3 || w.events(subjectCreated) != 3 {
			t.Errorf("total %d, events %d", w.total(), w.events(subjectCreated))
		}
	})
	t.Run("creates each customer once if two import the same file at the same time", func(t *testing.T) {
		before := w.total()
		var wg sync.WaitGroup
		created := make([]int, 2)
		for i := range created {
			wg.Go(func() {
				for _, r := range w.importN("twice", 3000) {
					if r.GetOutcome() == customerv1.ImportOutcome_IMPORT_OUTCOME_CREATED {
						created[i]++
					}
				}
			})
		}
		wg.Wait()
		if created[0]+created[1] != 3000 || w.total() != before+3000 {
			t.Errorf("created %v, total %d", created, w.total()-before)
		}
	})
	t.Run("refuses a batch of a wrong size", func(t *testing.T) {
		stream, err := w.client.ImportCustomers(w.ctx())
		if err != nil {
			t.Fatal(err)
		}
		if err := stream.Send(&customerv1.ImportCustomersRequest{}); err != nil {
			t.Fatal(err)
		}
		if _, err := stream.Recv(); !fault.Is(err, fault.Invalid) {
			t.Errorf("got %v", err)
		}
	})
}
