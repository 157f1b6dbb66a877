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
		t.Run(tt.start+" and a validity ends on "+tt.want, func(t *testing.T) {
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
		"active where its first day has begun already":             {pass(statusActive, 5), "2026-03-09T13:00:00Z", "Pacific/Auckland", statusActive},
		"pending where its first day has not begun yet":            {pass(statusActive, 5), "2026-03-10T03:00:00Z", "America/New_York", statusPending},
		"active through the end of its last day":                   {pass(statusActive, 5), "2026-03-29T22:59:59Z", "Europe/London", statusActive},
		"expired when that day has ended, though UTC's has not":    {pass(statusActive, 5), "2026-03-29T23:00:00Z", "Europe/London", statusExpired},
		"exhausted without uses":                                   {pass(statusActive, 0), "2026-03-15T12:00:00Z", "UTC", statusExhausted},
		"expired rather than exhausted when both":                  {pass(statusActive, 0), "2026-04-15T12:00:00Z", "UTC", statusExpired},
		"paused whatever the day":                                  {pass(statusPaused, 5), "2026-04-15T12:00:00Z", "UTC", statusPaused},
		"cancelled whatever the uses":                              {pass(statusCancelled, 0), "2026-03-15T12:00:00Z", "UTC", statusCancelled},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			now, err := time.Parse(time.RFC3339, tt.now)
			if err != nil {
				t.Fatal(err)
			}
			if got := tt.pass.StatusAt(now, zone(tt.zone)); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestCancelledPassStays(t *testing.T) {
	expiry, later, uses, more := day("2026-03-29"), day("2026-04-29"), int32(3), int32(4)
	for name, tt := range map[string]struct {
		change  passChange
		refused bool
	}{
		"nothing":                {passChange{}, false},
		"what it is":             {passChange{status: statusCancelled, expiry: &expiry, uses: &uses}, false},
		"another status":         {passChange{status: statusActive}, true},
		"another last day":       {passChange{expiry: &later}, true},
		"other uses":             {passChange{uses: &more}, true},
		"other uses, cancelling": {passChange{status: statusCancelled, uses: &more}, true},
	} {
		t.Run(name, func(t *testing.T) {
			p := CustomerPass{Status: statusCancelled, RemainingUses: uses, StartDate: day("2026-03-10"), ExpiryDate: expiry}
			before := p
			changed, credits, err := p.apply(tt.change, day("2026-03-15"))
			if p != before || changed || credits != 0 || (err != nil) != tt.refused || err != nil && fault.From(err).Reason != ReasonPassNotActive {
				t.Errorf("got %v, %d, %v and %v", changed, credits, err, p)
			}
		})
	}
}
