package move

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/id"
)

const (
	schemaSQL = `select coalesce(max(version_id), 0) from %s where is_applied`

	superuserSQL = `select rolsuper from pg_roles where rolname = current_user`

	settingSQL = `select setting from pg_settings where name = $1`

	usedSlotsSQL = `select count(*) from pg_replication_slots`

	usedWorkersSQL = `select count(*) from pg_subscription where subenabled`

	companiesSQL = `select count(*) from companies where company_id = any ($1)`

	// globalSQL lists the unique columns whose values must differ between companies too.
	globalSQL = `select c.relname::text, array(select quote_ident(a.attname) from pg_attribute a
				where a.attrelid = c.oid and a.attnum = any (i.indkey) order by array_position(i.indkey::smallint[], a.attnum))
		from pg_index i join pg_class c on c.oid = i.indrelid
		where i.indisunique and c.relnamespace = 'public'::regnamespace and not c.relispartition and c.relname = any ($1)
			and 0 <> all (i.indkey::smallint[])
			and not exists (select from pg_attribute a where a.attrelid = c.oid and a.attnum = any (i.indkey) and a.attname = 'company_id')`
)

// check refuses a move that cannot succeed, before anything is changed.
func (m *Mover) check(ctx context.Context) error {
	m.progress("checking both cells")
	known, err := one[int64](ctx, m.auth().from, companiesSQL, keys(m.companies[:1]))
	if err != nil {
		return err
	}
	if known == 0 {
		return fmt.Errorf("cell %s does not have the company %s", m.From.Name, m.Company)
	}
	if err := m.each(ctx, (*database).check); err != nil {
		return err
	}
	if err := m.checkServers(ctx); err != nil {
		return err
	}
	if err := m.checkKeys(ctx); err != nil {
		return err
	}
	m.progress("verifying the company in %s", m.From.Name)
	if err := m.verify(ctx, m.From, m.auth().from); err != nil {
		return fmt.Errorf("the company's numbers do not add up in %s, so it is not moved: %w", m.From.Name, err)
	}
	return nil
}

// A verification that fails is repeated, because a purchase in progress can look like a difference.
const (
	verifyAttempts = 3
	verifyPause    = 2 * time.Second
)

// verifyOne verifies a company, and repeats it if it fails.
func (m *Mover) verifyOne(ctx context.Context, cell *Cell, company id.Company) (err error) {
	for attempt := range verifyAttempts {
		if attempt > 0 {
			m.progress("verifying again: %v", err)
			if err := pause(ctx, verifyPause); err != nil {
				return err
			}
		}
		if err = m.Verify(ctx, cell, company); err == nil {
			return nil
		}
	}
	return err
}

// verify verifies the companies that a cell has.
func (m *Mover) verify(ctx context.Context, cell *Cell, auth *pgx.Conn) error {
	for _, company := range m.companies {
		known, err := one[int64](ctx, auth, companiesSQL, keys([]id.Company{company}))
		if err != nil {
			return err
		}
		if known > 0 {
			if err := m.verifyOne(ctx, cell, company); err != nil {
				return err
			}
		}
	}
	return nil
}

// check compares the schemas, and refuses rows at the target that the copy would collide with.
func (d *database) check(ctx context.Context, m *Mover) error {
	for _, schema := range []string{"platform_schema", d.service + "_schema"} {
		from, err := one[int64](ctx, d.from, fmt.Sprintf(schemaSQL, schema))
		if err != nil {
			return fmt.Errorf("cell %s: %w", m.From.Name, err)
		}
		to, err := one[int64](ctx, d.to, fmt.Sprintf(schemaSQL, schema))
		if err != nil {
			return fmt.Errorf("cell %s: %w", m.To.Name, err)
		}
		if from != to {
			return fmt.Errorf("%s is at version %d in %s and at %d in %s; upgrade both cells to the same release", schema, from, m.From.Name, to, m.To.Name)
		}
	}
	for cell, c := range map[string]*pgx.Conn{m.From.Name: d.from, m.To.Name: d.to} {
		if super, err := one[bool](ctx, c, superuserSQL); err != nil || !super {
			return errors.Join(err, fmt.Errorf("cell %s: the role of the URL must be a superuser, to replicate and to pass the tenants' policies", cell))
		}
	}
	for _, t := range d.tables {
		if !t.Keyed {
			return fmt.Errorf("the primary key of %s does not contain company_id, so it cannot be replicated by company", t.Name)
		}
		found, err := one[bool](ctx, d.to, fmt.Sprintf(`select exists (select from %s where company_id = any ($1))`, t.quoted()), keys(m.companies))
		if err != nil {
			return err
		}
		if found {
			return fmt.Errorf("cell %s has rows of the company in %s already", m.To.Name, t.Name)
		}
	}
	return d.checkGlobal(ctx, m)
}

