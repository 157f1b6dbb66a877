package admin

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

const movePath = "/bookings/booking_1/move"

// withDates makes ListEventDates and GetEventDate answer with dates that start after the given times from now.
func withDates(w *world, starts ...time.Duration) {
	slices.Sort(starts)
	now, capacity := time.Now(), int32(8)
	var dates []*bookingv1.ScheduledDate
	for _, in := range starts {
		dates = append(dates, &bookingv1.ScheduledDate{EventId: "evt_1", Date: &bookingv1.EventDate{
			Id: "date_" + in.String(), StartsAt: timestamppb.New(now.Add(in)), DurationMinutes: 60, Timezone: "Europe/London", Capacity: &capacity,
		}})
	}
	on(w.backend, "ListEventDates", func(req *bookingv1.ListEventDatesRequest) (*bookingv1.ListEventDatesResponse, error) {
		var found []*bookingv1.ScheduledDate
		for _, d := range dates {
			at := d.GetDate().GetStartsAt().AsTime()
			if !at.Before(req.GetStartsFrom().AsTime()) && (req.GetStartsBefore() == nil || at.Before(req.GetStartsBefore().AsTime())) {
				found = append(found, d)
			}
		}
		first, _ := strconv.Atoi(req.GetPageToken())
		last := min(len(found), first+int(req.GetPageSize()))
		res := &bookingv1.ListEventDatesResponse{Dates: found[first:last]}
		if last < len(found) {
			res.NextPageToken = strconv.Itoa(last)
		}
		return res, nil
	})
	on(w.backend, "GetEventDate", func(req *bookingv1.GetEventDateRequest) (*bookingv1.GetEventDateResponse, error) {
		for _, d := range dates {
			if d.GetDate().GetId() == req.GetId() {
				return &bookingv1.GetEventDateResponse{Date: d}, nil
			}
		}
		return nil, fault.Missing("date")
	})
}

var (
	formField = regexp.MustCompile(`<input type="hidden" name="([^"]+)" value="([^"]*)">`)
	optionTag = regexp.MustCompile(`<option value="([^"]*)"`)
)

// previewed returns the fields of the form of a page that shows an effect, and other ones.
func previewed(t *testing.T, a answer, others ...string) []string {
	t.Helper()
	fields := []string{"do", "move"}
	for _, m := range formField.FindAllStringSubmatch(a.body, -1) {
		if slices.Contains([]string{"seen", "due", "version"}, m[1]) {
			fields = append(fields, m[1], strings.ReplaceAll(m[2], "&amp;", "&"))
		}
	}
	if len(fields) != 8 {
		t.Fatalf("the page shows no effect:\n%s", text(a.body))
	}
	return append(fields, others...)
}

// lastPreview returns the last request for a preview.
func (w *world) lastPreview() *bookingv1.PreviewMoveRequest {
	w.t.Helper()
	calls := w.backend.called("PreviewMove")
	if len(calls) == 0 {
		w.t.Fatal("nothing was previewed")
	}
	return calls[len(calls)-1].req.(*bookingv1.PreviewMoveRequest)
}

