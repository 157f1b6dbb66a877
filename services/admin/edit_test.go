package admin

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/zone"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
)

// last returns the request of the last call of a method.
func last[Q proto.Message](w *world, method string) Q {
	w.t.Helper()
	calls := w.backend.called(method)
	if len(calls) == 0 {
		w.t.Fatalf("%s was not called", method)
	}
	return calls[len(calls)-1].req.(Q)
}

func TestChangingAnEvent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.signIn()
	event, _ := withEvent(w, "Yoga", "Ann")
	event.Version, event.FreeCancellationMinutes = 7, proto.Int32(90)
	on(w.backend, "UpdateEvent", func(req *bookingv1.UpdateEventRequest) (*bookingv1.UpdateEventResponse, error) {
		if req.ExpectedVersion != nil && req.GetExpectedVersion() != event.GetVersion() {
			return nil, fault.New(fault.VersionMismatch, fault.ReasonVersionMismatch, "the event has changed")
		}
		return &bookingv1.UpdateEventResponse{Event: event}, nil
	})
	t.Run("shows the event's details and saves the changes", func(t *testing.T) {
		w.get("/events/evt_1/edit").must(t, `value="Yoga"`, `value="1.5"`, `name="version" value="7"`)
		a := w.post("/events/evt_1/edit", "title", "Slow yoga", "description", "Two\r\nlines", "type", "workshop", "location", "Hall", "policy", "2.25", "version", "7")
		w.get(a.to()).must(t, "The event was changed.")
		req := last[*bookingv1.UpdateEventRequest](w, "UpdateEvent")
		if req.GetTitle() != "Slow yoga" || req.GetDescription() != "Two\nlines" || req.GetType() != bookingv1.EventType_EVENT_TYPE_WORKSHOP || req.GetFreeCancellationMinutes() != 135 {
			t.Errorf("%v", req)
		}
	})
	t.Run("allows free cancellation until the start if the policy is empty", func(t *testing.T) {
		w.post("/events/evt_1/edit", "title", "Yoga", "type", "class", "policy", "", "version", "7")
		if req := last[*bookingv1.UpdateEventRequest](w, "UpdateEvent"); req.GetFreeCancellationMinutes() != -1 {
			t.Errorf("%v", req)
		}
	})
	t.Run("changes only the texts of a cancelled event", func(t *testing.T) {
		event.Status = bookingv1.EventStatus_EVENT_STATUS_CANCELLED
		defer func() { event.Status = bookingv1.EventStatus_EVENT_STATUS_PUBLISHED }()
		w.get("/events/evt_1").must(t, `href="/events/evt_1/edit"`)
		if page := w.page("/events/evt_1/edit"); !strings.Contains(page, "The event is cancelled") || strings.Contains(page, `name="policy"`) || strings.Contains(page, `name="type"`) {
			t.Errorf("got %s", page)
		}
		w.post("/events/evt_1/edit", "title", "Yoga (cancelled)", "version", "7")
		req := last[*bookingv1.UpdateEventRequest](w, "UpdateEvent")
		if req.GetTitle() != "Yoga (cancelled)" || req.FreeCancellationMinutes != nil || req.GetType() != bookingv1.EventType_EVENT_TYPE_UNSPECIFIED {
			t.Errorf("%v", req)
		}
	})
	t.Run("does not overwrite another person's changes unseen", func(t *testing.T) {
		a := w.post("/events/evt_1/edit", "title", "Mine", "type", "class", "version", "6")
		a.must(t, "Someone else has changed this", `value="Mine"`, `name="version" value="7"`)
		w.get("/events/evt_1/prices/po-1").must(t, `name="version" value="7"`)
		a = w.post("/events/evt_1/prices/po-1", "name", "Mine", "price", "13", "tax", "", "credits", "", "version", "6")
		a.must(t, "Someone else has changed this", `value="Mine"`, `name="version" value="7"`)
	})
	t.Run("adds a price, changes it, and ends it after a confirmation", func(t *testing.T) {
		w.post("/events/evt_1/prices", "name", "Member", "price", "9", "tax", "17.5", "credits", "2")
		o := last[*bookingv1.UpdateEventRequest](w, "UpdateEvent").GetPricingOptions()[0]
		if o.GetId() != "" || o.GetName() != "Member" || o.GetPrice() != 900 || o.GetTaxRateBasisPoints() != 1750 || o.GetCredits() != 2 || o.GetNoCredits() {
			t.Errorf("%v", o)
		}
		w.get("/events/evt_1/prices/po-1").must(t, `value="12.50"`, "Existing bookings keep their price.")
		w.post("/events/evt_1/prices/po-1", "name", "Drop-in", "price", "13", "tax", "", "credits", "")
		o = last[*bookingv1.UpdateEventRequest](w, "UpdateEvent").GetPricingOptions()[0]
		if o.GetId() != "po-1" || o.GetPrice() != 1300 || !o.GetNoCredits() {
			t.Errorf("%v", o)
		}
		if a := w.get("/events/evt_1/prices/po-1/end"); a.to() != "/events/evt_1#prices" {
			t.Error("the page offers to end the only price:", describe(a))
		}
		event.PricingOptions = append(event.PricingOptions, &bookingv1.PricingOption{Id: "po-2", Name: "Member", Price: 900, Currency: "GBP"})
		w.get("/events/evt_1/prices/po-2/end").must(t, "no longer sold", "£9.00")
		w.post("/events/evt_1/prices/po-2/end")
		if o := last[*bookingv1.UpdateEventRequest](w, "UpdateEvent").GetPricingOptions()[0]; o.GetId() != "po-2" || !o.GetEnded() {
			t.Errorf("%v", o)
		}
	})
	t.Run("shows a refusal of a price next to its field", func(t *testing.T) {
		on(w.backend, "UpdateEvent", func(*bookingv1.UpdateEventRequest) (*bookingv1.UpdateEventResponse, error) {
			return nil, fault.InvalidFields(fault.Field{Field: "pricing_options[0].name", Rule: "unique", Message: "is already used by another pricing option of the event"})
		})
		w.post("/events/evt_1/prices", "name", "Drop-in", "price", "9").must(t, `id="name-wrong"`, "The name is already used by another")
	})
}

