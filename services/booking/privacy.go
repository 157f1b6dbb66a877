package booking

import (
	"context"
	"log/slog"
	"time"

	"reservation.dev/platform/id"
	"reservation.dev/platform/outbox"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/privacy"
	"reservation.dev/services/booking/convert"
	"reservation.dev/services/booking/store"
)

// NewParticipant returns the participant that erases customers in db.
func NewParticipant(db *pg.DB, box *outbox.Outbox, log *slog.Logger) *privacy.Participant {
	s := store.New(db)
	leaver := &leaver{store: s, outbox: box, now: time.Now, newID: id.NewUUID}
	return &privacy.Participant{
		Service: "booking", Done: subjectDataErased, DB: db, Outbox: box, Log: log, Now: time.Now,
		Erase: func(ctx context.Context, e privacy.Erasure) error {
			left, err := convert.CustomerRecord(e.Company, e.Left)
			if err != nil {
				return err
			}
			return s.Erase(ctx, left, leaver.leave)
		},
		Names: func(ctx context.Context, e privacy.Erasure) ([]string, error) {
			return s.CustomerIdentifiers(ctx, e.Company, e.Customer)
		},
	}
}

// NewExporter returns the exporter of the personal data in db.
func NewExporter(db *pg.DB) *privacy.Exporter {
	return &privacy.Exporter{Service: "booking", DB: db, Collections: store.PersonalData()}
}
