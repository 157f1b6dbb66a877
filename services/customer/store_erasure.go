package customer

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/page"
	"reservation.dev/platform/pg"
)

const erasureColumns = `company_id, customer_id, requested_by, requested_at, reference_digest, round, last_round, announced_at, events_removed_at, completed_at`

const (
	// Includes deleted customers: their names are still stored.
	lockAnySQL = `select ` + columns + ` from customers where company_id = $1 and id = $2 for update`

	eraseSQL = `update customers set ({fields}, reference, version, updated_at, deleted_at, deletion_unconfirmed)
			= ({values}, null, @version, @updated_at, @deleted_at, deletion_unconfirmed or @unconfirmed)
		where company_id = @company and id = @id`

	erasureSQL = `select ` + erasureColumns + ` from customer_erasures where company_id = $1 and customer_id = $2`

	erasuresSQL = `select ` + erasureColumns + ` from customer_erasures
		where company_id = $1 and customer_id > $2 order by customer_id limit $3`

	answersSQL = `select customer_id, service, round, erased_at from customer_erasure_answers
		where company_id = $1 and customer_id = any ($2) order by customer_id, service, round`

	saveErasureSQL = `insert into customer_erasures (` + erasureColumns + `)
		values (@company, @customer, @requested_by, @requested_at, @digest, @round, @last_round, @announced_at, @events_removed_at, @completed_at)
		on conflict (company_id, customer_id) do update set round = excluded.round, last_round = excluded.last_round,
			announced_at = excluded.announced_at, events_removed_at = excluded.events_removed_at, completed_at = excluded.completed_at`

	// An erasure that was restarted since it was read is in a different round and stays unchanged.
	completeErasuresSQL = `update customer_erasures e set events_removed_at = $1, completed_at = $1
		from unnest($2::uuid[], $3::uuid[], $4::integer[]) n(company_id, customer_id, round)
		where e.company_id = n.company_id and e.customer_id = n.customer_id and e.round = n.round and e.completed_at is null`

	deleteErasureSQL = `with answers as (delete from customer_erasure_answers where company_id = $1 and customer_id = $2)
		delete from customer_erasures where company_id = $1 and customer_id = $2`

	answerSQL = `insert into customer_erasure_answers (company_id, customer_id, service, round, erased_at)
		values ($1, $2, $3, $4, $5) on conflict do nothing`

	// Erasures that every service has answered in their current round. Rounds before the last one
	// also wait for a while, so that requests that were under way have ended.
	answeredSQL = `select ` + erasureColumns + ` from customer_erasures e
		where completed_at is null and (round = last_round or announced_at <= $1)
			and (select count(*) from customer_erasure_answers a where a.company_id = e.company_id
				and a.customer_id = e.customer_id and a.round = e.round and a.service = any ($2)) = cardinality($2)
		order by announced_at limit $3 for update skip locked`

	// Erasures that some service has not answered long after their round was announced.
	unansweredSQL = `select ` + erasureColumns + ` from customer_erasures e
		where completed_at is null and announced_at <= $1
			and (select count(*) from customer_erasure_answers a where a.company_id = e.company_id
				and a.customer_id = e.customer_id and a.round = e.round and a.service = any ($2)) < cardinality($2)
		order by announced_at limit $3 for update skip locked`

	openErasuresSQL = `select count(*) as open, coalesce(extract(epoch from $1 - min(announced_at)), 0)::float8 as age
		from (select announced_at from customer_erasures where completed_at is null order by announced_at limit $2) e`

	forgottenReferencesSQL = `select reference_digest from customer_erasures where company_id = $1 and reference_digest = any ($2)`
)

// lockAny is lock for a customer who may be deleted.
func (s *store) lockAny(ctx context.Context, tx *pg.Tx, company id.Company, customer id.Customer) (Customer, error) {
	return pg.GetInTx[Customer](ctx, tx, "customer", s.sql(lockAnySQL), company, customer)
}

// deleteErasure deletes an erasure with its answers.
func (s *store) deleteErasure(ctx context.Context, tx *pg.Tx, e Erasure) error {
	_, err := tx.Exec(ctx, deleteErasureSQL, e.Company, e.Customer)
	return err
}

// erasureChange is what an erasure changes in addition to the customer.
type erasureChange struct {
	counted     bool // the customer was not deleted before, and is subtracted from the counters
	unconfirmed bool // other services may still serve the customer
}

// erase stores an erased customer.
func (s *store) erase(ctx context.Context, tx *pg.Tx, company id.Company, c Customer, e erasureChange) error {
	batch := &pgx.Batch{}
	row := rowOf(company, c)
	row["unconfirmed"] = e.unconfirmed
	batch.Queue(s.sql(eraseSQL), row)
	if e.counted {
		batch.Queue(countSQL, company, slot(), -1)
	}
	return tx.SendBatch(ctx, batch).Close()
}

// saveErasure stores a new erasure or its progress.
func (s *store) saveErasure(ctx context.Context, tx *pg.Tx, e Erasure) error {
	_, err := tx.Exec(ctx, saveErasureSQL, pgx.NamedArgs{
		"company": e.Company, "customer": e.Customer, "requested_by": e.RequestedBy, "requested_at": e.RequestedAt,
		"digest": e.ReferenceDigest, "round": e.Round, "last_round": e.LastRound, "announced_at": e.AnnouncedAt,
		"events_removed_at": e.EventsRemovedAt, "completed_at": e.CompletedAt,
	})
	return err
}