func TestChangingADate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.signIn()
	event, _ := withEvent(w, "Yoga", "Ann")
	date := event.GetDates()[0]
	date.StartsAt = timestamppb.New(time.Date(2027, 7, 1, 8, 30, 0, 0, time.UTC)) // 09:30 in London
	on(w.backend, "UpdateEventDate", func(req *bookingv1.UpdateEventDateRequest) (*bookingv1.UpdateEventDateResponse, error) {
		return &bookingv1.UpdateEventDateResponse{Date: date}, nil
	})
	const path = "/events/evt_1/dates/date_1/edit"
	updates := func() int { return len(w.backend.called("UpdateEventDate")) }
	t.Run("changes nothing if the form is unchanged", func(t *testing.T) {
		w.get(path).must(t, `value="2027-07-01T09:30"`, `value="60"`, `value="8"`)
		a := w.post(path, "start", "2027-07-01T09:30", "duration", "60", "capacity", "8")
		w.get(a.to()).must(t, "Nothing was changed: Thu 1 Jul 2027, 09:30–10:30. 2 of 8 spaces booked.")
		if updates() != 0 {
			t.Error("the change was sent")
		}
	})
	t.Run("refuses fewer spaces than are booked", func(t *testing.T) {
		w.post(path, "start", "2027-07-01T09:30", "duration", "60", "capacity", "1").must(t, "at least 2 spaces", `id="capacity-wrong"`)
		if updates() != 0 {
			t.Error("the change was sent")
		}
	})
	t.Run("changes the number of spaces without a confirmation", func(t *testing.T) {
		w.post(path, "start", "2027-07-01T09:30", "duration", "60", "capacity", "")
		if c := last[*bookingv1.UpdateEventDateRequest](w, "UpdateEventDate").GetDate(); !c.GetUnlimited() || c.LocalStart != nil || c.DurationMinutes != nil {
			t.Errorf("%v", c)
		}
	})
	t.Run("lists the affected customers before a move, and again if others have booked since", func(t *testing.T) {
		before := updates()
		sent := []string{"start", "2027-07-02T10:00", "duration", "60", "capacity", "8"}
		a := w.post(path, sent...)
		a.must(t, "Thu 1 Jul 2027, 09:30–10:30", "Fri 2 Jul 2027, 10:00–11:00", "Ann Smith", "waiting for 1 space", `name="seen" value="1.1"`)
		w.post(path, append(sent, "seen", "0.1")...).must(t, "Ann Smith")
		if updates() != before {
			t.Fatal("the date moved without a confirmation")
		}
		w.post(path, append(sent, "seen", "1.1")...)
		if c := last[*bookingv1.UpdateEventDateRequest](w, "UpdateEventDate").GetDate(); c.GetLocalStart() != "2027-07-02T10:00:00" || c.Capacity != nil {
			t.Errorf("%v", c)
		}
	})
	t.Run("does not overwrite another person's changes with fields that the form did not change", func(t *testing.T) {
		w.get(path).must(t, `name="was-start" value="2027-07-01T09:30"`, `name="was-capacity" value="8"`)
		opened := []string{"was-start", "2027-06-30T08:00", "was-duration", "45", "was-capacity", "8", "start", "2027-06-30T08:00", "duration", "45"}
		w.post(path, append(opened, "capacity", "12")...)
		if c := last[*bookingv1.UpdateEventDateRequest](w, "UpdateEventDate").GetDate(); c.LocalStart != nil || c.DurationMinutes != nil || c.GetCapacity() != 12 {
			t.Errorf("%v", c)
		}
		moving := []string{"was-start", "2027-07-01T09:30", "was-duration", "60", "was-capacity", "6", "start", "2027-07-03T10:00", "duration", "60", "capacity", "6"}
		w.post(path, moving...).must(t, `name="was-capacity" value="6"`)
		w.post(path, append(moving, "seen", "1.1")...)
		if c := last[*bookingv1.UpdateEventDateRequest](w, "UpdateEventDate").GetDate(); c.GetLocalStart() != "2027-07-03T10:00:00" || c.Capacity != nil || c.GetUnlimited() {
			t.Errorf("%v", c)
		}
	})
	t.Run("refuses a time that daylight saving skips", func(t *testing.T) {
		w.post(path, "start", "2027-03-28T01:30", "duration", "60", "capacity", "8").must(t, "01:30 does not exist on 28 March 2027")
	})
	t.Run("lists the affected customers before cancelling, and cancels once", func(t *testing.T) {
		w.get("/events/evt_1/dates/date_1/cancel").must(t, "1 booking is cancelled.", "Ann Smith")
		date.Status = bookingv1.EventDateStatus_EVENT_DATE_STATUS_CANCELLED
		a := w.post("/events/evt_1/dates/date_1/cancel")
		w.get(a.to()).must(t, "This date is already cancelled.")
		if n := len(w.backend.called("CancelEventDate")); n != 0 {
			t.Errorf("%d calls", n)
		}
	})
}

