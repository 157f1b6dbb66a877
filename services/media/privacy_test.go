package media

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"reservation.dev/devkit/testkit"
	"reservation.dev/platform/customers"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/privacy"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	mediav1 "reservation.dev/proto/gen/reservation/media/v1"
	privacyv1 "reservation.dev/proto/gen/reservation/privacy/v1"
)

func (w *world) record(item, customer string, position int32, completed bool) (*mediav1.MediaProgress, error) {
	res, err := w.client.RecordProgress(w.ctx(), &mediav1.RecordProgressRequest{
		ItemId: item, CustomerId: customer, PositionSeconds: position, Completed: completed,
	})
	return res.GetProgress(), err
}

func TestProgress(t *testing.T) {
	w := start(t)
	i, customer := w.video(mp4(2000)), w.others.customer()
	e := w.entitle(&mediav1.CreateEntitlementRequest{ItemId: i.GetId(), CustomerId: customer})
	t.Run("keeps the position and the furthest completion", func(t *testing.T) {
		for _, step := range []struct {
			position        int32
			completed, want bool
		}{{10, false, false}, {1800, true, true}, {5, false, true}} {
			got, err := w.record(i.GetId(), customer, step.position, step.completed)
			if err != nil || got.GetPositionSeconds() != step.position || got.GetCompleted() != step.want {
				t.Errorf("got %v, %v", got, err)
			}
		}
		res := must[*mediav1.GetCustomerMediaResponse](t)(w.client.GetCustomerMedia(w.ctx(), &mediav1.GetCustomerMediaRequest{CustomerId: customer, ItemId: i.GetId()}))
		if p := res.GetMedia().GetProgress(); p.GetPositionSeconds() != 5 || !p.GetCompleted() {
			t.Errorf("got %v", res)
		}
	})
	t.Run("publishes the completion once, also under concurrency", func(t *testing.T) {
		another := w.others.customer()
		w.entitle(&mediav1.CreateEntitlementRequest{ItemId: i.GetId(), CustomerId: another})
		var all sync.WaitGroup
		for n := range 8 {
			all.Go(func() {
				if _, err := w.record(i.GetId(), another, int32(n), n%2 == 0); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		n := w.count(`select count(*) from outbox_events where subject like '%media_completed' and position(convert_to($1, 'UTF8') in payload) > 0`, another)
		if got, err := w.record(i.GetId(), another, 1, false); n != 1 || err != nil || !got.GetCompleted() {
			t.Errorf("%d events, %v, %v", n, got, err)
		}
	})
	t.Run("refuses positions out of range, drafts and unknown customers", func(t *testing.T) {
		for _, position := range []int32{-1, maxDuration + 1} {
			_, err := w.record(i.GetId(), customer, position, false)
			wantReason(t, err, fault.ReasonValidation)
		}
		_, err := w.record(w.item(video).GetId(), customer, 1, false)
		wantMissing(t, err)
		_, err = w.record(i.GetId(), id.New[id.Customer]().String(), 1, false)
		wantMissing(t, err)
	})
	t.Run("refuses a customer who cannot play the item", func(t *testing.T) {
		must[*mediav1.DeleteEntitlementResponse](t)(w.client.DeleteEntitlement(w.ctx(), &mediav1.DeleteEntitlementRequest{Id: e.GetId()}))
		for _, completed := range []bool{false, true} {
			_, err := w.record(i.GetId(), customer, 7, completed)
			wantReason(t, err, ReasonNotEntitled)
		}
	})
}

// confirm calls ConfirmCustomerDeletion as the customer service does.
func (w *world) confirm(customer string) error {
	_, err := w.deletions.ConfirmCustomerDeletion(w.with("customers:write"), &customerv1.ConfirmCustomerDeletionRequest{CustomerId: customer})
	return err
}

func TestConfirmCustomerDeletion(t *testing.T) { // invariant 10
	w := start(t)
	i := w.video(mp4(2000))
	t.Run("refuses progress and entitlements afterwards, and can be repeated", func(t *testing.T) {
		customer := w.others.customer()
		w.entitle(&mediav1.CreateEntitlementRequest{ItemId: i.GetId(), CustomerId: customer})
		if _, err := w.record(i.GetId(), customer, 1, false); err != nil {
			t.Fatal(err)
		}
		w.others.set(func() { w.others.customers[customer] = true })
		for range 2 {
			if err := w.confirm(customer); err != nil {
				t.Fatal(err)
			}
		}
		// The customer service may have been called before the deletion.
		w.others.set(func() { w.others.customers[customer] = false })
		_, err := w.record(i.GetId(), customer, 2, false)
		wantMissing(t, err)
		_, err = w.client.CreateEntitlement(w.ctx(), &mediav1.CreateEntitlementRequest{ItemId: i.GetId(), CustomerId: customer})
		wantMissing(t, err)
		_, err = w.link(i.GetId(), customer)
		wantMissing(t, err)
		if n := w.count(`select count(*) from progress`); n != 1 { // until the customer is erased
			t.Errorf("%d rows of progress", n)
		}
	})
	t.Run("trusts only the customer service about a deletion", func(t *testing.T) {
		customer := w.others.customer()
		w.entitle(&mediav1.CreateEntitlementRequest{ItemId: i.GetId(), CustomerId: customer})
		if err := w.confirm(customer); !fault.Is(err, fault.Invalid) {
			t.Errorf("got %v", err)
		}
		wantMissing(t, w.confirm(id.New[id.Customer]().String()))
		if _, err := w.record(i.GetId(), customer, 1, false); err != nil {
			t.Error(err)
		}
	})
}

// TestDeletionWaits delays a commit that has read a customer as present, and checks that the confirmation
// does not return before it.
func TestDeletionWaits(t *testing.T) { // invariant 10
	w := start(t)
	i, customer := w.video(mp4(2000)), w.others.customer()
	w.entitle(&mediav1.CreateEntitlementRequest{ItemId: i.GetId(), CustomerId: customer})
	if _, err := w.record(i.GetId(), customer, 1, false); err != nil {
		t.Fatal(err)
	}
	locked, release, held := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		held <- w.db.InTx(t.Context(), pg.For(w.company), func(ctx context.Context, tx *pg.Tx) error {
			_, err := tx.Exec(ctx, `select from progress where company_id = $1 for update`, w.company)
			close(locked)
			select {
			case <-release:
			case <-ctx.Done(): // the test has failed; its database is closed when this transaction has ended
			}
			return err
		})
	}()
	<-locked
	begun, ended := make(chan error, 1), make(chan error, 1)
	go func() {
		_, err := w.record(i.GetId(), customer, 2, false)
		begun <- err
	}()
	w.waitsFor(lockProgressSQL)
	w.others.set(func() { w.others.customers[customer] = true })
	go func() { ended <- w.confirm(customer) }()
	w.waitsFor(customers.AwaitSQL)
	select {
	case err := <-ended:
		t.Fatalf("confirmed before the commit: %v", err)
	default:
	}
	close(release)
	if err := errors.Join(<-held, <-begun, <-ended); err != nil {
		t.Error(err)
	}
}

// waitsFor waits until a statement waits for a lock.
func (w *world) waitsFor(sql string) {
	w.t.Helper()
	testkit.Eventually(w.t, time.Minute, func() error {
		if w.count(`select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
			and query like '%' || left($1, 900) || '%'`, sql) == 0 {
			return fmt.Errorf("nothing waits in %q", sql)
		}
		return nil
	})
}

func TestErasure(t *testing.T) { // invariant 10
	w := start(t)
	i := w.video(mp4(2000))
	gone, stays := w.others.customer(), w.others.customer()
	for _, customer := range []string{gone, stays} {
		w.entitle(&mediav1.CreateEntitlementRequest{ItemId: i.GetId(), CustomerId: customer})
		if _, err := w.record(i.GetId(), customer, 60, true); err != nil {
			t.Fatal(err)
		}
	}
	export := func(customer string) (text string) {
		t.Helper()
		stream, err := w.exports.ExportPersonalData(w.with("privacy:read"), &privacyv1.ExportPersonalDataRequest{CustomerId: customer})
		if err != nil {
			t.Fatal(err)
		}
		for {
			res, err := stream.Recv()
			if errors.Is(err, io.EOF) {
				return text
			}
			if err != nil {
				t.Fatal(err)
			}
			text += res.GetRecord().GetKind() + " " + res.GetRecord().GetId() + " " + res.GetRecord().GetJson() + "\n"
		}
	}
	t.Run("an export has the progress and what was given", func(t *testing.T) {
		text := export(gone)
		for _, want := range []string{"media_progress " + i.GetId(), `"position_seconds":60`, `"title":"Morning Flow"`, "media_entitlement ent_", `"item_id":"` + i.GetId() + `"`} {
			if !strings.Contains(text, want) {
				t.Errorf("%s is not in %s", want, text)
			}
		}
		if strings.Contains(text, stays) {
			t.Errorf("another customer is in %s", text)
		}
	})
	customer := mustID[id.Customer](t, gone)
	e := privacy.Erasure{Company: w.company, Customer: customer, At: time.Now()}
	if err := w.db.InTx(t.Context(), pg.For(w.company), func(ctx context.Context, tx *pg.Tx) error {
		return privacy.Mark(ctx, tx, e.Company, e.Customer, e.At)
	}); err != nil {
		t.Fatal(err)
	}
	for range 2 { // it can be repeated
		if err := w.server.store.erase(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	t.Run("removes both of one customer", func(t *testing.T) {
		if text := export(gone); text != "" {
			t.Errorf("got %s", text)
		}
		if text := export(stays); strings.Count(text, "\n") != 2 {
			t.Errorf("got %s", text)
		}
	})
	t.Run("stores nothing about the customer afterwards", func(t *testing.T) {
		_, err := w.record(i.GetId(), gone, 1, false)
		wantMissing(t, err)
		_, err = w.client.CreateEntitlement(w.ctx(), &mediav1.CreateEntitlementRequest{ItemId: i.GetId(), CustomerId: gone})
		wantMissing(t, err)
	})
	w.verify()
}
