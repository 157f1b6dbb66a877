package gatewayb

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/emersion/go-ical"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/ratelimit"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

type fakeCalendars struct {
	bookingv1.UnimplementedCalendarServiceServer
	*fakes
}

func (f fakeCalendars) ListCalendars(ctx context.Context, req *bookingv1.ListCalendarsRequest) (*bookingv1.ListCalendarsResponse, error) {
	return reply[*bookingv1.ListCalendarsResponse](ctx, f.fakes, req)
}
func (f fakeCalendars) GetCalendar(ctx context.Context, req *bookingv1.GetCalendarRequest) (*bookingv1.GetCalendarResponse, error) {
	return reply[*bookingv1.GetCalendarResponse](ctx, f.fakes, req)
}
func (f fakeCalendars) CreateCalendar(ctx context.Context, req *bookingv1.CreateCalendarRequest) (*bookingv1.CreateCalendarResponse, error) {
	return reply[*bookingv1.CreateCalendarResponse](ctx, f.fakes, req)
}
func (f fakeCalendars) RevokeCalendar(ctx context.Context, req *bookingv1.RevokeCalendarRequest) (*bookingv1.RevokeCalendarResponse, error) {
	return reply[*bookingv1.RevokeCalendarResponse](ctx, f.fakes, req)
}
func (f fakeCalendars) ReadCalendar(ctx context.Context, req *bookingv1.ReadCalendarRequest) (*bookingv1.ReadCalendarResponse, error) {
	return reply[*bookingv1.ReadCalendarResponse](ctx, f.fakes, req)
}

const calendarSecret = "Zk3v9QxTq1n8s5y2u0w7r4p6m3k9h1f8d2b5c7a0e4g"

func TestCalendarOperations(t *testing.T) {
	t.Parallel()
	g := newGateway(t, unlimited{})
	calendar := &bookingv1.Calendar{
		Id: "cal_" + idOf, Kind: bookingv1.CalendarKind_CALENDAR_KIND_STAFF, SubjectId: "staff_" + idOf, SecretStart: "Zk3v9QxT",
		CreatedAt: at("2026-03-01T10:00:00Z"),
	}
	answers := []proto.Message{
		&bookingv1.ListCalendarsResponse{Calendars: []*bookingv1.Calendar{calendar}, Total: 1}, &bookingv1.GetCalendarResponse{Calendar: calendar},
		&bookingv1.CreateCalendarResponse{Calendar: calendar, Secret: calendarSecret}, &bookingv1.RevokeCalendarResponse{},
	}
	for _, tt := range []operation{
		{http.MethodGet, "/calendars?perPage=10&staffId=staff_x", "", 200, []string{`"calendars":[{"id":"cal_`, `"staffId":"staff_`, `"customerId":null`, `"lastReadAt":null`, `"total":1`}, `page_size:10 subject_id:"staff_x"`},
		{http.MethodGet, "/calendars?customerId=", "", 200, nil, `page_size:25 subject_id:"` + noIdentifier + `"`},
		{http.MethodGet, "/calendars/cal_" + idOf, "", 200, []string{`"kind":"staff"`, `"secretStart":"Zk3v9QxT"`, `"createdAt":"2026-03-01T10:00:00Z"`}, `id:"cal_` + idOf + `"`},
		{http.MethodPost, "/calendars", `{"kind":"staff","staffId":"staff_x"}`, 201, []string{`"url":"https://www.example.com/calendar/` + calendarSecret + `.ics"`}, `kind:CALENDAR_KIND_STAFF subject_id:"staff_x"`},
		{http.MethodPost, "/calendars", `{"kind":"customer","customerId":"cust_x"}`, 201, nil, `kind:CALENDAR_KIND_CUSTOMER subject_id:"cust_x"`},
		{http.MethodPost, "/calendars", `{"kind":"company"}`, 201, nil, `kind:CALENDAR_KIND_COMPANY`},
		{http.MethodDelete, "/calendars/cal_" + idOf, "", 200, []string{`"deleted":true`}, `id:"cal_` + idOf + `"`},
	} {
		t.Run(tt.method+" "+tt.path+" "+tt.body, func(t *testing.T) { g.check(t, tt, answers) })
	}
	t.Run("a replayed creation has no address", func(t *testing.T) {
		g.services.prepare(nil, &bookingv1.CreateCalendarResponse{Calendar: calendar})
		a := g.do(request{Method: http.MethodPost, Path: "/calendars", Body: `{"kind":"company"}`, Token: g.token()})
		if a.Code != http.StatusCreated || strings.Contains(a.Body, `"url"`) {
			t.Errorf("got %d %s", a.Code, a.Body)
		}
	})
	for body, field := range map[string]string{
		`{}`: "kind", `{"kind":"room"}`: "kind", `{"kind":"staff"}`: "staffId", `{"kind":"customer"}`: "customerId",
		`{"kind":"company","staffId":"staff_x"}`: "staffId", `{"kind":"staff","staffId":"staff_x","customerId":"cust_x"}`: "customerId",
	} {
		t.Run("refuses "+body, func(t *testing.T) {
			a := g.do(request{Method: http.MethodPost, Path: "/calendars", Body: body, Token: g.token()})
			if a.Code != http.StatusBadRequest || !strings.Contains(a.Body, `"field":"`+field+`"`) {
				t.Errorf("got %d %s", a.Code, a.Body)
			}
		})
	}
	t.Run("refuses both filters", func(t *testing.T) {
		a := g.do(request{Method: http.MethodGet, Path: "/calendars?staffId=a&customerId=b", Token: g.token()})
		if a.Code != http.StatusBadRequest {
			t.Errorf("got %d %s", a.Code, a.Body)
		}
	})
}

