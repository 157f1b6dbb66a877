package admin

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/text/language"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

// datePagePath is the page of the date of withEvent.
const datePagePath = "/events/evt_1/dates/date_1"

// withCrowd adds bookings for people to the date of withEvent. The fake lists them in pages, as the service does.
func withCrowd(w *world, n int) []*bookingv1.Registration {
	event, _ := withEvent(w, "Yoga", "Ann")
	var all []*bookingv1.Registration
	for i := range n {
		id := fmt.Sprintf("booking_01m858eyyqfnkrc4j3pb%06d", i)
		who := &bookingv1.CustomerReference{Id: fmt.Sprintf("cust_01m858eyyqfnkrc4j3pb%06d", i), FirstName: fmt.Sprintf("Firstname%d", i), LastName: fmt.Sprintf("Familyname%03d", (i*7)%n)}
		all = append(all, &bookingv1.Registration{Purchaser: who, Booking: &bookingv1.Booking{
			Id: id, Spaces: 1, EventId: "evt_1", EventTitle: "Yoga", EventDateId: "date_1", StartsAt: event.GetDates()[0].GetStartsAt(),
			Payment: &bookingv1.Booking_Card{Card: &bookingv1.CardPayment{Currency: "GBP", Gross: 1250}},
		}})
	}
	on(w.backend, "ListRegistrations", func(req *bookingv1.ListRegistrationsRequest) (*bookingv1.ListRegistrationsResponse, error) {
		some := slices.DeleteFunc(slices.Clone(all), func(r *bookingv1.Registration) bool {
			return req.GetAttendance() != 0 && r.GetBooking().GetAttendance() != req.GetAttendance()
		})
		from, _ := strconv.Atoi(req.GetPageToken())
		until := min(len(some), from+int(req.GetPageSize()))
		res := &bookingv1.ListRegistrationsResponse{Registrations: some[from:until], Total: int64(len(some))}
		if until < len(some) {
			res.NextPageToken = strconv.Itoa(until)
		}
		return proto.CloneOf(res), nil
	})
	find := func(id string) (*bookingv1.Registration, error) {
		for _, r := range all {
			if r.GetBooking().GetId() == id {
				return r, nil
			}
		}
		return nil, fault.Missing("booking")
	}
	on(w.backend, "GetRegistration", func(req *bookingv1.GetRegistrationRequest) (*bookingv1.GetRegistrationResponse, error) {
		r, err := find(req.GetBookingId())
		return &bookingv1.GetRegistrationResponse{Registration: r}, err
	})
	on(w.backend, "RecordAttendance", func(req *bookingv1.RecordAttendanceRequest) (*bookingv1.RecordAttendanceResponse, error) {
		r, err := find(req.GetBookingId())
		if err != nil {
			return nil, err
		}
		changed := r.GetBooking().GetAttendance() != req.GetAttendance()
		r.Booking.Attendance = req.GetAttendance()
		return &bookingv1.RecordAttendanceResponse{Registration: r, Changed: changed}, nil
	})
	return all
}

// live sends a form as htmx does.
func (w *world) live(path string, pairs ...string) answer {
	w.t.Helper()
	values := url.Values{csrfField: {tokenOf(sessionToken, liveMode)}, keyField: {strings.Repeat("k", 26)}}
	for i := 0; i+1 < len(pairs); i += 2 {
		values.Add(pairs[i], pairs[i+1])
	}
	return w.send(path, values, map[string]string{"Hx-Request": "true"})
}

