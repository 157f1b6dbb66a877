package booking

import bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"

// holdCalls are calls about holds, and discount codes, with an identifier of the other company.
func (w *twoCompanies) holdCalls() map[string]func() error {
	h, ended := w.hold(w.ann, w.ourEvent, 1, ""), w.hold(w.ann, w.ourEvent, 1, "")
	w.releaseHold(ended)
	code := w.code(percent("OURS", 1000))
	calls := map[string]func() error{
		"GetDiscountCode": func() error {
			_, err := w.discounts.GetDiscountCode(w.them, &bookingv1.GetDiscountCodeRequest{Id: code.GetId()})
			return err
		},
		"UpdateDiscountCode": func() error {
			_, err := w.discounts.UpdateDiscountCode(w.them, &bookingv1.UpdateDiscountCodeRequest{Id: code.GetId(), Disabled: new(true)})
			return err
		},
		"ListDiscountCodes": func() error {
			resp, err := w.discounts.ListDiscountCodes(w.them, &bookingv1.ListDiscountCodesRequest{Order: bookingv1.DiscountOrder_DISCOUNT_ORDER_UPDATED})
			return nothing(err, resp.GetTotal())
		},
	}
	for name, which := range map[string]string{"a hold": h.GetId(), "an ended hold": ended.GetId()} {
		calls["GetHold of "+name] = func() error {
			_, err := w.bookings.GetHold(w.them, &bookingv1.GetHoldRequest{HoldId: which})
			return err
		}
		calls["ReleaseHold of "+name] = func() error {
			_, err := w.bookings.ReleaseHold(w.them, &bookingv1.ReleaseHoldRequest{HoldId: which})
			return err
		}
		calls["ConfirmHold of "+name] = func() error {
			_, err := w.bookings.ConfirmHold(w.them, &bookingv1.ConfirmHoldRequest{HoldId: which})
			return err
		}
	}
	return calls
}
