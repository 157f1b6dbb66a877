package media

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
		Service: "media", Done: subjectDataErased, DB: db, Outbox: box, Log: log, Now: time.Now, Erase: s.erase,
	}
}

// NewExporter returns the exporter of the personal data in db.
func NewExporter(db *pg.DB) *privacy.Exporter {
	names := map[string]func(id.UUID) string{
		"id": privacy.Named[id.Entitlement], "item_id": privacy.Named[id.MediaItem], "collection_id": privacy.Named[id.Collection],
		"customer_id": privacy.Named[id.Customer],
	}
	ofItems := map[string]func(id.UUID) string{"id": privacy.Named[id.MediaItem], "item_id": privacy.Named[id.MediaItem], "customer_id": privacy.Named[id.Customer]}
	return &privacy.Exporter{Service: "media", DB: db, Collections: []privacy.Collection{
		{Kind: "media_progress", SQL: exportProgressSQL, Names: ofItems},
		{Kind: "media_entitlement", SQL: exportEntitlementsSQL, Names: names},
	}}
}