func TestMoveBooking(t *testing.T) {
	t.Parallel()
	chosen := []string{"event", "evt_1", "date", "date_2", "option", "po-1", "spaces", "1", "method", "cash"}
	const address = movePath + "?event=evt_1&date=date_2&option=po-1&spaces=1"
	t.Run("opens with the present date, option and spaces", func(t *testing.T) {
		t.Parallel()
		w, _ := withChanges(t)
		on(w.backend, "PreviewMove", func(*bookingv1.PreviewMoveRequest) (*bookingv1.PreviewMoveResponse, error) {
			return &bookingv1.PreviewMoveResponse{Unchanged: true}, nil
		})
		w.get("/bookings/booking_1").must(t, movePath, "/bookings/booking_1/transfer", "/bookings/booking_1/swap", "/bookings/booking_1/history")
		a := w.get(movePath)
		a.must(t, `value="date_1" selected`, "(present date)", `value="" selected>Present pricing option`, `value="1"`, "The page shows the effect before you move the booking.")
		if got := w.lastPreview(); got.GetEventDateId() != "date_1" || got.GetPricingOptionId() != "" || got.GetSpaces() != 1 {
			t.Errorf("%v", got)
		}
		if strings.Contains(a.body, `value="move"`) {
			t.Error("the booking can be moved to where it is")
		}
	})
	t.Run("shows the effect of the choices at an address of its own, without the token of the form", func(t *testing.T) {
		t.Parallel()
		w, _ := withChanges(t)
		a := w.post(movePath, "do", "show", "event", "evt_1", "date", "date_2", "spaces", "2", "keep", "on", "waive", "on", "reason", "ill")
		if want := movePath + "?date=date_2&event=evt_1&keep=on&spaces=2&waive=on#effect"; a.to() != want {
			t.Fatalf("got %q, want %q", a.to(), want)
		}
		shown, _, _ := strings.Cut(a.to(), "#")
		w.get(shown).must(t, `id="effect"`, `value="date_2" selected`, "Spaces: 1 before, 2 afterwards.", "£12.50 before, £15.00 afterwards", "The customer pays £2.50 now.", `name="due" value="250"`)
		if got := w.lastPreview(); got.GetEventDateId() != "date_2" || got.GetSpaces() != 2 || !got.GetKeepPrice() || !got.GetWaivePolicy() || got.GetAfterStart() {
			t.Errorf("%v", got)
		}
		if n := len(w.backend.called("MoveBooking")); n != 0 {
			t.Errorf("%d moves", n)
		}
	})
	t.Run("explains why a move is refused, and offers no button", func(t *testing.T) {
		t.Parallel()
		w, _ := withChanges(t)
		on(w.backend, "PreviewMove", func(*bookingv1.PreviewMoveRequest) (*bookingv1.PreviewMoveResponse, error) {
			return nil, fault.Refuse("ALREADY_ATTENDED", "attended")
		})
		a := w.get(movePath)
		a.must(t, "The customer has checked in. Undo the check-in first.")
		if strings.Contains(a.body, "Move the booking</button>") {
			t.Error("the booking can be moved")
		}
	})
	t.Run("proposes no waitlist if the date is full", func(t *testing.T) {
		t.Parallel()
		w, _ := withChanges(t)
		full := fault.Refuse("EVENT_FULL", "full")
		on(w.backend, "MoveBooking", func(*bookingv1.MoveBookingRequest) (*bookingv1.MoveBookingResponse, error) { return nil, full })
		sent := previewed(t, w.get(address), chosen...)
		refused := []answer{w.post(movePath, sent...)}
		on(w.backend, "PreviewMove", func(*bookingv1.PreviewMoveRequest) (*bookingv1.PreviewMoveResponse, error) { return nil, full })
		for _, a := range append(refused, w.get(address)) {
			if a.must(t, "Choose another date or fewer spaces."); strings.Contains(a.body, "waitlist") {
				t.Error(text(a.body))
			}
		}
	})
	t.Run("says the same if the form is sent twice", func(t *testing.T) {
		t.Parallel()
		w, outcome := withChanges(t)
		on(w.backend, "MoveBooking", func(*bookingv1.MoveBookingRequest) (*bookingv1.MoveBookingResponse, error) {
			return &bookingv1.MoveBookingResponse{Registration: after(), Changed: true, Outcome: outcome}, nil
		})
		page := w.get(address)
		page.must(t, `name="present" value="date_1"`)
		sent := previewed(t, page, append(chosen, "present", "date_1")...)
		for range 2 {
			w.get(w.post(movePath, sent...).to()).must(t, "The booking was moved to Yoga", "Paid: £2.50.")
			on(w.backend, "GetRegistration", func(*bookingv1.GetRegistrationRequest) (*bookingv1.GetRegistrationResponse, error) {
				moved := after()
				moved.Booking.Id = "booking_1"
				return &bookingv1.GetRegistrationResponse{Registration: moved}, nil
			})
		}
	})
	t.Run("moves as shown, and records it", func(t *testing.T) {
		t.Parallel()
		w, outcome := withChanges(t)
		on(w.backend, "MoveBooking", func(*bookingv1.MoveBookingRequest) (*bookingv1.MoveBookingResponse, error) {
			return &bookingv1.MoveBookingResponse{Registration: after(), Changed: true, Outcome: outcome}, nil
		})
		sent := previewed(t, w.get(address+"&keep=on&waive=on"), append(chosen, "keep", "on", "waive", "on")...)
		a := w.post(movePath, sent...)
		if a.to() != "/bookings/booking_1" {
			t.Fatal(describe(a))
		}
		w.get(a.to()).must(t, "The booking was moved to Yoga", "Paid: £2.50.")
		got := w.backend.called("MoveBooking")[0].req.(*bookingv1.MoveBookingRequest)
		if got.GetExpectedAmountDue() != 250 || got.ExpectedVersion == nil || got.GetPaymentMethod() != bookingv1.PaymentMethod_PAYMENT_METHOD_CASH || got.GetEventDateId() != "date_2" {
			t.Errorf("%v", got)
		}
		if got := strings.Join(w.entries(), ", "); got != "booking.move booking_1" {
			t.Error(got)
		}
		if got := w.lastDetails(); got["policy_waived"] != "true" || got["price_kept"] != "true" || got["amount"] != "£2.50" || got["method"] != "cash" {
			t.Errorf("%v", got)
		}
	})
	t.Run("shows the effect again, and moves nothing, if the choices are not those that it showed", func(t *testing.T) {
		t.Parallel()
		w, outcome := withChanges(t)
		for _, change := range [][]string{{"spaces", "3"}, {"date", "date_1"}, {"option", ""}, {"keep", "on"}, {"waive", "on"}} {
			shown := previewed(t, w.get(address))
			values := url.Values{}
			for i := 0; i < len(chosen); i += 2 {
				values.Set(chosen[i], chosen[i+1])
			}
			values.Set(change[0], change[1])
			for name := range values {
				shown = append(shown, name, values.Get(name))
			}
			outcome.AmountDue += 100
			a := w.post(movePath, shown...)
			if a.StatusCode != http.StatusUnprocessableEntity || len(w.backend.called("MoveBooking")) != 0 {
				t.Fatalf("%v: %s", change, describe(a))
			}
			a.must(t, "Your choices have changed.", fmt.Sprintf(`name="due" value="%d"`, outcome.AmountDue))
			if again := previewed(t, a); !strings.Contains(again[5], change[0]+"="+change[1]) && !strings.Contains(again[7], change[0]+"="+change[1]) {
				t.Errorf("%v: the form has %v", change, again)
			}
		}
	})
	t.Run("shows the new effect after a refusal", func(t *testing.T) {
		t.Parallel()
		w, outcome := withChanges(t)
		on(w.backend, "MoveBooking", func(*bookingv1.MoveBookingRequest) (*bookingv1.MoveBookingResponse, error) {
			return nil, fault.Refuse("PRICE_CHANGED", "another amount")
		})
		sent := previewed(t, w.get(address), chosen...)
		outcome.AmountDue = 500
		a := w.post(movePath, sent...)
		if a.StatusCode != http.StatusUnprocessableEntity {
			t.Error(describe(a))
		}
		a.must(t, "The amount that is due has changed.", `name="due" value="500"`)
	})
	t.Run("requires a reason if a date has started", func(t *testing.T) {
		t.Parallel()
		w, _ := withChanges(t)
		withDates(w, -time.Hour, time.Hour)
		a := w.get(movePath + "?date=date_-1h0m0s&option=po-1")
		a.must(t, "Reason for the change after the start", `id="reason"`)
		if !w.lastPreview().GetAfterStart() {
			t.Error("the preview is not that of a move with a reason")
		}
		sent := previewed(t, a, "event", "evt_1", "date", "date_-1h0m0s", "option", "po-1", "spaces", "1")
		if a = w.post(movePath, sent...); a.StatusCode != http.StatusUnprocessableEntity || len(w.backend.called("MoveBooking")) != 0 {
			t.Error(describe(a))
		}
		a.must(t, "Enter a reason.")
		w.post(movePath, append(sent, "reason", "ill")...)
		if got := w.backend.called("MoveBooking")[0].req.(*bookingv1.MoveBookingRequest); got.GetAfterStartReason() != "ill" {
			t.Errorf("%v", got)
		}
	})
}

