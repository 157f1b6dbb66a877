package reports

import (
	"maps"
	"slices"
	"strconv"
	"testing"
	"time"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/zone"
	reportsv1 "reservation.dev/proto/gen/reservation/reports/v1"
)

func TestSpanBefore(t *testing.T) { // invariant 9
	for name, c := range map[string]struct{ from, to, before, until string }{
		"a month":                              {"2027-03-01", "2027-03-31", "2027-02-01", "2027-02-28"},
		"a month after a leap day":             {"2028-03-01", "2028-03-31", "2028-02-01", "2028-02-29"},
		"February in a leap year":              {"2028-02-01", "2028-02-29", "2028-01-01", "2028-01-31"},
		"28 days of February in a leap year":   {"2028-02-01", "2028-02-28", "2028-01-04", "2028-01-31"},
		"a quarter":                            {"2027-01-01", "2027-03-31", "2026-10-01", "2026-12-31"},
		"a year after a leap year":             {"2029-01-01", "2029-12-31", "2028-01-01", "2028-12-31"},
		"a month that begins on the second":    {"2027-03-02", "2027-03-31", "2027-01-31", "2027-03-01"},
		"a week":                               {"2027-03-01", "2027-03-07", "2027-02-22", "2027-02-28"},
		"a day":                                {"2027-03-01", "2027-03-01", "2027-02-28", "2027-02-28"},
		"a year that does not begin with one":  {"2027-03-15", "2028-03-14", "2026-03-14", "2027-03-14"},
		"the day on which the clocks change":   {"2027-03-28", "2027-03-28", "2027-03-27", "2027-03-27"},
		"thirteen months, and the year change": {"2026-12-01", "2027-12-31", "2025-11-01", "2026-11-30"},
	} {
		t.Run(name, func(t *testing.T) {
			got := span{from: mustDay(t, c.from), to: mustDay(t, c.to)}.before()
			if want := (span{from: mustDay(t, c.before), to: mustDay(t, c.until)}); got != want {
				t.Errorf("got %s to %s, want %s to %s", got.from, got.to, want.from, want.to)
			}
		})
	}
}

func TestReadSpan(t *testing.T) {
	today := mustDay(t, "2028-02-10")
	for name, c := range map[string]struct{ from, to, want, until, field, rule string }{
		"is the present month by default":                {"", "", "2028-02-01", "2028-02-29", "", ""},
		"ends with the month of its first day":           {"2027-04-15", "", "2027-04-15", "2027-04-30", "", ""},
		"begins with the present month":                  {"", "2028-02-03", "2028-02-01", "2028-02-03", "", ""},
		"can have 1100 days":                             {"2024-01-01", "2027-01-04", "2024-01-01", "2027-01-04", "", ""},
		"refuses 1101 days":                              {"2024-01-01", "2027-01-05", "", "", "span.to", "range"},
		"refuses a last day before the first":            {"2024-01-02", "2024-01-01", "", "", "span.to", "order"},
		"refuses a last day before the present month":    {"", "2024-01-01", "", "", "span.to", "order"},
		"refuses a day that does not exist":              {"2027-02-29", "", "", "", "span.from", "date"},
		"refuses a time":                                 {"2027-02-28T10:00:00Z", "", "", "", "span.from", "date"},
		"refuses a last day in another format":           {"2027-02-01", "28.2.2027", "", "", "span.to", "date"},
		"refuses a day that means never":                 {"9999-12-31", "9999-12-31", "", "", "span.from", "date"},
		"refuses a day without an earlier span":          {"0001-01-02", "0001-01-03", "", "", "span.from", "range"},
		"refuses the last month, whose end means never":  {"9999-12-01", "", "", "", "span.from", "range"},
		"accepts a span of one day, the first of a year": {"2028-01-01", "2028-01-01", "2028-01-01", "2028-01-01", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := readSpan(&reportsv1.Span{From: c.from, To: c.to}, today.month(), monthEnd)
			if c.rule != "" {
				if err == nil || fault.From(err).Fields[0].Field != c.field || fault.From(err).Fields[0].Rule != c.rule {
					t.Fatalf("got %v, %v", got, err)
				}
				return
			}
			if err != nil || got.from.String() != c.want || got.to.String() != c.until {
				t.Errorf("got %s to %s, %v", got.from, got.to, err)
			}
		})
	}
}

