package subscription

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strconv"
	"time"

	"reservation.dev/platform/enum"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/money"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
	"reservation.dev/services/subscription/model"
)

// After each commit that changes a subscription, the whole state of its pass is sent to the pass service, with
// the grants of the periods that the pass service has not confirmed. A request sends it before it returns. A
// job repeats it until it is confirmed.

const (
	// syncAhead is the time that a request has to send a state before the job does it.
	syncAhead = 5 * time.Second
	// syncBatch is the number of states that are claimed at once.
	syncBatch = 200
	// syncOfCompany is how many of them are those of one company.
	syncOfCompany = 25
	// syncCalls is the largest number of calls until a state is confirmed. Each has up to grantsAtOnce grants.
	syncCalls = 20
	// grantsAtOnce is the largest number of grants in a call.
	grantsAtOnce = 100
)

// The reasons with which the pass service refuses a state.
const (
	reasonGrantMissing    = "GRANT_MISSING"
	reasonCustomerDeleted = "CUSTOMER_DELETED"
)

// syncDue returns when the job sends the state of a request that commits now.
func (s *Server) syncDue() time.Time { return s.now().Add(syncAhead) }

// syncPassNow sends the state of a subscription's pass for a request. A failure is left to the job.
func (s *Server) syncPassNow(ctx context.Context, company tenant, subscription id.Subscription) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.limits.syncWait)
	defer cancel()
	if err := s.syncPass(ctx, company, subscription); err != nil {
		s.log.WarnContext(ctx, "the pass of a subscription will be sent again", slog.String("company", company.ID.String()),
			slog.String("subscription", subscription.String()), slog.String("error", err.Error()))
	}
}

// syncDuePasses sends the states that are not confirmed. Companies take turns.
func (s *Server) syncDuePasses(ctx context.Context) error {
	return s.repeat(func() (int, error) {
		due, err := s.store.claimPasses(ctx, s.now(), syncOfCompany, syncBatch)
		if err != nil {
			return 0, err
		}
		return len(due), forEach(ctx, s, due, work[id.Subscription]{do: func(ctx context.Context, company tenant, subscription id.Subscription) error {
			ctx, cancel := context.WithTimeout(ctx, s.limits.syncTime)
			defer cancel()
			return s.syncPass(ctx, company, subscription)
		}})
	})
}

// syncPass sends the state of a subscription's pass until it is confirmed.
func (s *Server) syncPass(ctx context.Context, company tenant, subscription id.Subscription) (err error) {
	// This runs in its own goroutine, so no interceptor recovers a panic.
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
		s.metrics.syncs.WithLabelValues(resultOf(err)).Inc()
	}()
	var from int32 // 0: the periods that are not confirmed
	for range syncCalls {
		sent, err := s.store.passToSync(ctx, company.ID, subscription, from)
		if err != nil || !sent.view.HasPass {
			return err
		}
		req, err := passRequest(sent, company.zone)
		if err != nil {
			return err
		}
		resp, err := s.passes.SyncSubscription(ctx, company.ID, req)
		switch f := fault.From(err); {
		case f == nil:
		case f.Reason == reasonGrantMissing:
			if from, err = afterLast(f, from); err != nil {
				return err
			}
			continue
		case f.Reason == reasonCustomerDeleted:
			return s.store.passRefused(ctx, company.ID, subscription, sent.stateID)
		default:
			return err
		}
		got, err := passStateOf(resp)
		if err != nil {
			return err
		}
		next, err := s.store.confirmPass(ctx, company.ID, sent, got, s.newID(), s.now())
		if err != nil || next == passConfirmed {
			return err
		}
		from = 0
		if next == passIncomplete {
			from = resp.GetLastPeriod() + 1
		}
	}
	return fmt.Errorf("the pass service has not confirmed %s after %d calls", subscription, syncCalls)
}

