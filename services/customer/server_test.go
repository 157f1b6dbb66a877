package customer

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/google/go-cmp/cmp"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/rpc"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	privacyv1 "reservation.dev/proto/gen/reservation/privacy/v1"
)

func TestPolicyCoversEveryMethod(t *testing.T) {
	if err := Policy().Check(&customerv1.CustomerService_ServiceDesc, &customerv1.NoteService_ServiceDesc); err != nil {
		t.Error(err)
	}
}

func TestCreate(t *testing.T) {
	w := open(t)
	t.Run("stores, counts and publishes in one commit", func(t *testing.T) { // invariants 1 and 3
		made := w.create("  Zoë ")
		got, err := w.client.GetCustomer(w.as(w.company, "profile:read"), &customerv1.GetCustomerRequest{Id: made.GetId()})
		if err != nil || !proto.Equal(got.GetCustomer(), made) || made.GetFirstName() != "Zoë" || made.GetVersion() != 1 {
			t.Errorf("got %v, %v, want %v", got, err, made)
		}
		if w.total() != 1 || w.events(subjectCreated) != 1 {
			t.Errorf("total %d, events %d", w.total(), w.events(subjectCreated))
		}
	})
	t.Run("reports every invalid field in one response", func(t *testing.T) {
		_, err := w.client.CreateCustomer(w.ctx(), &customerv1.CreateCustomerRequest{LastName: "a\x00", Email: "x", Mobile: "\a"})
		var got []string
		for _, f := range fault.From(err).Fields {
			got = append(got, f.Field+":"+f.Rule)
		}
		if want := "first_name:required last_name:characters email:email mobile:characters"; strings.Join(got, " ") != want {
			t.Errorf("got %v, want %s", got, want)
		}
	})
	t.Run("happens once per idempotency key", func(t *testing.T) {
		before := w.total()
		ctx := rpc.WithIdempotencyKey(w.ctx(), "k1")
		req := &customerv1.CreateCustomerRequest{FirstName: "A", LastName: "B", Email: "a@example.com"}
		one, err := w.client.CreateCustomer(ctx, req)
		if err != nil {
			t.Fatal(err)
		}
		two, err := w.client.CreateCustomer(ctx, req)
		if err != nil || !proto.Equal(one, two) || w.total() != before+1 {
			t.Errorf("got %v, %v, want %v again", two, err, one)
		}
		req.FirstName = "C"
		if _, err := w.client.CreateCustomer(ctx, req); fault.From(err).Reason != fault.ReasonIdempotencyKeyReused {
			t.Errorf("got %v", err)
		}
	})
}

