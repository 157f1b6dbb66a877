package booking

import (
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/model"
)

func TestDiscountCodeOrders(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var codes []*bookingv1.DiscountCode
	for _, name := range []string{"A", "B", "C"} {
		codes = append(codes, w.code(percent(name, 1000)))
	}
	before := timestamppb.Now()
	for _, i := range []int{1, 0} {
		if _, err := w.discounts.UpdateDiscountCode(w.ctx, &bookingv1.UpdateDiscountCodeRequest{Id: codes[i].GetId(), Disabled: new(true)}); err != nil {
			t.Fatal(err)
		}
	}
	const (
		created     = bookingv1.DiscountOrder_DISCOUNT_ORDER_CREATED
		createdDesc = bookingv1.DiscountOrder_DISCOUNT_ORDER_CREATED_DESC
		updated     = bookingv1.DiscountOrder_DISCOUNT_ORDER_UPDATED
		updatedDesc = bookingv1.DiscountOrder_DISCOUNT_ORDER_UPDATED_DESC
	)
	for want, req := range map[string]*bookingv1.ListDiscountCodesRequest{
		"ABC": {Order: created}, "CBA": {Order: createdDesc}, "CBA by change": {Order: updated}, "ABC by change": {Order: updatedDesc},
		"BA": {Order: updated, UpdatedSince: before}, "BC": {Offset: 1}, "A": {Order: updated, Offset: 2},
	} {
		t.Run("codes are listed as "+want, func(t *testing.T) {
			got, total := "", 3
			if req.GetUpdatedSince() != nil {
				total = 2
			}
			req := proto.CloneOf(req)
			for req.PageSize = 1; ; {
				resp, err := w.discounts.ListDiscountCodes(w.ctx, req)
				if err != nil || resp.GetTotal() != int64(total) {
					t.Fatalf("got %v, %v", resp, err)
				}
				for _, c := range resp.GetDiscountCodes() {
					got += c.GetCode()
				}
				if req.PageToken, req.Offset = resp.GetNextPageToken(), 0; req.PageToken == "" {
					break
				}
			}
			if got != want && got+" by change" != want {
				t.Errorf("got %s", got)
			}
		})
	}
	for field, req := range map[string]*bookingv1.ListDiscountCodesRequest{
		"order": {Order: 99}, "offset": {Offset: -1}, "updated_since": {UpdatedSince: &timestamppb.Timestamp{Seconds: 1 << 60}},
	} {
		_, err := w.discounts.ListDiscountCodes(w.ctx, req)
		if f := wantFault(t, err, fault.Invalid, fault.ReasonInvalidParameter); f.Fields[0].Field != field {
			t.Errorf("got %v, want %s", f, field)
		}
	}
}

func TestChangeDiscountCode(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	mia := w.customer(w.company, "Mia")
	first, second, gone := w.event(w.ctx, nil), w.event(w.ctx, nil), w.event(w.ctx, nil)
	theirs := w.event(w.as(id.New[id.Company]()), nil).GetId()
	req := percent("CODE", 1000)
	req.EventIds = []string{first.GetId(), gone.GetId()}
	code := w.code(req)
	update := func(req *bookingv1.UpdateDiscountCodeRequest) (*bookingv1.DiscountCode, error) {
		req.Id = code.GetId()
		resp, err := w.discounts.UpdateDiscountCode(w.ctx, req)
		return resp.GetDiscountCode(), err
	}
	events := func(ids ...string) *bookingv1.EventIds { return &bookingv1.EventIds{Ids: ids} }
	discounted := func(e *bookingv1.Event) error {
		_, err := w.bookings.CreateTransaction(w.ctx, &bookingv1.CreateTransactionRequest{
			PurchaserId: mia.String(), DiscountCode: "CODE", Lines: []*bookingv1.TransactionLine{{EventId: e.GetId()}},
		})
		return err
	}
	t.Run("a version that is not current is refused and changes nothing", func(t *testing.T) {
		_, err := update(&bookingv1.UpdateDiscountCodeRequest{ExpectedVersion: new(int64(2)), Disabled: new(true)})
		wantFault(t, err, fault.VersionMismatch, fault.ReasonVersionMismatch)
		if err := discounted(first); err != nil {
			t.Error(err)
		}
	})
	t.Run("the current version is accepted, and unset members stay", func(t *testing.T) {
		got, err := update(&bookingv1.UpdateDiscountCodeRequest{ExpectedVersion: new(int64(1)), ValidUntil: timestamppb.New(time.Now().Add(time.Hour))})
		if err != nil || got.GetVersion() != 2 || !slices.Equal(got.GetEventIds(), code.GetEventIds()) || got.GetBasisPoints() != 1000 {
			t.Errorf("got %v, %v", got, err)
		}
	})
	t.Run("values that the code already has change nothing", func(t *testing.T) {
		resp, err := w.discounts.GetDiscountCode(w.ctx, &bookingv1.GetDiscountCodeRequest{Id: code.GetId()})
		if err != nil {
			t.Fatal(err)
		}
		before := resp.GetDiscountCode()
		got, err := update(&bookingv1.UpdateDiscountCodeRequest{
			NoValidFrom: true, ValidUntil: before.GetValidUntil(), MaxUses: new(int32(0)), Disabled: new(false), EventIds: events(before.GetEventIds()...),
		})
		if err != nil || !proto.Equal(got, before) {
			t.Errorf("got %v, %v, want %v", got, err, before)
		}
	})
	t.Run("the events can change, and an event that was deleted since can stay", func(t *testing.T) {
		if _, err := w.events.DeleteEvent(w.ctx, &bookingv1.DeleteEventRequest{Id: gone.GetId()}); err != nil {
			t.Fatal(err)
		}
		want := events(second.GetId(), gone.GetId())
		if got, err := update(&bookingv1.UpdateDiscountCodeRequest{EventIds: want}); err != nil || !slices.Equal(got.GetEventIds(), want.GetIds()) {
			t.Errorf("got %v, %v", got, err)
		}
		if err := discounted(second); err != nil {
			t.Error(err)
		}
		wantFault(t, discounted(first), fault.Refused, model.ReasonDiscountInvalid)
	})
	t.Run("events that do not exist, or of another company, are refused", func(t *testing.T) {
		for _, list := range []*bookingv1.EventIds{events("x"), events(theirs), events(id.New[id.Event]().String()), events(first.GetId(), first.GetId())} {
			_, err := update(&bookingv1.UpdateDiscountCodeRequest{EventIds: list})
			wantFault(t, err, fault.Invalid, fault.ReasonValidation)
		}
	})
	t.Run("no events means all events", func(t *testing.T) {
		if got, err := update(&bookingv1.UpdateDiscountCodeRequest{EventIds: events()}); err != nil || len(got.GetEventIds()) != 0 {
			t.Errorf("got %v, %v", got, err)
		}
		if err := discounted(first); err != nil {
			t.Error(err)
		}
	})
	w.verify()
}
