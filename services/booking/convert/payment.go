package convert

import (
	"fmt"

	"reservation.dev/platform/check"
	"reservation.dev/platform/enum"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/model"
)

// PaymentRequest is the common part of requests to pay.
type PaymentRequest struct {
	Method    bookingv1.PaymentMethod
	Reference string
	Pass      string
}

// Payment reads and checks a payment.
func Payment(p PaymentRequest) (model.PaymentChoice, error) {
	var faults check.Fields
	out := payment(&faults, "payment_method", "payment_reference", p)
	onlyByPass(&faults, p, out.Method == model.Pass)
	if err := faults.Err(); err != nil {
		return out, err
	}
	var err error
	out.Pass, err = passOf(p)
	return out, err
}

// payment reads the method and the reference of a payment from the named fields.
func payment(faults *check.Fields, methodField, referenceField string, p PaymentRequest) (out model.PaymentChoice) {
	out.Reference = faults.Line(referenceField, p.Reference, 0, model.MaxPaymentReference)
	var known bool
	out.Method, known = Method(p.Method)
	switch {
	case !known:
		faults.Add(methodField, "enum", fault.OneOf(enum.Names[bookingv1.PaymentMethod]()))
	case out.Method == model.Pass && out.Reference != "":
		faults.Add(referenceField, "method", "must be left out of payments by pass")
	}
	return out
}

func onlyByPass(faults *check.Fields, p PaymentRequest, byPass bool) {
	if p.Pass != "" && !byPass {
		faults.Add("customer_pass_id", "method", "is only for payments by pass")
	}
}

// passOf reads the pass of a payment; zero if the pass service chooses it.
func passOf(p PaymentRequest) (id.CustomerPass, error) {
	if p.Pass == "" {
		return id.CustomerPass{}, nil
	}
	return check.ID[id.CustomerPass](p.Pass, "customer pass")
}

// linePayments returns lines with the payments that the requested lines have.
func linePayments(faults *check.Fields, requested []*bookingv1.TransactionLine, lines []model.Line) []model.Line {
	for i, l := range requested {
		p := l.GetPayment()
		if p == nil {
			continue
		}
		at := fmt.Sprintf("lines[%d].payment.", i)
		if p.GetMethod() == bookingv1.PaymentMethod_PAYMENT_METHOD_UNSPECIFIED {
			faults.Add(at+"method", "required", fault.OneOf(enum.Names[bookingv1.PaymentMethod]()))
			continue
		}
		lines[i].Payment = payment(faults, at+"method", at+"reference", PaymentRequest{Method: p.GetMethod(), Reference: p.GetReference()})
	}
	return lines
}

// RefuseLinePayments refuses lines with a payment of their own, in a request that pays for nothing.
func RefuseLinePayments(lines []*bookingv1.TransactionLine) error {
	var faults check.Fields
	for i, l := range lines {
		if l.GetPayment() != nil {
			faults.Add(fmt.Sprintf("lines[%d].payment", i), "exclusive", "must be omitted, because a hold is paid when it is confirmed")
		}
	}
	return faults.Err()
}
