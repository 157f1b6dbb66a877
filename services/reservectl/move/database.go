package move

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
)

// database is the database of a service in both cells.
type database struct {
	service  string
	from, to *pgx.Conn
	// source is the URL of from for the target's server.
	source string
	tables []table
}

// table is a table with rows of companies.
type table struct {
	Name    string
	Columns []string // quoted, by name
	Keyed   bool     // the primary key contains company_id
}

// tablesSQL lists the tables under the tenants' policy. The outbox is empty when a company moves.
const tablesSQL = `select c.relname::text as name,
		array(select quote_ident(a.attname) from pg_attribute a where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped order by 1) as columns,
		exists (select from pg_index i join pg_attribute a on a.attrelid = c.oid and a.attnum = any (i.indkey)
			where i.indrelid = c.oid and i.indisprimary and a.attname = 'company_id') as keyed
	from pg_class c
	where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
		and c.relname <> 'outbox_events' and exists (select from pg_policy p where p.polrelid = c.oid and p.polname = 'tenant')
	order by 1`

// quoted returns the table's name for a statement.
func (t table) quoted() string { return pgx.Identifier{t.Name}.Sanitize() }

// name is the name of the publication, the subscription and the slot of a move. Slots share the names of all
// databases of a server.
func (d *database) name(company id.Company) string {
	return "move_" + d.service + "_" + strings.ReplaceAll(uuid.UUID(company).String(), "-", "")
}

// connect opens a connection whose texts of values do not depend on the server, and whose commits are durable.
func connect(ctx context.Context, address string) (*pgx.Conn, error) {
	cfg, err := pgx.ParseConfig(address)
	if err != nil {
		return nil, errors.New("the URL of a database is not valid") // the error of pgx shows the URL
	}
	for name, value := range map[string]string{
		"application_name": "reservectl company move", "search_path": "public", "timezone": "UTC", "datestyle": "ISO, YMD",
		"intervalstyle": "postgres", "extra_float_digits": "1", "bytea_output": "hex", "statement_timeout": "0", "lock_timeout": "5000",
		"synchronous_commit": "on",
	} {
		cfg.RuntimeParams[name] = value
	}
	return pgx.ConnectConfig(ctx, cfg)
}

// connectSource connects to the database of the source unless it is connected, and reads the tables.
func (d *database) connectSource(ctx context.Context, m *Mover) error {
	if err := reconnect(ctx, &d.from, m.From.Databases[d.service]); err != nil {
		return fmt.Errorf("cell %s: %w", m.From.Name, err)
	}
	if d.tables != nil {
		return nil
	}
	var err error
	if d.tables, err = tablesOf(ctx, d.from); err != nil {
		return fmt.Errorf("cell %s: %w", m.From.Name, err)
	}
	return nil
}

// connectTarget connects to the database of the target unless it is connected.
func (d *database) connectTarget(ctx context.Context, m *Mover) error {
	if err := reconnect(ctx, &d.to, m.To.Databases[d.service]); err != nil {
		return fmt.Errorf("cell %s: %w", m.To.Name, err)
	}
	return nil
}

// reconnect replaces a connection that was closed, for example by a statement that was cancelled.
func reconnect(ctx context.Context, c **pgx.Conn, address string) error {
	if *c != nil && !(*c).IsClosed() {
		return nil
	}
	again, err := connect(ctx, address)
	if err == nil {
		*c = again
	}
	return err
}

func tablesOf(ctx context.Context, c *pgx.Conn) ([]table, error) {
	rows, err := c.Query(ctx, tablesSQL)
	if err != nil {
		return nil, err
	}
	tables, err := pgx.CollectRows(rows, pgx.RowToStructByName[table])
	if err == nil && len(tables) == 0 {
		err = errors.New("the database has no tables of companies; is the URL the one of this service's database?")
	}
	return tables, err
}