func TestMoveDates(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	options := func(a answer) (all []string) {
		dates, _, _ := strings.Cut(a.body[strings.Index(a.body, `<select id="date"`):], "</select>")
		for _, m := range optionTag.FindAllStringSubmatch(dates, -1) {
			all = append(all, m[1])
		}
		return all
	}
	t.Run("lists upcoming dates first, then those that started, newest first", func(t *testing.T) {
		t.Parallel()
		w, _ := withChanges(t)
		withDates(w, 2*day, 3*day, -day, -2*day, -40*day)
		if got, want := options(w.get(movePath)), []string{"date_1", "date_48h0m0s", "date_72h0m0s", "date_-24h0m0s", "date_-48h0m0s"}; !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	})
	t.Run("reaches every date", func(t *testing.T) {
		t.Parallel()
		w, _ := withChanges(t)
		var starts []time.Duration
		for n := range 250 {
			starts = append(starts, time.Duration(n+1)*12*time.Hour, -time.Duration(n+1)*3*time.Hour)
		}
		withDates(w, starts...)
		reached := map[string]bool{}
		reach := func(path string) {
			for pages := 0; path != ""; pages++ {
				if pages > 20 {
					t.Fatal("the pages do not end")
				}
				a := w.get(path)
				for _, id := range options(a) {
					reached[id] = true
				}
				path = ""
				if m := regexp.MustCompile(`href="([^"]+)" rel="next"`).FindStringSubmatch(a.body); m != nil {
					path = strings.ReplaceAll(m[1], "&amp;", "&")
				}
			}
		}
		reach(movePath)
		w.get(movePath).must(t, "There are more dates.", "Not all dates that have started are listed.")
		if !reached["date_3000h0m0s"] || !reached["date_-24h0m0s"] || reached["date_-72h0m0s"] {
			t.Error("the list lacks an upcoming date or one of yesterday, or is not cut")
		}
		reach(movePath + "?from=" + time.Now().Add(-50*day).Format(time.DateOnly))
		for _, in := range starts {
			if id := "date_" + in.String(); in > -31*day && !reached[id] {
				t.Errorf("%s cannot be chosen", id)
			}
		}
	})
	t.Run("keeps a chosen date of another page, and shows its effect", func(t *testing.T) {
		t.Parallel()
		w, _ := withChanges(t)
		var starts []time.Duration
		for n := range 150 {
			starts = append(starts, time.Duration(n+2)*day)
		}
		withDates(w, starts...)
		w.get(movePath+"?date=date_3600h0m0s").must(t, `value="date_3600h0m0s" selected`)
		if got := w.lastPreview().GetEventDateId(); got != "date_3600h0m0s" {
			t.Error(got)
		}
	})
	t.Run("selects the first upcoming date of another event, also if all are full", func(t *testing.T) {
		t.Parallel()
		w, _ := withChanges(t)
		withOtherEvent(w)
		on(w.backend, "ListEventDates", func(req *bookingv1.ListEventDatesRequest) (*bookingv1.ListEventDatesResponse, error) {
			date := func(id string, in time.Duration, capacity int32) *bookingv1.ScheduledDate {
				return &bookingv1.ScheduledDate{EventId: req.GetEventId(), Date: &bookingv1.EventDate{Id: id, StartsAt: timestamppb.New(time.Now().Add(in)), Capacity: &capacity}}
			}
			if req.GetStartsBefore() != nil {
				return &bookingv1.ListEventDatesResponse{Dates: []*bookingv1.ScheduledDate{date("date_past", -day, 5)}}, nil
			}
			return &bookingv1.ListEventDatesResponse{Dates: []*bookingv1.ScheduledDate{date("date_full", day, 0), date("date_full2", 2*day, 0)}}, nil
		})
		w.get(movePath+"?event=evt_2").must(t, `value="evt_2" selected`, `value="date_full" selected`)
	})
	t.Run("says that an event has no dates, without a preview", func(t *testing.T) {
		t.Parallel()
		w, _ := withChanges(t)
		withOtherEvent(w)
		withDates(w)
		w.get(movePath+"?event=evt_2").must(t, "There is no date to which the booking can be moved.")
		if n := len(w.backend.called("PreviewMove")); n != 0 {
			t.Errorf("%d previews", n)
		}
	})
}

