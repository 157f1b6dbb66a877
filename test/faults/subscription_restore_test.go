package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	subscriptionv1 "reservation.dev/proto/gen/reservation/subscription/v1"
	"reservation.dev/test/harness"
)

// TestSlowSubscriptionsRestored restores the databases of subscription and of pass to earlier moments, as
// docs/BACKUP.md describes it. Every period is still granted once, and everything adds up.
func TestSlowSubscriptionsRestored(t *testing.T) {
	t.Parallel()
	c := newSubscriptionCluster(t, harness.ClusterOptions{}, 24)
	for round, days := range []int{1, 1, 3, 6, 9, 11, 5} {
		c.everyone(t, func(s *subscriber) error { return s.act(t.Context(), round) })
		c.moveTo(t, c.time().AddDate(0, 0, days))
		c.settle(t)
	}
	c.everyone(t, func(s *subscriber) error { return s.continueNow(t.Context()) })
	c.spendMonths(t, 1) // nobody is past due
	t.Run("the database of subscription is restored", c.testSubscriptionRestored)
	t.Run("the database of pass is restored", c.testPassRestored)
	t.Run("a change of plan that a restore has lost is made again", c.testLostChange)
}

// spendMonths lets customers pay and book for some months.
func (c *subscriptionCluster) spendMonths(t *testing.T, months int) {
	t.Helper()
	for range 4 * months {
		c.moveTo(t, c.time().AddDate(0, 0, 7))
		c.settle(t)
		c.everyone(t, func(s *subscriber) error { return s.payAndBook(t.Context()) })
	}
	c.settle(t)
	if t.Failed() {
		t.FailNow()
	}
}

// payAndBook pays what is due, and books and cancels.
func (s *subscriber) payAndBook(ctx context.Context) error {
	if err := s.payAll(ctx); err != nil {
		return err
	}
	now, err := s.get(ctx)
	if err == nil && !isEnded(&account{Subscription: now}) {
		err = s.book(ctx, now)
	}
	if err != nil {
		return err
	}
	return s.cancelBooking(ctx)
}

// continueNow ends a pause and withdraws a cancellation.
func (s *subscriber) continueNow(ctx context.Context) error {
	now, err := s.get(ctx)
	if err == nil && now.GetPause() != nil {
		err = s.resume(ctx)
	}
	if err == nil && now.GetCancellation() != nil {
		err = s.keep(ctx)
	}
	return err
}