// passStateOf converts the answer of the pass service.
func passStateOf(resp *passv1.SyncSubscriptionPassResponse) (passState, error) {
	got := passState{version: resp.GetVersion(), stateID: resp.GetStateId(), lastPeriod: resp.GetLastPeriod()}
	for _, g := range resp.GetGrants() {
		day, err := time.Parse(time.DateOnly, g.GetFirstDay())
		if err != nil {
			return got, fmt.Errorf("grant of period %d: %w", g.GetPeriod(), err)
		}
		got.grants = append(got.grants, grant{
			period: g.GetPeriod(), granted: g.GetGranted(), carriedOver: g.GetCarriedOver(), expired: g.GetExpired(), firstDay: day,
		})
	}
	return got, nil
}

// afterLast returns the period after the last one that the pass service has. The fault is that of GRANT_MISSING.
// before is the period from which the refused grants began.
func afterLast(f *fault.Error, before int32) (int32, error) {
	last, err := strconv.ParseInt(f.Meta["last_period"], 10, 32)
	if err != nil || last < 0 || int32(last)+1 == before {
		return 0, fmt.Errorf("pass service: %w (last_period %q)", f, f.Meta["last_period"])
	}
	return int32(last) + 1, nil
}

func resultOf(err error) string {
	if err != nil {
		return syncFailed
	}
	return syncOK
}

// passRequest returns the call that sends a state.
func passRequest(n passToSync, zone *time.Location) (*passv1.SyncSubscriptionPassRequest, error) {
	state := n.view.PassState(n.periods, zone)
	status, ok := enum.Parse[passv1.CustomerPassStatus](state.Status)
	if !ok {
		return nil, fmt.Errorf("pass state %q", state.Status)
	}
	req := &passv1.SyncSubscriptionPassRequest{
		SubscriptionId: n.view.ID.String(), CustomerId: n.view.CustomerID.String(),
		Version: n.view.Version, StateId: n.stateID.String(), Status: status, StartDate: dayText(&state.StartDay), LastDay: dayText(state.LastDay),
		UnlimitedUses: state.Unlimited, PeriodLastDay: dayText(&state.PeriodLastDay), Quiet: state.Quiet || n.exists,
		UnusableFrom: instant(state.UnusableFrom), UsableAgainFrom: instant(state.UsableAgainFrom),
	}
	for _, g := range state.Grants {
		req.Grants = append(req.Grants, &passv1.PeriodGrant{
			Period: g.Period, Credits: g.Credits, MaxRollover: g.MaxRollover, UnlimitedUses: g.Unlimited, FirstDay: dayText(&g.FirstDay),
		})
	}
	if len(n.periods) > 0 && n.periods[0].Number == 1 {
		req.Purchase = purchaseOf(n.periods[0])
	}
	// It is the type that the pass has if the plan does not include bookings any more. It is always sent,
	// because the pass may have to be created again.
	if n.plan != nil {
		req.PassType = planPassType(*n.plan)
	}
	return req, nil
}

// purchaseOf returns the payment for a pass, which is that of the first period; nil if the period is free or has no
// bookings.
func purchaseOf(first model.Period) *passv1.PassPurchase {
	switch {
	case first.Price == 0 || first.Bookings == model.BookingsNone:
		return nil
	case first.PaymentStatus == model.PaymentPaid:
		return &passv1.PassPurchase{
			Gross: &first.PaidAmount, Currency: first.Currency, Method: first.PaymentMethod, Reference: first.PaymentReference,
		}
	}
	return &passv1.PassPurchase{Gross: new(int64(0)), Currency: first.Currency, Method: money.MethodOther}
}

// planPassType returns the pass type of a plan. If the plan does not include bookings any more, its pass type is
// archived.
func planPassType(p planRow) *passv1.PlanPassType {
	out := &passv1.PlanPassType{
		PlanId: p.ID.String(), Version: p.Version, Title: p.Title, Description: p.Description,
		UnlimitedUses: p.Bookings == model.BookingsUnlimited, IntervalCount: p.Count,
		IntervalUnit: enumValue[passv1.ValidityUnit](p.Unit), Price: p.Price, Currency: p.Currency, EligibleEventTypes: p.EligibleEventTypes,
		Archived: p.Status == model.PlanArchived || p.Bookings == model.BookingsNone,
	}
	if !out.GetUnlimitedUses() {
		out.Credits = max(1, p.Credits)
	}
	return out
}