// withOtherEvent adds the event evt_2, which only the second page of the list of events has.
func withOtherEvent(w *world) {
	other := &bookingv1.Event{
		Id: "evt_2", Title: "Pilates", Status: bookingv1.EventStatus_EVENT_STATUS_PUBLISHED, PricingOptions: []*bookingv1.PricingOption{{Id: "po-2", Name: "Single", Price: 900, Currency: "GBP"}},
	}
	first := w.backend.methods["GetEvent"]
	on(w.backend, "GetEvent", func(req *bookingv1.GetEventRequest) (*bookingv1.GetEventResponse, error) {
		if req.GetId() == "evt_2" {
			return &bookingv1.GetEventResponse{Event: other}, nil
		}
		res, err := first(w.t.Context(), req)
		if err != nil {
			return nil, err
		}
		return res.(*bookingv1.GetEventResponse), nil
	})
	on(w.backend, "ListEvents", func(req *bookingv1.ListEventsRequest) (*bookingv1.ListEventsResponse, error) {
		if req.GetPageToken() == "more" {
			return &bookingv1.ListEventsResponse{Events: []*bookingv1.Event{other}}, nil
		}
		return &bookingv1.ListEventsResponse{Events: []*bookingv1.Event{{Id: "evt_3", Title: "Barre"}, {Id: "evt_1"}}, NextPageToken: "more"}, nil
	})
}

