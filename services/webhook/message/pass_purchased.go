package message

import (
	"time"

	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/money"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
	webhookv1 "reservation.dev/proto/gen/reservation/webhook/v1"
)

// passPurchased is pass.purchased: a customer bought a pass or was given one.
func passPurchased() kind[*passv1.CustomerPassAssigned] {
	return kind[*passv1.CustomerPassAssigned]{
		event: webhookv1.EventType_EVENT_TYPE_PASS_PURCHASED, read: readPassPurchase, sample: samplePass,
	}
}

// readPassPurchase requires the customer's record, because the pass service knows customers only by
// their identifiers.
func readPassPurchase(e *passv1.CustomerPassAssigned) (*Draft, error) {
	customer := e.GetCustomerPass().GetCustomerId()
	return &Draft{Customers: []string{customer}, NeedsRecord: customer, data: func(r Records) ([]byte, error) {
		r.Customer.ID = customer // also if there is no record
		return passPurchaseData(e.GetCustomerPass(), e.GetPassType(), r.Customer), nil
	}}, nil
}

// passPurchaseData shows a pass that was free of charge as paid by the method FREE.
func passPurchaseData(p *passv1.CustomerPass, t *passv1.PassType, customer Person) []byte {
	paid, currency, method := int64(0), t.GetCurrency(), money.MethodFree
	if bought := p.GetPurchase(); bought != nil {
		paid, currency, method = bought.GetGross(), bought.GetCurrency(), bought.GetMethod()
	}
	var o object
	o.text("customerPassId", p.GetId())
	o.person(customer)
	o.text("passId", p.GetPassTypeId())
	o.text("passTitle", t.GetTitle())
	o.number("totalUses", int64(t.GetTotalUses()))
	o.number("remainingUses", int64(p.GetRemainingUses()))
	o.text("startDate", p.GetStartDate())
	o.text("expiryDate", p.GetExpiryDate())
	o.amount("totalPaid", paid)
	o.text("currency", currency)
	o.text("paymentMethod", method)
	return o.end()
}

func samplePass(now time.Time) *passv1.CustomerPassAssigned {
	return &passv1.CustomerPassAssigned{
		CustomerPass: &passv1.CustomerPass{
			Id: "cp_" + sampleSuffix, CustomerId: samplePerson().ID, PassTypeId: "pass_" + sampleSuffix, RemainingUses: 10,
			StartDate: now.UTC().Format(time.DateOnly), ExpiryDate: now.UTC().AddDate(0, 0, 90).Format(time.DateOnly),
			Purchase: &passv1.PassPurchase{Gross: proto.Int64(11000), Currency: "GBP", Method: money.MethodCard},
		},
		PassType: &passv1.PassType{Id: "pass_" + sampleSuffix, Title: "Sample pass", TotalUses: 10, Currency: "GBP"},
	}
}