// checkGlobal refuses values that are unique in a cell and that another company of the target has, such as the
// e-mail address of an administrator.
func (d *database) checkGlobal(ctx context.Context, m *Mover) error {
	names := make([]string, len(d.tables))
	for i, t := range d.tables {
		names[i] = t.Name
	}
	rows, err := d.from.Query(ctx, globalSQL, names)
	if err != nil {
		return err
	}
	type unique struct {
		Table   string
		Columns []string
	}
	all, err := pgx.CollectRows(rows, pgx.RowToStructByPos[unique])
	if err != nil {
		return err
	}
	for _, u := range all {
		columns := strings.Join(u.Columns, ", ")
		table := pgx.Identifier{u.Table}.Sanitize()
		if len(u.Columns) != 1 {
			return fmt.Errorf("the unique index of %s (%s) does not contain company_id; this release cannot compare it", u.Table, columns)
		}
		if err := d.collide(ctx, m, table, columns); err != nil {
			return err
		}
	}
	return nil
}

// comparedAtOnce is the number of values that are compared with the target at a time.
const comparedAtOnce = 1000

func (d *database) collide(ctx context.Context, m *Mover, table, column string) error {
	kind, err := one[string](ctx, d.to, fmt.Sprintf(`select format_type(atttypid, atttypmod) from pg_attribute
		where attrelid = '%s'::regclass and quote_ident(attname) = $1`, table), column)
	if err != nil {
		return err
	}
	read := fmt.Sprintf(`select %s::text as value from %s where company_id = any ($1) and %[1]s is not null and %[1]s::text > $2 order by 1 limit %[3]d`, column, table, comparedAtOnce)
	find := fmt.Sprintf(`select count(*) from %s where %s = any ($1::text[]::%s[]) and company_id <> all ($2)`, table, column, kind)
	for after := ""; ; {
		rows, err := d.from.Query(ctx, read, keys(m.companies), after)
		if err != nil {
			return err
		}
		values, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil || len(values) == 0 {
			return err
		}
		n, err := one[int64](ctx, d.to, find, values, keys(m.companies))
		if err != nil {
			return err
		}
		if n > 0 {
			return fmt.Errorf("%d values of %s.%s belong to another company in %s; change them in one of the cells first", n, table, column, m.To.Name)
		}
		after = values[len(values)-1]
	}
}

// checkServers refuses servers whose settings are too small for a move.
func (m *Mover) checkServers(ctx context.Context) error {
	from, to := m.auth().from, m.auth().to
	level, err := one[string](ctx, from, settingSQL, "wal_level")
	if err != nil {
		return err
	}
	if level != "logical" {
		return fmt.Errorf("cell %s: wal_level is %s; set wal_level = logical and restart its PostgreSQL server", m.From.Name, level)
	}
	// Each database needs a subscription, and the copy of its tables two more at a time.
	needed := int64(len(m.databases)) + 2
	for _, s := range []struct {
		cell    string
		c       *pgx.Conn
		setting string
		used    string
	}{
		{m.From.Name, from, "max_replication_slots", usedSlotsSQL},
		{m.From.Name, from, "max_wal_senders", usedSlotsSQL},
		{m.To.Name, to, "max_logical_replication_workers", usedWorkersSQL},
		{m.To.Name, to, "max_replication_slots", usedWorkersSQL},
		{m.To.Name, to, "max_worker_processes", usedWorkersSQL},
	} {
		limit, err := one[int64](ctx, s.c, `select setting::bigint from pg_settings where name = $1`, s.setting)
		if err != nil {
			return err
		}
		used, err := one[int64](ctx, s.c, s.used)
		if err != nil {
			return err
		}
		if limit < used+needed {
			return fmt.Errorf("cell %s: %s is %d and %d are used; a move needs %d more: set it to %d or more and restart PostgreSQL",
				s.cell, s.setting, limit, used, needed, used+needed)
		}
	}
	return nil
}