// anEntry returns an entry with a title.
func anEntry(uid, title string) *bookingv1.CalendarEntry {
	return &bookingv1.CalendarEntry{
		Uid: uid, Sequence: 3, Title: title, Location: "Studio, 2nd floor", Description: "Sam\nRoom 1; left", StartsAt: at("2026-03-29T00:30:00Z"),
		EndsAt: at("2026-03-29T02:00:00Z"), Timezone: "Europe/London", UpdatedAt: at("2026-03-02T10:00:00Z"), CreatedAt: at("2026-03-01T10:00:00Z"),
	}
}

// read sends a request for a calendar, at any path of the gateway.
func (g *gateway) read(method, path string, pairs ...string) (*http.Response, string) {
	g.t.Helper()
	r, err := http.NewRequestWithContext(g.t.Context(), method, g.client.URL+path, nil)
	if err != nil {
		g.t.Fatal(err)
	}
	r.Header.Set("Accept-Encoding", "identity")
	for i := 0; i < len(pairs); i += 2 {
		r.Header.Set(pairs[i], pairs[i+1])
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		g.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		g.t.Fatal(err)
	}
	return resp, string(body)
}

func TestCalendarAddress(t *testing.T) {
	t.Parallel()
	g := newGateway(t, unlimited{})
	cancelled := anEntry("b", "Drums")
	cancelled.Cancelled = true
	g.services.prepare(nil, &bookingv1.ReadCalendarResponse{Name: "Sam", Timezone: "Europe/London", Entries: []*bookingv1.CalendarEntry{anEntry("a", "Yoga"), cancelled}})
	const address = "/calendar/" + calendarSecret + ".ics"
	resp, body := g.read(http.MethodGet, address)
	etag := resp.Header.Get("ETag")

	t.Run("needs no token, and has the headers of a calendar", func(t *testing.T) {
		if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != "text/calendar; charset=utf-8" || etag == "" ||
			resp.Header.Get("Cache-Control") != "private, no-cache" || resp.Header.Get("RateLimit-Limit") != "60" {
			t.Errorf("%d %v %s", resp.StatusCode, resp.Header, body)
		}
		if got := last[*bookingv1.ReadCalendarRequest](g.services).GetSecret(); got != calendarSecret {
			t.Errorf("called with %q", got)
		}
	})
	t.Run("has everything that a program needs", func(t *testing.T) {
		calendar, err := ical.NewDecoder(strings.NewReader(body)).Decode()
		if err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]string{
			"VERSION": "2.0", "METHOD": "PUBLISH", "X-WR-CALNAME": "Sam", "X-WR-TIMEZONE": "Europe/London", "REFRESH-INTERVAL": "PT1H",
		} {
			if p := calendar.Props.Get(name); p == nil || p.Value != want {
				t.Errorf("%s: %v", name, p)
			}
		}
		events := calendar.Events()
		for i, want := range []map[string]string{
			{"UID": "a@reservation.dev", "STATUS": "CONFIRMED", "SEQUENCE": "3", "DTSTART": "20260329T003000Z", "DTEND": "20260329T020000Z",
				"DTSTAMP": "20260302T100000Z", "LAST-MODIFIED": "20260302T100000Z", "CREATED": "20260301T100000Z", "SUMMARY": "Yoga", "LOCATION": `Studio\, 2nd floor`},
			{"UID": "b@reservation.dev", "STATUS": "CANCELLED", "SUMMARY": "Drums"},
		} {
			for name, value := range want {
				if p := events[i].Props.Get(name); p == nil || p.Value != value {
					t.Errorf("%d %s: %v", i, name, p)
				}
			}
		}
		if text, err := events[0].Props.Text(ical.PropDescription); err != nil || text != "Sam\nRoom 1; left" {
			t.Errorf("%q %v", text, err)
		}
	})
	t.Run("answers HEAD without a body, and 304 to the same ETag", func(t *testing.T) {
		head, none := g.read(http.MethodHead, address)
		if head.StatusCode != http.StatusOK || head.Header.Get("ETag") != etag || none != "" || head.ContentLength != int64(len(body)) {
			t.Errorf("%d %v %q", head.StatusCode, head.Header, none)
		}
		same, none := g.read(http.MethodGet, address, "If-None-Match", etag)
		if same.StatusCode != http.StatusNotModified || none != "" {
			t.Errorf("%d %q", same.StatusCode, none)
		}
	})
	t.Run("compresses a large calendar", func(t *testing.T) {
		zipped, _ := g.read(http.MethodGet, address, "Accept-Encoding", "gzip")
		if len(body) < 1400 != (zipped.Header.Get("Content-Encoding") == "") {
			t.Errorf("%d bytes: %v", len(body), zipped.Header)
		}
	})
	t.Run("other methods are 405, and other paths 404", func(t *testing.T) {
		if resp, _ := g.read(http.MethodPost, address); resp.StatusCode != http.StatusMethodNotAllowed || resp.Header.Get("Allow") != "GET, HEAD" {
			t.Errorf("%d %v", resp.StatusCode, resp.Header)
		}
		for _, path := range []string{"/calendar/", "/calendar/.ics", "/calendar/" + calendarSecret, "/calendar/%00.ics", "/calendar/" + strings.Repeat("x", 5000) + ".ics"} {
			if resp, body := g.read(http.MethodGet, path); resp.StatusCode != http.StatusNotFound || len(body) > 200 {
				t.Errorf("%.40s: %d %s", path, resp.StatusCode, body)
			}
		}
	})
	t.Run("an unknown secret is a small 404 that is not kept", func(t *testing.T) {
		g.services.prepare(fault.Missing("calendar"))
		resp, body := g.read(http.MethodGet, address)
		if resp.StatusCode != http.StatusNotFound || len(body) > 200 || resp.Header.Get("Cache-Control") != "no-store" || resp.Header.Get("ETag") != "" {
			t.Errorf("%d %v %s", resp.StatusCode, resp.Header, body)
		}
	})
	t.Run("the secret is not in the log", func(t *testing.T) {
		if log := g.log.String(); strings.Contains(log, calendarSecret) || !strings.Contains(log, "route=/calendar/{secret}.ics") {
			t.Error(log)
		}
	})
}

