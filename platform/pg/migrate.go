package pg

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"regexp"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
)

// Migrations is the schema of one service.
type Migrations struct {
	// Part is the service's name, in lower-case letters, digits and underscores.
	Part string
	// FS has the service's migrations in its root, as 0001_what.sql with goose's
	// annotations. nil means that it has none. Migrations only go forward, and can run
	// while the previous release is running.
	FS fs.FS
	// AppRole is the role that the service runs as. Migrate grants it the use of the
	// tables, never their ownership. "" means that it grants nothing.
	AppRole string
}

//go:embed migrations/*.sql
var embedded embed.FS

// platformPart is the name under which goose records the migrations of the tables that every
// service has.
const platformPart = "platform"

var partName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,40}$`)

// versionTable is the table in which goose records the applied migrations.
func versionTable(part string) string { return part + "_schema" }

// sources returns the migrations in the order in which they are applied: first those of the
// tables that every service has, then the service's own.
func (m Migrations) sources() ([]Migrations, error) {
	if !partName.MatchString(m.Part) || m.Part == platformPart {
		return nil, fmt.Errorf("migrations: %q cannot be the name of a service", m.Part)
	}
	own, err := fs.Sub(embedded, "migrations")
	if err != nil {
		return nil, fmt.Errorf("migrations: %w", err)
	}
	all := []Migrations{{Part: platformPart, FS: own}}
	if m.FS != nil {
		all = append(all, m)
	}
	return all, nil
}

const (
	// migrationLock is the advisory lock that migrations of one database hold.
	migrationLock int64 = 0x7265736572766174
	// lockPoll is how often a second process checks whether the first one has finished.
	// It polls because a session that waits inside PostgreSQL holds a snapshot, and the
	// first one's CREATE INDEX CONCURRENTLY would wait for that snapshot.
	lockPoll = 200 * time.Millisecond
	// lockAttempts is how often a migration that cannot lock its table is tried.
	lockAttempts = 5
)

// Migrate applies the migrations of m to the database at ownerURL, whose role owns the
// tables. It starts with the tables that every service has, and skips migrations that are
// already applied. It waits for the server as Open does, and for another process that is
// migrating. A migration that waits more than 5 s for a lock is cancelled, so that the
// queries behind it can continue, and is tried again, up to five times.
func Migrate(ctx context.Context, ownerURL string, m Migrations) error {
	sources, err := m.sources()
	if err != nil {
		return err
	}
	cc, err := pgx.ParseConfig(ownerURL)
	if err != nil {
		return fmt.Errorf("migrations: %w", urlFault("MIGRATION_DATABASE_URL", err))
	}
	setDefaults(cc.RuntimeParams, map[string]string{
		"search_path": "public", "timezone": "UTC", "lock_timeout": "5000", "statement_timeout": "0",
	})
	var guard *pgx.Conn
	err = waitFor(ctx, defaultStartTimeout, slog.Default(), func(ctx context.Context) (err error) {
		guard, err = pgx.ConnectConfig(ctx, cc)
		return err
	})
	if err != nil {
		return fmt.Errorf("migrations: %w", err)
	}
	// The lock ends with the session.
	defer func() { _ = guard.Close(context.WithoutCancel(ctx)) }()
	if err := lockMigrations(ctx, guard); err != nil {
		return err
	}
	db := stdlib.OpenDB(*cc)
	defer func() { _ = db.Close() }()
	for _, source := range sources {
		if err := apply(ctx, db, source); err != nil {
			return err
		}
	}
	if m.AppRole == "" {
		return nil
	}
	return errors.Join(grant(ctx, guard, m), closeDatabase(ctx, guard, m))
}

const (
	// openSQL reports whether the rights to connect differ from those that closeSQL sets,
	// and this role can change them.
	openSQL = `select pg_has_role(datdba, 'USAGE')
			and (has_database_privilege('public', oid, 'CONNECT') or not has_database_privilege($1::text, oid, 'CONNECT'))
		from pg_database where datname = current_database()`

	closeSQL = `do $$ begin
		execute format('grant connect on database %I to %I', current_database(), current_setting('app.role'));
		execute format('revoke connect, temporary on database %I from public', current_database());
	end $$`
)

// closeDatabase revokes from other roles, such as those of other services, the right to
// connect that PostgreSQL grants to everybody on a new database.
func closeDatabase(ctx context.Context, c *pgx.Conn, m Migrations) error {
	var open bool
	if err := c.QueryRow(ctx, openSQL, m.AppRole).Scan(&open); err != nil || !open {
		return err
	}
	err := pgx.BeginFunc(ctx, c, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `select set_config('app.role', $1, true)`, m.AppRole); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, closeSQL)
		return err
	})
	if err != nil {
		return fmt.Errorf("migrations: rights to connect: %w", err)
	}
	return nil
}

func lockMigrations(ctx context.Context, c *pgx.Conn) error {
	for {
		var got bool
		if err := c.QueryRow(ctx, `select pg_try_advisory_lock($1)`, migrationLock).Scan(&got); err != nil {
			return fmt.Errorf("migrations: lock: %w", err)
		}
		if got {
			return nil
		}
		if err := sleep(ctx, lockPoll); err != nil {
			return fmt.Errorf("migrations: another process is migrating: %w", err)
		}
	}
}

func apply(ctx context.Context, db *sql.DB, m Migrations) error {
	provider, err := goose.NewProvider(goose.DialectPostgres, db, m.FS,
		goose.WithTableName(versionTable(m.Part)), goose.WithDisableGlobalRegistry(true))
	if errors.Is(err, goose.ErrNoMigrations) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("migrations of %s: %w", m.Part, err)
	}
	for attempt := 1; ; attempt++ {
		_, err = provider.Up(ctx)
		if err == nil {
			return nil
		}
		var pe *pgconn.PgError
		if attempt == lockAttempts || !errors.As(err, &pe) || pe.Code != codeLockNotAvailable {
			return fmt.Errorf("migrations of %s: %w", m.Part, err)
		}
		if err := sleep(ctx, time.Second); err != nil {
			return fmt.Errorf("migrations of %s: %w", m.Part, err)
		}
	}
}

// grant grants the application role the use of the tables, and nothing more. The role can
// read the version of the schema but cannot write it.
func grant(ctx context.Context, c *pgx.Conn, m Migrations) error {
	role := pgx.Identifier{m.AppRole}.Sanitize()
	statements := []string{
		`grant usage on schema public to ` + role,
		`grant select, insert, update, delete on all tables in schema public to ` + role,
		`revoke insert, update, delete on ` + versionTable(platformPart) + `, company_moves from ` + role,
		`grant usage on all sequences in schema public to ` + role,
		`grant execute on function app_company(), app_all_companies(), app_enter(text) to ` + role,
	}
	err := pgx.BeginFunc(ctx, c, func(tx pgx.Tx) error {
		var versioned bool // a service without migrations has no version table
		if err := tx.QueryRow(ctx, `select to_regclass($1) is not null`, versionTable(m.Part)).Scan(&versioned); err != nil {
			return err
		}
		if versioned {
			statements = append(statements, `revoke insert, update, delete on `+versionTable(m.Part)+` from `+role)
		}
		for _, statement := range statements {
			if _, err := tx.Exec(ctx, statement); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("migrations: grants to %s: %w", m.AppRole, err)
	}
	return nil
}
