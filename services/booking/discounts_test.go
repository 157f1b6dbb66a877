package booking

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/model"
)

func (w *world) code(req *bookingv1.CreateDiscountCodeRequest) *bookingv1.DiscountCode {
	w.t.Helper()
	resp, err := w.discounts.CreateDiscountCode(w.ctx, req)
	if err != nil {
		w.t.Fatal(err)
	}
	return resp.GetDiscountCode()
}

func percent(code string, basisPoints int32) *bookingv1.CreateDiscountCodeRequest {
	return &bookingv1.CreateDiscountCodeRequest{Code: code, Reduction: &bookingv1.CreateDiscountCodeRequest_BasisPoints{BasisPoints: basisPoints}}
}

// discountWorld is a world with two events and codes of several kinds.
type discountWorld struct {
	*world
	mia         id.Customer
	cheap, dear *bookingv1.Event
}

func newDiscountWorld(t *testing.T) *discountWorld {
	t.Helper()
	w := &discountWorld{world: newWorld(t)}
	w.mia = w.customer(w.company, "Mia")
	w.cheap, w.dear = w.eventAt(333), w.eventAt(1000)
	w.code(percent("Spring-10", 1000))
	w.code(percent("HALF", 5000))
	w.code(percent("FREE", 10_000))
	w.code(amount("FOUR", 400))
	w.code(amount("TWENTY", 2000))
	w.code(amount("CHEAP", 100, w.cheap.GetId()))
	euro := amount("EURO", 100)
	euro.Currency = "EUR"
	w.code(euro)
	return w
}

func (w *discountWorld) eventAt(price int64) *bookingv1.Event {
	w.t.Helper()
	return w.createEvent(w.ctx, &bookingv1.CreateEventRequest{
		Title: "Yoga", Dates: []*bookingv1.NewEventDate{newDate(time.Hour, nil)},
		PricingOptions: []*bookingv1.NewPricingOption{{Name: "Adult", Price: price, TaxRateBasisPoints: 2000}},
	})
}

func (w *discountWorld) buy(code string, events ...*bookingv1.Event) (*bookingv1.Transaction, error) {
	req := &bookingv1.CreateTransactionRequest{PurchaserId: w.mia.String(), DiscountCode: code}
	for _, e := range events {
		req.Lines = append(req.Lines, &bookingv1.TransactionLine{EventId: e.GetId()})
	}
	resp, err := w.bookings.CreateTransaction(w.ctx, req)
	return resp.GetTransaction(), err
}

// prices describes the price of each booking: full price-discount=price.
func prices(bought *bookingv1.Transaction) string {
	var all []string
	for _, b := range bought.GetBookings() {
		c := b.GetCard()
		all = append(all, fmt.Sprintf("%d-%d=%d net %d %s", c.GetGross()+c.GetDiscount(), c.GetDiscount(), c.GetGross(), c.GetNet(), c.GetDiscountCode()))
	}
	return strings.Join(all, ", ")
}

func amount(code string, minor int64, events ...string) *bookingv1.CreateDiscountCodeRequest {
	return &bookingv1.CreateDiscountCodeRequest{Code: code, Reduction: &bookingv1.CreateDiscountCodeRequest_Amount{Amount: minor}, EventIds: events}
}

func TestDiscounts(t *testing.T) { // invariant 17
	t.Parallel()
	w := newDiscountWorld(t)
	for _, tt := range []struct{ behaviour, code, want string }{
		{"a percentage is taken off each line, rounded half up", "HALF", "333-167=166 net 138 HALF, 1000-500=500 net 417 HALF"},
		{"a code is found in upper or lower case", "spring-10", "333-33=300 net 250 Spring-10, 1000-100=900 net 750 Spring-10"},
		{"a whole price can be taken off", "FREE", "333-333=0 net 0 FREE, 1000-1000=0 net 0 FREE"},
		{"an amount is taken off the lines in their order", "FOUR", "333-333=0 net 0 FOUR, 1000-67=933 net 778 FOUR"},
		{"an amount is never more than the price", "TWENTY", "333-333=0 net 0 TWENTY, 1000-1000=0 net 0 TWENTY"},
		{"a code of one event does not apply to other events", "CHEAP", "333-100=233 net 194 CHEAP, 1000-0=1000 net 833 "},
	} {
		t.Run(tt.behaviour, func(t *testing.T) {
			bought, err := w.buy(tt.code, w.cheap, w.dear)
			if err != nil || prices(bought) != tt.want {
				t.Errorf("got %s, %v\nwant %s", prices(bought), err, tt.want)
			}
			got, err := w.bookings.GetTransaction(w.ctx, &bookingv1.GetTransactionRequest{CustomerId: w.mia.String(), TransactionId: bought.GetId()})
			if err != nil || prices(got.GetTransaction()) != tt.want {
				t.Errorf("read again: %s, %v", prices(got.GetTransaction()), err)
			}
		})
	}
	w.verify()
}