func TestAddingDates(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.signIn()
	event, _ := withEvent(w, "Yoga", "Ann")
	event.Timezone = "America/New_York"
	on(w.backend, "AddEventDates", func(req *bookingv1.AddEventDatesRequest) (*bookingv1.AddEventDatesResponse, error) {
		res := &bookingv1.AddEventDatesResponse{}
		for day := 13; day < 15; day++ { // 02:30 of the 14th is skipped
			res.Dates = append(res.Dates, &bookingv1.EventDate{StartsAt: timestamppb.New(time.Date(2027, 3, day, 7, 30, 0, 0, time.UTC))})
		}
		return res, nil
	})
	t.Run("adds one date in the event's zone", func(t *testing.T) {
		w.get("/events/evt_1/dates/new").must(t, "Start (America/New York)")
		w.post("/events/evt_1/dates", "start", "2027-03-15T02:30", "duration", "45", "capacity", "6", "every", "", "count", "10")
		req := last[*bookingv1.AddEventDatesRequest](w, "AddEventDates")
		if req.GetRecurrence() != nil || req.GetDates()[0].GetLocalStart() != "2027-03-15T02:30:00" || req.GetDates()[0].GetCapacity() != 6 {
			t.Errorf("%v", req)
		}
	})
	t.Run("adds recurring dates, and lists those that start later because the clocks change", func(t *testing.T) {
		a := w.post("/events/evt_1/dates", "start", "2027-03-13T02:30", "duration", "45", "every", "FREQ=WEEKLY;INTERVAL=2", "days", "MO", "days", "WE", "count", "4")
		req := last[*bookingv1.AddEventDatesRequest](w, "AddEventDates")
		if r := req.GetRecurrence(); r.GetRule() != "FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,WE;COUNT=4" || r.GetLocalStart() != "2027-03-13T02:30:00" || req.GetDates()[0].GetLocalStart() != "" {
			t.Errorf("%v", req)
		}
		w.get(a.to()).must(t, "2 dates were added", "start later because the clocks go forward: Sun 14 Mar 2027, 03:30")
	})
	t.Run("names the missing fields", func(t *testing.T) {
		w.post("/events/evt_1/dates", "start", "2027-03-14T02:30", "duration", "", "every", "FREQ=DAILY", "count", "").must(t,
			"02:30 does not exist on 14 March 2027", "Enter the duration in minutes.")
		w.post("/events/evt_1/dates", "start", "2027-03-15T02:30", "duration", "45", "every", "FREQ=DAILY", "count", "").must(t, "Enter the number of dates.")
	})
	t.Run("shows a refused rule next to its field", func(t *testing.T) {
		on(w.backend, "AddEventDates", func(*bookingv1.AddEventDatesRequest) (*bookingv1.AddEventDatesResponse, error) {
			return nil, fault.InvalidFields(fault.Field{Field: "recurrence.rule", Rule: "unique", Message: "gives 2027-03-15T09:30:00, at which the event already takes place"})
		})
		w.post("/events/evt_1/dates", "start", "2027-03-15T09:30", "duration", "45", "every", "FREQ=DAILY", "count", "3").must(t, `id="every-wrong"`, "at which the event already takes place")
	})
}

