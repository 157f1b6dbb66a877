package booking

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/tenancy"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/model"
	"reservation.dev/services/booking/store"
)

// Tests of changes that happen between two steps of a purchase or of a change of a waitlist.

func TestCourseThatChangesDuringItsPurchase(t *testing.T) { // invariant 27
	t.Parallel()
	w := newCourseWorld(t, 4)
	ann := w.customer(w.company, "ann")
	w.mustBook(w.ctx, ann, w.event(w.ctx, nil), 1) // puts Ann in the copy
	firstToCome := &bookingv1.Event{Dates: w.course.GetDates()[1:]}
	addDate := func(in time.Duration) string {
		resp, err := w.events.AddEventDates(w.ctx, &bookingv1.AddEventDatesRequest{EventId: w.course.GetId(), Dates: []*bookingv1.NewEventDate{newDate(in, nil)}})
		if err != nil {
			t.Fatal(err)
		}
		return resp.GetDates()[0].GetId()
	}
	for name, book := range map[string]func() ([]*bookingv1.Booking, error){
		"a purchase": func() ([]*bookingv1.Booking, error) {
			bought, err := w.enrol(&bookingv1.CreateTransactionRequest{}, ann)
			return bought.GetBookings(), err
		},
		"a hold": func() ([]*bookingv1.Booking, error) {
			resp, err := w.bookings.HoldPlaces(w.ctx, &bookingv1.HoldPlacesRequest{PurchaserId: ann.String(), Lines: []*bookingv1.TransactionLine{
				{EventId: w.course.GetId(), PricingOptionId: w.whole},
			}})
			return resp.GetHold().GetBookings(), err
		},
	} {
		t.Run(name+" that waits for a date also books the date that is added meanwhile", func(t *testing.T) {
			release := w.lockDate(firstToCome)
			var booked []*bookingv1.Booking
			var err error
			var done sync.WaitGroup
			done.Go(func() { booked, err = book() })
			w.waitsFor("event_dates")
			w.toCome = append(w.toCome, addDate(time.Duration(30+len(w.toCome))*24*time.Hour))
			release()
			done.Wait()
			if dates := datesOf(&bookingv1.Transaction{Bookings: booked}); err != nil || !slices.Equal(dates, w.toCome) {
				t.Errorf("booked %v, %v\nwant %v", dates, err, w.toCome)
			}
		})
	}
	w.inStepWithReleased()
}

func TestRulesThatChangeDuringAPurchase(t *testing.T) { // invariants 25 and 26
	t.Parallel()
	w := newWorld(t)
	ann := w.customer(w.company, "ann")
	for name, c := range map[string]struct{ change, reason string }{
		"closes the booking":              {"closes_at = now() - interval '1 hour'", model.ReasonBookingClosed},
		"allows one booking per customer": {"once_per_customer = true", model.ReasonAlreadyBooked},
		"makes the event a draft":         {"status = 'draft'", model.ReasonEventNotPublished},
		"cancels the event, but no dates": {"status = 'cancelled'", model.ReasonEventCancelled},
	} {
		t.Run("a purchase and a waitlist entry follow a change that "+name+" under the lock of the date", func(t *testing.T) {
			e := w.passEvent(new(int32(2)), time.Hour, nil)
			w.mustBook(w.ctx, ann, e, 1)
			event := idOf[id.Event](t, e.GetId())
			release := w.lockDate(e, func(ctx context.Context, tx *pg.Tx) error {
				_, err := tx.Exec(ctx, "update events set "+c.change+" where id = $1", event)
				return err
			})
			var bought, joined error
			var done sync.WaitGroup
			done.Go(func() { _, bought = w.book(w.ctx, ann, e, 1) })
			done.Go(func() { _, joined = w.join(&bookingv1.JoinWaitlistRequest{Spaces: 2}, ann, e) })
			w.eventually("both wait", func() bool { return one[int64](w, waitingSQL, "event_dates") == 2 })
			release()
			done.Wait()
			wantFault(t, bought, fault.Refused, c.reason)
			wantFault(t, joined, fault.Refused, c.reason)
		})
	}
}

