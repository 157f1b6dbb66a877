package media

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
)

const (
	progressSQL = `select item_id, position_seconds, completed, updated_at from progress where company_id = $1 and customer_id = $2 and item_id = $3`

	lockProgressSQL = progressSQL + ` for update`

	beginProgressSQL = `insert into progress (company_id, customer_id, item_id, position_seconds, completed, updated_at)
		values ($1, $2, $3, 0, false, $4) on conflict do nothing`

	saveProgressSQL = `update progress set position_seconds = @position, completed = @completed, updated_at = @updated_at
		where company_id = @company and customer_id = @customer and item_id = @item`
)

// lockProgress reads the progress of a customer and locks it. It adds a row if there is none, so that
// concurrent requests wait for each other.
func (s *store) lockProgress(ctx context.Context, tx *pg.Tx, company id.Company, customer id.Customer, item id.MediaItem, now time.Time) (Progress, error) {
	if err := tx.Pipeline(ctx, pg.Query{SQL: beginProgressSQL, Args: []any{company, customer, item, now}}); err != nil {
		return Progress{}, err
	}
	return pg.GetInTx[Progress](ctx, tx, "progress", lockProgressSQL, company, customer, item)
}

// saveProgress stores the progress of a customer when tx commits.
func saveProgress(tx *pg.Tx, company id.Company, customer id.Customer, p Progress) {
	tx.Queue(pg.Query{SQL: saveProgressSQL, Args: []any{pgx.NamedArgs{
		"company": company, "customer": customer, "item": p.Item, "position": p.Position, "completed": p.Completed, "updated_at": p.UpdatedAt,
	}}})
}
