package model

import (
	"cmp"
	"fmt"

	"reservation.dev/platform/check"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/money"
)

// Payment is a payment that was made outside the platform.
type Payment struct {
	Method    string // empty: CARD
	Reference string
	Amount    *int64 // minor units; if given, it must be the amount due
}

// methods returns the payment methods of a period, the default first.
func methods() []string {
	return []string{money.MethodCard, money.MethodCash, money.MethodBankTransfer, money.MethodOnline, money.MethodOther}
}

// check checks a payment in a request.
func (in *Payment) check(f *check.Fields) {
	in.Method = cmp.Or(in.Method, money.MethodCard)
	f.OneOf("payment.method", in.Method, methods())
	f.Untrimmed("payment.reference", in.Reference, 0, maxReference)
	if in.Amount != nil {
		f.Range("payment.amount", *in.Amount, 0, MaxPrice)
	}
}

// checkAmount checks that a payment is exactly the amount due, in minor units.
func (in *Payment) checkAmount(due int64) error {
	var f check.Fields
	switch {
	case in == nil:
	case due == 0:
		f.Add("payment", "mismatch", "must not be given, because nothing becomes due")
	case in.Amount != nil && *in.Amount != due:
		f.Add("payment.amount", "mismatch", fmt.Sprintf("must be %d, the amount due", due))
	}
	return f.Err()
}

// paid records a payment of an amount.
func (p *Period) paid(amount int64, in Payment, c Clock) {
	p.AmountDue, p.PaymentStatus, p.PaidAt, p.PaidAmount = 0, PaymentPaid, &c.Now, amount
	p.PaidOn = new(c.today())
	p.PaymentMethod, p.PaymentReference = cmp.Or(in.Method, money.MethodCard), in.Reference
}

// owing returns the period with a number and an amount due; 0 means the oldest with an amount due.
func (r *Record) owing(number int32) (*Period, error) {
	for i := range r.Loaded {
		if p := &r.Loaded[i]; p.AmountDue > 0 && (number == 0 || p.Number == number) {
			return p, nil
		}
	}
	return nil, noPaymentDue()
}

// RecordPayment records that the amount due of a period was paid; 0 means the oldest with an amount due.
// A period whose payment was cancelled at the end can be paid by its number. Refusal: NO_PAYMENT_DUE.
func (r *Record) RecordPayment(c Clock, period int32, in Payment) ([]Step, error) {
	var f check.Fields
	if in.check(&f); f.Len() > 0 {
		return nil, f.Err()
	}
	p := r.find(period)
	if p == nil || p.PaymentStatus != PaymentCancelled {
		var err error
		if p, err = r.owing(period); err != nil {
			return nil, err
		}
	}
	amount := p.Price - p.CreditApplied
	if err := in.checkAmount(amount); err != nil {
		return nil, err
	}
	return r.record(c, p.Number, func(w *Record, p *Period) {
		w.AmountDue -= p.AmountDue
		p.paid(amount, in, c)
		w.clearPastDue()
	})
}

// RecordFailure records that an attempt to collect the amount due of a period failed. The subscription
// becomes past due, also while it is paused. Refusal: NO_PAYMENT_DUE.
func (r *Record) RecordFailure(c Clock, period int32, reason string) ([]Step, error) {
	p, err := r.decided(period, reason)
	if err != nil {
		return nil, err
	}
	return r.record(c, p.Number, func(w *Record, p *Period) {
		p.PaymentStatus, p.FailureReason = PaymentFailed, reason
		p.FailedAttempts++
		if w.PastDueSince == nil {
			w.becomePastDue(p, c)
		}
	})
}

// Waive gives up the amount due of a period. Refusal: NO_PAYMENT_DUE.
func (r *Record) Waive(c Clock, period int32, reason string) ([]Step, error) {
	p, err := r.decided(period, reason)
	if err != nil {
		return nil, err
	}
	return r.record(c, p.Number, func(w *Record, p *Period) {
		w.AmountDue -= p.AmountDue
		p.AmountDue, p.PaymentStatus, p.WaiveReason = 0, PaymentWaived, reason
		w.clearPastDue()
	})
}

// decided returns the period that a failure or a waiver concerns.
func (r *Record) decided(period int32, reason string) (*Period, error) {
	var f check.Fields
	if f.Untrimmed("reason", reason, 0, maxReason); f.Len() > 0 {
		return nil, f.Err()
	}
	return r.owing(period)
}

// record applies a change of a period's payment. If the status of the subscription changes, a second step
// says so.
func (r *Record) record(c Clock, number int32, change func(w *Record, p *Period)) ([]Step, error) {
	return r.act(c, func(w *Record) ([]Step, error) {
		p := w.find(number)
		step := w.step(StepPaymentRecorded, CauseAction, c.Now, c.Now, func() { change(w, p) })
		step.Period = new(*p)
		if step.Before.Status == step.After.Status {
			return []Step{step}, nil
		}
		changed := w.step(StepUpdated, CauseAction, c.Now, c.Now, func() {})
		changed.Before = step.Before
		return []Step{step, changed}, nil
	})
}

// RecordRefund records a refund of an amount in minor units; nil means all that is due. The money goes back by
// the method of the last payment. Refusal: NO_REFUND_DUE.
func (r *Record) RecordRefund(c Clock, amount *int64, method, reference string) ([]Step, error) {
	sum := r.RefundDue
	set(&sum, amount)
	var f check.Fields
	f.Untrimmed("reference", reference, 0, maxReference)
	if amount != nil && *amount < 1 {
		f.Add("amount", "min", "must be 1 or more")
	}
	if f.Len() > 0 {
		return nil, f.Err()
	}
	if r.RefundDue == 0 || sum > r.RefundDue {
		return nil, fault.Refuse(ReasonNoRefundDue, "no refund of this amount is due").With("refund_due", fmt.Sprint(r.RefundDue))
	}
	return r.act(c, func(w *Record) ([]Step, error) {
		return w.updated(c, func() {
			w.RefundedAmount += sum
			w.entry(EntryRefunded, 0, -sum, 0, c)
			e := &w.Entries[len(w.Entries)-1]
			e.Reference, e.Method, e.PlanID = reference, method, w.PlanID
		}), nil
	})
}
