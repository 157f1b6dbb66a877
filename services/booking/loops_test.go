package booking

import (
	"fmt"
	"testing"
	"time"

	"reservation.dev/platform/id"
	"reservation.dev/platform/zone"
)

// The checks of one request do not look at the context, because the bounds of the
// request keep them short. The rules are those that take the most steps.
func TestLongestRecurrencesAreShortWork(t *testing.T) {
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
		began := time.Now()
		var faults fields
		faults.recurrence(&Recurrence{Rule: text, Start: "2026-01-31T09:30:00"}, "Europe/London")
		took := time.Since(began)
		t.Logf("%s: %s", text, took)
		if took > time.Second {
			t.Errorf("%s took %s", text, took)
		}
	}
}

func TestChangesOfTheMostDatesAreShortWork(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	e := &Event{Timezone: "Europe/London"}
	var change eventChange
	for i := range maxEventDates {
		d := EventDate{ID: id.New[id.EventDate](), StartsAt: now.Add(time.Duration(i+24) * time.Hour), Minutes: 60, Timezone: e.Timezone, Status: Scheduled}
		e.Dates = append(e.Dates, d)
		local := d.StartsAt.Add(10 * time.Minute).Format("2006-01-02T15:04:05")
		change.dates = append(change.dates, dateChange{at: fmt.Sprintf("dates[%d].", i), id: d.ID, local: local})
	}
	began := time.Now()
	if err := change.check(); err != nil {
		t.Fatal(err)
	}
	loc, err := zone.Load(e.Timezone)
	if err != nil {
		t.Fatal(err)
	}
	var faults fields
	p := &eventPlan{Event: e}
	err = change.changeDates(p, loc, func() time.Time { return now }, &faults)
	took := time.Since(began)
	t.Logf("%d dates: %s, %d faults, %d changed", len(change.dates), took, faults.Len(), len(p.changedDates))
	if err != nil || len(p.changedDates) != maxEventDates {
		t.Errorf("got %v, %v", err, faults.List())
	}
	if took > time.Second {
		t.Errorf("took %s", took)
	}
}
