package pass

import (
	"testing"
	"time"

	"reservation.dev/platform/fault"
)

func day(s string) time.Time {
	t, err := time.Parse(time.DateOnly, s)
	if err != nil {
		panic(err)
	}
	return t
}

func TestExpiry(t *testing.T) { // invariant 3
	tests := []struct {
		start string
		count int32
		unit  string
		want  string
	}{
		{"2026-01-31", 1, "month", "2026-02-28"},
		{"2028-01-31", 1, "month", "2028-02-29"},
		{"2026-01-31", 2, "month", "2026-03-31"},
		{"2026-08-31", 6, "month", "2027-02-28"},
		{"2026-10-31", 1, "month", "2026-11-30"},
		{"2026-12-15", 1, "month", "2027-01-15"},
		{"2028-02-29", 1, "year", "2029-02-28"},
		{"2028-02-29", 4, "year", "2032-02-29"},
		{"2026-03-28", 1, "day", "2026-03-29"},
		{"2026-12-28", 1, "week", "2027-01-04"},
		{"2026-05-05", 1000, "month", "2109-09-05"},
	}
	for _, tt := range tests {
		t.Run(tt.start+" plus the validity ends on "+tt.want, func(t *testing.T) {
			got := PassType{ValidityCount: tt.count, ValidityUnit: tt.unit}.ExpiryOf(day(tt.start))
			if got.Format(time.DateOnly) != tt.want {
				t.Errorf("%d %s: got %s", tt.count, tt.unit, got.Format(time.DateOnly))
			}
		})
	}
}