func TestUpdate(t *testing.T) {
	w := open(t)
	t.Run("changes the fields that are set, raises the version and publishes the event", func(t *testing.T) { // invariant 1
		made := w.create("Zoë")
		res, err := w.client.UpdateCustomer(w.as(w.company, "profile:write"), &customerv1.UpdateCustomerRequest{Id: made.GetId(), Mobile: ptr(" 07700 900123 ")})
		if err != nil || res.GetCustomer().GetMobile() != "07700 900123" || res.GetCustomer().GetVersion() != 2 || res.GetCustomer().GetFirstName() != "Zoë" {
			t.Fatalf("got %v, %v", res, err)
		}
		events := w.events(subjectUpdated)
		res, err = w.client.UpdateCustomer(w.ctx(), &customerv1.UpdateCustomerRequest{Id: made.GetId(), Mobile: ptr("07700 900123")})
		if err != nil || res.GetCustomer().GetVersion() != 2 || w.events(subjectUpdated) != events {
			t.Errorf("an update without a change made version %d and %d events", res.GetCustomer().GetVersion(), w.events(subjectUpdated)-events)
		}
	})
	t.Run("refuses a stale version and changes nothing", func(t *testing.T) { // invariant 2
		made := w.create("Zoë")
		req := &customerv1.UpdateCustomerRequest{Id: made.GetId(), FirstName: ptr("A"), ExpectedVersion: ptr(int64(1))}
		if _, err := w.client.UpdateCustomer(w.ctx(), req); err != nil {
			t.Fatal(err)
		}
		req.FirstName = ptr("B")
		if _, err := w.client.UpdateCustomer(w.ctx(), req); !fault.Is(err, fault.VersionMismatch) {
			t.Errorf("got %v", err)
		}
		got, err := w.client.GetCustomer(w.ctx(), &customerv1.GetCustomerRequest{Id: made.GetId()})
		if err != nil || got.GetCustomer().GetFirstName() != "A" {
			t.Errorf("got %v, %v", got, err)
		}
	})
	t.Run("serializes concurrent updates", func(t *testing.T) { // invariant 2
		made := w.create("Zoë")
		const writers = 40
		var wg sync.WaitGroup
		var mu sync.Mutex
		versions := map[int64]bool{}
		for i := range writers {
			wg.Go(func() {
				res, err := w.client.UpdateCustomer(w.ctx(), &customerv1.UpdateCustomerRequest{Id: made.GetId(), FirstName: ptr(fmt.Sprint("Z", i))})
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				defer mu.Unlock()
				if versions[res.GetCustomer().GetVersion()] {
					t.Errorf("two updates made version %d", res.GetCustomer().GetVersion())
				}
				versions[res.GetCustomer().GetVersion()] = true
			})
		}
		wg.Wait()
		if len(versions) != writers {
			t.Errorf("%d versions", len(versions))
		}
	})
	t.Run("accepts exactly one of several updates with the same expected version", func(t *testing.T) {
		made := w.create("Zoë")
		var wg sync.WaitGroup
		results := make(chan error, 20)
		for i := range 20 {
			wg.Go(func() {
				_, err := w.client.UpdateCustomer(w.ctx(), &customerv1.UpdateCustomerRequest{Id: made.GetId(), FirstName: ptr(fmt.Sprint("Z", i)), ExpectedVersion: ptr(int64(1))})
				results <- err
			})
		}
		wg.Wait()
		close(results)
		passed := 0
		for err := range results {
			if err == nil {
				passed++
			} else if !fault.Is(err, fault.VersionMismatch) {
				t.Error(err)
			}
		}
		if passed != 1 {
			t.Errorf("%d passed", passed)
		}
	})
}

func TestArchiveAndDelete(t *testing.T) {
	w := open(t)
	made := w.create("Zoë")
	t.Run("archiving twice is one change, and the customer is still found and counted", func(t *testing.T) {
		for range 2 {
			res, err := w.client.ArchiveCustomer(w.ctx(), &customerv1.ArchiveCustomerRequest{Id: made.GetId(), Archived: true})
			if err != nil || !res.GetCustomer().GetArchived() || res.GetCustomer().GetVersion() != 2 {
				t.Errorf("got %v, %v", res, err)
			}
		}
		if w.total() != 1 || w.events(subjectUpdated) != 1 {
			t.Errorf("total %d, events %d", w.total(), w.events(subjectUpdated))
		}
	})
	t.Run("deleting with a stale version changes nothing", func(t *testing.T) { // invariant 2
		_, err := w.client.DeleteCustomer(w.ctx(), &customerv1.DeleteCustomerRequest{Id: made.GetId(), ExpectedVersion: ptr(int64(1))})
		if f := fault.From(err); f.Kind != fault.VersionMismatch || f.Reason != fault.ReasonVersionMismatch {
			t.Errorf("got %v", err)
		}
		if w.total() != 1 || w.events(subjectDeleted) != 0 {
			t.Errorf("total %d, events %d", w.total(), w.events(subjectDeleted))
		}
	})
	t.Run("deleting is permanent, for every reader", func(t *testing.T) { // invariant 3
		if _, err := w.client.DeleteCustomer(w.ctx(), &customerv1.DeleteCustomerRequest{Id: made.GetId(), ExpectedVersion: ptr(int64(2))}); err != nil {
			t.Fatal(err)
		}
		if w.total() != 0 || w.events(subjectDeleted) != 1 {
			t.Errorf("total %d, events %d", w.total(), w.events(subjectDeleted))
		}
		for name, call := range w.calls(w.ctx(), made.GetId()) {
			if err := call(); !fault.Is(err, fault.NotFound) {
				t.Errorf("%s: got %v", name, err)
			}
		}
		res, err := w.client.BatchGetCustomers(w.ctx(), &customerv1.BatchGetCustomersRequest{Ids: []string{made.GetId()}})
		if err != nil || len(res.GetCustomers()) != 0 {
			t.Errorf("got %v, %v", res, err)
		}
		res, err = w.client.BatchGetCustomers(w.ctx(), &customerv1.BatchGetCustomersRequest{Ids: []string{made.GetId()}, IncludeDeleted: true})
		if err != nil || len(res.GetCustomers()) != 1 || res.GetCustomers()[0].GetDeletedAt() == nil {
			t.Errorf("got %v, %v", res, err)
		}
	})
}

