package booking

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reservation.dev/devkit/testkit"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/tenancy"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/convert"
	"reservation.dev/services/booking/model"
)

// TestFreedKeyOfAppointment checks that a repeated request gets its appointment if the first request with its
// Idempotency-Key fails between the two lookups of the key.
func TestFreedKeyOfAppointment(t *testing.T) { // invariant 32
	t.Parallel()
	p := newParlour(t)
	p.reserve("2030-01-07T09:00") // puts Ann in the copy
	if _, err := p.tryBook(withKey(p.ctx, "first"), p.at("2030-01-07T11:00")); err != nil {
		t.Fatal(err)
	}
	caller := one[string](p.world, `select caller from idempotency_keys where key = 'first'`)
	dates := p.dates()
	type result struct {
		appointment *bookingv1.Appointment
		err         error
	}
	done := make(chan result, 1)
	err := p.db.InTx(t.Context(), pg.AllCompanies(), func(ctx context.Context, tx *pg.Tx) error {
		if _, err := tx.Exec(ctx, `select pg_advisory_xact_lock(hashtextextended(
			concat_ws(e'\x1f', 'idempotency', $1::uuid, $2::text, 'second'), 0))`, p.company, caller); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `select from staff for no key update`); err != nil {
			return err
		}
		go func() {
			a, err := p.tryBook(withKey(p.ctx, "second"), p.at("2030-01-07T14:00"))
			done <- result{a, err}
		}()
		testkit.Eventually(t, time.Minute, func() error {
			if one[int64](p.world, `select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`) == 0 {
				return errors.New("nobody waits for a lock")
			}
			return nil
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	got := <-done
	if got.err != nil {
		t.Fatal(got.err)
	}
	again, err := p.tryBook(withKey(p.ctx, "second"), p.at("2030-01-07T14:00"))
	if err != nil {
		t.Fatal(err)
	}
	sameAppointment(t, got.appointment, again)
	if p.dates() != dates+1 {
		t.Errorf("%d dates", p.dates()-dates)
	}
	p.finish()
}

// buying returns the purchase of a request.
func (p *parlour) buying(req *bookingv1.BookAppointmentRequest) *purchase {
	p.t.Helper()
	wanted, err := convert.ReadAppointmentOrder(convert.AppointmentRequest{Slot: req.GetSlot(), Purchaser: req.GetPurchaserId(), Code: req.GetDiscountCode()})
	if err != nil {
		p.t.Fatal(err)
	}
	company := tenancy.Company{ID: p.company, Timezone: "Europe/London", Currency: "GBP"}
	of, err := newPurchase(p.t.Context(), req, &bookingv1.BookAppointmentResponse{}, company, model.Purchase{Order: wanted.Order, Status: model.Confirmed})
	if err != nil {
		p.t.Fatal(err)
	}
	of.slot = &slotPurchase{SlotRequest: wanted.Slot, option: wanted.Option}
	of.slot.resources, err = p.server.store.TypeResources(p.t.Context(), nil, p.company, of.slot.Type, of.slot.Staff)
	if err != nil {
		p.t.Fatal(err)
	}
	return of
}

// TestLockedCodeOfAppointment checks that a shared commit does not wait for a discount code that another process
// has locked.
func TestLockedCodeOfAppointment(t *testing.T) { // invariant 32
	t.Parallel()
	p := newParlour(t)
	p.code(percent("TEN", 1000))
	p.reserve("2030-01-07T09:00") // puts Ann in the copy
	dates := p.dates()
	purchases := []*purchase{
		p.buying(p.at("2030-01-08T10:00", by(p.lea), func(r *bookingv1.BookAppointmentRequest) { r.DiscountCode = "Ten" })),
		p.buying(p.at("2030-01-08T10:00", by(p.lea))), // its slot is not free only because of the first one
		p.buying(p.at("2030-01-08T13:00", by(p.lea))),
	}
	purchases[0].Bought = &model.Transaction{} // of a failed attempt
	for _, wait := range []bool{false, true} {
		err := p.db.InTx(t.Context(), pg.AllCompanies(), func(ctx context.Context, tx *pg.Tx) error {
			if _, err := tx.Exec(ctx, `select from discount_codes for update`); err != nil {
				return err
			}
			left, err := p.server.commitAppointments(t.Context(), p.company, purchases, wait)
			if err != nil || !slices.Equal(left, []int{0, 1}) || purchases[2].Refused != nil || purchases[2].Bought == nil {
				t.Errorf("wait %t: left %v, %v; the last one: %v", wait, left, err, purchases[2].Refused)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if dates++; p.dates() != dates {
			t.Errorf("%d dates, want %d", p.dates(), dates)
		}
		purchases[2] = p.buying(p.at("2030-01-08T15:00", by(p.lea)))
	}
	left, err := p.server.commitAppointments(t.Context(), p.company, purchases[:1], true)
	if err != nil || len(left) > 0 || purchases[0].Refused != nil || p.dates() != dates+1 {
		t.Errorf("left %v, %v, %v, %d dates", left, err, purchases[0].Refused, p.dates())
	}
	p.finish()
}

func TestRowsOfAppointments(t *testing.T) {
	t.Parallel()
	kind, who := id.New[id.AppointmentType](), id.New[id.StaffMember]()
	of := slotPurchase{SlotRequest: model.SlotRequest{Type: kind}}
	if got := of.rows(); !slices.Equal(got, []id.UUID{kind.UUID()}) {
		t.Errorf("without resources: %v", got)
	}
	of.resources.Staff = []id.StaffMember{who}
	if got := of.rows(); !slices.Equal(got, []id.UUID{who.UUID()}) {
		t.Errorf("with a staff member: %v", got)
	}
}

// bundle returns 60 random purchases within two weeks, of two types that share Max and the room.
func (p *parlour) bundle() (purchases []*purchase) {
	p.t.Helper()
	credits := int32(1)
	facial := p.newType(&bookingv1.CreateAppointmentTypeRequest{
		Title: "Facial", Location: "Harbour", Timezone: "Europe/London", Lengths: []int32{30, 60}, BufferAfterMinutes: 20,
		SlotMinutes: 15, StaffIds: []string{p.max.GetId()}, Rooms: []*bookingv1.RoomRequirement{{AnyOf: []string{p.studio.GetId()}}},
		Prices: []*bookingv1.NewAppointmentPrice{{Option: &bookingv1.NewPricingOption{Name: "Any", Price: 1000, Currency: "GBP", Credits: &credits}}},
	})
	r := rand.New(rand.NewPCG(5, 5))
	for range 60 {
		at := winter("2030-01-10T09:00").AsTime().AddDate(0, 0, r.IntN(8)).Add(time.Duration(r.IntN(28)) * 15 * time.Minute)
		purchases = append(purchases, p.buying(p.at(at.Format("2006-01-02T15:04"), func(req *bookingv1.BookAppointmentRequest) {
			req.Slot.LengthMinutes = []int32{30, 60}[r.IntN(2)]
			req.Slot.StaffId = []string{"", "", p.lea.GetId(), p.max.GetId()}[r.IntN(4)]
			if r.IntN(4) == 0 {
				req.Slot.AppointmentTypeId, req.Slot.StaffId = facial.GetId(), ""
			}
			if req.Slot.StaffId != "" {
				req.Slot.WaiveHours = r.IntN(2) == 0
			}
		})))
	}
	return purchases
}

// TestSharedCalendars checks that purchases that share a commit, and its calendars, get the same slots as those that
// are committed one after another.
func TestSharedCalendars(t *testing.T) { // invariants 32, 36 and 38
	t.Parallel()
	var results [2][]string
	for i, together := range []bool{false, true} {
		p := newParlour(t)
		p.reserve("2030-01-10T09:00", by(p.max)) // puts Ann in the copy
		purchases := p.bundle()
		commit := func(some ...*purchase) {
			if left, err := p.server.commitAppointments(t.Context(), p.company, some, true); err != nil || len(left) > 0 {
				t.Errorf("left %v, %v", left, err)
			}
		}
		if together {
			commit(purchases...)
		} else {
			for _, one := range purchases {
				commit(one)
			}
		}
		for _, one := range purchases {
			result := fmt.Sprint(one.slot.Local, " ", one.Refused)
			if one.Refused == nil {
				result = fmt.Sprint(one.slot.Local, " ", one.slot.made.Staff.Name, " ", one.slot.made.Rooms[0].Unit)
			}
			results[i] = append(results[i], result)
		}
		p.finish()
	}
	if diff := cmp.Diff(results[0], results[1]); diff != "" {
		t.Errorf("one after another, together:\n%s", diff)
	}
	if refused := strings.Count(strings.Join(results[0], " "), "SLOT_UNAVAILABLE"); refused < 10 || refused > 50 {
		t.Errorf("%d of 60 are refused: %q", refused, results[0])
	}
}
