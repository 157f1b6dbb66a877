package auth

import (
	"context"
	"log/slog"
	"time"

	"reservation.dev/platform/id"
	"reservation.dev/platform/outbox"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/privacy"
)

// NewParticipant returns the participant that erases customers in db. The auth service stores
// customers only in the audit log.
func NewParticipant(db *pg.DB, box *outbox.Outbox, log *slog.Logger) *privacy.Participant {
	s := newStore(db)
	return &privacy.Participant{Service: "auth", Done: subjectDataErased, DB: db, Outbox: box, Log: log, Now: time.Now, Erase: s.erase}
}

func (s *store) erase(ctx context.Context, e privacy.Erasure) error {
	return s.Write(ctx, e.Company, func(ctx context.Context, tx *pg.Tx) error {
		return s.forgetInAuditLog(ctx, tx, e.Company, e.Customer)
	})
}

// NewExporter returns the exporter of what is stored about a customer.
func NewExporter(db *pg.DB) *privacy.Exporter {
	return &privacy.Exporter{Service: "auth", DB: db, Collections: []privacy.Collection{
		{Kind: "audit_entry", SQL: exportAuditLogSQL, Text: true, Names: map[string]func(id.UUID) string{"id": privacy.Named[id.AuditEntry]}},
	}}
}
