package faults

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
	subscriptionv1 "reservation.dev/proto/gen/reservation/subscription/v1"
	"reservation.dev/test/harness"
)

// account is everything that the services say about a subscription.
type account struct {
	*subscriptionv1.Subscription
	periods []*subscriptionv1.Period
	entries []*subscriptionv1.AccountEntry
	pass    *passv1.CustomerPass // nil: there is none
	ledger  []*passv1.LedgerEntry
}

// received is a stream of answers.
type received[R any] interface{ Recv() (R, error) }

// collect reads all items of a stream.
func collect[R, T any](t *testing.T, open func() (received[R], error), items func(R) []T) (all []T) {
	t.Helper()
	stream, err := open()
	for err == nil {
		var res R
		if res, err = stream.Recv(); err == nil {
			all = append(all, items(res)...)
		}
	}
	if !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	return all
}

// pages reads all pages of a list.
func pages[T any](next func(token string) (items []T, following string, err error)) (all []T, err error) {
	for token := ""; ; {
		items, following, err := next(token)
		if err != nil {
			return nil, err
		}
		all = append(all, items...)
		if token = following; token == "" {
			return all, nil
		}
	}
}

// periods returns the periods of a subscription.
func (c *subscriptionCluster) periods(ctx context.Context, subscription string) ([]*subscriptionv1.Period, error) {
	return pages(func(token string) (items []*subscriptionv1.Period, next string, err error) {
		err = c.persist(ctx, func(ctx context.Context) error {
			res, err := c.op.Subscriptions.ListPeriods(ctx, &subscriptionv1.ListPeriodsRequest{SubscriptionId: subscription, PageSize: 200, PageToken: token})
			items, next = res.GetPeriods(), res.GetNextPageToken()
			return err
		})
		return items, next, err
	})
}

