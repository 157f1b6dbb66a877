package pass

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
	return &privacy.Participant{Service: "pass", Done: subjectDataErased, DB: db, Outbox: box, Log: log, Now: time.Now, Erase: s.erase, Names: s.belongings}
}

const (
	// Passes, credits and what was paid stay; the words go.
	forgetPaymentsSQL = `update customer_passes set paid_reference = null
		where company_id = $1 and customer_id = $2 and paid_reference is not null`

	forgetReasonsSQL = `update ledger_entries l set reason = null from customer_passes p
		where p.company_id = $1 and p.customer_id = $2 and l.company_id = $1 and l.customer_pass_id = p.id and l.reason is not null`
)

// erase forgets what the customer's passes say beside money and credits.
func (s *store) erase(ctx context.Context, e privacy.Erasure) error {
	return s.inTx(ctx, e.Company, func(ctx context.Context, tx *pg.Tx) error {
		for _, statement := range []string{forgetPaymentsSQL, forgetReasonsSQL} {
			if _, err := tx.Exec(ctx, statement, e.Company, e.Customer); err != nil {
				return err
			}
		}
		return nil
	})
}

const belongingsSQL = `select id from customer_passes where company_id = $1 and customer_id = $2`

// belongings are the identifiers of the passes that a customer holds.
func (s *store) belongings(ctx context.Context, e privacy.Erasure) ([]string, error) {
	passes, err := pg.Rows[id.CustomerPass](ctx, s.db, pg.For(e.Company), belongingsSQL, e.Company, e.Customer)
	names := make([]string, len(passes))
	for i, p := range passes {
		names[i] = p.String()
	}
	return names, pg.Fault(err, nil)
}

const exportPassesSQL = `select p.id, to_jsonb(p) || jsonb_build_object('title', t.title, 'ledger', (
		select jsonb_agg(to_jsonb(l) - array['company_id', 'customer_pass_id'] order by l.sequence) from ledger_entries l
		where l.company_id = p.company_id and l.customer_pass_id = p.id))
	from customer_passes p join pass_types t on t.company_id = p.company_id and t.id = p.pass_type_id
	where p.company_id = $1 and p.customer_id = $2 order by p.id`

// NewExporter serves what is stored about a customer.
func NewExporter(db *pg.DB) *privacy.Exporter {
	return &privacy.Exporter{Service: "pass", DB: db, Collections: []privacy.Collection{
		{Kind: "customer_pass", SQL: exportPassesSQL, Names: map[string]func(id.UUID) string{
			"id": privacy.Named[id.CustomerPass], "customer_id": privacy.Named[id.Customer], "pass_type_id": privacy.Named[id.PassType],
			"redemption_id": privacy.Named[id.Transaction], "item_id": privacy.Named[id.Booking],
		}},
	}}
}
