package recurrence

import (
	"testing"

	"reservation.dev/platform/check"
)

// BenchmarkLongestRules expands the rules that take the most steps. The checks of one request do
// not check the context, because limits on the request keep them within milliseconds.
func BenchmarkLongestRules(b *testing.B) {
	for _, text := range []string{
		"FREQ=SECONDLY;BYHOUR=9;BYMINUTE=0;BYSECOND=0;BYMONTH=2;BYMONTHDAY=31;COUNT=1000",
		"FREQ=SECONDLY;INTERVAL=86401;BYHOUR=9;BYMINUTE=0;BYSECOND=1;COUNT=1000",
		"FREQ=MINUTELY;INTERVAL=7;BYDAY=MO;BYHOUR=3;BYMINUTE=1;COUNT=1000",
		"FREQ=SECONDLY;INTERVAL=7;BYSECOND=1;BYMINUTE=1;COUNT=1000",
		"FREQ=YEARLY;BYWEEKNO=53,-53,1,-1;WKST=SU;COUNT=1000",
		"FREQ=YEARLY;BYDAY=53MO,-53SU,TU;BYSETPOS=-366,366;COUNT=1000",
		"FREQ=YEARLY;BYYEARDAY=366,-366;BYWEEKNO=9;COUNT=2",
		"FREQ=MONTHLY;BYMONTHDAY=31;BYMONTH=2;COUNT=1000",
		"FREQ=DAILY;COUNT=1000",
	} {
		b.Run(text, func(b *testing.B) {
			for b.Loop() {
				var faults check.Fields
				(&Recurrence{Rule: text, Start: "2026-01-31T09:30:00"}).Dates("Europe/London", &faults)
			}
		})
	}
}
