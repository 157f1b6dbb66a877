package subscription

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"reservation.dev/platform/customers"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	subscriptionv1 "reservation.dev/proto/gen/reservation/subscription/v1"
)

// confirmDeletion calls ConfirmCustomerDeletion as the customer service does.
func (w *world) confirmDeletion(customer string) error {
	_, err := w.deletions.ConfirmCustomerDeletion(w.with(w.issuer.Client(w.company, "customers:write")),
		&customerv1.ConfirmCustomerDeletionRequest{CustomerId: customer})
	return err
}

// deletes deletes a customer in the customer and the pass service without notifying the subscription service.
func (w *world) deletes(customer string) {
	w.t.Helper()
	c, err := id.Parse[id.Customer](customer)
	if err != nil {
		w.t.Fatal(err)
	}
	w.customers.Delete(c)
}

func (w *world) subscribeTo(customer string, plan *subscriptionv1.Plan) error {
	_, err := w.client.CreateSubscription(w.ctx(), &subscriptionv1.CreateSubscriptionRequest{CustomerId: customer, PlanId: plan.GetId()})
	return err
}

func TestConfirmCustomerDeletion(t *testing.T) { // invariant 16
	w := open(t)
	plan := w.plan()
	t.Run("ends the subscriptions, cancels what is due, and can be repeated", func(t *testing.T) {
		s := w.subscribe(plan, unpaid)
		if err := w.subscribeTo(s.GetCustomerId(), plan); err != nil {
			t.Fatal(err)
		}
		w.deletes(s.GetCustomerId())
		for range 2 {
			if err := w.confirmDeletion(s.GetCustomerId()); err != nil {
				t.Fatal(err)
			}
		}
		list, err := w.client.ListSubscriptions(w.ctx(), &subscriptionv1.ListSubscriptionsRequest{CustomerId: s.GetCustomerId()})
		if err != nil || list.GetTotal() != 2 {
			t.Fatalf("got %v, %v", list, err)
		}
		for _, got := range list.GetSubscriptions() {
			if got.GetStatus() != ended || got.GetEndReason() != subscriptionv1.EndReason_END_REASON_CUSTOMER_DELETED || got.GetAmountDue() != 0 ||
				got.GetCurrentPeriod().GetPaymentStatus() != subscriptionv1.PaymentStatus_PAYMENT_STATUS_CANCELLED {
				t.Errorf("got %v", got)
			}
		}
		wantReason(t, w.subscribeTo(s.GetCustomerId(), plan), fault.ReasonNotFound)
		_, err = w.client.GetSubscription(w.ctx(), &subscriptionv1.GetSubscriptionRequest{Id: s.GetId(), CustomerId: s.GetCustomerId()})
		wantReason(t, err, fault.ReasonNotFound)
		_, err = w.client.ListSubscriptions(w.ctx(), &subscriptionv1.ListSubscriptionsRequest{CustomerId: s.GetCustomerId(), CustomerMustExist: true})
		wantReason(t, err, fault.ReasonNotFound)
		w.jobs()
		if pass := w.passes.pass(s.GetId()); pass.balance != 0 {
			t.Errorf("the pass is %+v", pass)
		}
	})
	t.Run("is refused for a customer who is not deleted", func(t *testing.T) {
		wantReason(t, w.confirmDeletion(w.customer()), fault.ReasonInvalidParameter)
	})
	t.Run("a job does not move a subscription that the deletion has ended", func(t *testing.T) {
		s := w.subscribe(plan)
		w.deletes(s.GetCustomerId())
		if err := w.confirmDeletion(s.GetCustomerId()); err != nil {
			t.Fatal(err)
		}
		w.at(noonOf("2027-06-01"))
		if n := len(w.periods(s.GetId())); n != 1 {
			t.Errorf("%d periods", n)
		}
	})
	w.verify()
}