func TestPeriods(t *testing.T) {
	sp := span{from: mustDay(t, "2027-01-29"), to: mustDay(t, "2027-03-02")} // a Friday and a Tuesday
	mondays := []string{"2027-01-29", "2027-02-01", "2027-02-08", "2027-02-15", "2027-02-22", "2027-03-01"}
	for _, c := range []struct {
		period    period
		weekStart int
		want      []string
	}{
		{weekly, 0, mondays},
		{weekly, 1, mondays},
		{weekly, 6, []string{"2027-01-29", "2027-01-30", "2027-02-06", "2027-02-13", "2027-02-20", "2027-02-27"}},
		{weekly, 7, []string{"2027-01-29", "2027-01-31", "2027-02-07", "2027-02-14", "2027-02-21", "2027-02-28"}},
		{weekly, 5, []string{"2027-01-29", "2027-02-05", "2027-02-12", "2027-02-19", "2027-02-26"}},
		{monthly, 7, []string{"2027-01-29", "2027-02-01", "2027-03-01"}},
	} {
		p, want := c.period, c.want
		sp.weekStart = c.weekStart
		var got []string
		for i, part := range p.split(sp) {
			got = append(got, part.from.String())
			for d := part.from; d <= part.to; d++ {
				if at := p.index(sp, d); at != i {
					t.Errorf("%s is at %d, want %d", d, at, i)
				}
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	}
	if n := len(daily.split(sp)); n != sp.days() || n != 33 {
		t.Errorf("%d days", n)
	}
	sp.weekStart = 7
	keys, place := weekdays(sp)
	if want := []string{"7", "1", "2", "3", "4", "5", "6"}; !slices.Equal(keys, want) {
		t.Errorf("weekdays %v", keys)
	}
	for d := sp.from; d <= sp.to; d++ {
		if key := keys[place(sp, d)]; key != strconv.Itoa(d.weekday()) {
			t.Errorf("%s is in the row of weekday %s", d, key)
		}
	}
}

func TestDay(t *testing.T) { // invariant 5
	for name, c := range map[string]struct{ at, zone, want string }{
		"before midnight in summer":             {"2027-06-30T22:59:59Z", "Europe/London", "2027-06-30"},
		"after midnight in summer":              {"2027-06-30T23:00:00Z", "Europe/London", "2027-07-01"},
		"in winter":                             {"2027-01-31T23:30:00Z", "Europe/London", "2027-01-31"},
		"before the clocks go forward":          {"2027-03-14T04:59:00Z", "America/New_York", "2027-03-13"},
		"a day after the clocks went forward":   {"2027-03-15T03:59:00Z", "America/New_York", "2027-03-14"},
		"before the day that Apia skipped":      {"2011-12-30T09:59:00Z", "Pacific/Apia", "2011-12-29"},
		"after the day that Apia skipped":       {"2011-12-30T10:00:00Z", "Pacific/Apia", "2011-12-31"},
		"thirteen hours ahead":                  {"2027-05-31T12:00:00Z", "Pacific/Apia", "2027-06-01"},
		"in a zone that is not known":           {"2027-05-31T23:00:00Z", "Nowhere/Atall", "2027-05-31"},
		"before 1970":                           {"1969-12-31T12:00:00Z", "UTC", "1969-12-31"},
		"on a leap day":                         {"2028-02-29T12:00:00Z", "UTC", "2028-02-29"},
		"in a zone that is half an hour beside": {"2027-01-01T18:45:00Z", "Asia/Kathmandu", "2027-01-02"},
	} {
		t.Run(name, func(t *testing.T) {
			at, err := time.Parse(time.RFC3339, c.at)
			if err != nil {
				t.Fatal(err)
			}
			if got := localDay(at, c.zone).String(); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
	if beforeAll.String() != "0001-01-01" || afterAll.String() != "9999-12-31" || mustDay(t, "2027-03-28").weekday() != 7 {
		t.Error("the days that mean never are wrong")
	}
	if _, err := zone.Load("Pacific/Apia"); err != nil {
		t.Error(err)
	}
}

func TestCreditChanges(t *testing.T) {
	entry := func(day Day, kind string, credits int32) entryFact {
		return entryFact{kind: kind, credits: credits, day: day}
	}
	ten := passFact{expires: 100, assigned: 10, paid: 9999}
	for name, c := range map[string]struct {
		pass    passFact
		entries []entryFact
		want    map[Day]creditChange
	}{
		"expire on the day after the expiry date": {ten, []entryFact{entry(1, entryAssigned, 10), entry(5, entryRedeemed, -3)}, map[Day]creditChange{
			1: {added: 10, worth: 9999}, 5: {used: 3, worth: -3000}, 101: {expired: 7, worth: -6999},
		}},
		"never expire": {passFact{expires: afterAll, assigned: 10, paid: 9999}, []entryFact{entry(1, entryAssigned, 10)}, map[Day]creditChange{
			1: {added: 10, worth: 9999},
		}},
		"returned after the expiry date expire at once": {ten, []entryFact{entry(1, entryAssigned, 10), entry(5, entryRedeemed, -10), entry(120, entryReturned, 2)},
			map[Day]creditChange{1: {added: 10, worth: 9999}, 5: {used: 10, worth: -9999}, 101: {}, 120: {used: -2, expired: 2}}},
		"returned on the day after the expiry date expire at once": {ten, []entryFact{entry(1, entryAssigned, 10), entry(101, entryReturned, 2)},
			map[Day]creditChange{1: {added: 10, worth: 9999}, 101: {used: -2, expired: 12, worth: -9999}}},
		"given away are worth nothing": {ten, []entryFact{entry(1, entryAssigned, 10), entry(2, "adjusted", 5), entry(3, entryRedeemed, -7)},
			map[Day]creditChange{1: {added: 10, worth: 9999}, 2: {adjusted: 5}, 3: {used: 7, worth: -2000}, 101: {expired: 8, worth: -7999}}},
		"of a subscription have no worth of their own": {passFact{expires: afterAll, assigned: 10, paid: 100, ofSubscription: true},
			[]entryFact{entry(1, entryAssigned, 10), entry(31, entryExpired, -4), entry(31, entryGranted, 10)},
			map[Day]creditChange{1: {added: 10}, 31: {added: 10, expired: 4}}},
	} {
		t.Run(name, func(t *testing.T) {
			got := creditChanges(c.pass, c.entries)
			if !maps.Equal(got, c.want) {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
			var left, worth int64
			for _, change := range got {
				left, worth = left+change.balance(), worth+change.worth
			}
			if c.pass.expires < afterAll && (left != 0 || worth != 0) {
				t.Errorf("%d credits worth %d are left", left, worth)
			}
		})
	}
}

func TestBookingContributions(t *testing.T) { // invariant 4
	b := bookingFact{event: id.New[id.Event](), date: id.New[id.EventDate](), spaces: 2, status: bookingConfirmed, day: noDay}
	movements := []movement{
		{day: 10, gross: 2400, net: 2000, currency: "GBP", method: "CARD", taxRate: 2000},
		{day: 12, gross: -1200, net: -1000, currency: "GBP", method: "CARD", taxRate: 2000},
	}
	s := newSums()
	s.addBooking(b, movements, 1)
	if got := s.takings[takingKey{10, "GBP", "CARD", 2000}]; got != (taking{paid: 2400, net: 2000, payments: 1}) {
		t.Errorf("got %+v", got)
	}
	if got := s.products[productKey{12, "GBP", productEvent, id.UUID(b.event)}]; got != (taking{refunded: 1200, net: -1000, refunds: 1}) {
		t.Errorf("got %+v", got)
	}
	for status, want := range map[string]spaces{
		bookingConfirmed: {booked: 2}, bookingAttended: {booked: 2, attended: 2}, bookingNoShow: {booked: 2, noShows: 2}, bookingCancelled: {cancelled: 2},
	} {
		s, b := newSums(), b
		b.status = status
		s.addBooking(b, movements, 1)
		if got := s.attendance[b.date]; got != want {
			t.Errorf("%s: got %+v", status, got)
		}
		s.addBooking(b, movements, -1)
		if s.clean(); len(s.takings)+len(s.products)+len(s.attendance) != 0 {
			t.Errorf("%s: something is left of a booking that is taken off: %+v", status, s)
		}
		b.day = 30
		s.addBooking(b, nil, 1)
		want.dates = 1
		event := counted{spaces: want, capacity: 2, bookedOfCapacity: 2}
		if status == bookingCancelled {
			event = counted{}
		}
		if got := s.events[eventKey{30, b.event, true}]; got != event || len(s.attendance) != 0 {
			t.Errorf("%s appointment: got %+v", status, got)
		}
	}
}

func TestDateContributions(t *testing.T) { // invariant 5
	event, other := id.New[id.Event](), id.New[id.Event]()
	d := dateFact{id: id.New[id.EventDate](), version: 1, event: event, day: 30, capacity: new(int32(5))}
	two := spaces{booked: 2, attended: 1}
	counts := counted{spaces: spaces{dates: 1, booked: 2, attended: 1}, capacity: 5, bookedOfCapacity: 2}
	for name, c := range map[string]struct {
		change func(*dateFact)
		want   map[eventKey]counted
	}{
		"a moved date moves its attendance": {func(d *dateFact) { d.day = 31 }, map[eventKey]counted{
			{day: 30, event: event}: counted{}.plus(counts, -1), {day: 31, event: event}: counts,
		}},
		"a date of another event moves its attendance": {func(d *dateFact) { d.event = other }, map[eventKey]counted{
			{day: 30, event: event}: counted{}.plus(counts, -1), {day: 30, event: other}: counts,
		}},
		"a cancelled date does not count": {func(d *dateFact) { d.isCancelled = true }, map[eventKey]counted{
			{day: 30, event: event}: counted{}.plus(counts, -1),
		}},
		"a capacity that is removed": {func(d *dateFact) { d.capacity = nil }, map[eventKey]counted{
			{day: 30, event: event}: {capacity: -5, bookedOfCapacity: -2},
		}},
		"the same date changes nothing": {func(*dateFact) {}, map[eventKey]counted{}},
	} {
		t.Run(name, func(t *testing.T) {
			k := &known{facts: *newFacts(), attendance: map[id.EventDate]spaces{d.id: two}}
			k.dates[d.id] = d
			fresh := newFacts()
			changed := d
			changed.version++
			c.change(&changed)
			fresh.dates[d.id] = changed
			if got := outcomeOf(k, fresh, "UTC").sums.events; !maps.Equal(got, c.want) {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

func TestWholeMonths(t *testing.T) {
	for name, c := range map[string]struct{ from, to, months, until string }{
		"a year":                         {"2027-01-01", "2027-12-31", "2027-01-01", "2027-12-31"},
		"a year that begins on the 2nd":  {"2027-01-02", "2028-01-01", "2027-02-01", "2027-12-31"},
		"two parts of months":            {"2027-01-02", "2027-02-27", "", ""},
		"days within a month":            {"2027-01-02", "2027-01-30", "", ""},
		"a month and a day":              {"2028-02-01", "2028-03-01", "2028-02-01", "2028-02-29"},
		"the last day of a month and on": {"2028-01-31", "2028-02-29", "2028-02-01", "2028-02-29"},
	} {
		t.Run(name, func(t *testing.T) {
			sp := span{from: mustDay(t, c.from), to: mustDay(t, c.to)}
			start, months, end := sp.wholeMonths()
			if c.months == "" && months.from <= months.to || c.months != "" && (months.from.String() != c.months || months.to.String() != c.until) {
				t.Errorf("got %s to %s", months.from, months.to)
			}
			var all []Day
			for _, part := range []span{start, months, end} {
				for d := part.from; d <= part.to; d++ {
					all = append(all, d)
				}
			}
			if len(all) != sp.days() || all[0] != sp.from || all[len(all)-1] != sp.to || !slices.IsSorted(all) {
				t.Errorf("got %d days in %v, %v, %v", len(all), start, months, end)
			}
		})
	}
}

func TestPairs(t *testing.T) { // invariant 10
	if got := pairs(nil); got != nil {
		t.Errorf("got %v", got)
	}
	if got, want := pairs([]Day{3, 9}), []pair{{beforeAll, 3}, {3, 9}, {9, afterAll}}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestResume(t *testing.T) {
	for _, c := range []struct {
		after string
		ids   []string
		want  string
	}{
		{"a", []string{"b", "c", "d"}, "c"},
		{"a", []string{"b", "c", "c"}, "b"}, // c continues in the next message
		{"a", []string{"b"}, "a"},
		{"", []string{"b", "b"}, ""},
	} {
		if got := resume(c.after, c.ids); got != c.want {
			t.Errorf("after %q with %v: got %q, want %q", c.after, c.ids, got, c.want)
		}
	}
}