// transferred returns the size of a response as browsers transfer it, and its text.
func (w *world) transferred(path string) (size int, body string) {
	w.t.Helper()
	req, err := http.NewRequest(http.MethodGet, w.server.URL+path, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	req.Header.Set("Accept-Encoding", "gzip")
	res, err := w.client.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer res.Body.Close()
	sent, err := io.ReadAll(res.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	if res.Header.Get("Content-Encoding") != "gzip" {
		return len(sent), string(sent)
	}
	unzipped, err := gzip.NewReader(strings.NewReader(string(sent)))
	if err != nil {
		w.t.Fatal(err)
	}
	plain, err := io.ReadAll(unzipped)
	if err != nil {
		w.t.Fatal(err)
	}
	return len(sent), string(plain)
}

var rosterNames = regexp.MustCompile(`class="name"[^>]*>([^<]*)<b>([^<]*)</b>`)

func TestRoster(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.signIn()
	withCrowd(w, rosterMost)
	t.Run("shows 500 names on a page of at most 150 kB, sorted, in at most 9 calls", func(t *testing.T) {
		w.backend.count()
		size, body := w.transferred(datePagePath)
		if n := w.backend.count(); n > 9 {
			t.Errorf("%d calls", n)
		}
		for _, match := range regexp.MustCompile(`(?:src|href)="(/assets/[^"]+)"`).FindAllStringSubmatch(body, -1) {
			n, _ := w.transferred(match[1])
			size += n
		}
		var names []string
		for _, match := range rosterNames.FindAllStringSubmatch(body, -1) {
			names = append(names, match[2])
		}
		if size > 150_000 || len(names) != rosterMost || !slices.IsSorted(names) {
			t.Errorf("%d bytes, %d names: %q", size, len(names), names)
		}
	})
	t.Run("finds names without JavaScript", func(t *testing.T) {
		_, body := w.transferred(datePagePath + "?q=FÍRSTNAME499")
		if len(rosterNames.FindAllString(body, -1)) != 1 || strings.Contains(body, "data-filter") {
			t.Error(text(body))
		}
	})
	t.Run("shows a part of what a search finds, in at most 150 kB", func(t *testing.T) {
		for _, query := range []string{"?q=firstname", "?q=%20", "?other=1"} {
			size, body := w.transferred(datePagePath + query)
			if n := len(rosterNames.FindAllString(body, -1)); size > 150_000 || n != rosterPart || strings.Contains(body, "data-filter") {
				t.Errorf("%s: %d bytes, %d names", query, size, n)
			}
			if !strings.Contains(text(body), "These are 50 of the 500 bookings found.") {
				t.Error(text(body))
			}
		}
	})
	t.Run("lists more bookings in pages of at most 150 kB, and counts them", func(t *testing.T) {
		withCrowd(w, rosterMost+100)
		w.backend.count()
		size, body := w.transferred(datePagePath)
		if n := w.backend.count(); n > 9 {
			t.Errorf("%d calls", n)
		}
		answer{body: body}.must(t, "0 of 600 bookings are checked in", "600 bookings, more than one page can show", "?page=50")
		if n := len(rosterNames.FindAllString(body, -1)); n != rosterPart || size > 150_000 {
			t.Errorf("%d bytes, %d names", size, n)
		}
		size, body = w.transferred(datePagePath + "?page=400")
		answer{body: body}.must(t, "Familyname", "0 of 600 bookings", "?page=450")
		if n := len(rosterNames.FindAllString(body, -1)); n != rosterPart || size > 150_000 {
			t.Errorf("%d bytes, %d names", size, n)
		}
	})
}

func TestRosterIsSortedInTheReadersLanguage(t *testing.T) {
	t.Parallel()
	for tag, want := range map[string][]string{
		"en": {"ann Abel", "Zoë Abel", "Cher", "Åsa Öberg", "Bo Zhang"}, "sv": {"ann Abel", "Zoë Abel", "Cher", "Bo Zhang", "Åsa Öberg"},
	} {
		r := &request{texts: &texts{language: language.Make(tag)}}
		var rows []rosterRow
		for _, name := range [][2]string{{"Bo", "Zhang"}, {"Åsa", "Öberg"}, {"Zoë", "Abel"}, {"Cher", ""}, {"ann", "Abel"}} {
			rows = append(rows, rosterRow{registrationView: registrationView{&bookingv1.Registration{Purchaser: &bookingv1.CustomerReference{FirstName: name[0], LastName: name[1]}}}})
		}
		r.sortByName(rows)
		if diff := cmp.Diff(want, views(rows, rosterRow.Name)); diff != "" {
			t.Errorf("%s: %s", tag, diff)
		}
	}
}

func TestCheckingIn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.signIn()
	all := withCrowd(w, 40)
	first := all[0].GetBooking()
	t.Run("replaces the row, the bar and the key", func(t *testing.T) {
		a := w.live("/bookings/"+first.GetId()+"/attendance", "attendance", "checked-in")
		a.must(t, `<li id="`+first.GetId()+`" class="here" hx-swap-oob="true">`, "1 of 40 have come", `innerHTML:#said">Checked in: Firstname0 Familyname000. 1 of 40 have come.`, "Undo")
		if strings.Contains(a.body, "<html") || strings.Contains(a.body, strings.Repeat("k", 26)) || !strings.Contains(a.body, `id="key"`) {
			t.Error(a.body)
		}
		records := w.backend.called("RecordAuditEntry")
		if got := records[len(records)-1].req.(*authv1.RecordAuditEntryRequest); got.GetAction() != "booking.attendance" || got.GetTarget() != first.GetId() {
			t.Errorf("%v", got)
		}
	})
	t.Run("records nothing in the audit log if the customer is checked in already", func(t *testing.T) {
		before := len(w.entries())
		w.live("/bookings/"+first.GetId()+"/attendance", "attendance", "checked-in").must(t, "1 of 40 have come")
		if n := len(w.entries()) - before; n != 0 {
			t.Errorf("%d entries", n)
		}
	})
	t.Run("counts people, not bookings", func(t *testing.T) {
		all[1].Booking.Spaces = 3
		w.live("/bookings/"+all[1].GetBooking().GetId()+"/attendance", "attendance", "checked-in").must(t, "4 of 42 have come", "3 spaces")
	})
	t.Run("asks before a no-show of a date that has not started", func(t *testing.T) {
		id := all[2].GetBooking().GetId()
		if a := w.post("/bookings/"+id+"/attendance", "attendance", "no-show", "back", datePagePath); a.to() != "/bookings/"+id+"/no-show" {
			t.Fatal(describe(a))
		}
		if all[2].GetBooking().GetAttendance() != 0 {
			t.Error("it is marked already")
		}
		w.get("/bookings/"+id+"/no-show").must(t, "has not started yet", "Mark as a no-show")
		if a := w.post("/bookings/" + id + "/no-show"); a.to() != datePagePath+"#"+id || all[2].GetBooking().GetAttendance() != bookingv1.Attendance_ATTENDANCE_NO_SHOW {
			t.Error(describe(a))
		}
	})
	t.Run("marks a no-show of a date that has started without asking", func(t *testing.T) {
		all[3].Booking.StartsAt = timestamppb.New(time.Now().Add(-time.Minute))
		w.live("/bookings/"+all[3].GetBooking().GetId()+"/attendance", "attendance", "no-show").must(t, `class="missed"`, "Marked as a no-show")
	})
	t.Run("loads the page with the refusal if the booking was cancelled", func(t *testing.T) {
		on(w.backend, "RecordAttendance", func(*bookingv1.RecordAttendanceRequest) (*bookingv1.RecordAttendanceResponse, error) {
			return nil, fault.Refuse("ALREADY_CANCELLED", "cancelled")
		})
		if a := w.live("/bookings/"+first.GetId()+"/attendance", "attendance", "checked-in", "back", datePagePath); a.Header.Get("Hx-Redirect") != datePagePath {
			t.Error(describe(a))
		}
	})
}

func TestScanning(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.signIn()
	all := withCrowd(w, 40)
	all[1].Booking.IsCancelled = true
	all[2].Booking.EventDateId, all[2].Booking.EventTitle = "date_2", "Pilates"
	code := func(i int) string { return "reg_" + strings.TrimPrefix(all[i].GetBooking().GetId(), "booking_") }
	for _, c := range []struct{ name, code, title, detail string }{
		{"checks in", code(0), "Checked in", "1 of 40 have come"},
		{"says that somebody is in already", strings.ToUpper(code(0)), "Already checked in", "Firstname0"},
		{"refuses a cancelled booking", code(1), "This booking is cancelled", "Firstname1"},
		{"names the other date of a booking", code(2), "Booked for another date", "Pilates, "},
		{"accepts the booking's identifier", " " + all[3].GetBooking().GetId(), "Checked in", "2 of 40 have come"},
		{"refuses an unknown number", "reg_01m858eyyqfnkrc4j3pb999999", "Unknown ticket", "Check it"},
		{"refuses a text that is no number", "<script>", "Unknown ticket", "Check it"},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := w.live(datePagePath+"/scan", "code", c.code)
			a.must(t, "<strong>"+c.title+"</strong>", c.detail, `aria-live="assertive"`)
			if strings.Contains(a.body, "<html") {
				t.Error("it is a whole page")
			}
		})
	}
	if n := len(w.backend.called("RecordAttendance")); n != 2 {
		t.Errorf("%d attendances are recorded", n)
	}
	records := w.backend.called("RecordAuditEntry")
	if len(records) != 2 || records[1].req.(*authv1.RecordAuditEntryRequest).GetTarget() != all[3].GetBooking().GetId() {
		t.Errorf("%v", records)
	}
	t.Run("works without JavaScript", func(t *testing.T) {
		w.post(datePagePath+"/scan", "code", code(4)).must(t, "<html", "Checked in", "Firstname4", "3 of 40 have come")
	})
	t.Run("checks in again with an old form after an undo, and records it", func(t *testing.T) {
		w.backend.count()
		scan := func() {
			w.live(datePagePath+"/scan", "code", code(5)).must(t, "<strong>Checked in</strong>", "4 of 40 have come")
		}
		scan()
		all[5].Booking.Attendance, all[5].Version = bookingv1.Attendance_ATTENDANCE_UNSPECIFIED, all[5].GetVersion()+2
		scan()
		for _, method := range []string{"RecordAttendance", "RecordAuditEntry"} {
			if calls := w.backend.called(method); len(calls) != 2 || calls[0].key == "" || calls[0].key == calls[1].key {
				t.Errorf("%s would replay the first response: %v", method, calls)
			}
		}
	})
	t.Run("only the page that scans can use the camera", func(t *testing.T) {
		for _, path := range []string{"/", datePagePath, "/bookings/" + all[0].GetBooking().GetId(), datePagePath + "/scan"} {
			policy := w.get(path).Header.Get("Permissions-Policy")
			if allowed := strings.Contains(policy, "camera=(self)"); allowed != strings.HasSuffix(path, "/scan") || !strings.Contains(policy, "microphone=()") {
				t.Errorf("%s: %s", path, policy)
			}
		}
	})
	t.Run("serves the script that reads QR codes, and the module that it imports", func(t *testing.T) {
		main := w.web.pages.urls["qr-decode.js"]
		_, script := w.transferred(main)
		_, shared := w.transferred(strings.Replace(main, "decode.js", "index.js", 1))
		if !strings.Contains(script, "from './index.js'") || !strings.Contains(script, "class BarcodeDetector") || !strings.Contains(shared, "export") {
			t.Error("it is another script")
		}
	})
}