// TestWaitlistLockOrder has interleavings in which a lock that is taken too early or too late makes
// two transactions wait for each other. PostgreSQL then aborts one of them, and it runs again.
func TestWaitlistLockOrder(t *testing.T) {
	t.Parallel()
	t.Run("an entry that is served while another process waits to change it is locked with its offer", func(t *testing.T) {
		w := newWorld(t)
		full, bought := w.fullEvent(1)
		waiter := w.waits(full, 1, byOffer)
		entry := idOf[id.WaitlistEntry](t, waiter.GetId())
		release := w.lockDate(full, func(ctx context.Context, tx *pg.Tx) error {
			_, err := tx.Exec(ctx, `update event_dates set capacity = 2 where company_id = $1`, w.company)
			if err != nil {
				return err
			}
			return w.server.promote(ctx, tx, tenancy.Company{ID: w.company}, idOf[id.EventDate](t, full.GetDates()[0].GetId()))
		})
		var expiry, leaving sync.WaitGroup
		runs, expiries := 0, 0
		leaving.Go(func() {
			err := w.server.store.Write(t.Context(), w.company, func(ctx context.Context, tx *pg.Tx) error {
				found, err := w.server.store.LockWaitlistEntry(ctx, tx, w.company, entry)
				if err != nil {
					return err
				}
				runs++
				expiry.Go(func() { // takes its locks in their order
					err := w.server.store.Write(t.Context(), w.company, func(ctx context.Context, tx *pg.Tx) error {
						expiries++
						_, err := w.server.release(ctx, tx, tenancy.Company{ID: w.company}, []id.Transaction{found.Transaction}, model.HoldExpired, model.Held)
						return err
					})
					if err != nil {
						t.Error(err)
					}
				})
				w.eventually("the expiry waits", func() bool { return one[int64](w, waitingSQL, "") > 0 })
				return w.server.leaveWaitlist(ctx, tx, tenancy.Company{ID: w.company}, found, time.Now())
			})
			if err != nil {
				t.Error(err)
			}
		})
		w.waitsFor("event_dates")
		release()
		leaving.Wait()
		expiry.Wait()
		if runs != 1 || expiries != 1 {
			t.Errorf("%d attempts to leave the waitlist, %d expiries: they waited for each other", runs, expiries)
		}
		w.wantEntry(waiter, "LEFT", 0, "")
		w.cancel(bought)
		w.inStepWithReleased()
	})
	t.Run("a purchase by pass is released for an entry while its date is moved", func(t *testing.T) {
		w := newWorld(t)
		full, bought := w.fullEvent(1)
		waiter := w.customer(w.company, "mia")
		w.passes.give(waiter, 1)
		entry, err := w.join(&bookingv1.JoinWaitlistRequest{Mode: byBooking, PaymentMethod: byPass}, waiter, full)
		if err != nil {
			t.Fatal(err)
		}
		began, proceed := make(chan struct{}), make(chan struct{})
		w.passes.before = func(string) error { close(began); <-proceed; return fault.Away(context.Canceled) }
		w.cancel(bought)
		<-began
		pending := one[id.Transaction](w, `select transaction_id from waitlist_entries where state = 'booking'`)
		moves := 0
		release := w.lockDate(full, func(ctx context.Context, tx *pg.Tx) error {
			moves++
			_, err := tx.Exec(ctx, store.MoveClosingSQL, w.company, []id.EventDate{idOf[id.EventDate](t, full.GetDates()[0].GetId())}, []time.Time{time.Now().Add(9 * time.Hour)})
			return err
		})
		releases := 0
		var done sync.WaitGroup
		done.Go(func() {
			err := w.server.store.Write(t.Context(), w.company, func(ctx context.Context, tx *pg.Tx) error {
				releases++
				_, err := w.server.release(ctx, tx, tenancy.Company{ID: w.company}, []id.Transaction{pending}, model.HoldExpired, model.Pending)
				return err
			})
			if err != nil {
				t.Error(err)
			}
		})
		w.waitsFor("event_dates")
		release()
		done.Wait()
		close(proceed)
		if moves != 1 || releases != 1 {
			t.Errorf("%d moves, %d releases: they waited for each other", moves, releases)
		}
		w.eventually("the entry is tried again or waits", func() bool { return w.entry(entry).GetState() == bookingv1.WaitlistState_WAITLIST_STATE_WAITING })
	})
}