// restorePasses sends the passes of all subscriptions again, and returns when they have arrived.
func (c *subscriptionCluster) restorePasses(t *testing.T) {
	t.Helper()
	err := c.persist(t.Context(), func(ctx context.Context) error {
		res, err := c.op.Subscriptions.RestoreCustomerPasses(ctx, &subscriptionv1.RestoreCustomerPassesRequest{})
		if err == nil && res.GetSubscriptions() == 0 {
			return fmt.Errorf("no passes are sent")
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	c.settle(t)
}

// testSubscriptionRestored restores the subscriptions to a moment three months ago. The payments since then are
// lost, so the job begins the periods again and their prices are due again.
func (c *subscriptionCluster) testSubscriptionRestored(t *testing.T) {
	restore := c.copyDatabase(t, "subscription")
	paid := map[*subscriber]map[int32]int64{}
	for _, s := range c.all {
		paid[s] = maps.Clone(s.paid)
	}
	c.spendMonths(t, 3)
	c.audit(t)
	restore(t)
	for _, s := range c.all {
		s.paid = paid[s]
	}
	c.moveTo(t, c.time().Add(time.Hour)) // the service has the test clock of the copy until then
	c.settle(t)
	c.restorePasses(t)
	c.audit(t)
	c.spendMonths(t, 2)
	c.audit(t)
	c.auditPurchases(t)
}

// testPassRestored restores the passes to a moment three months ago. The credits of the bookings since then
// are lost, and nothing but these may differ. They are redeemed again by an operator's command, as far as the
// passes have enough credits: more may have expired, and bookings of ended periods find none.
func (c *subscriptionCluster) testPassRestored(t *testing.T) {
	restore := c.copyDatabase(t, "pass")
	before := map[string]bool{}
	for _, s := range c.all {
		maps.Copy(before, s.booked)
	}
	c.spendMonths(t, 3)
	c.audit(t)
	restore(t)
	c.moveTo(t, c.time().Add(time.Hour))
	c.restorePasses(t)
	c.auditGrants(t)
	found, applied := c.reconcile(t), c.reconcile(t, "--apply")
	for _, s := range c.all {
		for booking, cancelled := range s.booked {
			wasCancelled, existed := before[booking]
			if _, differs := found[booking]; differs && existed && cancelled == wasCancelled {
				t.Errorf("the credits of %s, which was made before the copy and not changed since, differ", booking)
			}
		}
	}
	left := c.reconcile(t)
	for booking := range left {
		if outcome := applied[booking]; outcome == "" || outcome == "done" {
			t.Errorf("the credits of %s differ after the command, whose outcome was %q", booking, outcome)
		}
	}
	t.Logf("the credits of %d bookings were lost, and those of %d cannot be redeemed again", len(found), len(left))
	if len(found) == 0 || len(left) == len(found) {
		t.Error("no credits were lost, or none were redeemed again")
	}
	c.auditGrants(t)
	c.spendMonths(t, 2)
	c.auditGrants(t)
	c.auditPurchases(t)
}

// testLostChange restores the subscriptions to a moment before changes of plan. The passes then have the grants
// of periods that do not exist, which is what a verification finds. When each change is made again, its period
// takes over the grant.
func (c *subscriptionCluster) testLostChange(t *testing.T) {
	restore := c.copyDatabase(t, "subscription")
	changed := map[*subscriber]string{}
	for _, s := range c.all {
		now, err := s.get(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		// A plan cannot change at once while a payment is due.
		if now.GetStatus() != subscriptionv1.SubscriptionStatus_SUBSCRIPTION_STATUS_ACTIVE || now.GetCustomerPassId() == "" || now.GetAmountDue() > 0 {
			continue
		}
		if changed[s] = c.plans[0].GetId(); now.GetPlanId() == c.plans[0].GetId() {
			changed[s] = c.plans[4].GetId()
		}
	}
	change := func() {
		for s, plan := range changed {
			err := c.persist(t.Context(), func(ctx context.Context) error {
				_, err := c.op.Subscriptions.ChangePlan(ctx, &subscriptionv1.ChangePlanRequest{Id: s.id, PlanId: plan, When: subscriptionv1.ChangeTime_CHANGE_TIME_NOW})
				return err
			})
			if err != nil {
				t.Errorf("%s: %v", s.id, err)
			}
		}
	}
	change()
	c.settle(t)
	restore(t)
	c.moveTo(t, c.time().Add(time.Hour))
	c.restorePasses(t)
	all := c.accounts(t)
	for s := range changed {
		missing := fmt.Sprintf("period %d was granted and does not exist", len(all[s.id].periods)+1)
		if err := checkPass(all[s.id]); err == nil || err.Error() != missing {
			t.Errorf("%s: %v, want: %s", s.id, err, missing)
		}
	}
	change()
	c.settle(t)
	c.auditGrants(t)
	c.spendMonths(t, 2)
	c.auditGrants(t)
	t.Logf("%d changes were made again", len(changed))
	if len(changed) == 0 {
		t.Error("no plan was changed")
	}
}

// auditGrants is audit without the credits of bookings.
func (c *subscriptionCluster) auditGrants(t *testing.T) {
	t.Helper()
	c.checkGrants(t, c.auditAccounts(t))
	c.checkVerifications(t)
}

// auditPurchases checks that the purchase of each pass was published once, in spite of the restores.
func (c *subscriptionCluster) auditPurchases(t *testing.T) {
	t.Helper()
	all := c.accounts(t)
	harness.Eventually(t, eventsLimit, func() error {
		events := c.subscriptionEvents(t)
		for id, a := range all {
			if a.pass != nil && events.assigned[id] != 1 || a.pass == nil && events.assigned[id] != 0 {
				return fmt.Errorf("the pass of %s was bought %d times: %v", id, events.assigned[id], a.pass)
			}
		}
		return nil
	})
}

// reconcile compares the credits of bookings with those of passes by an operator's command, and returns the
// outcome for each booking that differs.
func (c *subscriptionCluster) reconcile(t *testing.T, args ...string) map[string]string {
	t.Helper()
	issued, err := c.op.Tokens.IssueToken(t.Context(), &authv1.IssueTokenRequest{ClientId: c.OperatorCredential.ID, ClientSecret: c.OperatorCredential.Secret})
	if err != nil {
		t.Fatal(err)
	}
	result := harness.Run(t, harness.Command{
		Program: "reservectl", Env: map[string]string{"RESERVATION_TOKEN": issued.GetAccessToken()},
		Args: append([]string{"reconcile", "--settle", "1s", "--company", c.company.ID, "--booking", c.Booking, "--pass", c.Pass}, args...),
	})
	var found []struct{ What, ID, Outcome string }
	if err := json.Unmarshal([]byte(result.Output), &found); err != nil {
		t.Fatalf("exit status %d, %v: %s%s", result.Code, err, result.Output, result.Errors)
	}
	outcomes := map[string]string{}
	for _, d := range found {
		if outcomes[d.ID] = d.Outcome; d.What != "credits" {
			t.Errorf("%+v differs", d)
		}
	}
	return outcomes
}

// copyDatabase copies the database of a service, and returns a function that puts the copy in its place. The
// service is stopped both times.
func (c *subscriptionCluster) copyDatabase(t *testing.T, part string) (restore func(t *testing.T)) {
	t.Helper()
	c.whileStopped(t, part, fmt.Sprintf("create database %s_copy template %[1]s owner %[1]s_owner", part))
	return func(t *testing.T) {
		t.Helper()
		c.whileStopped(t, part, fmt.Sprintf("alter database %s rename to %[1]s_lost", part),
			fmt.Sprintf("alter database %s_copy rename to %[1]s", part), fmt.Sprintf("drop database %s_lost", part))
	}
}

// whileStopped runs statements as the administrator of PostgreSQL while a service is stopped.
func (c *subscriptionCluster) whileStopped(t *testing.T, part string, statements ...string) {
	t.Helper()
	c.Part(part).Stop(t)
	admin, err := pgx.Connect(t.Context(), c.Postgres.AdminURL())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = admin.Close(context.WithoutCancel(t.Context())) }()
	for _, sql := range statements {
		// The sessions of a process that has ended may take a moment to end.
		harness.Eventually(t, time.Minute, func() error {
			_, err := admin.Exec(t.Context(), sql)
			return err
		})
	}
	c.Migrate(t, part)
	c.Part(part).Restart(t)
}