func TestTicket(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.signIn()
	withEvent(w, "Yoga", "Ann")
	w.get("/bookings/booking_1/ticket").must(t, "reg_1", "<svg class=\"qr\"", "Yoga", "Ann Smith")
	w.get("/bookings/booking_1").must(t, "reg_1", "<svg class=\"qr\"", "/bookings/booking_1/ticket")
}

func TestTokensDifferOnEachPage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.signIn()
	withEvent(w, "Yoga", "Ann")
	token := regexp.MustCompile(`name="_csrf" value="([^"]+)"`)
	seen := map[string]bool{}
	for range 3 {
		sent := token.FindStringSubmatch(w.page(datePagePath))[1]
		if seen[sent] {
			t.Error("two pages have one token")
		}
		seen[sent] = true
		if a := w.send("/test-mode", url.Values{csrfField: {sent}, "mode": {"live"}}, nil); a.StatusCode != http.StatusSeeOther {
			t.Error(describe(a))
		}
		if a := w.send("/test-mode", url.Values{csrfField: {altered(sent)}, "mode": {"live"}}, nil); a.StatusCode != http.StatusForbidden {
			t.Error(describe(a))
		}
	}
}

func TestOffersOfTheDay(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.signIn()
	withEvent(w, "Yoga", "Ann")
	until := timestamppb.New(time.Now().Add(30 * time.Minute))
	on(w.backend, "ListWaitlist", func(req *bookingv1.ListWaitlistRequest) (*bookingv1.ListWaitlistResponse, error) {
		if req.GetState() != bookingv1.WaitlistState_WAITLIST_STATE_OFFERED {
			return &bookingv1.ListWaitlistResponse{}, nil
		}
		return &bookingv1.ListWaitlistResponse{Entries: []*bookingv1.WaitlistEntry{
			{Id: "wait_1", CustomerId: "cust_1", EventDateId: "date_1", Spaces: 2, OfferExpiresAt: until},
			{Id: "wait_2", CustomerId: "cust_1", EventDateId: "date_9", Spaces: 1, OfferExpiresAt: until},
		}}, nil
	})
	w.backend.count()
	a := w.get("/")
	a.must(t, "Waitlist offers", "Ann Smith", "2 spaces", datePagePath+"/offers/wait_1", "Now, ")
	if strings.Contains(a.body, "wait_2") {
		t.Error("it shows an offer of another day")
	}
	if n := w.backend.count(); n != 4 {
		t.Errorf("%d calls", n)
	}
}