// syncPlanNow sends the pass type of a plan for a request. A failure is left to the job.
func (s *Server) syncPlanNow(ctx context.Context, company tenant, p planRow) {
	if !p.HasPassType {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.limits.syncWait)
	defer cancel()
	if err := s.syncPlan(ctx, company.ID, p); err != nil {
		s.log.WarnContext(ctx, "the pass type of a plan will be sent again", slog.String("company", company.ID.String()),
			slog.String("plan", p.ID.String()), slog.String("error", err.Error()))
	}
}

// syncDuePlans sends the pass types that are not confirmed. Companies take turns.
func (s *Server) syncDuePlans(ctx context.Context) error {
	return s.repeat(func() (int, error) {
		due, err := s.store.claimPlans(ctx, s.now(), syncOfCompany, syncBatch)
		if err != nil {
			return 0, err
		}
		return len(due), forEach(ctx, s, due, work[id.Plan]{do: s.syncPlanOnce})
	})
}

// syncPlanOnce reads a plan and sends its pass type.
func (s *Server) syncPlanOnce(ctx context.Context, company tenant, plan id.Plan) (err error) {
	// This runs in its own goroutine, so no interceptor recovers a panic.
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, s.limits.syncTime)
	defer cancel()
	p, err := s.store.plan(ctx, company.ID, plan)
	if err != nil {
		return err
	}
	return s.syncPlan(ctx, company.ID, p)
}

func (s *Server) syncPlan(ctx context.Context, company id.Company, p planRow) error {
	err := s.passes.SyncPlan(ctx, company, planPassType(p))
	s.metrics.syncs.WithLabelValues(resultOf(err)).Inc()
	if err != nil {
		return err
	}
	return s.store.confirmPlan(ctx, company, p)
}

// creditsLeft is the credits of a pass that are left in a period, or why they are not known.
type creditsLeft struct {
	isNeeded bool
	period   int32
	credits  int32
	err      error
}

// creditsIf asks the pass service for the credits that are left, if a request needs them. It is called before
// the transaction, so that no lock waits for the pass service. A failure matters only if the request comes to
// use the credits.
func (s *Server) creditsIf(ctx context.Context, needed bool, identifier string) creditsLeft {
	if !needed {
		return creditsLeft{}
	}
	company, err := s.tenant(ctx)
	if err != nil {
		return creditsLeft{isNeeded: true, err: err}
	}
	subscription, err := id.Parse[id.Subscription](identifier)
	if err != nil {
		return creditsLeft{isNeeded: true} // the transaction finds out that it does not exist
	}
	v, err := s.store.view(ctx, company.ID, subscription)
	if err != nil || !v.HasPass || v.Current.Bookings != model.BookingsCredits {
		return creditsLeft{isNeeded: true, err: err}
	}
	left := creditsLeft{isNeeded: true, period: v.Current.Number}
	if !v.Current.Granted {
		if left.err = s.syncPass(ctx, company, subscription); left.err != nil {
			left.err = fault.Away(left.err)
			return left
		}
	}
	left.credits, left.err = s.passes.CreditsLeft(ctx, company.ID, passOf(subscription))
	return left
}

// of returns the credits left in the current period. If the period began after the question, all of its
// credits are left.
func (l creditsLeft) of(v model.View) (int32, error) {
	switch {
	case !l.isNeeded || v.Current.Bookings != model.BookingsCredits:
		return 0, nil
	case l.err != nil:
		return 0, l.err
	case l.period != v.Current.Number:
		return v.Current.Credits, nil
	}
	return l.credits, nil
}
