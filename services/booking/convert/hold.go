package convert

import (
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/id"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/model"
)

// Hold converts a hold.
func Hold(h *model.Hold) *bookingv1.Hold {
	out := &bookingv1.Hold{
		Id: h.ID.String(), PurchaserId: h.Purchaser.ID.String(), ExpiresAt: timestamppb.New(h.ExpiresAt),
		Status: valueOf[bookingv1.HoldStatus](h.Status), CreatedAt: timestamppb.New(model.CreatedAt(h.ID.UUID())), Version: h.Version(),
	}
	for i := range h.Bookings {
		out.Bookings = append(out.Bookings, Booking(&h.Transaction, &h.Bookings[i]))
	}
	return out
}

// EndedHold returns a hold as it is kept after its end: as JSON, with the identifiers of the
// recipients only, so that their names are read and erased in one place.
func EndedHold(h *model.Hold) ([]byte, error) {
	out := Hold(h)
	for _, b := range out.GetBookings() {
		if c := b.GetBoughtFor(); c != nil {
			b.BoughtFor = &bookingv1.CustomerReference{Id: c.GetId()}
		}
	}
	return protojson.MarshalOptions{UseProtoNames: true}.Marshal(out)
}

// KeptHold reads what EndedHold returned, and fills in the names of the recipients.
func KeptHold(content []byte, recipients map[id.Customer]model.Customer) (*bookingv1.Hold, error) {
	out := &bookingv1.Hold{}
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(content, out); err != nil {
		return nil, err
	}
	for _, b := range out.GetBookings() {
		if b.GetManagedById() == "" { // the previous release ended the hold
			b.ManagedById, b.Price = out.GetPurchaserId(), b.GetCard().GetGross()
		}
		if b.GetBoughtFor() == nil {
			continue
		}
		which, err := id.Parse[id.Customer](b.GetBoughtFor().GetId())
		if err != nil {
			return nil, err
		}
		if c, ok := recipients[which]; ok {
			b.BoughtFor = customerToProto(&c)
		}
	}
	return out, nil
}
