package move

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"reservation.dev/platform/id"
)

// digest is the number of rows of a table, and a sum that does not depend on their order.
type digest struct {
	rows int64
	sum  string
}

// digestSQL adds up a hash of each row, with its generated columns. The hash of a record is itself a sum, so without
// the second hash, rows that have exchanged a value would not be noticed.
func (t table) digestSQL() string {
	return fmt.Sprintf(`select count(*), coalesce(sum(hashint8extended(hash_record_extended(row(%s), 0), 0)), 0)::text from %s where company_id = any ($1)`,
		strings.Join(t.Columns, ", "), t.quoted())
}

func (t table) digest(ctx context.Context, c *pgx.Conn, companies []id.Company) (g digest, err error) {
	err = c.QueryRow(ctx, t.digestSQL(), keys(companies)).Scan(&g.rows, &g.sum)
	return g, err
}

// compare fails if a row differs between the cells.
func (d *database) compare(ctx context.Context, m *Mover) error {
	for _, t := range d.tables {
		var from, to digest
		g, gctx := errgroup.WithContext(ctx)
		g.Go(func() (err error) { from, err = t.digest(gctx, d.from, m.companies); return err })
		g.Go(func() (err error) { to, err = t.digest(gctx, d.to, m.companies); return err })
		if err := g.Wait(); err != nil {
			if ctx.Err() != nil {
				return late(fmt.Sprintf("%s.%s: the rows were not compared in time", d.service, t.Name))
			}
			return fmt.Errorf("%s: %w", t.Name, err)
		}
		if from != to {
			return fmt.Errorf("%s.%s differs: %d rows in %s, %d rows in %s", d.service, t.Name, from.rows, m.From.Name, to.rows, m.To.Name)
		}
		m.addCompared(from.rows)
	}
	return nil
}

const (
	sequencesSQL = `select quote_ident(sequencename), last_value from pg_sequences
		where schemaname = 'public' and last_value is not null and sequencename not like '%\_schema\_id\_seq' order by 1`

	// raiseSQL leaves a sequence alone that is ahead: other companies use it at the same time.
	raiseSQL = `select setval($1::text::regclass, $2) from pg_sequences
		where schemaname = 'public' and quote_ident(sequencename) = $1 and coalesce(last_value < $2, true)`
)

// raiseSequences lets the target's sequences go on after those of the source, so that no moved value is repeated.
func (d *database) raiseSequences(ctx context.Context, _ *Mover) error {
	rows, err := d.from.Query(ctx, sequencesSQL)
	if err != nil {
		return err
	}
	type sequence struct {
		Name string
		Last int64
	}
	all, err := pgx.CollectRows(rows, pgx.RowToStructByPos[sequence])
	if err != nil {
		return err
	}
	for _, s := range all {
		if _, err := d.to.Exec(ctx, raiseSQL, s.Name, s.Last); err != nil {
			return fmt.Errorf("sequence %s: %w", s.Name, err)
		}
	}
	return nil
}