func TestTodayMarksThePresent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.signIn()
	withEvent(w, "Yoga", "Ann")
	now := time.Now()
	on(w.backend, "ListEventDates", func(*bookingv1.ListEventDatesRequest) (*bookingv1.ListEventDatesResponse, error) {
		res := &bookingv1.ListEventDatesResponse{}
		for title, after := range map[string]time.Duration{"Over": -2 * time.Hour, "Running": -time.Minute, "Upcoming": time.Hour} {
			res.Dates = append(res.Dates, &bookingv1.ScheduledDate{EventId: "evt_1", EventTitle: title, Date: &bookingv1.EventDate{
				Id: "date_" + title, StartsAt: timestamppb.New(now.Add(after)), DurationMinutes: 60, Timezone: "Europe/London",
			}})
		}
		slices.SortFunc(res.GetDates(), func(a, b *bookingv1.ScheduledDate) int {
			return a.GetDate().GetStartsAt().AsTime().Compare(b.GetDate().GetStartsAt().AsTime())
		})
		return res, nil
	})
	body := w.page("/")
	last := 0
	for _, part := range []string{`class="slot over"`, ">Over<", `class="slot running"`, ">Running<", `class="now-line"`, `class="slot"`, ">Upcoming<"} {
		at := strings.Index(body[last:], part)
		if at < 0 {
			t.Fatalf("%s is not in its place:\n%s", part, text(body))
		}
		last += at
	}
}