func TestDiscountCodes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.signIn()
	withEvent(w, "Yoga", "Ann")
	// The last day of June in London ends an hour before that in UTC.
	code := &bookingv1.DiscountCode{Id: "disc_1", Code: "SUMMER", Reduction: &bookingv1.DiscountCode_BasisPoints{BasisPoints: 1250}, Uses: 3, MaxUses: proto.Int32(10),
		ValidUntil: timestamppb.New(time.Date(2037, 6, 30, 23, 0, 0, 0, time.UTC)), EventIds: []string{"evt_1"}}
	on(w.backend, "ListDiscountCodes", func(*bookingv1.ListDiscountCodesRequest) (*bookingv1.ListDiscountCodesResponse, error) {
		return &bookingv1.ListDiscountCodesResponse{DiscountCodes: []*bookingv1.DiscountCode{code}, Total: 1}, nil
	})
	on(w.backend, "GetDiscountCode", func(*bookingv1.GetDiscountCodeRequest) (*bookingv1.GetDiscountCodeResponse, error) {
		return &bookingv1.GetDiscountCodeResponse{DiscountCode: code}, nil
	})
	on(w.backend, "CreateDiscountCode", func(*bookingv1.CreateDiscountCodeRequest) (*bookingv1.CreateDiscountCodeResponse, error) {
		return &bookingv1.CreateDiscountCodeResponse{DiscountCode: code}, nil
	})
	on(w.backend, "UpdateDiscountCode", func(req *bookingv1.UpdateDiscountCodeRequest) (*bookingv1.UpdateDiscountCodeResponse, error) {
		return &bookingv1.UpdateDiscountCodeResponse{DiscountCode: code}, nil
	})
	t.Run("lists each code with its discount, uses, validity and status", func(t *testing.T) {
		w.get("/discounts").must(t, "SUMMER", "12.5% off", "3 of 10 times", "until 30 Jun 2037", "Active")
		w.get("/discounts/disc_1").must(t, "Yoga", `value="2037-06-30"`)
	})
	t.Run("adds a code that is valid until the end of its last day in the company's zone", func(t *testing.T) {
		a := w.post("/discounts", "code", "SUMMER", "kind", "amount", "value", "5", "from", "2037-06-01", "until", "2037-06-30", "uses", "10", "event", "evt_1")
		w.get(a.to()).must(t, "The code SUMMER was added")
		req := last[*bookingv1.CreateDiscountCodeRequest](w, "CreateDiscountCode")
		if req.GetAmount() != 500 || req.GetValidUntil().AsTime().Format(time.RFC3339) != "2037-06-30T23:00:00Z" || req.GetMaxUses() != 10 || req.GetEventIds()[0] != "evt_1" {
			t.Errorf("%v", req)
		}
	})
	t.Run("names missing and invalid fields", func(t *testing.T) {
		w.post("/discounts", "code", "", "kind", "share", "value", "120").must(t, "Enter a code.", `<a href="#value">The percentage must be a number from 0 to 100`)
	})
	t.Run("refuses a last day before the first day", func(t *testing.T) {
		for _, path := range []string{"/discounts", "/discounts/disc_1"} {
			w.post(path, "code", "SUMMER", "kind", "share", "value", "5", "from", "2037-07-01", "until", "2037-06-30").must(t, "The last day cannot be before the first day.")
		}
	})
	t.Run("removes the limits if the fields are empty", func(t *testing.T) {
		code.ValidFrom = timestamppb.New(time.Date(2037, 6, 1, 7, 30, 0, 0, time.UTC))
		w.post("/discounts/disc_1", "from", "", "until", "", "uses", "")
		if req := last[*bookingv1.UpdateDiscountCodeRequest](w, "UpdateDiscountCode"); !req.GetNoValidFrom() || !req.GetNoValidUntil() || req.GetMaxUses() != 0 || req.MaxUses == nil {
			t.Errorf("%v", req)
		}
	})
	t.Run("keeps the time of day of an unchanged day", func(t *testing.T) {
		w.get("/discounts/disc_1").must(t, `name="was-from" value="2037-06-01"`, `name="was-until" value="2037-06-30"`)
		w.post("/discounts/disc_1", "was-from", "2037-06-01", "from", "2037-06-01", "was-until", "2037-06-30", "until", "2037-07-01", "uses", "5")
		req := last[*bookingv1.UpdateDiscountCodeRequest](w, "UpdateDiscountCode")
		if req.ValidFrom != nil || req.GetNoValidFrom() || req.GetValidUntil().AsTime().Format(time.RFC3339) != "2037-07-01T23:00:00Z" || req.GetMaxUses() != 5 {
			t.Errorf("%v", req)
		}
	})
	t.Run("disables and enables a code", func(t *testing.T) {
		for action, want := range map[string]bool{"disable": true, "enable": false} {
			w.post("/discounts/disc_1/" + action)
			if req := last[*bookingv1.UpdateDiscountCodeRequest](w, "UpdateDiscountCode"); req.Disabled == nil || req.GetDisabled() != want {
				t.Errorf("%s: %v", action, req)
			}
		}
	})
}

