package faults

import (
	"context"
	"fmt"
	"maps"
	"strings"
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
	t.Run("the database of subscription is restored", c.testSubscriptionRestored)
	t.Run("the database of pass is restored", c.testPassRestored)
}

// live lets customers pay and book for some months.
func (c *subscriptionCluster) live(t *testing.T, months int) {
	t.Helper()
	for range 4 * months {
		c.moveTo(t, c.time().AddDate(0, 0, 7))
		c.settle(t)
		c.everyone(t, func(s *subscriber) error { return s.live(t.Context()) })
	}
	c.settle(t)
	if t.Failed() {
		t.FailNow()
	}
}

// live pays what is due, and books and cancels.
func (s *subscriber) live(ctx context.Context) error {
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
	c.live(t, 1) // nobody is past due
	restore := c.copyDatabase(t, "subscription")
	paid := map[*subscriber]map[int32]int64{}
	for _, s := range c.all {
		paid[s] = maps.Clone(s.paid)
	}
	c.live(t, 3)
	c.audit(t)
	restore(t)
	for _, s := range c.all {
		s.paid = paid[s]
	}
	c.moveTo(t, c.time().Add(time.Hour)) // the service has the test clock of the copy until then
	c.settle(t)
	c.restorePasses(t)
	c.audit(t)
	c.live(t, 2)
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
	c.live(t, 3)
	c.audit(t)
	restore(t)
	c.moveTo(t, c.time().Add(time.Hour))
	c.restorePasses(t)
	c.auditGrants(t)
	found := c.reservectl(t, 1, "reconcile", "--settle", "1s")
	for booking, cancelled := range before {
		if !cancelled && strings.Contains(found, booking) {
			t.Errorf("the credits of %s, which was made before the copy, differ: %s", booking, found)
		}
	}
	applied := c.reservectl(t, 1, "reconcile", "--apply", "--settle", "1s")
	t.Logf("%d and then %d bookings differ", strings.Count(found, `"credits"`), strings.Count(applied, `"credits"`))
	c.auditGrants(t)
	c.live(t, 2)
	c.auditGrants(t)
	c.auditPurchases(t)
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

// reservectl runs an operator's command for the company, and returns its output.
func (c *subscriptionCluster) reservectl(t *testing.T, code int, args ...string) string {
	t.Helper()
	issued, err := c.op.Tokens.IssueToken(t.Context(), &authv1.IssueTokenRequest{ClientId: c.OperatorCredential.ID, ClientSecret: c.OperatorCredential.Secret})
	if err != nil {
		t.Fatal(err)
	}
	result := harness.Run(t, harness.Command{
		Program: "reservectl", Args: append(args, "--company", c.company.ID, "--booking", c.Booking, "--pass", c.Pass),
		Env: map[string]string{"RESERVATION_TOKEN": issued.GetAccessToken()},
	})
	if result.Code != code {
		t.Errorf("%v: exit status %d, want %d\n%s%s", args, result.Code, code, result.Output, result.Errors)
	}
	return result.Output
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
		harness.Eventually(t, 10*time.Second, func() error {
			_, err := admin.Exec(t.Context(), sql)
			return err
		})
	}
	c.Migrate(t, part)
	c.Part(part).Restart(t)
}