func TestOverlappingDatesAreSideBySide(t *testing.T) {
	t.Parallel()
	at := func(row, rows int) weekSlot { return weekSlot{placed: placed{Row: row, Rows: rows}} }
	for _, c := range []struct {
		name  string
		slots []weekSlot
		sides [][2]int // side, sides
		most  int
	}{
		{"one after the other", []weekSlot{at(0, 12), at(12, 12)}, [][2]int{{0, 1}, {0, 1}}, 1},
		{"two at once", []weekSlot{at(0, 12), at(6, 12)}, [][2]int{{0, 2}, {1, 2}}, 2},
		{"a side is used again", []weekSlot{at(0, 24), at(0, 12), at(12, 12), at(24, 12)}, [][2]int{{0, 2}, {1, 2}, {1, 2}, {0, 1}}, 2},
		{"none", nil, nil, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			most := putSideBySide(c.slots)
			var got [][2]int
			for _, s := range c.slots {
				got = append(got, [2]int{s.Side, s.Sides})
			}
			if diff := cmp.Diff(c.sides, got); diff != "" || most != c.most {
				t.Errorf("%d, %s", most, diff)
			}
		})
	}
	crowd := make([]weekSlot, 3*weekSides)
	for i := range crowd {
		crowd[i] = at(0, 12)
	}
	if most := putSideBySide(crowd); most != weekSides || crowd[len(crowd)-1].Side != weekSides-1 || crowd[0].Sides != weekSides {
		t.Errorf("%d sides", most)
	}
}

