package webhook

import (
	"context"
	"time"

	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
)

// logKept is how long the log goes back; partitions are dropped by it in the
// database (keep_partitions).
const logKept = 30 * 24 * time.Hour

// retainEvery is how often the log is cut, in any replica.
const retainEvery = time.Hour

// retainOnce keeps partitions for the days to come, drops what has served its
// time, and encrypts anew what was encrypted with a former key.
func (e *Engine) retainOnce(ctx context.Context) error {
	if err := e.store.keepPartitions(ctx); err != nil {
		return err
	}
	if err := e.store.prune(ctx, e.now().Add(-logKept)); err != nil {
		return err
	}
	return e.store.reseal(ctx)
}

const (
	keepPartitionsSQL = `select keep_partitions()`

	companiesSQL = `select distinct company_id from endpoints`

	pruneDeliveriesSQL = `delete from deliveries where (company_id, id) in (
		select company_id, id from deliveries where company_id = $1 and id < first_uuid_at($2) order by id limit $3 for update skip locked)`

	allSecretsSQL = `select company_id, endpoint_id, id, sealed, created_at, expires_at from endpoint_secrets`

	resealSQL = `update endpoint_secrets set sealed = $5 where company_id = $1 and endpoint_id = $2 and id = $3 and sealed = $4`

	pruneSecretsSQL = `delete from endpoint_secrets where expires_at < $1`

	pruneMessagesSQL = `delete from messages_other where id < first_uuid_at($1)`

	pruneAttemptsSQL = `delete from attempts_other where at < $1`
)

const pruneBatch = 5000

func (s *store) keepPartitions(ctx context.Context) error {
	return s.db.InTx(ctx, pg.AllCompanies(), func(ctx context.Context, tx *pg.Tx) error {
		_, err := tx.Exec(ctx, keepPartitionsSQL)
		return err
	})
}

// prune deletes what the log no longer holds: deliveries, by their identifiers,
// which begin with their time; and what is in no day's partition.
func (s *store) prune(ctx context.Context, before time.Time) error {
	companies, err := pg.Rows[id.Company](ctx, s.db, pg.AllCompanies(), companiesSQL)
	if err != nil {
		return err
	}
	for _, company := range companies {
		for n := int64(pruneBatch); n == pruneBatch; {
			err := s.db.InTx(ctx, pg.For(company), func(ctx context.Context, tx *pg.Tx) error {
				tag, err := tx.Exec(ctx, pruneDeliveriesSQL, company, before, pruneBatch)
				n = tag.RowsAffected()
				return err
			})
			if err != nil {
				return err
			}
		}
	}
	return s.db.InTx(ctx, pg.AllCompanies(), func(ctx context.Context, tx *pg.Tx) error {
		for _, statement := range []string{pruneSecretsSQL, pruneMessagesSQL, pruneAttemptsSQL} {
			if _, err := tx.Exec(ctx, statement, before); err != nil {
				return err
			}
		}
		return nil
	})
}

// reseal encrypts anew what was encrypted by a key that is no longer the first,
// so that the old one can be taken away.
func (s *store) reseal(ctx context.Context) error {
	type row struct {
		secretRow
		CompanyID  id.Company         `db:"company_id"`
		EndpointID id.WebhookEndpoint `db:"endpoint_id"`
	}
	rows, err := pg.Rows[row](ctx, s.db, pg.AllCompanies(), allSecretsSQL)
	if err != nil {
		return err
	}
	for _, r := range rows {
		if !s.sealer.IsStale(r.Sealed) {
			continue
		}
		secret, err := s.open(r.CompanyID, r.EndpointID, r.secretRow)
		if err != nil {
			return err
		}
		err = s.db.InTx(ctx, pg.For(r.CompanyID), func(ctx context.Context, tx *pg.Tx) error {
			_, err := tx.Exec(ctx, resealSQL, r.CompanyID, r.EndpointID, r.ID, r.Sealed, sealSecret(s.sealer, r.CompanyID, r.EndpointID, secret))
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