// hold runs a statement whose locks are held until the returned function is called.
func (w *world) hold(sql string) (release func()) {
	w.t.Helper()
	locked, done := make(chan struct{}), make(chan struct{})
	undo := errors.New("undo")
	isLocked := sync.OnceFunc(func() { close(locked) })
	var wg sync.WaitGroup
	wg.Go(func() {
		defer isLocked() // also if the transaction does not begin
		err := w.db.InTx(w.t.Context(), pg.For(w.company), func(ctx context.Context, tx *pg.Tx) error {
			_, err := tx.Exec(ctx, sql, w.company)
			isLocked()
			<-done
			return cmp.Or(err, undo)
		})
		if !errors.Is(err, undo) {
			w.t.Error(err)
		}
	})
	<-locked
	return func() { close(done); wg.Wait() }
}

// waitsFor waits until a statement waits for a lock. It fails if early receives a result before that.
func (w *world) waitsFor(sql string, early chan error) {
	w.t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		if w.count(`select count(*) from pg_stat_activity
			where datname = current_database() and wait_event_type = 'Lock' and query like '%' || left($1, 900) || '%'`, sql) > 0 {
			return
		}
		select {
		case err := <-early:
			w.t.Errorf("it was answered (%v) without waiting", err)
			early <- err
			return
		case <-time.After(5 * time.Millisecond):
		}
	}
	w.t.Fatalf("nothing waits in %q", sql)
}

// TestDeletionWaits delays a commit that has read a customer, and checks that the deletion does not return before
// it and then ends what it has added.
func TestDeletionWaits(t *testing.T) { // invariant 16
	w := open(t)
	plan := w.plan()
	customer := w.customer()
	if err := w.subscribeTo(customer, plan); err != nil { // so that there are rows to wait for
		t.Fatal(err)
	}
	release, begun, confirmed := w.hold(`select from subscription_totals where company_id = $1 for update`), make(chan error, 1), make(chan error, 1)
	go func() { begun <- w.subscribeTo(customer, plan) }()
	w.waitsFor("subscription_totals", begun)
	go func() { w.deletes(customer); confirmed <- w.confirmDeletion(customer) }()
	w.waitsFor(customers.AwaitSQL, confirmed)
	release()
	if err := <-begun; err != nil {
		t.Error(err)
	}
	if err := <-confirmed; err != nil {
		t.Error(err)
	}
	c, _ := id.Parse[id.Customer](customer)
	if n := w.count(`select count(*) from subscriptions where customer_id = $1 and status = 'ended'`, c); n != 2 {
		t.Errorf("%d subscriptions have ended", n)
	}
	wantReason(t, w.subscribeTo(customer, plan), fault.ReasonNotFound)
	w.verify()
}

// TestDeletionUnderConcurrency deletes customers during many requests. After the call has returned, no
// subscription is open.
func TestDeletionUnderConcurrency(t *testing.T) { // invariant 16
	w := open(t)
	plan := w.plan()
	const customers = 6
	var names []string
	for range customers {
		names = append(names, w.customer())
	}
	stop := make(chan struct{})
	var busy sync.WaitGroup
	for i := range customers * 3 {
		busy.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					_ = w.subscribeTo(names[i%customers], plan)
				}
			}
		})
	}
	open := func(customer string) int64 {
		c, _ := id.Parse[id.Customer](customer)
		return w.count(`select count(*) from subscriptions where customer_id = $1 and status <> 'ended'`, c)
	}
	for _, name := range names {
		for open(name) < 3 && t.Context().Err() == nil {
			<-time.After(time.Millisecond)
		}
		w.deletes(name)
		if err := w.confirmDeletion(name); err != nil {
			t.Error(err)
		}
		if n := open(name); n != 0 {
			t.Errorf("%d subscriptions are open", n)
		}
	}
	close(stop)
	busy.Wait()
	for _, name := range names {
		if n := open(name); n != 0 {
			t.Errorf("%d subscriptions are open later", n)
		}
	}
	w.verify()
}
