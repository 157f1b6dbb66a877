package webhook

import (
	"context"
	"time"

	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
)

const (
	keepPartitionsSQL = `select keep_partitions()`

	companiesSQL = `select distinct company_id from endpoints`

	pruneDeliveriesSQL = `delete from deliveries where (company_id, id) in (
		select company_id, id from deliveries where company_id = $1 and id < first_uuid_at($2) order by id limit $3 for update skip locked)`

	pruneSecretsSQL = `delete from endpoint_secrets where expires_at < $1`

	pruneMessagesSQL = `delete from messages_other where id < first_uuid_at($1)`

	pruneAttemptsSQL = `delete from attempts_other where at < $1`
)

const pruneBatch = 5000

// keepPartitions creates the partitions of the coming days and drops those that the log no longer
// keeps.
func (s *store) keepPartitions(ctx context.Context) error {
	return s.DB.InTx(ctx, pg.AllCompanies(), func(ctx context.Context, tx *pg.Tx) error {
		_, err := tx.Exec(ctx, keepPartitionsSQL)
		return err
	})
}

// prune deletes rows from before an instant that are not in daily partitions: secrets, and
// deliveries by their identifiers, which begin with their time.
func (s *store) prune(ctx context.Context, before time.Time) error {
	companies, err := pg.Rows[id.Company](ctx, s.DB, pg.AllCompanies(), companiesSQL)
	if err != nil {
		return err
	}
	for _, company := range companies {
		for n := int64(pruneBatch); n == pruneBatch; {
			err := s.DB.InTx(ctx, pg.For(company), func(ctx context.Context, tx *pg.Tx) error {
				tag, err := tx.Exec(ctx, pruneDeliveriesSQL, company, before, pruneBatch)
				n = tag.RowsAffected()
				return err
			})
			if err != nil {
				return err
			}
		}
	}
	return s.DB.InTx(ctx, pg.AllCompanies(), func(ctx context.Context, tx *pg.Tx) error {
		for _, statement := range []string{pruneSecretsSQL, pruneMessagesSQL, pruneAttemptsSQL} {
			if _, err := tx.Exec(ctx, statement, before); err != nil {
				return err
			}
		}
		return nil
	})
}