// calls returns the RPCs that name one customer.
func (w *world) calls(ctx context.Context, customer string) map[string]func() error {
	return map[string]func() error{
		"GetCustomer": func() error {
			_, err := w.client.GetCustomer(ctx, &customerv1.GetCustomerRequest{Id: customer})
			return err
		},
		"UpdateCustomer": func() error {
			_, err := w.client.UpdateCustomer(ctx, &customerv1.UpdateCustomerRequest{Id: customer, FirstName: ptr("X")})
			return err
		},
		"UpdateCustomer with faults": func() error {
			_, err := w.client.UpdateCustomer(ctx, &customerv1.UpdateCustomerRequest{Id: customer, FirstName: ptr("")})
			return err
		},
		"ArchiveCustomer": func() error {
			_, err := w.client.ArchiveCustomer(ctx, &customerv1.ArchiveCustomerRequest{Id: customer, Archived: true})
			return err
		},
		"DeleteCustomer": func() error {
			_, err := w.client.DeleteCustomer(ctx, &customerv1.DeleteCustomerRequest{Id: customer})
			return err
		},
	}
}

func TestAnotherCompany(t *testing.T) { // invariant 6
	w := open(t)
	made := w.create("Zoë")
	stranger := w.as(id.New[id.Company]())
	for _, customer := range []string{made.GetId(), "", "cust_", "cust_'; drop table customers", strings.Repeat("x", 100), id.New[id.Event]().String()} {
		for name, call := range w.calls(stranger, customer) {
			if err := call(); !fault.Is(err, fault.NotFound) {
				t.Errorf("%s %.40q: got %v", name, customer, err)
			}
		}
	}
	batch, err := w.client.BatchGetCustomers(stranger, &customerv1.BatchGetCustomersRequest{Ids: []string{made.GetId(), "nonsense"}, References: []string{"a\x00", "r"}, IncludeDeleted: true})
	if err != nil || len(batch.GetCustomers()) != 0 {
		t.Errorf("batch: got %v, %v", batch, err)
	}
	list, err := w.client.ListCustomers(stranger, &customerv1.ListCustomersRequest{})
	if err != nil || len(list.GetCustomers()) != 0 || list.GetTotal() != 0 {
		t.Errorf("list: got %v, %v", list, err)
	}
	if text, err := w.export(stranger, nil); err != nil || text != "" {
		t.Errorf("export: got %s, %v", text, err)
	}
}

var update = flag.Bool("update", false, "write the golden events")

