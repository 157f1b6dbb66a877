package webhook

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"time"

	"reservation.dev/platform/bus"
	"reservation.dev/platform/pg"
)

// Outcomes of an attempt.
const (
	outcomeDelivered = "delivered"
	outcomeRetried   = "retried"
	outcomeFailed    = "failed"
)

// decision is what follows from an attempt.
type decision struct {
	outcome string
	next    time.Time // of a retry
}

// decide returns what follows from an attempt after tries earlier ones. jitter is from 0 to 1.
func decide(r *result, tries int, d *Delivery, now time.Time, jitter float64) decision {
	switch {
	case r.failure == "":
		return decision{outcome: outcomeDelivered}
	case r.status == http.StatusGone && r.failure == failureStatus, tries >= len(d.Retries):
		return decision{outcome: outcomeFailed}
	}
	delay := d.Retries[tries]
	delay += time.Duration((2*jitter - 1) / 10 * float64(delay))
	delay = max(delay, min(r.retryAfter, d.RetryAfterMax))
	return decision{outcome: outcomeRetried, next: now.Add(delay)}
}

// outcome is a result and what follows from it.
type outcome struct {
	*result
	decision
	ended time.Time
}

const (
	// outcomeBatch is the number of outcomes for which a commit does not wait any longer.
	outcomeBatch = sendWindow / 2
	// outcomeWait is how long the first outcome of a batch waits for more.
	outcomeWait = 20 * time.Millisecond
)

// writeOutcomes writes results in batches until there are no more.
func (e *Engine) writeOutcomes() {
	for {
		batch, more := e.gather()
		if len(batch) > 0 {
			e.settle(batch)
			e.settled(len(batch))
		}
		if !more {
			return
		}
	}
}

// gather waits for a result and collects those that follow shortly after it, and all that are there
// already. It also ends when everything is aborted.
func (e *Engine) gather() (batch []*result, more bool) {
	select {
	case r, ok := <-e.outcomes:
		if !ok {
			return nil, false
		}
		batch = append(batch, r)
	case <-e.work.Done():
		return nil, false
	}
	timer := time.NewTimer(outcomeWait)
	defer timer.Stop()
	for len(batch) < outcomeBatch || len(e.outcomes) > 0 {
		select {
		case r, ok := <-e.outcomes:
			if !ok {
				return batch, false
			}
			batch = append(batch, r)
		case <-timer.C:
			return batch, true
		}
	}
	return batch, true
}

// settle writes a batch. While the database is unavailable it retries until the leases end, because
// only this process has the results.
func (e *Engine) settle(batch []*result) {
	now := e.now()
	outcomes := make([]outcome, len(batch))
	latest := now
	for i, r := range batch {
		outcomes[i] = outcome{result: r, decision: decide(r, r.job.tries, &e.settings, now, rand.Float64()), ended: r.at.Add(r.duration)}
		if r.job.leaseUntil.After(latest) {
			latest = r.job.leaseUntil
		}
	}
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		err := e.store.settle(e.work, outcomes)
		if err == nil {
			break
		}
		if e.work.Err() != nil {
			return
		}
		if e.now().After(latest) {
			e.log.Error("outcomes of webhook deliveries are lost; the deliveries are sent again", "deliveries", len(batch), "error", err)
			return
		}
		e.log.Warn("writing outcomes of webhook deliveries failed; retrying", "deliveries", len(batch), "error", err)
		select {
		case <-time.After(pause):
		case <-e.work.Done():
		}
	}
	e.followUp(outcomes)
}

// followUp wakes queues for their retries and updates the health of endpoints.
func (e *Engine) followUp(outcomes []outcome) {
	retried := false
	e.mu.Lock()
	for i := range outcomes {
		if o := &outcomes[i]; o.outcome == outcomeRetried {
			e.queueOf(o.job.target.key).wake(o.next)
			retried = true
		}
	}
	e.mu.Unlock()
	if retried {
		e.signalClaims()
	}
	for i := range outcomes {
		o := &outcomes[i]
		if err := e.updateHealth(e.work, o); err != nil && e.work.Err() == nil {
			e.log.Warn("updating the state of a webhook endpoint failed", "endpoint", o.job.target.key.endpoint.String(), "error", err)
		}
		e.logAttempt(o)
	}
}