// close closes the connections.
func (d *database) close(ctx context.Context) {
	for _, c := range []*pgx.Conn{d.from, d.to} {
		if c != nil {
			_ = c.Close(ctx)
		}
	}
}

// keys returns companies as an argument of a statement.
func keys(companies []id.Company) []uuid.UUID {
	all := make([]uuid.UUID, len(companies))
	for i, c := range companies {
		all[i] = uuid.UUID(c)
	}
	return all
}

// one returns the only value of a statement.
func one[T any](ctx context.Context, c *pgx.Conn, sql string, args ...any) (v T, err error) {
	err = c.QueryRow(ctx, sql, args...).Scan(&v)
	return v, err
}

// literals returns companies as a list in a statement that takes no arguments.
func literals(companies []id.Company) string {
	all := make([]string, len(companies))
	for i, c := range companies {
		all[i] = "'" + uuid.UUID(c).String() + "'"
	}
	return strings.Join(all, ", ")
}

// literal quotes a text for a statement that takes no arguments. The connection uses standard strings.
func literal(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// deleteBatch is the number of rows that are deleted in a commit.
const deleteBatch = 5000

// deleteRows deletes the rows of companies, in batches. Triggers do not run, because some forbid it.
func (d *database) deleteRows(ctx context.Context, c *pgx.Conn, companies []id.Company) (deleted int64, err error) {
	for _, t := range d.tables {
		leaves, err := leavesOf(ctx, c, t)
		if err != nil {
			return deleted, err
		}
		for _, leaf := range leaves {
			n, err := deleteLeaf(ctx, c, leaf, companies)
			deleted += n
			if err != nil {
				return deleted, fmt.Errorf("%s.%s: %w", d.service, t.Name, err)
			}
		}
	}
	return deleted, nil
}

// leavesSQL lists the tables that have the rows of a table: its partitions, or itself.
const leavesSQL = `select array(
	select quote_ident(c.relname) from pg_class c where c.oid = to_regclass($1) and c.relkind = 'r'
	union select quote_ident(l.relname) from pg_partition_tree(to_regclass($1)) p join pg_class l on l.oid = p.relid where p.isleaf
	order by 1)`

// leavesOf returns the tables that have the rows of t in one cell, because the cells can have other partitions.
func leavesOf(ctx context.Context, c *pgx.Conn, t table) ([]string, error) {
	return one[[]string](ctx, c, leavesSQL, t.quoted())
}

func deleteLeaf(ctx context.Context, c *pgx.Conn, leaf string, companies []id.Company) (deleted int64, err error) {
	sql := fmt.Sprintf(`delete from %s where ctid = any (array(select ctid from %[1]s where company_id = any ($1) limit %d))`, leaf, deleteBatch)
	for {
		var n int64
		err := pgx.BeginFunc(ctx, c, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, `set local session_replication_role = replica`); err != nil {
				return err
			}
			tag, err := tx.Exec(ctx, sql, keys(companies))
			n = tag.RowsAffected()
			return err
		})
		deleted += n
		if err != nil || n == 0 {
			return deleted, err
		}
	}
}

// mark sets the state of the companies in one cell's database, and waits until it counts for every transaction.
func mark(ctx context.Context, c *pgx.Conn, companies []id.Company, state pg.MoveState, otherCell string) error {
	marks := make([]*pg.Move, len(companies))
	for i, company := range companies {
		var err error
		if marks[i], err = pg.MarkMove(ctx, c, company, state, otherCell); err != nil {
			return err
		}
	}
	for _, m := range marks {
		if err := pg.AwaitMove(ctx, c, m); err != nil {
			return err
		}
	}
	return nil
}

// unmark opens the companies that are in a state in one cell's database.
func unmark(ctx context.Context, c *pgx.Conn, companies []id.Company, state pg.MoveState) error {
	for _, company := range companies {
		if err := pg.UnmarkMove(ctx, c, company, state); err != nil {
			return err
		}
	}
	return nil
}