func TestGoldenEvents(t *testing.T) { // invariant 1
	w := open(t)
	at := time.Date(2026, 1, 31, 9, 30, 0, 0, time.UTC)
	w.server.now = func() time.Time { at = at.Add(time.Minute); return at }
	w.server.newID = func() id.UUID { return id.UUID{0x01, 0x9c, 15: 1} }
	made := w.create("Zoë")
	if _, err := w.client.UpdateCustomer(w.ctx(), &customerv1.UpdateCustomerRequest{Id: made.GetId(), Mobile: ptr("+44 7700 900123")}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.client.DeleteCustomer(w.ctx(), &customerv1.DeleteCustomerRequest{Id: made.GetId()}); err != nil {
		t.Fatal(err)
	}
	erasures := Erasures{Server: w.server}
	if _, err := erasures.EraseCustomer(w.ctx(), &privacyv1.EraseCustomerRequest{CustomerId: made.GetId()}); err != nil {
		t.Fatal(err)
	}
	// The deletion published with an erasure has the same content as the erasure's event.
	if err := w.db.InTx(t.Context(), pg.AllCompanies(), func(ctx context.Context, tx *pg.Tx) error {
		_, err := tx.Exec(ctx, `delete from outbox where subject = $1 and position(convert_to($2, 'UTF8') in payload) > 0`, subjectDeleted, erasedEmail)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	payloads := map[string]proto.Message{
		subjectErased: &customerv1.CustomerErased{}, subjectCreated: &customerv1.CustomerCreated{}, subjectUpdated: &customerv1.CustomerUpdated{}, subjectDeleted: &customerv1.CustomerDeleted{},
	}
	found := 0
	err := w.db.Read(t.Context(), pg.AllCompanies(), pg.Query{SQL: `select subject, payload from outbox`, Scan: func(rows pgx.Rows) error {
		for rows.Next() {
			var subject string
			var payload []byte
			if err := rows.Scan(&subject, &payload); err != nil {
				return err
			}
			if payloads[subject] == nil {
				return fmt.Errorf("unexpected event %s", subject)
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
	for subject, payload := range payloads {
		file := filepath.Join("testdata", strings.TrimPrefix(subject, "customer.v1.")+".json")
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

func TestBatchByEmail(t *testing.T) { // invariant 6
	w := open(t)
	ann, twin := w.create("ann"), w.create("ann")
	zoe := w.create("zoe")
	gone := w.create("gone")
	if err := w.delete(w.ctx(), gone.GetId(), nil); err != nil {
		t.Fatal(err)
	}
	ask := func(ctx context.Context, req *customerv1.BatchGetCustomersRequest) (ids []string) {
		t.Helper()
		res, err := w.client.BatchGetCustomers(ctx, req)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range res.GetCustomers() {
			ids = append(ids, c.GetId())
		}
		slices.Sort(ids)
		return ids
	}
	sorted := func(ids ...string) []string { slices.Sort(ids); return ids }
	t.Run("finds customers by e-mail address in any case, each once, and nobody who is deleted", func(t *testing.T) {
		emails := []string{strings.ToUpper(ann.GetEmail()), zoe.GetEmail(), gone.GetEmail(), "nobody@example.com", "x\x00"}
		got := ask(w.ctx(), &customerv1.BatchGetCustomersRequest{Ids: []string{zoe.GetId()}, Emails: emails})
		if diff := cmp.Diff(sorted(ann.GetId(), twin.GetId(), zoe.GetId()), got); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
	t.Run("returns at most two customers of an address", func(t *testing.T) {
		w.create("ann")
		if got := ask(w.ctx(), &customerv1.BatchGetCustomersRequest{Emails: []string{ann.GetEmail()}}); len(got) != 2 {
			t.Errorf("got %v", got)
		}
	})
	t.Run("finds nobody in another company", func(t *testing.T) {
		if got := ask(w.as(id.New[id.Company]()), &customerv1.BatchGetCustomersRequest{Emails: []string{zoe.GetEmail()}}); len(got) != 0 {
			t.Errorf("got %v", got)
		}
	})
}
