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

// NewParticipant returns what erases customers in db: of the company's customers
// the auth service knows what the audit log says.
func NewParticipant(db *pg.DB, box *outbox.Outbox, log *slog.Logger) *privacy.Participant {
	s := &store{db: db}
	return &privacy.Participant{Service: "auth", Done: subjectDataErased, DB: db, Outbox: box, Log: log, Now: time.Now, Erase: s.erase}
}

const forgetAuditSQL = `select forget_in_audit_log($1, $2)`

// erase forgets the facts that the audit log has about a customer; who did what,
// and when, stays.
func (s *store) erase(ctx context.Context, e privacy.Erasure) error {
	return s.inTx(ctx, e.Company, func(ctx context.Context, tx *pg.Tx) error {
		_, err := tx.Exec(ctx, forgetAuditSQL, e.Company, e.Customer.String())
		return err
	})
}

const exportAuditSQL = `select id, to_jsonb(a) from audit_log a
	where company_id = $1 and (target = $2 or details @> jsonb_build_array(jsonb_build_object('after', $2::text))) order by at, id`

// NewExporter serves what is stored about a customer.
func NewExporter(db *pg.DB) *privacy.Exporter {
	return &privacy.Exporter{Service: "auth", DB: db, Collections: []privacy.Collection{
		{Kind: "audit_entry", SQL: exportAuditSQL, Text: true, Names: map[string]func(id.UUID) string{"id": privacy.Named[id.AuditEntry]}},
	}}
}

// withoutForgotten leaves out what an entry says of a customer who was erased: it
// may come late.
func withoutForgotten(ctx context.Context, tx *pg.Tx, e Entry) (Entry, error) {
	subjects := []string{e.Target}
	for _, d := range e.Details {
		subjects = append(subjects, d.After)
	}
	for _, subject := range subjects {
		customer, err := id.Parse[id.Customer](subject)
		if err != nil {
			continue
		}
		erased, err := privacy.Erased(ctx, tx, e.Company, customer)
		if err != nil {
			return e, err
		}
		if erased {
			var left []Detail
			for _, d := range e.Details {
				if d.After == subject {
					left = append(left, Detail{Field: d.Field, After: d.After})
				}
			}
			e.Details = left
		}
	}
	return e, nil
}
