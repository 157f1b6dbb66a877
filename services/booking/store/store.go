// Package store holds every SQL statement of the booking service, a file per kind of row.
// It is the only package that knows the schema.
package store

import (
	"time"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/combine"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	"reservation.dev/services/booking/model"
)

// Store runs the SQL statements of the service. Methods with a tx run in the caller's transaction;
// the others make one round trip of their own.
type Store struct {
	pg.Store
	// dates looks up an event's only date, batching concurrent lookups.
	dates *combine.Reads[id.Company, id.Event, model.UndatedEvent]
	// resources looks up what an appointment can use, batching concurrent lookups.
	resources *combine.Reads[id.Company, resourceKey, Resources]
}

// New returns a store that uses db.
func New(db *pg.DB) *Store {
	s := &Store{Store: pg.Store{DB: db, Constraints: map[string]*fault.Error{
		"event_dates_start":      model.StartTaken(),
		"discount_codes_by_code": model.DiscountCodeTaken(),
		"waitlist_entries_once":  model.AlreadyWaiting(),
		"event_dates_capacity":   model.EventFull(),
		"staff_reference":        model.ReferenceTaken(),
		"rooms_reference":        model.ReferenceTaken(),
		"holidays_once":          model.HolidayExists(),
		"assignments_overlap":    model.Busy(),

		"appointment_types_reference": model.ReferenceTaken(),
	}}}
	s.dates = combine.New(s.readOnlyDates)
	s.resources = combine.New(s.readTypeResources)
	return s
}

// tally returns a Query.Scan that stores the number of rows that the statement changed.
func tally(rowsAffected *int64) func(pgx.Rows) error {
	return func(rows pgx.Rows) error {
		rows.Close()
		*rowsAffected = rows.CommandTag().RowsAffected()
		return nil
	}
}

func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// orEmpty returns an array that is not null.
func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// timeOrNull returns nil for the zero time.
func timeOrNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
