package subscription

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
		Service: "subscription", Done: subjectDataErased, DB: db, Outbox: box, Log: log, Now: time.Now, Erase: s.erase, Names: s.subscriptionsOf,
	}
}

// NewExporter returns the exporter of the personal data in db. A period has the identifier of its subscription.
func NewExporter(db *pg.DB) *privacy.Exporter {
	names := map[string]func(id.UUID) string{
		"id": privacy.Named[id.Subscription], "subscription_id": privacy.Named[id.Subscription], "customer_id": privacy.Named[id.Customer],
		"plan_id": privacy.Named[id.Plan], "next_plan_id": privacy.Named[id.Plan],
	}
	return &privacy.Exporter{Service: "subscription", DB: db, Collections: []privacy.Collection{
		{Kind: "subscription", SQL: exportSubscriptionsSQL, Names: names},
		{Kind: "subscription_period", SQL: exportPeriodsSQL, Names: names},
	}}
}
