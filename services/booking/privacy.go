package booking

import (
	"context"
	"log/slog"
	"time"

	"reservation.dev/platform/outbox"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/privacy"
)

// NewParticipant returns what erases customers in db.
func NewParticipant(db *pg.DB, box *outbox.Outbox, log *slog.Logger) *privacy.Participant {
	s := newStore(db)
	return &privacy.Participant{
		Service: "booking", Done: subjectDataErased, DB: db, Outbox: box, Log: log, Now: time.Now,
		Erase: func(ctx context.Context, e privacy.Erasure) error {
			left, err := recordOf(e.Company, e.Left)
			if err != nil {
				return err
			}
			return s.erase(ctx, left)
		},
		Names: func(ctx context.Context, e privacy.Erasure) ([]string, error) {
			return s.belongings(ctx, e.Company, e.Customer)
		},
	}
}

// NewExporter serves what is stored about a customer.
func NewExporter(db *pg.DB) *privacy.Exporter {
	return &privacy.Exporter{Service: "booking", DB: db, Collections: personalData()}
}