// counting refuses requests after a number of them.
type counting struct {
	left atomic.Int64
	keys chan string
}

func (c *counting) Take(_ context.Context, key string, limit int) ratelimit.Decision {
	c.keys <- key
	return ratelimit.Decision{Allowed: c.left.Add(-1) >= 0, Limit: limit, Reset: time.Minute}
}

func TestCalendarRateLimit(t *testing.T) {
	t.Parallel()
	limiter := &counting{keys: make(chan string, 10)}
	limiter.left.Store(1)
	g := newGateway(t, limiter)
	g.services.prepare(nil, &bookingv1.ReadCalendarResponse{Name: "Sam"})
	for i, want := range []int{http.StatusOK, http.StatusTooManyRequests} {
		resp, body := g.read(http.MethodGet, fmt.Sprintf("/calendar/%d.ics", i))
		if resp.StatusCode != want || (want == http.StatusTooManyRequests && resp.Header.Get("Retry-After") == "") {
			t.Errorf("%d %v %s", resp.StatusCode, resp.Header, body)
		}
		if key := <-limiter.keys; key != "feeds 127.0.0.1" {
			t.Errorf("counted for %q", key)
		}
	}
}

// FuzzWriteCalendar checks that another program's parser reads every text as it was, apart from control
// characters, and that the lines keep the limits of RFC 5545.
func FuzzWriteCalendar(f *testing.F) {
	for _, text := range []string{
		"Yoga", "a,b;c\\d:e\"f'", "one\r\ntwo\rthree\nfour", `literal \n and \, and \\n`, "👩‍👩‍👧‍👦 family yoga", strings.Repeat("é", 10_000),
		strings.Repeat("👍", 2_000), strings.Repeat(" ", 200), "BEGIN:VEVENT\r\nUID:x\r\nEND:VEVENT", "tab\there", "\x00\x01\x7f", " leading", "trailing ", "\u2028\u2029\u0085", "a" + strings.Repeat("é", 36) + " b", "",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if !utf8.ValidString(text) {
			t.Skip("the texts of messages are valid UTF-8")
		}
		entry := anEntry("a", text)
		entry.Location, entry.Description = text, text
		var b strings.Builder
		if err := writeCalendar(&b, &bookingv1.ReadCalendarResponse{Name: text, Timezone: "UTC", Entries: []*bookingv1.CalendarEntry{entry, anEntry("b", "last")}}); err != nil {
			t.Fatal(err)
		}
		checkLines(t, b.String())
		calendar, err := ical.NewDecoder(strings.NewReader(b.String())).Decode()
		if err != nil {
			t.Fatal(err)
		}
		if len(calendar.Events()) != 2 {
			t.Fatalf("%d events", len(calendar.Events()))
		}
		want := strings.Map(func(r rune) rune {
			if unicode.IsControl(r) && r != '\n' && r != '\t' {
				return -1
			}
			return r
		}, strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n"))
		for _, name := range []string{ical.PropSummary, ical.PropLocation, ical.PropDescription} {
			got, err := calendar.Events()[0].Props.Text(name)
			if err != nil || got != want {
				t.Errorf("%s: %.200q, not %.200q: %v", name, got, want, err)
			}
		}
	})
}

// checkLines checks that no line is longer than 75 bytes or breaks a character, and that all end with CR LF.
func checkLines(t *testing.T, text string) {
	t.Helper()
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\r\n"), "\r\n") {
		if len(line) > 75 || !utf8.ValidString(line) || strings.ContainsAny(line, "\r\n") {
			t.Fatalf("%d bytes: %.200q", len(line), line)
		}
	}
}

func BenchmarkWriteCalendar(b *testing.B) {
	in := &bookingv1.ReadCalendarResponse{Name: "Sam", Timezone: "UTC"}
	for i := range 5000 {
		e := anEntry(fmt.Sprint("booking_", i), "Yoga for beginners")
		e.StartsAt = timestamppb.New(time.Unix(int64(i)*3600, 0))
		in.Entries = append(in.Entries, e)
	}
	for b.Loop() {
		if err := writeCalendar(io.Discard, in); err != nil {
			b.Fatal(err)
		}
	}
}