// logAttempt logs an attempt without the URL, the body and the response, which only the company can
// see, in its log of deliveries.
func (e *Engine) logAttempt(o *outcome) {
	level := slog.LevelDebug
	switch o.outcome {
	case outcomeRetried:
		level = slog.LevelInfo
	case outcomeFailed:
		level = slog.LevelWarn
	}
	ctx := bus.Message{Trace: o.job.trace}.Context(e.work)
	if !e.log.Enabled(ctx, level) {
		return
	}
	attrs := []slog.Attr{
		slog.String("request_id", o.job.trace[bus.RequestID]), slog.String("company", o.job.target.key.company.String()),
		slog.String("endpoint", o.job.target.key.endpoint.String()), slog.String("delivery", o.job.delivery.String()),
		slog.String("message_id", o.job.body.Message.String()), slog.String("event", o.job.body.Event),
		slog.String("outcome", o.outcome), slog.String("failure", o.failure), slog.Int("status", o.status),
		slog.Int("try", o.job.tries+1), slog.Duration("took", o.duration), slog.Bool("reused", o.reused),
	}
	if o.outcome == outcomeRetried {
		attrs = append(attrs, slog.Time("again_at", o.next))
	}
	e.log.LogAttrs(ctx, level, "webhook attempt", attrs...)
}

// updateHealth stores since when an endpoint has been failing, and warns or disables it after too
// long. It writes only changes.
func (e *Engine) updateHealth(ctx context.Context, o *outcome) error {
	t := o.job.target
	switch {
	case o.failure == "":
		if t.failingSince.IsZero() {
			return nil
		}
		if err := e.store.recovered(ctx, t.key); err != nil {
			return err
		}
		t.failingSince, t.warned = time.Time{}, false
		return nil
	case o.status == http.StatusGone && o.failure == failureStatus:
		return e.disable(ctx, t, disabledGone, o.ended)
	case t.failingSince.IsZero():
		since, err := e.store.failing(ctx, t.key, o.at)
		if err == nil {
			t.failingSince = since
		}
		return err
	}
	switch failing := o.ended.Sub(t.failingSince); {
	case failing >= e.settings.DisableAfter:
		return e.disable(ctx, t, disabledFailing, o.ended)
	case failing >= e.settings.WarnAfter && !t.warned:
		return e.warn(ctx, t, o.ended)
	}
	return nil
}

// disable disables an endpoint, unless its URL has changed since. An endpoint that is disabled for
// its failures stays enabled if an attempt has succeeded since.
func (e *Engine) disable(ctx context.Context, t *target, reason string, at time.Time) error {
	disabled := false
	err := e.store.DB.InTx(ctx, pg.AllCompanies(), func(ctx context.Context, tx *pg.Tx) error {
		disabled = false
		endpoint, err := e.store.lockEndpoint(ctx, tx, t.key.company, t.key.endpoint)
		if err != nil {
			return err
		}
		stale := reason == disabledFailing && (endpoint.FailingSince == nil || at.Sub(*endpoint.FailingSince) < e.settings.DisableAfter)
		if !endpoint.Enabled || endpoint.URL != t.rawURL || stale {
			return nil
		}
		endpoint.disable(reason, at)
		endpoint.Version++
		endpoint.UpdatedAt = at
		if err := e.store.saveEndpoint(ctx, tx, t.key.company, endpoint, at); err != nil {
			return err
		}
		disabled = true
		return e.outbox.Append(ctx, tx, endpointDisabled(t.key.company, endpointMessage(endpoint)))
	})
	if disabled {
		e.Changed(t.key)
		e.log.Warn("webhook endpoint is disabled", "endpoint", t.key.endpoint.String(), "company", t.key.company.String(), "reason", reason)
	}
	return unlessMissing(err)
}

// warn publishes, once, that an endpoint is going to be disabled.
func (e *Engine) warn(ctx context.Context, t *target, at time.Time) error {
	warned := false
	err := e.store.DB.InTx(ctx, pg.AllCompanies(), func(ctx context.Context, tx *pg.Tx) error {
		var err error
		if warned, err = e.store.markWarned(ctx, tx, t.key, at); err != nil || !warned {
			return err
		}
		endpoint, err := e.store.lockEndpoint(ctx, tx, t.key.company, t.key.endpoint)
		if err != nil {
			return err
		}
		return e.outbox.Append(ctx, tx, endpointFailing(t.key.company, endpointMessage(endpoint)))
	})
	if err == nil {
		t.warned = true
	}
	if warned && err == nil {
		e.log.Warn("webhook endpoint keeps failing and will be disabled", "endpoint", t.key.endpoint.String(), "company", t.key.company.String(),
			"since", t.failingSince, "disabled_after", e.settings.DisableAfter)
	}
	return unlessMissing(err)
}