func TestMessages(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.signIn()
	withEvent(w, "Yoga", "Ann")
	t.Run("refuses a booking without a number of spaces", func(t *testing.T) {
		for _, path := range []string{"/events/evt_1/dates/date_1/book", "/events/evt_1/dates/date_1/wait"} {
			w.post(path, "customer", "cust_1", "spaces", "", "option", "po-1").must(t, "Enter the number of spaces.")
		}
	})
	t.Run("selects the card if the customer has no pass any more", func(t *testing.T) {
		w.post("/events/evt_1/dates/date_1/book", "customer", "cust_1", "spaces", "", "option", "po-1", "method", "pass").must(t, `value="card" checked`, "no pass that can pay")
	})
	t.Run("redirects from a page after the last to the last page of a customer's bookings", func(t *testing.T) {
		on(w.backend, "ListTransactions", func(*bookingv1.ListTransactionsRequest) (*bookingv1.ListTransactionsResponse, error) {
			return &bookingv1.ListTransactionsResponse{Total: 41}, nil
		})
		if a := w.get("/customers/cust_1?purchases=999999999"); a.to() != "/customers/cust_1?purchases=2" {
			t.Error(describe(a))
		}
	})
	t.Run("says that a customer is deleted", func(t *testing.T) {
		on(w.backend, "BatchGetCustomers", func(*customerv1.BatchGetCustomersRequest) (*customerv1.BatchGetCustomersResponse, error) {
			return &customerv1.BatchGetCustomersResponse{Customers: []*customerv1.Customer{{Id: "cust_2", FirstName: "Gone", DeletedAt: timestamppb.Now()}}}, nil
		})
		a := w.get("/customers/cust_2")
		a.must(t, "This customer is deleted")
		if a.StatusCode != http.StatusNotFound {
			t.Error(a.StatusCode)
		}
	})
	t.Run("explains an expired page of a list without naming fields", func(t *testing.T) {
		on(w.backend, "ListCustomers", func(*customerv1.ListCustomersRequest) (*customerv1.ListCustomersResponse, error) {
			return nil, fault.InvalidParameter("page_token", "format", "is not one that a list returned")
		})
		for _, path := range []string{"/customers?page=x", "/events?page=x"} {
			on(w.backend, "ListEvents", func(*bookingv1.ListEventsRequest) (*bookingv1.ListEventsResponse, error) {
				return nil, fault.InvalidParameter("page_token", "format", "is not one that a list returned")
			})
			if body := w.get(path).body; !strings.Contains(body, "no longer available") || strings.Contains(body, "age_token") {
				t.Error(path, text(body))
			}
		}
	})
	t.Run("says why a pass cannot be used", func(t *testing.T) {
		on(w.backend, "UpdateCustomerPass", func(*passv1.UpdateCustomerPassRequest) (*passv1.UpdateCustomerPassResponse, error) {
			return nil, fault.Refuse("PASS_NOT_ACTIVE", "the pass is cancelled").With("status", "cancelled")
		})
		var cookie string
		for _, c := range w.post("/passes/cp_1/resume").Cookies() {
			if c.Name == flashCookie {
				cookie = c.Value
			}
		}
		if cookie == "" {
			t.Fatal("there is no message")
		}
		on(w.backend, "ListCustomers", func(*customerv1.ListCustomersRequest) (*customerv1.ListCustomersResponse, error) {
			return &customerv1.ListCustomersResponse{}, nil
		})
		w.get("/customers").must(t, "permanently cancelled")
	})
}

