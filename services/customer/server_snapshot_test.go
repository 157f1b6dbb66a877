package customer

import (
	"context"
	"errors"
	"io"
	"testing"

	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
)

// streamed returns the customers of a snapshot of a company, and the number of messages.
func (w *world) streamed(company id.Company, after string) (all []*customerv1.CustomerSnapshot, messages int, err error) {
	w.t.Helper()
	stream, err := w.snapshots.StreamCustomers(w.as(company, "platform:admin"), &customerv1.StreamCustomersRequest{AfterId: after})
	for err == nil {
		var resp *customerv1.StreamCustomersResponse
		if resp, err = stream.Recv(); err == nil {
			messages++
			all = append(all, resp.GetCustomers()...)
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return all, messages, err
}

func TestStreamCustomers(t *testing.T) {
	w := open(t)
	deleted, kept := w.create("Ann"), w.create("Zoë")
	if _, err := w.client.DeleteCustomer(w.ctx(), &customerv1.DeleteCustomerRequest{Id: deleted.GetId()}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.client.UpdateCustomer(w.ctx(), &customerv1.UpdateCustomerRequest{Id: kept.GetId(), FirstName: ptr("Zoe")}); err != nil {
		t.Fatal(err)
	}
	t.Run("has each customer as in the last event, and no deleted ones", func(t *testing.T) {
		text, err := pg.One[[]byte](t.Context(), w.db, pg.AllCompanies(), `select payload from outbox where subject = 'customer.v1.customer_updated'`)
		var last customerv1.CustomerUpdated
		if err != nil || proto.Unmarshal(text, &last) != nil {
			t.Fatal(err)
		}
		all, _, err := w.streamed(w.company, "")
		if err != nil || len(all) != 1 || !proto.Equal(all[0], last.GetCustomer()) {
			t.Errorf("got %v, %v, want %v", all, err, last.GetCustomer())
		}
	})
	t.Run("has no customers of another company", func(t *testing.T) {
		all, _, err := w.streamed(id.New[id.Company](), "")
		if err != nil || len(all) != 0 {
			t.Errorf("got %v, %v", all, err)
		}
	})
	t.Run("is ordered by identifier in several messages, and continues after any customer", func(t *testing.T) {
		err := w.db.InTx(t.Context(), pg.For(w.company), func(ctx context.Context, tx *pg.Tx) error {
			return execUnlimited(ctx, tx, `insert into customers (company_id, id, first_name, last_name, email, mobile, archived, version, created_at, updated_at)
				select $1, gen_random_uuid(), 'Ann', 'Lee', 'ann' || n || '@example.com', '', false, 1, now(), now() from generate_series(1, $2) n`,
				w.company, 2*snapshotPage+1)
		})
		if err != nil {
			t.Fatal(err)
		}
		all, messages, err := w.streamed(w.company, "")
		if err != nil || len(all) != 2*snapshotPage+2 || messages != 3 {
			t.Fatalf("got %d customers in %d messages, %v", len(all), messages, err)
		}
		for i := range all[1:] {
			if all[i].GetId() >= all[i+1].GetId() {
				t.Fatalf("%s comes before %s", all[i].GetId(), all[i+1].GetId())
			}
		}
		rest, _, err := w.streamed(w.company, all[snapshotPage+10].GetId())
		if err != nil || len(rest) != snapshotPage-9 || !proto.Equal(rest[0], all[snapshotPage+11]) {
			t.Errorf("got %d customers, %v", len(rest), err)
		}
	})
	t.Run("refuses an identifier of something else, and callers without platform:admin", func(t *testing.T) {
		if _, _, err := w.streamed(w.company, "evt_x"); !fault.Is(fault.From(err), fault.Invalid) {
			t.Errorf("got %v", err)
		}
		stream, err := w.snapshots.StreamCustomers(w.ctx(), &customerv1.StreamCustomersRequest{})
		if err == nil {
			_, err = stream.Recv()
		}
		if !fault.Is(fault.From(err), fault.Forbidden) {
			t.Errorf("got %v", err)
		}
	})
}

func TestSnapshotPlan(t *testing.T) {
	w := open(t)
	fillPlanned(t, w.db, w.company, 5_000)
	for _, mode := range []string{"force_custom_plan", "force_generic_plan"} {
		p := explain(t, w.db, w.company, mode, w.server.store.sql(snapshotSQL), []any{w.company, [16]byte{0x80}, 100})
		p.walk(func(n plan) {
			if n.Type == "Seq Scan" || n.Type == "Sort" || n.Rows+n.Removed > 100 {
				t.Errorf("%s: %s goes through %.0f rows", mode, n.Type, n.Rows+n.Removed)
			}
		})
	}
}
