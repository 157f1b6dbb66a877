package booking

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"reservation.dev/platform/id"
	"reservation.dev/platform/zone"
)

// The checks of one request do not look at the context, because the bounds of the
// request keep them within milliseconds. The rules are those that take the most steps.
func BenchmarkLongestRecurrences(b *testing.B) {
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
				var faults fields
				faults.recurrence(&Recurrence{Rule: text, Start: "2026-01-31T09:30:00"}, "Europe/London")
			}
		})
	}
}

func BenchmarkChangesOfTheMostDates(b *testing.B) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var dates []EventDate
	var change eventChange
	for i := range maxEventDates {
		d := EventDate{ID: id.New[id.EventDate](), StartsAt: now.Add(time.Duration(i+24) * time.Hour), Minutes: 60, Timezone: "Europe/London", Status: Scheduled}
		dates = append(dates, d)
		local := d.StartsAt.Add(10 * time.Minute).Format(wallLayout)
		change.dates = append(change.dates, dateChange{at: fmt.Sprintf("dates[%d].", i), id: d.ID, local: local})
	}
	loc, err := zone.Load("Europe/London")
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		p := &eventPlan{Event: &Event{Timezone: "Europe/London", Dates: slices.Clone(dates)}}
		var faults fields
		if err := change.check(); err != nil {
			b.Fatal(err)
		}
		if err := change.changeDates(p, loc, func() time.Time { return now }, &faults); err != nil || len(p.changedDates) != maxEventDates {
			b.Fatalf("got %v, %v", err, faults.List())
		}
	}
}
