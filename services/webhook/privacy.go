package webhook

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
	s := newStore(db, nil)
	return &privacy.Participant{Service: "webhook", Done: subjectDataErased, DB: db, Outbox: box, Log: log, Now: time.Now, Erase: s.erase}
}

// NewExporter returns the exporter of what is stored about a customer.
func NewExporter(db *pg.DB) *privacy.Exporter {
	return &privacy.Exporter{Service: "webhook", DB: db, Collections: []privacy.Collection{
		{Kind: "webhook_message", SQL: exportSQL, Text: true, Names: map[string]func(id.UUID) string{
			"id": privacy.Named[id.WebhookMessage], "deliveries.id": privacy.Named[id.WebhookDelivery], "endpoint_id": privacy.Named[id.WebhookEndpoint],
		}},
	}}
}