func TestMoveEvents(t *testing.T) {
	t.Parallel()
	t.Run("reaches the events of every page", func(t *testing.T) {
		t.Parallel()
		w, _ := withChanges(t)
		withOtherEvent(w)
		a := w.get(movePath)
		a.must(t, `value="evt_1" selected`, "Barre", "There are more events.", "events=more")
		if strings.Contains(a.body, "Pilates") {
			t.Error("the first page has the event of the second one")
		}
		w.get(movePath+"?events=more").must(t, `value="evt_1" selected`, "Pilates")
	})
	t.Run("keeps a chosen event of another page, with its prices", func(t *testing.T) {
		t.Parallel()
		w, _ := withChanges(t)
		withOtherEvent(w)
		w.get(movePath+"?event=evt_2").must(t, `value="evt_2" selected`, `value="po-2" selected`, "Single: £9.00")
	})
	t.Run("refuses values that cannot be chosen at their fields, without a preview", func(t *testing.T) {
		t.Parallel()
		w, _ := withChanges(t)
		withOtherEvent(w)
		for query, field := range map[string]string{
			"event=evt_9&date=date_2": "event", "date=date_nope": "date", "event=evt_1&date=date_nope": "date", "from=2026-13-45": "from", "spaces=0": "spaces",
		} {
			a := w.get(movePath + "?" + query)
			a.must(t, `value="evt_1" selected`, `id="`+field+`-wrong"`, `href="#`+field+`"`)
			if a.StatusCode != http.StatusUnprocessableEntity || len(w.backend.called("PreviewMove")) != 0 {
				t.Errorf("%s: %s", query, describe(a))
			}
		}
		withDates(w, -40*24*time.Hour)
		w.get(movePath+"?date=date_-960h0m0s").must(t, `id="date-wrong"`)
	})
	t.Run("forgets the date of the event that was chosen before", func(t *testing.T) {
		t.Parallel()
		w, _ := withChanges(t)
		withOtherEvent(w)
		withDates(w, time.Hour)
		a := w.get(movePath + "?event=evt_2&date=date_1h0m0s")
		if a.StatusCode != http.StatusOK || strings.Contains(a.body, "date-wrong") {
			t.Error(describe(a))
		}
	})
}
