package gatewayb

import (
	"reservation.dev/platform/edge"
	"reservation.dev/platform/resource"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	edgebv1 "reservation.dev/proto/gen/reservation/edge/b/v1"
	edgev1 "reservation.dev/proto/gen/reservation/edge/v1"
)

// newDiscountCode converts the body of POST /discount-codes.
func newDiscountCode(in *edgebv1.DiscountCodeCreate) (*bookingv1.CreateDiscountCodeRequest, error) {
	in = edge.OrEmpty(in)
	var b body
	b.required("code", in.GetCode())
	b.notEmpty("currency", in.Currency)
	out := &bookingv1.CreateDiscountCodeRequest{
		Code: in.GetCode(), Currency: in.GetCurrency(), MaxUses: edge.OrEmpty(in.GetMaxUses()).Value, EventIds: in.GetEventIds(),
		ValidFrom: b.instant("startsAt", edge.OrEmpty(in.GetStartsAt()).Value), ValidUntil: b.instant("endsAt", edge.OrEmpty(in.GetEndsAt()).Value),
	}
	b.reduction(out, in.GetPercent(), in.GetAmount())
	if in.Status != nil && in.GetStatus() != resource.StatusActive {
		b.Add("status", "enum", "must be active for a new code")
	}
	return out, b.Err()
}

// reduction sets by how much a code lowers a price: by a share or by an amount.
func (b *body) reduction(out *bookingv1.CreateDiscountCodeRequest, percent *edgev1.Percentage, amount *edgev1.Amount) {
	switch {
	case percent != nil && amount != nil:
		b.Add("amount", "exclusive", "cannot be used together with percent")
	case percent != nil:
		if p := percent.GetBasisPoints(); p < 1 || p > 10_000 {
			b.Add("percent", "range", "must be above 0 and at most 100")
		}
		out.Reduction = &bookingv1.CreateDiscountCodeRequest_BasisPoints{BasisPoints: percent.GetBasisPoints()}
	case amount != nil:
		if amount.GetMinor() < 1 {
			b.Add("amount", "min", "must be above 0")
		}
		out.Reduction = &bookingv1.CreateDiscountCodeRequest_Amount{Amount: amount.GetMinor()}
	default:
		b.Add("percent", "required", "is required, or amount")
	}
}

// discountCodeUpdate converts the body of PUT /discount-codes/{id}. The code and its reduction cannot
// change, and are ignored.
func discountCodeUpdate(in *edgebv1.DiscountCodeUpdate) (*bookingv1.UpdateDiscountCodeRequest, error) {
	in = edge.OrEmpty(in)
	var b body
	out := &bookingv1.UpdateDiscountCodeRequest{
		ValidFrom: b.instant("startsAt", edge.OrEmpty(in.GetStartsAt()).Value), NoValidFrom: isNull(in.GetStartsAt()),
		ValidUntil: b.instant("endsAt", edge.OrEmpty(in.GetEndsAt()).Value), NoValidUntil: isNull(in.GetEndsAt()),
	}
	if uses := in.GetMaxUses(); uses != nil {
		out.MaxUses = new(int32)
		if uses.Value != nil {
			*out.MaxUses = b.atLeastOne("maxUses", uses.GetValue())
		}
	}
	if events := in.GetEventIds(); events != nil {
		out.EventIds = &bookingv1.EventIds{Ids: events.GetValues()}
	}
	if in.Status != nil {
		disabled := choice[int32](&b, "status", in.Status, []string{resource.StatusActive, resource.StatusDisabled}) == 2
		out.Disabled = &disabled
	}
	return out, b.Err()
}

// isNull reports whether a member is present and null.
func isNull(text *edgev1.NullableText) bool { return text != nil && text.Value == nil }

// atLeastOne rejects a number below 1, which the services would treat as absent.
func (b *body) atLeastOne(field string, n int32) int32 {
	if n < 1 {
		b.Add(field, "min", "must be 1 or more")
	}
	return n
}

// discountNames maps the service's fields of a discount code to those of Interface B.
func discountNames() map[string]string {
	return map[string]string{"basis_points": "percent", "valid_from": "startsAt", "valid_until": "endsAt"}
}