func TestDiscountRefusals(t *testing.T) { // invariant 17
	t.Parallel()
	w := newDiscountWorld(t)
	past, future := timestamppb.New(time.Now().Add(-time.Hour)), timestamppb.New(time.Now().Add(time.Hour))
	windowed := func(code string, from, until *timestamppb.Timestamp) {
		req := percent(code, 1000)
		req.ValidFrom, req.ValidUntil = from, until
		w.code(req)
	}
	windowed("EARLY", future, nil)
	windowed("OVER", nil, past)
	disabled := w.code(percent("OFF", 1000))
	if _, err := w.discounts.UpdateDiscountCode(w.ctx, &bookingv1.UpdateDiscountCodeRequest{Id: disabled.GetId(), Disabled: proto.Bool(true)}); err != nil {
		t.Fatal(err)
	}
	once := percent("ONCE", 1000)
	once.MaxUses = proto.Int32(1)
	w.code(once)
	if _, err := w.buy("ONCE", w.dear); err != nil {
		t.Fatal(err)
	}
	for code, why := range map[string]string{"EARLY": "not_yet_valid", "OVER": "expired", "OFF": "disabled", "ONCE": "used_up", "NONE": "unknown", "CHEAP": "not_applicable", "EURO": "currency", "x' or 1=1": "unknown", "NUL\x00": "unknown"} {
		t.Run(code+" is refused: "+why, func(t *testing.T) {
			_, err := w.buy(code, w.dear)
			if f := fault.From(err); f == nil || f.Reason != model.ReasonDiscountInvalid || f.Meta["why"] != why {
				t.Errorf("got %v", err)
			}
		})
	}
	t.Run("refuses a code that exists in another case, and an invalid code", func(t *testing.T) {
		for _, req := range []*bookingv1.CreateDiscountCodeRequest{percent("half", 1), percent("", 1), percent("a b", 1), percent("X", 0), percent("X", 10_001), {Code: "X"}, amount("X", 0)} {
			if _, err := w.discounts.CreateDiscountCode(w.ctx, req); !fault.Is(err, fault.Invalid) {
				t.Errorf("%v: got %v", req, err)
			}
		}
	})
	w.verify()
}

