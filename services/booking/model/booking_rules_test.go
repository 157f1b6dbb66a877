package model

import (
	"testing"
	"time"

	"reservation.dev/platform/fault"
)

func TestBookingWindow(t *testing.T) {
	t.Parallel()
	at := func(text string) time.Time {
		v, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	var none time.Time
	start := at("2026-06-10T18:00:00Z")
	for _, c := range []struct {
		behaviour     string
		rules         BookingRules
		start         time.Time
		zone          string
		opens, closes time.Time
	}{
		{"has no limits without rules", BookingRules{}, start, "Europe/London", none, none},
		{"has the bounds of the event", BookingRules{OpensAt: at("2026-06-01T00:00:00Z"), ClosesAt: at("2026-06-09T00:00:00Z")}, start, "Europe/London",
			at("2026-06-01T00:00:00Z"), at("2026-06-09T00:00:00Z")},
		{"closes at the start at the latest", BookingRules{ClosesAt: at("2026-07-01T00:00:00Z")}, start, "Europe/London", none, start},
		{"closes a notice before the start", BookingRules{MinimumNotice: 90}, start, "Europe/London", none, at("2026-06-10T16:30:00Z")},
		{"closes at the earlier of two bounds", BookingRules{MinimumNotice: 90, ClosesAt: at("2026-06-10T12:00:00Z")}, start, "Europe/London", none, at("2026-06-10T12:00:00Z")},
		{"opens at the later of two bounds", BookingRules{MaximumAdvance: 7, OpensAt: at("2026-06-01T00:00:00Z")}, start, "Europe/London", at("2026-06-03T18:00:00Z"), none},
		{"opens at the bound of the event if the days begin earlier", BookingRules{MaximumAdvance: 7, OpensAt: at("2026-06-05T00:00:00Z")}, start, "Europe/London",
			at("2026-06-05T00:00:00Z"), none},
		// London's clocks go forward at 01:00Z on 29 March 2026, and back at 01:00Z on 25 October.
		{"opens at the same wall time before the clocks go forward", BookingRules{MaximumAdvance: 7}, at("2026-04-01T17:00:00Z"), "Europe/London", at("2026-03-25T18:00:00Z"), none},
		{"opens at the same wall time before the clocks go back", BookingRules{MaximumAdvance: 7}, at("2026-10-28T18:00:00Z"), "Europe/London", at("2026-10-21T17:00:00Z"), none},
		{"moves an opening that the clocks skip forward by the gap", BookingRules{MaximumAdvance: 3}, at("2026-04-01T00:30:00Z"), "Europe/London", at("2026-03-29T01:30:00Z"), none},
		{"opens at the first of two equal wall times", BookingRules{MaximumAdvance: 3}, at("2026-10-28T01:30:00Z"), "Europe/London", at("2026-10-25T00:30:00Z"), none},
		{"opens at the first of two equal wall times half an hour apart", BookingRules{MaximumAdvance: 3}, at("2026-04-07T15:15:00Z"), "Australia/Lord_Howe",
			at("2026-04-04T14:45:00Z"), none},
		{"counts days across the end of a month and a leap day", BookingRules{MaximumAdvance: 366}, at("2028-03-01T09:00:00Z"), "UTC", at("2027-03-01T09:00:00Z"), none},
	} {
		t.Run(c.behaviour, func(t *testing.T) {
			if opens, closes := c.rules.Window(c.start, c.zone); !opens.Equal(c.opens) || !closes.Equal(c.closes) {
				t.Errorf("got %v to %v, want %v to %v", opens.UTC(), closes.UTC(), c.opens, c.closes)
			}
		})
	}
}

func TestBookingRulesRefuse(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 6, 10, 18, 0, 0, 0, time.UTC)
	opens, closes := start.AddDate(0, 0, -7), start.Add(-2*time.Hour)
	r := BookingRules{OpensAt: opens, MinimumNotice: 120}
	for _, c := range []struct {
		behaviour string
		now       time.Time
		reason    string
		key, fact string
	}{
		{"before the opening", opens.Add(-time.Second), ReasonBookingNotOpen, "opens_at", "2026-06-03T18:00:00Z"},
		{"not at the opening", opens, "", "", ""},
		{"not just before the end", closes.Add(-time.Second), "", "", ""},
		{"at the end", closes, ReasonBookingClosed, "closes_at", "2026-06-10T16:00:00Z"},
		{"after the end", start.Add(-time.Second), ReasonBookingClosed, "closes_at", "2026-06-10T16:00:00Z"},
	} {
		t.Run("refuses a booking "+c.behaviour, func(t *testing.T) {
			refusal := r.refuses(start, "Europe/London", c.now)
			if c.reason == "" {
				if refusal != nil {
					t.Errorf("got %v", refusal)
				}
				return
			}
			if f := wantFault(t, refusal, fault.Refused, c.reason); f.Meta[c.key] != c.fact || f.Meta["timezone"] != "Europe/London" {
				t.Errorf("got the facts %v", f.Meta)
			}
		})
	}
}

func TestBookingRulesCheck(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	for behaviour, c := range map[string]struct {
		rules BookingRules
		field string
	}{
		"accepts no rules":                           {BookingRules{}, ""},
		"accepts the limits":                         {BookingRules{MinimumNotice: 525600, MaximumAdvance: 3650, OpensAt: at, ClosesAt: at.Add(time.Second)}, ""},
		"refuses an end that is not after the start": {BookingRules{OpensAt: at, ClosesAt: at}, "booking_rules.closes_at"},
		"refuses a time with a fraction of a second": {BookingRules{OpensAt: at.Add(time.Millisecond)}, "booking_rules.opens_at"},
		"refuses a time that is out of range":        {BookingRules{ClosesAt: EndOfTime()}, "booking_rules.closes_at"},
		"refuses a negative notice":                  {BookingRules{MinimumNotice: -1}, "booking_rules.minimum_notice_minutes"},
		"refuses a notice of more than a year":       {BookingRules{MinimumNotice: 525601}, "booking_rules.minimum_notice_minutes"},
		"refuses a negative advance":                 {BookingRules{MaximumAdvance: -1}, "booking_rules.maximum_advance_days"},
		"refuses an advance of more than ten years":  {BookingRules{MaximumAdvance: 3651}, "booking_rules.maximum_advance_days"},
	} {
		t.Run(behaviour, func(t *testing.T) {
			var faults fields
			c.rules.check(&faults)
			if c.field == "" {
				if err := faults.Err(); err != nil {
					t.Error(err)
				}
				return
			}
			f := wantFault(t, faults.Err(), fault.Invalid, fault.ReasonValidation)
			if len(f.Fields) != 1 || f.Fields[0].Field != c.field {
				t.Errorf("got %v", f.Fields)
			}
		})
	}
}
