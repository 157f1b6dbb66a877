package model

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"reservation.dev/platform/id"
	"reservation.dev/platform/zone"
	"reservation.dev/services/booking/isotime"
)

func BenchmarkChangesOfTheMostDates(b *testing.B) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var dates []EventDate
	var change EventChange
	for i := range MaxEventDates {
		d := EventDate{ID: id.New[id.EventDate](), StartsAt: now.Add(time.Duration(i+24) * time.Hour), Minutes: 60, Timezone: "Europe/London", Status: Scheduled}
		dates = append(dates, d)
		local := d.StartsAt.Add(10 * time.Minute).Format(isotime.LocalLayout)
		change.Dates = append(change.Dates, DateChange{At: fmt.Sprintf("dates[%d].", i), ID: d.ID, Local: local})
	}
	loc, err := zone.Load("Europe/London")
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		p := &EventPlan{Event: &Event{Timezone: "Europe/London", Dates: slices.Clone(dates)}}
		var faults fields
		if err := change.Check(); err != nil {
			b.Fatal(err)
		}
		if err := change.changeDates(p, loc, now, &faults); err != nil || len(p.ChangedDates) != MaxEventDates {
			b.Fatalf("got %v, %v", err, faults.List())
		}
	}
}