func TestAcceptingAnOffer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.signIn()
	event, _ := withEvent(w, "Yoga", "Ann")
	event.PricingOptions[0].Credits = proto.Int32(2)
	state := bookingv1.WaitlistState_WAITLIST_STATE_OFFERED
	on(w.backend, "GetWaitlistEntry", func(req *bookingv1.GetWaitlistEntryRequest) (*bookingv1.GetWaitlistEntryResponse, error) {
		return &bookingv1.GetWaitlistEntryResponse{Entry: &bookingv1.WaitlistEntry{Id: req.GetId(), EventDateId: "date_1", CustomerId: "cust_1", Spaces: 2, State: state,
			PricingOptionId: "po-1", OfferExpiresAt: timestamppb.New(time.Now().Add(time.Hour))}}, nil
	})
	credits := int32(4)
	on(w.backend, "ListEligiblePasses", func(req *passv1.ListEligiblePassesRequest) (*passv1.ListEligiblePassesResponse, error) {
		if req.GetCredits() != credits {
			return nil, fmt.Errorf("%d credits were requested", req.GetCredits())
		}
		if day := zone.Day(event.GetDates()[0].GetStartsAt().AsTime(), "Europe/London"); !slices.Equal(req.GetDays(), []string{day}) {
			return nil, fmt.Errorf("passes were requested for %v, not %s", req.GetDays(), day)
		}
		return &passv1.ListEligiblePassesResponse{CustomerPasses: []*passv1.CustomerPass{{Id: "cp_1", RemainingUses: 5, ExpiryDate: "2037-01-01"}}}, nil
	})
	on(w.backend, "AcceptOffer", func(req *bookingv1.AcceptOfferRequest) (*bookingv1.AcceptOfferResponse, error) {
		return &bookingv1.AcceptOfferResponse{Transaction: &bookingv1.Transaction{Bookings: []*bookingv1.Booking{
			{Payment: &bookingv1.Booking_Pass{Pass: &bookingv1.PassPayment{CreditsUsed: 4}}},
		}}}, nil
	})
	const path = "/events/evt_1/dates/date_1/offers/wait_1"
	t.Run("books an offer with a pass that has enough credits for it", func(t *testing.T) {
		w.get(path).must(t, "Ann Smith", "£25.00 or 4 credits", "5 credits left")
		a := w.post(path, "method", "pass", "pass", "cp_1", "reference", "ignored")
		w.get(a.to()).must(t, "The offer is booked for Ann Smith, 4 credits.")
		if req := last[*bookingv1.AcceptOfferRequest](w, "AcceptOffer"); req.GetCustomerPassId() != "cp_1" || req.GetPaymentReference() != "" {
			t.Errorf("%v", req)
		}
	})
	t.Run("lets a customer who waited at an ended price pay by card or pass", func(t *testing.T) {
		event.PricingOptions[0].Id, credits = "po-9", 1
		w.get(path).must(t, "at a price that is no longer sold to other customers", `name="method" value="pass"`, "5 credits left")
		event.PricingOptions[0].Id, credits = "po-1", 4
	})
	t.Run("does not find an offer of another date, and says that an offer is over", func(t *testing.T) {
		if a := w.get("/events/evt_1/dates/" + url.PathEscape("date_2") + "/offers/wait_1"); a.StatusCode != http.StatusNotFound {
			t.Error(describe(a))
		}
		state = bookingv1.WaitlistState_WAITLIST_STATE_EXPIRED
		w.get(w.get(path).to()).must(t, "No spaces are offered to this customer")
		w.get(w.post(path, "method", "card").to()).must(t, "No spaces are offered to this customer")
	})
	t.Run("answers a form that is sent twice like the first time", func(t *testing.T) {
		state = bookingv1.WaitlistState_WAITLIST_STATE_BOOKED
		a := w.post(path, "method", "pass", "pass", "cp_1")
		w.get(a.to()).must(t, "The offer is booked for Ann Smith, 4 credits.")
	})
}

