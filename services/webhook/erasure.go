package webhook

import (
	"context"
	"log/slog"
	"time"

	"reservation.dev/platform/id"
	"reservation.dev/platform/outbox"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/privacy"
)

// NewParticipant returns what erases customers in db.
func NewParticipant(db *pg.DB, box *outbox.Outbox, log *slog.Logger) *privacy.Participant {
	s := &store{db: db}
	return &privacy.Participant{Service: "webhook", Done: subjectDataErased, DB: db, Outbox: box, Log: log, Now: time.Now, Erase: s.erase}
}

const (
	// aboutSQL reads a company's messages in the order of their keys and says which
	// name the customer. Erasures are rare: an index for them would cost every
	// message more than reading the messages of 30 days costs an erasure.
	aboutSQL = `select id, position(convert_to($4, 'UTF8') in body) > 0 as named from messages
		where company_id = $1 and id > $2 order by id limit $3`

	forgetAttemptsSQL = `delete from attempts a using unnest($2::uuid[]) as m (id), endpoints e
		where e.company_id = $1 and a.company_id = $1 and a.delivery_id = delivery_id(m.id, e.id)`

	forgetDeliveriesSQL = `delete from deliveries d using unnest($2::uuid[]) as m (id), endpoints e
		where e.company_id = $1 and d.company_id = $1 and d.id = delivery_id(m.id, e.id)`

	forgetMessagesSQL = `delete from messages where company_id = $1 and id = any ($2)`
)

// aboutBatch is how many messages are looked at in a round trip.
const aboutBatch = 5000

// erase deletes what was sent, or is still to be sent, about a customer, and what
// endpoints answered to it. A delivery that is under way finds no row to write its
// outcome to.
func (s *store) erase(ctx context.Context, e privacy.Erasure) error {
	return s.about(ctx, e.Company, e.Customer, func(messages []id.WebhookMessage) error {
		return s.db.InTx(ctx, pg.For(e.Company), func(ctx context.Context, tx *pg.Tx) error {
			for _, statement := range []string{forgetAttemptsSQL, forgetDeliveriesSQL, forgetMessagesSQL} {
				if _, err := tx.Exec(ctx, statement, e.Company, messages); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

// about calls each with the messages that name a customer, some at a time.
func (s *store) about(ctx context.Context, company id.Company, customer id.Customer, each func([]id.WebhookMessage) error) error {
	type row struct {
		ID    id.WebhookMessage `db:"id"`
		Named bool              `db:"named"`
	}
	for after := (id.WebhookMessage{}); ; {
		rows, err := pg.Rows[row](ctx, s.db, pg.For(company), aboutSQL, company, [16]byte(after), aboutBatch, customer.String())
		if err != nil || len(rows) == 0 {
			return pg.Fault(err, nil)
		}
		var named []id.WebhookMessage
		for _, r := range rows {
			if r.Named {
				named = append(named, r.ID)
			}
		}
		if len(named) > 0 {
			if err := each(named); err != nil {
				return pg.Fault(err, nil)
			}
		}
		after = rows[len(rows)-1].ID
	}
}

// exportSQL finds messages by what they say; see aboutSQL.
const exportSQL = `select m.id, jsonb_build_object('id', m.id, 'event', m.event, 'occurred_at', m.occurred_at,
		'sent', convert_from(m.body, 'UTF8')::jsonb, 'deliveries', (
			select jsonb_agg(jsonb_build_object('id', d.id, 'endpoint_id', d.endpoint_id, 'url', e.url, 'state', d.state, 'attempts', d.attempts,
				'finished_at', d.finished_at) order by d.id)
			from endpoints e join deliveries d on d.company_id = $1 and d.id = delivery_id(m.id, e.id) where e.company_id = $1))
	from messages m where m.company_id = $1 and position(convert_to($2, 'UTF8') in m.body) > 0 order by m.id`

// NewExporter serves what is stored about a customer.
func NewExporter(db *pg.DB) *privacy.Exporter {
	return &privacy.Exporter{Service: "webhook", DB: db, Collections: []privacy.Collection{
		{Kind: "webhook_message", SQL: exportSQL, Text: true, Names: map[string]func(id.UUID) string{
			"id": privacy.Named[id.WebhookMessage], "deliveries.id": privacy.Named[id.WebhookDelivery], "endpoint_id": privacy.Named[id.WebhookEndpoint],
		}},
	}}
}