// erasureIn returns a customer's erasure; nil: there is none. The customer is locked, so the
// erasure does not change.
func (s *store) erasureIn(ctx context.Context, tx *pg.Tx, company id.Company, customer id.Customer) (*Erasure, error) {
	rows, err := tx.Query(ctx, erasureSQL, company, customer)
	if err != nil {
		return nil, err
	}
	e, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[Erasure])
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	return &e, err
}

// erasure returns a customer's erasure and the answers of the services.
func (s *store) erasure(ctx context.Context, company id.Company, customer id.Customer) (Erasure, []erasureAnswer, error) {
	list, err := pg.Rows[Erasure](ctx, s.DB, pg.For(company), erasureSQL, company, customer)
	if err != nil {
		return Erasure{}, nil, pg.Fault(err, nil)
	}
	if len(list) == 0 {
		return Erasure{}, nil, fault.Missing("erasure")
	}
	answers, err := s.answers(ctx, company, list)
	return list[0], answers[customer], err
}

// erasures returns the rows of a page of erasures, and the answers of the services.
func (s *store) erasures(ctx context.Context, company id.Company, p page.Page) ([]Erasure, map[id.Customer][]erasureAnswer, error) {
	var after [16]byte
	if p.After != nil {
		after = p.After.ID
	}
	list, err := pg.Rows[Erasure](ctx, s.DB, pg.For(company), erasuresSQL, company, after, p.Size+1)
	if err != nil {
		return nil, nil, pg.Fault(err, nil)
	}
	answers, err := s.answers(ctx, company, list)
	return list, answers, err
}

func (s *store) answers(ctx context.Context, company id.Company, list []Erasure) (map[id.Customer][]erasureAnswer, error) {
	customers := make([]id.Customer, len(list))
	for i, e := range list {
		customers[i] = e.Customer
	}
	rows, err := pg.Rows[erasureAnswer](ctx, s.DB, pg.For(company), answersSQL, company, customers)
	if err != nil {
		return nil, pg.Fault(err, nil)
	}
	answers := map[id.Customer][]erasureAnswer{}
	for _, a := range rows {
		answers[a.Customer] = append(answers[a.Customer], a)
	}
	return answers, nil
}

// answered locks the erasures, of any company, that every service has answered and that were
// announced at or before an instant. The last round does not have to wait that long.
func (s *store) answered(ctx context.Context, tx *pg.Tx, before time.Time, limit int) ([]Erasure, error) {
	return s.lockErasures(ctx, tx, answeredSQL, before, limit)
}

// unanswered locks the erasures, of any company, that some service has not answered and that were
// announced at or before an instant.
func (s *store) unanswered(ctx context.Context, tx *pg.Tx, before time.Time, limit int) ([]Erasure, error) {
	return s.lockErasures(ctx, tx, unansweredSQL, before, limit)
}

func (s *store) lockErasures(ctx context.Context, tx *pg.Tx, sql string, before time.Time, limit int) ([]Erasure, error) {
	rows, err := tx.Query(ctx, sql, before, erasers(), limit)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByName[Erasure])
}

// complete ends the erasures, of any company, that are still in the round that list has, and
// returns how many.
func (s *store) complete(ctx context.Context, list []Erasure, now time.Time) (int64, error) {
	companies, customers, rounds := make([]id.Company, len(list)), make([]id.Customer, len(list)), make([]int32, len(list))
	for i, e := range list {
		companies[i], customers[i], rounds[i] = e.Company, e.Customer, e.Round
	}
	var completed int64
	err := s.InTx(ctx, pg.AllCompanies(), func(ctx context.Context, tx *pg.Tx) error {
		tag, err := tx.Exec(ctx, completeErasuresSQL, now, companies, customers, rounds)
		completed = tag.RowsAffected()
		return err
	})
	return completed, err
}

// erasedReferences returns the references that belonged to erased customers.
func (s *store) erasedReferences(ctx context.Context, tx *pg.Tx, company id.Company, references []string) (map[string]bool, error) {
	digests := make([][]byte, len(references))
	byDigest := make(map[string]string, len(references))
	for i, r := range references {
		digests[i] = referenceDigest(company, r)
		byDigest[string(digests[i])] = r
	}
	rows, err := tx.Query(ctx, forgottenReferencesSQL, company, digests)
	if err != nil {
		return nil, err
	}
	found := map[string]bool{}
	var digest []byte
	_, err = pgx.ForEachRow(rows, []any{&digest}, func() error {
		found[byDigest[string(digest)]] = true
		return nil
	})
	return found, err
}

// saveAnswer stores a service's answer; a repeated one changes nothing.
func (s *store) saveAnswer(ctx context.Context, tx *pg.Tx, company id.Company, a erasureAnswer) error {
	_, err := tx.Exec(ctx, answerSQL, company, a.Customer, a.Service, a.Round, a.ErasedAt)
	return err
}

// openErasures returns the number of erasures that are not complete, counted up to most, and for
// how many seconds the oldest current round has been waiting.
func (s *store) openErasures(ctx context.Context, now time.Time, most int) (open int64, age float64, err error) {
	err = s.Read(ctx, pg.AllCompanies(), pg.Query{SQL: openErasuresSQL, Args: []any{now, most}, Scan: pg.First(&open, &age)})
	return open, age, err
}
