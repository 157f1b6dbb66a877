package pass

import (
	"log/slog"
	"time"

	"reservation.dev/platform/id"
	"reservation.dev/platform/outbox"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/privacy"
)

// NewParticipant returns the participant that erases customers in db.
func NewParticipant(db *pg.DB, box *outbox.Outbox, log *slog.Logger) *privacy.Participant {
	s := newStore(db)
	return &privacy.Participant{
		Service: "pass", Done: subjectDataErased, DB: db, Outbox: box, Log: log, Now: time.Now, Erase: s.erase, Names: s.passesOf,
	}
}

// NewExporter returns the exporter of the personal data in db.
func NewExporter(db *pg.DB) *privacy.Exporter {
	return &privacy.Exporter{Service: "pass", DB: db, Collections: []privacy.Collection{
		{Kind: "customer_pass", SQL: exportPassesSQL, Names: map[string]func(id.UUID) string{
			"id": privacy.Named[id.CustomerPass], "customer_id": privacy.Named[id.Customer], "pass_type_id": privacy.Named[id.PassType],
			"subscription_id": privacy.Named[id.Subscription],
			"redemption_id":   privacy.Named[id.Transaction], "item_id": privacy.Named[id.Booking],
		}},
	}}
}