func TestUsesOfADiscountCode(t *testing.T) { // invariant 17
	t.Parallel()
	w := newDiscountWorld(t)
	t.Run("a code is never used more often than its limit, and a hold that ends frees its use", func(t *testing.T) {
		req := percent("TEN", 1000)
		req.MaxUses = proto.Int32(10)
		ten := w.code(req)
		h := w.hold(w.mia, w.dear, 1, "ten")
		var wg sync.WaitGroup
		var sold atomic.Int32
		for i := range 40 {
			wg.Go(func() {
				_, err := w.buy("TEN", []*bookingv1.Event{w.cheap, w.dear}[i%2])
				if err == nil {
					sold.Add(1)
				} else if fault.From(err).Reason != model.ReasonDiscountInvalid {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if _, err := w.bookings.ReleaseHold(w.ctx, &bookingv1.ReleaseHoldRequest{HoldId: h.GetId()}); err != nil {
			t.Fatal(err)
		}
		got, err := w.discounts.GetDiscountCode(w.ctx, &bookingv1.GetDiscountCodeRequest{Id: ten.GetId()})
		if err != nil || sold.Load() != 9 || got.GetDiscountCode().GetUses() != 9 {
			t.Errorf("%d sold, %v, %v", sold.Load(), got, err)
		}
	})
	w.verify()
}

func TestListDiscountCodes(t *testing.T) { // invariant 17
	t.Parallel()
	w := newDiscountWorld(t) // creates seven codes
	for n := range 5 {
		w.code(percent(fmt.Sprint("MORE", n), 1000))
	}
	t.Run("codes are listed in pages", func(t *testing.T) {
		seen := map[string]bool{}
		for req := (&bookingv1.ListDiscountCodesRequest{PageSize: 4}); ; {
			resp, err := w.discounts.ListDiscountCodes(w.ctx, req)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range resp.GetDiscountCodes() {
				seen[c.GetCode()] = true
			}
			if req.PageToken = resp.GetNextPageToken(); req.PageToken == "" {
				if int64(len(seen)) != resp.GetTotal() || len(seen) != 12 {
					t.Errorf("saw %d of %d", len(seen), resp.GetTotal())
				}
				return
			}
		}
	})
	w.verify()
}

func TestDiscountWithAPass(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	mia := w.customer(w.company, "Mia")
	pass := w.passes.give(mia, 5)
	code := w.code(percent("TENTH", 1000))
	lines := []*bookingv1.TransactionLine{{EventId: w.passEvent(nil, time.Hour, nil).GetId()}}
	refused := func(t *testing.T, err error) {
		t.Helper()
		if f := wantFault(t, err, fault.Refused, model.ReasonDiscountInvalid); f.Meta["why"] != "method" {
			t.Errorf("got %v", f)
		}
		if w.passes.credits(pass) != 5 {
			t.Errorf("%d credits are left", w.passes.credits(pass))
		}
	}
	t.Run("is refused at a purchase", func(t *testing.T) {
		_, err := w.bookings.CreateTransaction(w.ctx, &bookingv1.CreateTransactionRequest{
			PurchaserId: mia.String(), Lines: lines, PaymentMethod: byPass, DiscountCode: code.GetCode(),
		})
		refused(t, err)
	})
	t.Run("is refused when a hold is confirmed, which can still be paid by card", func(t *testing.T) {
		res, err := w.bookings.HoldPlaces(w.ctx, &bookingv1.HoldPlacesRequest{PurchaserId: mia.String(), Lines: lines, DiscountCode: code.GetCode()})
		if err != nil {
			t.Fatal(err)
		}
		_, err = w.bookings.ConfirmHold(w.ctx, &bookingv1.ConfirmHoldRequest{HoldId: res.GetHold().GetId(), PaymentMethod: byPass})
		refused(t, err)
		if _, err := w.bookings.ConfirmHold(w.ctx, &bookingv1.ConfirmHoldRequest{HoldId: res.GetHold().GetId()}); err != nil {
			t.Error(err)
		}
	})
}

func TestEventsOfADiscountCode(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	own, deleted := w.event(w.ctx, nil).GetId(), w.event(w.ctx, nil).GetId()
	theirs := w.event(w.as(id.New[id.Company]()), nil).GetId()
	if _, err := w.events.DeleteEvent(w.ctx, &bookingv1.DeleteEventRequest{Id: deleted}); err != nil {
		t.Fatal(err)
	}
	tooMany := make([]string, 101)
	for i := range tooMany {
		tooMany[i] = "malformed"
	}
	for name, tt := range map[string]struct {
		events []string
		want   []string // fields at fault, with their rules
	}{
		"an event of the company":                  {[]string{own}, nil},
		"no events, which means all events":        {nil, nil},
		"an event that does not exist":             {[]string{own, id.New[id.Event]().String()}, []string{"event_ids[1] exists"}},
		"an event that was deleted":                {[]string{deleted}, []string{"event_ids[0] exists"}},
		"an event of another company":              {[]string{theirs}, []string{"event_ids[0] exists"}},
		"an identifier of another type":            {[]string{id.New[id.Customer]().String()}, []string{"event_ids[0] exists"}},
		"a malformed and an empty one":             {[]string{"x", own, ""}, []string{"event_ids[0] exists", "event_ids[2] exists"}},
		"the zero identifier":                      {[]string{id.Event{}.String()}, []string{"event_ids[0] exists"}},
		"one event twice":                          {[]string{own, own}, []string{"event_ids[1] unique"}},
		"one more than the maximum, all malformed": {tooMany, []string{"event_ids max_items"}},
	} {
		t.Run(name, func(t *testing.T) {
			req := percent(id.New[id.DiscountCode]().String(), 1000)
			req.EventIds = tt.events
			made, err := w.discounts.CreateDiscountCode(w.ctx, req)
			var got []string
			if f := fault.From(err); f != nil {
				for _, field := range f.Fields {
					got = append(got, field.Field+" "+field.Rule)
				}
			}
			if !slices.Equal(got, tt.want) || (err != nil) != (tt.want != nil) {
				t.Errorf("got %v, %v", made, err)
			}
		})
	}
}
