package webhook

import (
	"context"
	"time"

	"reservation.dev/platform/id"
	"reservation.dev/platform/page"
	"reservation.dev/platform/pg"
)

// messageFilter limits lists of messages.
type messageFilter struct {
	event string    // "": all
	since time.Time // when it happened; zero: no limit
}

// Positioned is a message with its position in the list.
type Positioned struct {
	ID         id.WebhookMessage `db:"id"`
	Event      string            `db:"event"`
	OccurredAt time.Time         `db:"occurred_at"`
	JSON       []byte            `db:"body"`
	Position   int64             `db:"position"`
}

// byPosition is the order of ListMessages. Positions are microseconds since 1970 or a little more (see
// the migration that adds them), so the key of a cursor holds one.
func byPosition() page.Order { return page.Order{Code: 3} }

// clockSkew is how far the clock of a service can be ahead of that of the database. A message that
// happened at or after a time therefore has no position before that time by more than this.
const clockSkew = 10 * time.Minute

// start returns the position after which the first page begins.
func (f messageFilter) start() int64 {
	if f.since.IsZero() {
		return 0
	}
	return f.since.Add(-clockSkew).UnixMicro()
}

// positionedSQL reads an index from a position, so a page costs the same however many messages are
// stored. A message with a position is visible only when all earlier ones are (see order_messages).
const positionedSQL = `select id, event, occurred_at, body, position from messages where company_id = $1 and position > $2`

// statement returns the statement of a page: up to n messages after a position.
func (f messageFilter) statement(company id.Company, after int64, n int) pg.Statement {
	sql := pg.Statement{SQL: positionedSQL, Args: []any{company, after}}
	if f.event != "" {
		sql.And("event = %s", f.event)
	}
	if !f.since.IsZero() {
		sql.And("occurred_at >= %s", f.since)
	}
	sql.SQL += " order by position limit " + sql.Arg(n)
	return sql
}

// messagesAfter returns up to n messages after a position, in order.
func (s *store) messagesAfter(ctx context.Context, company id.Company, f messageFilter, after int64, n int) ([]Positioned, error) {
	sql := f.statement(company, after, n)
	list, err := pg.Rows[Positioned](ctx, s.DB, pg.For(company), sql.SQL, sql.Args...)
	return list, s.Fault(err)
}