func TestWeekShowsWallTimeWhenTheClocksChange(t *testing.T) {
	t.Parallel()
	london, err := time.LoadLocation("Europe/London")
	if err != nil {
		t.Fatal(err)
	}
	all := hourRange{0, 24}
	for _, c := range []struct {
		name        string
		day         time.Time
		from, until string // UTC
		want        placed
	}{
		{"in summer", time.Date(2026, 7, 1, 0, 0, 0, 0, london), "2026-07-01T08:03:00Z", "2026-07-01T08:58:00Z", placed{9 * 12, 12}},
		{"after the clocks go forward", time.Date(2026, 3, 29, 0, 0, 0, 0, london), "2026-03-29T08:00:00Z", "2026-03-29T09:00:00Z", placed{9 * 12, 12}},
		{"while they go forward", time.Date(2026, 3, 29, 0, 0, 0, 0, london), "2026-03-29T00:30:00Z", "2026-03-29T01:30:00Z", placed{6, 24}},
		{"until they go forward", time.Date(2026, 3, 29, 0, 0, 0, 0, london), "2026-03-29T00:00:00Z", "2026-03-29T00:58:00Z", placed{0, 12}},
		{"after the clocks go back", time.Date(2026, 10, 25, 0, 0, 0, 0, london), "2026-10-25T09:00:00Z", "2026-10-25T10:00:00Z", placed{9 * 12, 12}},
		{"while they go back", time.Date(2026, 10, 25, 0, 0, 0, 0, london), "2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z", placed{18, 12}},
		{"until midnight", time.Date(2026, 10, 25, 0, 0, 0, 0, london), "2026-10-25T23:00:00Z", "2026-10-26T03:00:00Z", placed{23 * 12, 12}},
	} {
		t.Run(c.name, func(t *testing.T) {
			at := func(text string) time.Time {
				instant, err := time.Parse(time.RFC3339, text)
				if err != nil {
					t.Fatal(err)
				}
				return instant
			}
			got, ok := all.place(interval{at(c.from), at(c.until)}, interval{c.day, c.day.AddDate(0, 0, 1)})
			if !ok || got != c.want {
				t.Errorf("%v, %t", got, ok)
			}
		})
	}
	t.Run("the axis has every hour once", func(t *testing.T) {
		marks := hourRange{1, 4}.marks(textsIn(t, "en-GB"))
		if diff := cmp.Diff([]hourMark{{0, "01:00"}, {12, "02:00"}, {24, "03:00"}}, marks); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("the page puts the same hour into the same row on all days", func(t *testing.T) {
		w := newWorld(t)
		w.signIn()
		withEvent(w, "Yoga", "Ann")
		on(w.backend, "ListEventDates", func(*bookingv1.ListEventDatesRequest) (*bookingv1.ListEventDatesResponse, error) {
			res := &bookingv1.ListEventDatesResponse{}
			for _, at := range []time.Time{
				time.Date(2026, 3, 28, 0, 30, 0, 0, london), time.Date(2026, 3, 28, 15, 0, 0, 0, london), time.Date(2026, 3, 29, 15, 0, 0, 0, london),
			} {
				res.Dates = append(res.Dates, &bookingv1.ScheduledDate{EventId: "evt_1", EventTitle: "Yoga", Date: &bookingv1.EventDate{Id: "date_1", StartsAt: timestamppb.New(at), DurationMinutes: 60}})
			}
			return res, nil
		})
		body := w.page("/week?from=2026-03-23")
		if n := strings.Count(body, `<li class="r180 n12`); n != 2 {
			t.Errorf("%d dates are at 15:00", n)
		}
		answer{body: body}.must(t, `<span class="r180 n12">15:00</span>`)
	})
}