func TestStatusAt(t *testing.T) {
	zone := func(name string) *time.Location {
		loc, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		return loc
	}
	pass := func(status string, uses int32) CustomerPass {
		return CustomerPass{Status: status, RemainingUses: uses, StartDate: day("2026-03-10"), ExpiryDate: day("2026-03-29")}
	}
	tests := map[string]struct {
		pass CustomerPass
		now  string
		zone string
		want string
	}{
		"pending until its first day begins in the company's zone": {pass(statusActive, 5), "2026-03-09T23:59:59Z", "UTC", statusPending},
		"active in a zone where its first day has begun":           {pass(statusActive, 5), "2026-03-09T13:00:00Z", "Pacific/Auckland", statusActive},
		"pending in a zone where its first day has not begun":      {pass(statusActive, 5), "2026-03-10T03:00:00Z", "America/New_York", statusPending},
		"active through the end of its last day":                   {pass(statusActive, 5), "2026-03-29T22:59:59Z", "Europe/London", statusActive},
		"expired when that day has ended, but not in UTC":          {pass(statusActive, 5), "2026-03-29T23:00:00Z", "Europe/London", statusExpired},
		"exhausted without uses":                                   {pass(statusActive, 0), "2026-03-15T12:00:00Z", "UTC", statusExhausted},
		"expired rather than exhausted if both apply":              {pass(statusActive, 0), "2026-04-15T12:00:00Z", "UTC", statusExpired},
		"paused on any day":                                        {pass(statusPaused, 5), "2026-04-15T12:00:00Z", "UTC", statusPaused},
		"cancelled with any number of uses":                        {pass(statusCancelled, 0), "2026-03-15T12:00:00Z", "UTC", statusCancelled},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			now, err := time.Parse(time.RFC3339, tt.now)
			if err != nil {
				t.Fatal(err)
			}
			if got := tt.pass.StatusOn(dayOf(now, zone(tt.zone))); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestUnchangedMembersAreIgnored(t *testing.T) {
	start, end, later := day("2026-03-10"), day("2026-03-29"), day("2026-04-29")
	for name, tt := range map[string]struct {
		stored string
		uses   int32
		today  string
		status string // as a read returns it
		paused string
	}{
		"active":                     {statusActive, 3, "2026-03-15", statusActive, ""},
		"pending":                    {statusActive, 3, "2026-03-09", statusPending, ""},
		"exhausted":                  {statusActive, 0, "2026-03-15", statusExhausted, ""},
		"expired":                    {statusActive, 3, "2026-03-30", statusExpired, ""},
		"paused":                     {statusPaused, 3, "2026-03-15", statusPaused, "2026-03-12"},
		"more uses than the maximum": {statusActive, maxUses + 7, "2026-03-15", statusActive, ""}, // because of returned credits
	} {
		pass := func() CustomerPass {
			p := CustomerPass{Status: tt.stored, RemainingUses: tt.uses, StartDate: start, ExpiryDate: end}
			if tt.paused != "" {
				p.PausedOn = new(day(tt.paused))
			}
			return p
		}
		read := func() passChange { return passChange{status: tt.status, expiry: &end, uses: &tt.uses} }
		t.Run(name+": sending back the values that were read changes nothing", func(t *testing.T) {
			p := pass()
			changed, credits, err := p.apply(read(), day(tt.today), time.UTC)
			if changed || credits != 0 || err != nil {
				t.Errorf("got %v, %d, %v and %v", changed, credits, err, p)
			}
		})
		t.Run(name+": changing one member changes only that member", func(t *testing.T) {
			p, c := pass(), read()
			c.expiry = &later
			if changed, credits, err := p.apply(c, day(tt.today), time.UTC); !changed || credits != 0 || err != nil || !p.ExpiryDate.Equal(later) || p.Status != tt.stored {
				t.Errorf("the last day: got %v, %d, %v and %v", changed, credits, err, p)
			}
			p, c = pass(), read()
			c.uses = new(int32(9))
			if changed, credits, err := p.apply(c, day(tt.today), time.UTC); !changed || credits != 9-tt.uses || err != nil || p.Status != tt.stored {
				t.Errorf("the uses: got %v, %d, %v and %v", changed, credits, err, p)
			}
		})
		t.Run(name+": refuses another derived status", func(t *testing.T) {
			for _, other := range []string{statusPending, statusExhausted, statusExpired} {
				if other == tt.status {
					continue
				}
				p := pass()
				_, _, err := p.apply(passChange{status: other}, day(tt.today), time.UTC)
				if !fault.Is(err, fault.Invalid) || fault.From(err).Fields[0].Field != "status" {
					t.Errorf("%s: got %v", other, err)
				}
			}
		})
	}
	t.Run("resuming moves the expiry date, even if the request has the expiry date that was read", func(t *testing.T) {
		p := CustomerPass{Status: statusPaused, PausedOn: new(day("2026-03-12")), RemainingUses: 3, StartDate: start, ExpiryDate: end}
		_, _, err := p.apply(passChange{status: statusActive, expiry: &end}, day("2026-03-15"), time.UTC)
		if err != nil || !p.ExpiryDate.Equal(day("2026-04-01")) {
			t.Errorf("got %v and %v", err, p)
		}
	})
}

func TestCancelledPassStays(t *testing.T) {
	expiry, later, uses, more := day("2026-03-29"), day("2026-04-29"), int32(3), int32(4)
	for name, tt := range map[string]struct {
		change  passChange
		refused bool
	}{
		"nothing":                {passChange{}, false},
		"the current values":     {passChange{status: statusCancelled, expiry: &expiry, uses: &uses}, false},
		"another status":         {passChange{status: statusActive}, true},
		"another last day":       {passChange{expiry: &later}, true},
		"other uses":             {passChange{uses: &more}, true},
		"other uses, cancelling": {passChange{status: statusCancelled, uses: &more}, true},
	} {
		t.Run(name, func(t *testing.T) {
			p := CustomerPass{Status: statusCancelled, RemainingUses: uses, StartDate: day("2026-03-10"), ExpiryDate: expiry}
			before := p
			changed, credits, err := p.apply(tt.change, day("2026-03-15"), time.UTC)
			if p != before || changed || credits != 0 || (err != nil) != tt.refused || err != nil && fault.From(err).Reason != ReasonPassNotActive {
				t.Errorf("got %v, %d, %v and %v", changed, credits, err, p)
			}
		})
	}
}