// TestRefusedCredits checks that the refusal of too many credits says how many there are, and
// does not advise another way to pay.
func TestRefusedCredits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.signIn()
	on(w.backend, "GetCustomerPass", func(*passv1.GetCustomerPassRequest) (*passv1.GetCustomerPassResponse, error) {
		return &passv1.GetCustomerPassResponse{CustomerPass: &passv1.CustomerPass{
			Id: "cp_1", CustomerId: "cust_1", PassTypeId: "pass_1", RemainingUses: 2, ExpiryDate: "2027-01-31",
		}}, nil
	})
	on(w.backend, "GetPassType", func(*passv1.GetPassTypeRequest) (*passv1.GetPassTypeResponse, error) {
		return &passv1.GetPassTypeResponse{PassType: &passv1.PassType{Id: "pass_1", Title: "Ten Classes"}}, nil
	})
	on(w.backend, "BatchGetCustomers", func(*customerv1.BatchGetCustomersRequest) (*customerv1.BatchGetCustomersResponse, error) {
		return &customerv1.BatchGetCustomersResponse{Customers: []*customerv1.Customer{{Id: "cust_1", FirstName: "Ann"}}}, nil
	})
	on(w.backend, "ListLedgerEntries", func(*passv1.ListLedgerEntriesRequest) (*passv1.ListLedgerEntriesResponse, error) {
		return &passv1.ListLedgerEntriesResponse{}, nil
	})
	on(w.backend, "AdjustCredits", func(*passv1.AdjustCreditsRequest) (*passv1.AdjustCreditsResponse, error) {
		return nil, fault.Refuse("PASS_EXHAUSTED", "the pass does not have enough credits left")
	})
	a := w.post("/passes/cp_1/adjust", "credits", "-5", "reason", "A mistake")
	a.must(t, "The pass has 2 credits left. You cannot remove more than that.")
	if strings.Contains(a.body, "by card") {
		t.Errorf("the page advises another way to pay: %s", a.body)
	}
}
