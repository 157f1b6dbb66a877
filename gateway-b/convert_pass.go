package gatewayb

import (
	"reservation.dev/platform/edge"
	"reservation.dev/platform/enum"
	"reservation.dev/platform/money"
	edgebv1 "reservation.dev/proto/gen/reservation/edge/b/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
)

// newPassType converts the body of POST /passes.
func newPassType(in *edgebv1.PassWrite) (*passv1.CreatePassTypeRequest, error) {
	in = edge.OrEmpty(in)
	var b body
	out := &passv1.CreatePassTypeRequest{
		Title: in.GetTitle(), Description: in.GetDescription(), TotalUses: in.GetTotalUses(), ValidityCount: in.GetValidityCount(),
		ValidityUnit: value[passv1.ValidityUnit](&b, "validityUnit", in.ValidityUnit), Price: in.GetPrice().GetMinor(),
		Currency: in.GetCurrency(), EligibleEventTypes: in.GetEligibleEventTypes().GetValues(),
		UnlimitedUses: in.GetUnlimitedUses(), NeverExpires: in.GetNeverExpires(),
	}
	b.notEmpty("currency", in.Currency)
	if in.Status != nil && in.GetStatus() != enum.Name(passv1.PassTypeStatus_PASS_TYPE_STATUS_ACTIVE) {
		b.Add("status", "enum", "must be active for a new pass")
	}
	return out, b.Err()
}

// passTypeUpdate converts the body of PUT /passes/{id}.
func passTypeUpdate(in *edgebv1.PassWrite) (*passv1.UpdatePassTypeRequest, error) {
	in = edge.OrEmpty(in)
	var b body
	out := &passv1.UpdatePassTypeRequest{
		Title: in.Title, Description: in.Description, TotalUses: in.TotalUses, ValidityCount: in.ValidityCount,
		ValidityUnit: value[passv1.ValidityUnit](&b, "validityUnit", in.ValidityUnit), Currency: in.Currency,
		UnlimitedUses: in.UnlimitedUses, NeverExpires: in.NeverExpires,
		Status: value[passv1.PassTypeStatus](&b, "status", in.Status),
	}
	b.notEmpty("currency", in.Currency)
	if in.GetPrice() != nil {
		out.Price = &in.GetPrice().Minor
	}
	if types := in.GetEligibleEventTypes(); types != nil {
		out.EligibleEventTypes = &passv1.EventTypes{Types: types.GetValues()}
	}
	return out, b.Err()
}

// newCustomerPass converts the body of POST /customer-passes.
func newCustomerPass(in *edgebv1.CustomerPassCreate) (*passv1.AssignCustomerPassRequest, error) {
	var b body
	b.required("customerId", in.GetCustomerId())
	b.required("passId", in.GetPassId())
	b.required("startDate", in.GetStartDate())
	out := &passv1.AssignCustomerPassRequest{CustomerId: in.GetCustomerId(), PassTypeId: in.GetPassId(), StartDate: in.GetStartDate()}
	if payment := in.GetPayment(); payment != nil {
		choice[int32](&b, "payment.method", payment.Method, money.PassMethods())
		out.Purchase = &passv1.PassPurchase{Method: payment.GetMethod(), Reference: payment.GetReference()}
		if payment.GetAmount() != nil {
			out.Purchase.Gross = &payment.GetAmount().Minor
		}
	}
	return out, b.Err()
}

// customerPassUpdate converts the body of PUT /customer-passes/{id}.
func customerPassUpdate(in *edgebv1.CustomerPassUpdate) (*passv1.UpdateCustomerPassRequest, error) {
	in = edge.OrEmpty(in)
	var b body
	out := &passv1.UpdateCustomerPassRequest{
		ExpiryDate: in.ExpiryDate, RemainingUses: in.RemainingUses, Reason: in.GetReason(),
		Status: value[passv1.CustomerPassStatus](&b, "status", in.Status),
	}
	return out, b.Err()
}
