package webhook

import (
	"context"

	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/privacy"
)

const (
	// aboutSQL reads a company's messages in the order of their keys and returns whether each
	// contains the customer's identifier. Erasures are rare: an index would cost more for every
	// message than reading 30 days of messages costs for an erasure.
	aboutSQL = `select id, position(convert_to($4, 'UTF8') in body) > 0 as about from messages
		where company_id = $1 and id > $2 order by id limit $3`

	forgetAttemptsSQL = `delete from attempts a using unnest($2::uuid[]) as m (id), endpoints e
		where e.company_id = $1 and a.company_id = $1 and a.delivery_id = delivery_id(m.id, e.id)`

	forgetDeliveriesSQL = `delete from deliveries d using unnest($2::uuid[]) as m (id), endpoints e
		where e.company_id = $1 and d.company_id = $1 and d.id = delivery_id(m.id, e.id)`

	forgetMessagesSQL = `delete from messages where company_id = $1 and id = any ($2)`
)

// aboutBatch is the number of messages that one round trip reads.
const aboutBatch = 5000

// erase deletes the messages about a customer, their deliveries, and the responses of endpoints. A
// delivery that is under way then finds no row for its outcome. Deliveries go first: the statement waits
// for an outcome that is being stored, and the next one sees its attempt.
func (s *store) erase(ctx context.Context, e privacy.Erasure) error {
	return s.messagesAbout(ctx, e.Company, e.Customer, func(messages []id.WebhookMessage) error {
		return s.DB.InTx(ctx, pg.For(e.Company), func(ctx context.Context, tx *pg.Tx) error {
			for _, statement := range []string{forgetDeliveriesSQL, forgetAttemptsSQL, forgetMessagesSQL} {
				if _, err := tx.Exec(ctx, statement, e.Company, messages); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

// messagesAbout calls each with the messages that contain a customer's identifier, in
// batches.
func (s *store) messagesAbout(ctx context.Context, company id.Company, customer id.Customer, each func([]id.WebhookMessage) error) error {
	type row struct {
		ID    id.WebhookMessage `db:"id"`
		About bool              `db:"about"`
	}
	for after := (id.WebhookMessage{}); ; {
		rows, err := pg.Rows[row](ctx, s.DB, pg.For(company), aboutSQL, company, [16]byte(after), aboutBatch, customer.String())
		if err != nil || len(rows) == 0 {
			return s.Fault(err)
		}
		var about []id.WebhookMessage
		for _, r := range rows {
			if r.About {
				about = append(about, r.ID)
			}
		}
		if len(about) > 0 {
			if err := each(about); err != nil {
				return s.Fault(err)
			}
		}
		after = rows[len(rows)-1].ID
	}
}

// exportSQL finds messages by their content, as aboutSQL does.
const exportSQL = `select m.id, jsonb_build_object('id', m.id, 'event', m.event, 'occurred_at', m.occurred_at,
		'sent', convert_from(m.body, 'UTF8')::jsonb, 'deliveries', (
			select jsonb_agg(jsonb_build_object('id', d.id, 'endpoint_id', d.endpoint_id, 'url', e.url, 'state', d.state, 'attempts', d.attempts,
				'finished_at', d.finished_at) order by d.id)
			from endpoints e join deliveries d on d.company_id = $1 and d.id = delivery_id(m.id, e.id) where e.company_id = $1))
	from messages m where m.company_id = $1 and position(convert_to($2, 'UTF8') in m.body) > 0 order by m.id`