// accounts reads all subscriptions and passes of the company.
func (c *subscriptionCluster) accounts(t *testing.T) map[string]*account {
	t.Helper()
	ctx := c.company.Ctx(t.Context())
	subscriptions, err := pages(func(token string) ([]*subscriptionv1.Subscription, string, error) {
		res, err := c.op.Subscriptions.ListSubscriptions(ctx, &subscriptionv1.ListSubscriptionsRequest{PageSize: 200, PageToken: token}, grpc.WaitForReady(true))
		return res.GetSubscriptions(), res.GetNextPageToken(), err
	})
	if err != nil {
		t.Fatal(err)
	}
	passes, err := pages(func(token string) ([]*passv1.CustomerPass, string, error) {
		res, err := c.op.Passes.ListCustomerPasses(ctx, &passv1.ListCustomerPassesRequest{PageSize: 200, PageToken: token}, grpc.WaitForReady(true))
		return res.GetCustomerPasses(), res.GetNextPageToken(), err
	})
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]*account{}
	for _, s := range subscriptions {
		a := &account{Subscription: s}
		if a.periods, err = c.periods(t.Context(), s.GetId()); err != nil {
			t.Fatal(err)
		}
		a.entries, err = pages(func(token string) ([]*subscriptionv1.AccountEntry, string, error) {
			res, err := c.op.Subscriptions.ListAccountEntries(ctx, &subscriptionv1.ListAccountEntriesRequest{SubscriptionId: s.GetId(), PageSize: 200, PageToken: token})
			return res.GetEntries(), res.GetNextPageToken(), err
		})
		if err != nil {
			t.Fatal(err)
		}
		all[s.GetId()] = a
	}
	for _, p := range passes {
		a := all[p.GetSubscriptionId()]
		if a == nil || a.pass != nil {
			t.Errorf("pass %s of %q belongs to no subscription, or is its second one", p.GetId(), p.GetSubscriptionId())
			continue
		}
		a.pass = p
		a.ledger, err = pages(func(token string) ([]*passv1.LedgerEntry, string, error) {
			res, err := c.op.Passes.ListLedgerEntries(ctx, &passv1.ListLedgerEntriesRequest{CustomerPassId: p.GetId(), PageSize: 1000, PageToken: token})
			return res.GetEntries(), res.GetNextPageToken(), err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// audit checks all subscriptions of the company, from what the RPCs say. Nothing may be in progress.
func (c *subscriptionCluster) audit(t *testing.T) {
	t.Helper()
	c.checkGrants(t, c.auditAccounts(t))
	c.checkBookings(t)
	c.checkVerifications(t)
}

// auditAccounts checks each subscription with its periods, its money and its pass.
func (c *subscriptionCluster) auditAccounts(t *testing.T) map[string]*account {
	t.Helper()
	all := c.accounts(t)
	if len(all) != len(c.all) {
		t.Errorf("%d customers have %d subscriptions", len(c.all), len(all))
	}
	periods, gaps := 0, 0
	for _, s := range c.all {
		a := all[s.id]
		if a == nil || a.GetCustomerId() != s.customer {
			t.Errorf("the subscription %q of %s is %v", s.id, s.customer, a)
			continue
		}
		found, err := c.checkDays(a)
		if gaps += len(found); err != nil {
			t.Errorf("%s: %v", s.id, err)
		}
		if err := errors.Join(c.checkMoney(a), checkPass(a), s.checkAnswers(a)); err != nil {
			t.Errorf("%s: %v", s.id, err)
		}
		periods += len(a.periods)
	}
	t.Logf("%d subscriptions have %d periods, %d of them after a gap", len(all), periods, gaps)
	return all
}

// auditEvents compares the events about each subscription with its rows. A killed relay keeps the lease of its
// events for half a minute.
func (c *subscriptionCluster) auditEvents(t *testing.T) {
	t.Helper()
	all := c.accounts(t)
	harness.Eventually(t, eventsLimit, func() error {
		events, faults := c.subscriptionEvents(t), []error(nil)
		for _, a := range all {
			if err := events.check(c, a); err != nil {
				faults = append(faults, fmt.Errorf("%s: %w", a.GetId(), err))
			}
		}
		return errors.Join(faults...)
	})
}

// checkGrants compares the grants that the two services export with each other and with the periods.
func (c *subscriptionCluster) checkGrants(t *testing.T, all map[string]*account) {
	t.Helper()
	ctx := c.company.Ctx(t.Context())
	type grant struct {
		pass                       string
		period                     int32
		granted, carriedOver, gone int32
	}
	periods := collect(t, func() (received[*subscriptionv1.ExportGrantsResponse], error) {
		return c.op.Subscriptions.ExportGrants(ctx, &subscriptionv1.ExportGrantsRequest{})
	}, func(r *subscriptionv1.ExportGrantsResponse) (out []grant) {
		for _, g := range r.GetGrants() {
			out = append(out, grant{g.GetCustomerPassId(), g.GetPeriod(), g.GetGranted(), g.GetCarriedOver(), g.GetExpired()})
		}
		return out
	})
	ledgers := collect(t, func() (received[*passv1.ExportPassGrantsResponse], error) {
		return c.grants.ExportPassGrants(ctx, &passv1.ExportPassGrantsRequest{})
	}, func(r *passv1.ExportPassGrantsResponse) (out []grant) {
		for _, g := range r.GetGrants() {
			out = append(out, grant{g.GetCustomerPassId(), g.GetPeriod(), g.GetGranted(), g.GetCarriedOver(), g.GetExpired()})
		}
		return out
	})
	if !slices.Equal(periods, ledgers) {
		t.Errorf("%d periods were granted, the ledgers have %d grants:\n%v\n%v", len(periods), len(ledgers), periods, ledgers)
	}
	want := 0
	for _, a := range all {
		if a.GetCustomerPassId() != "" {
			want += len(a.periods)
		}
	}
	if len(periods) != want || want == 0 {
		t.Errorf("%d periods were granted, want %d", len(periods), want)
	}
}

// checkBookings compares the credits that bookings use with those that the passes redeemed, and the
// bookings with the recorded answers.
func (c *subscriptionCluster) checkBookings(t *testing.T) {
	t.Helper()
	ctx := c.company.Ctx(t.Context())
	booked := collect(t, func() (received[*bookingv1.ExportPassPaymentsResponse], error) {
		return c.verification.ExportPassPayments(ctx, &bookingv1.ExportPassPaymentsRequest{})
	}, (*bookingv1.ExportPassPaymentsResponse).GetPayments)
	redeemed := collect(t, func() (received[*passv1.ExportRedemptionsResponse], error) {
		return c.op.Passes.ExportRedemptions(ctx, &passv1.ExportRedemptionsRequest{})
	}, (*passv1.ExportRedemptionsResponse).GetRedemptions)
	credits := map[string]int32{}
	for _, b := range booked {
		credits[b.GetBookingId()+" "+b.GetCustomerPassId()] = b.GetCredits()
	}
	for _, r := range redeemed {
		key := r.GetItemId() + " " + r.GetCustomerPassId()
		if credits[key] != r.GetCredits() {
			t.Errorf("booking %s uses %d credits, the pass has redeemed %d", key, credits[key], r.GetCredits())
		}
		delete(credits, key)
	}
	for key, n := range credits {
		if n != 0 {
			t.Errorf("booking %s uses %d credits that no pass has redeemed", key, n)
		}
	}
	began := c.starts[0].AddDate(0, 0, -1).Format(time.DateOnly)
	for _, s := range c.all {
		got := map[string]bool{}
		made, err := c.op.Bookings.ListTransactions(ctx, &bookingv1.ListTransactionsRequest{CustomerId: s.customer, PageSize: proto.Int32(100), StartDate: &began})
		if err != nil {
			t.Fatal(err)
		}
		for _, transaction := range made.GetTransactions() {
			for _, b := range transaction.GetBookings() {
				got[b.GetId()] = b.GetIsCancelled()
			}
		}
		if !maps.Equal(got, s.booked) {
			t.Errorf("the bookings of %s are %v, want %v", s.customer, got, s.booked)
		}
	}
}

// checkVerifications checks that the services find nothing that differs from their own rows.
func (c *subscriptionCluster) checkVerifications(t *testing.T) {
	t.Helper()
	ctx := c.company.Ctx(t.Context())
	checked := map[string]int64{}
	found := collect(t, func() (received[*subscriptionv1.VerifySubscriptionsResponse], error) {
		return c.op.Subscriptions.VerifySubscriptions(ctx, &subscriptionv1.VerifySubscriptionsRequest{})
	}, func(r *subscriptionv1.VerifySubscriptionsResponse) []string {
		checked["subscription"] += r.GetChecked()
		return differences(r.GetDifference())
	})
	found = append(found, collect(t, func() (received[*passv1.VerifyPassesResponse], error) {
		return c.op.Passes.VerifyPasses(ctx, &passv1.VerifyPassesRequest{})
	}, func(r *passv1.VerifyPassesResponse) []string {
		checked["pass"] += r.GetChecked()
		return differences(r.GetDifference())
	})...)
	found = append(found, collect(t, func() (received[*bookingv1.VerifyBookingsResponse], error) {
		return c.verification.VerifyBookings(ctx, &bookingv1.VerifyBookingsRequest{})
	}, func(r *bookingv1.VerifyBookingsResponse) []string {
		checked["booking"] += r.GetChecked()
		return differences(r.GetDifference())
	})...)
	if len(found) > 0 || checked["subscription"] == 0 || checked["pass"] == 0 || checked["booking"] == 0 {
		t.Errorf("of %v values, these differ: %v", checked, found)
	}
}

// differences returns a difference as text, or nothing if it is unset.
func differences[D interface {
	comparable
	fmt.Stringer
}](d D) []string {
	var none D
	if d == none {
		return nil
	}
	return []string{d.String()}
}

// subscriptionEvents are the events about a company's subscriptions.
type subscriptionEvents struct {
	created  map[string]int            // by subscription
	assigned map[string]int            // passes that were bought, by subscription
	renewed  map[string][]int32        // the periods that began, by subscription
	overdue  map[string]map[int32]bool // the periods in which a subscription was past due
}

// subscriptionEvents reads the stream of events. An event that was published twice fails t.
func (c *subscriptionCluster) subscriptionEvents(t *testing.T) *subscriptionEvents {
	t.Helper()
	e := &subscriptionEvents{created: map[string]int{}, assigned: map[string]int{}, renewed: map[string][]int32{}, overdue: map[string]map[int32]bool{}}
	seen := map[string]bool{}
	for _, event := range c.Events(t) {
		if event.Company != c.company.ID {
			continue
		}
		if seen[event.ID] {
			t.Errorf("event %s was published twice", event.ID)
		}
		seen[event.ID] = true
		if err := e.add(event.Subject, event.Payload); err != nil {
			t.Fatal(err)
		}
	}
	return e
}

func (e *subscriptionEvents) add(subject string, payload []byte) (err error) {
	var now *subscriptionv1.Subscription
	switch subject {
	case "subscription.v1.subscription_created":
		var m subscriptionv1.SubscriptionCreated
		err = proto.Unmarshal(payload, &m)
		e.created[m.GetSubscription().GetId()]++
	case "subscription.v1.subscription_renewed":
		var m subscriptionv1.SubscriptionRenewed
		err = proto.Unmarshal(payload, &m)
		id := m.GetSubscription().GetId()
		e.renewed[id] = append(e.renewed[id], m.GetSubscription().GetCurrentPeriod().GetNumber())
	case "subscription.v1.subscription_updated":
		var m subscriptionv1.SubscriptionUpdated
		err = proto.Unmarshal(payload, &m)
		now = m.GetSubscription()
	case "subscription.v1.subscription_payment_recorded":
		var m subscriptionv1.SubscriptionPaymentRecorded
		err = proto.Unmarshal(payload, &m)
		now = m.GetSubscription()
	case "pass.v1.customer_pass_assigned":
		var m passv1.CustomerPassAssigned
		err = proto.Unmarshal(payload, &m)
		e.assigned[m.GetCustomerPass().GetSubscriptionId()]++
	}
	if now.GetPastDueSince() != nil {
		if e.overdue[now.GetId()] == nil {
			e.overdue[now.GetId()] = map[int32]bool{}
		}
		e.overdue[now.GetId()][now.GetCurrentPeriod().GetNumber()] = true
	}
	return err
}

// check compares the events of a subscription with its rows: one about its start, one about the purchase of
// its pass, and one about each renewal. Periods have a gap only after the subscription was past due.
func (e *subscriptionEvents) check(c *subscriptionCluster, a *account) error {
	id, passes := a.GetId(), 0
	if a.pass != nil {
		passes = 1
	}
	var faults []error
	if e.created[id] != 1 || e.assigned[id] != passes {
		faults = append(faults, fmt.Errorf("it was created %d times, and its pass was bought %d times, want %d", e.created[id], e.assigned[id], passes))
	}
	gaps, err := c.checkDays(a)
	faults = append(faults, err)
	for _, number := range gaps {
		if !e.overdue[id][number-1] {
			faults = append(faults, fmt.Errorf("period %d begins after a gap, but no payment was overdue", number))
		}
	}
	var want []int32
	for _, p := range a.periods[1:] {
		want = append(want, p.GetNumber())
	}
	return errors.Join(append(faults, compareSets("renewals", e.renewed[id], want))...)
}
