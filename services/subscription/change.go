package subscription

import (
	"context"

	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/check"
	"reservation.dev/platform/id"
	"reservation.dev/platform/idem"
	"reservation.dev/platform/outbox"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/privacy"
	"reservation.dev/platform/rpc"
	subscriptionv1 "reservation.dev/proto/gen/reservation/subscription/v1"
	"reservation.dev/services/subscription/model"
)

// Every change of a subscription has one shape: lock it, make the steps that are due, decide, save, append
// the events, commit, and then send the state of its pass.

// action is a request that changes one subscription.
type action struct {
	id       string
	expected *int64
	period   int32 // the number of the period that the request names, or 0
	// decide changes the locked subscription. If its customer is erased, it must not store free text.
	decide func(a acting) ([]model.Step, error)
}

// acting is a locked subscription on which every due step was made.
type acting struct {
	context.Context
	record
	model.Clock
	company tenant
	tx      *pg.Tx
	erased  bool
}

// text returns a free text to store.
func (a acting) text(s string) string {
	if a.erased {
		return ""
	}
	return s
}

// written is a commit that changed a subscription.
type written struct{ id id.Subscription }

// act runs an action once for each idempotency key. It sets out, which is in resp, to the subscription.
func act[R proto.Message](ctx context.Context, s *Server, req proto.Message, resp R, out **subscriptionv1.Subscription, a action) (R, error) {
	var none R
	company, err := s.tenant(ctx)
	if err != nil {
		return none, err
	}
	subscription, err := check.ID[id.Subscription](a.id, "subscription")
	if err != nil {
		return none, err
	}
	done := &written{}
	resp, err = idem.Write(ctx, s.store, company.ID, req, resp, func(ctx context.Context, tx *pg.Tx) error {
		v, err := s.change(ctx, tx, company, subscription, a, done)
		*out = subscriptionMessage(v, company.zone)
		return err
	})
	if err == nil {
		err = s.complete(ctx, company, done, req, resp, out)
	}
	return resp, err
}

// change changes a subscription in tx, and sends the state of its pass after the commit.
func (s *Server) change(ctx context.Context, tx *pg.Tx, company tenant, subscription id.Subscription, a action, done *written) (model.View, error) {
	r, err := s.store.lockRecord(ctx, tx, company.ID, subscription, a.period)
	if err != nil {
		return model.View{}, err
	}
	if err := check.Version(r.Version, a.expected, "subscription"); err != nil {
		return model.View{}, err
	}
	now, err := s.acting(ctx, tx, company, r)
	if err != nil {
		return model.View{}, err
	}
	steps, err := s.advance(ctx, tx, company, r, now.Now, maxSteps)
	if err != nil {
		return model.View{}, err
	}
	if now.NextPlan, err = s.nextPlan(ctx, tx, company.ID, r); err != nil {
		return model.View{}, err
	}
	own, err := a.decide(now)
	if err != nil {
		return model.View{}, err
	}
	err = s.save(ctx, tx, company, r.Record, append(steps, own...), saveRecord, done)
	return r.View(), err
}

// acting returns what an action on a locked subscription needs. The time is read under the lock, because
// the request may have waited past midnight.
func (s *Server) acting(ctx context.Context, tx *pg.Tx, company tenant, r record) (acting, error) {
	erased, err := privacy.Erased(ctx, tx, company.ID, r.CustomerID)
	return acting{
		Context: ctx, record: r, company: company, tx: tx, erased: erased,
		Clock: model.Clock{Now: s.clock(company), Zone: company.zone, Settings: r.settings},
	}, err
}

// nextPlan returns the plan of a scheduled change of plan, or nil if there is none.
func (s *Server) nextPlan(ctx context.Context, tx *pg.Tx, company id.Company, r record) (*model.Plan, error) {
	if r.NextPlanID == nil {
		return nil, nil
	}
	p, err := pg.GetInTx[planRow](ctx, tx, "plan", planSQL, company, *r.NextPlanID)
	return &p.Plan, err
}

// save stores a record with the steps that it made, and one event for each. It sends the state of the pass
// after the commit, unless done is nil.
func (s *Server) save(ctx context.Context, tx *pg.Tx, company tenant, r *model.Record, steps []model.Step,
	store func(*pg.Tx, id.Company, *model.Record, state), done *written) error {
	if len(steps) == 0 {
		return nil
	}
	n := state{id: s.newID(), sync: s.now(), actor: rpc.Caller(ctx)}
	if done != nil {
		n.sync = s.syncDue()
		tx.AfterCommit(func() {
			done.id = r.ID
			s.syncPassNow(ctx, company, r.ID)
		})
	}
	store(tx, company.ID, r, n)
	return s.outbox.Append(ctx, tx, eventsOf(company, steps)...)
}

// eventsOf returns the events of steps.
func eventsOf(of tenant, steps []model.Step) []outbox.Event {
	company, events := of.ID, make([]outbox.Event, len(steps))
	for i, step := range steps {
		after, before := subscriptionMessage(step.After, of.zone), subscriptionMessage(step.Before, of.zone)
		paid := movementMessages(step.Movements, of.zone)
		switch step.Kind {
		case model.StepCreated:
			events[i] = subscriptionCreated(company, after, paid)
		case model.StepUpdated:
			events[i] = subscriptionUpdated(company, after, before, paid)
		case model.StepRenewed:
			events[i] = subscriptionRenewed(company, after, before, paid)
		case model.StepPaymentDue:
			events[i] = paymentDue(company, after, periodMessage(*step.Period, of.zone))
		case model.StepPaymentRecorded:
			events[i] = paymentRecorded(company, after, before, periodMessage(*step.Period, of.zone), paid)
		case model.StepEnded:
			events[i] = subscriptionEnded(company, after, before, paid)
		}
	}
	return events
}

// complete adds the credits that the pass service has granted since the commit to the response, and stores
// the response for retries. out is the subscription in resp. It changes nothing if the request made no
// commit, or if another request has changed the subscription since.
func (s *Server) complete(ctx context.Context, company tenant, done *written, req, resp proto.Message, out **subscriptionv1.Subscription) error {
	if done.id.IsZero() {
		return nil
	}
	v, err := s.store.view(ctx, company.ID, done.id)
	if err != nil || v.Version != (*out).GetVersion() {
		return nil
	}
	now := subscriptionMessage(v, company.zone)
	if proto.Equal(now, *out) {
		return nil
	}
	*out = now
	return idem.Revise(ctx, s.store, company.ID, req, resp)
}
