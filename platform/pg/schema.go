package pg

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/pressly/goose/v3"
)

// ErrSchemaBehind reports a database older than the binary.
var ErrSchemaBehind = errors.New("the database schema is behind this binary: run its migrate command")

// ErrRoleUnsafe reports a role that row level security does not apply to: an owner of
// tables, a superuser, or a role with BYPASSRLS.
var ErrRoleUnsafe = errors.New("the database role is exempt from row level security: use the application role")

// CheckSchema returns ErrSchemaBehind if the database does not have all migrations of m,
// and ErrRoleUnsafe if the tenants' policies do not apply to the role. A database that is
// ahead of m is fine, because migrations are safe while the previous release runs.
func CheckSchema(ctx context.Context, db *DB, m Migrations) error {
	sources, err := m.sources()
	if err != nil {
		return err
	}
	for _, source := range sources {
		want, err := newest(source.FS)
		if err != nil {
			return fmt.Errorf("migrations of %s: %w", source.Part, err)
		}
		have, err := appliedVersion(ctx, db, source.Part)
		if err != nil {
			return fmt.Errorf("schema of %s: %w", source.Part, err)
		}
		if have < want {
			return fmt.Errorf("%w (%s is at version %d, %d is needed)", ErrSchemaBehind, source.Part, have, want)
		}
	}
	exempt, err := One[string](ctx, db, Scope{}, exemptSQL)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return nil
	case err != nil:
		return fmt.Errorf("policies: %w", err)
	}
	return fmt.Errorf("%w (table %s)", ErrRoleUnsafe, exempt)
}

// exemptSQL finds a protected table whose policies do not apply to this session.
const exemptSQL = `select c.relname::text from pg_class c
	where c.relnamespace = 'public'::regnamespace and c.relrowsecurity and not row_security_active(c.oid)
	order by 1 limit 1`

func appliedVersion(ctx context.Context, db *DB, part string) (int64, error) {
	version, err := One[int64](ctx, db, Scope{},
		`select coalesce(max(version_id), 0) from `+versionTable(part)+` where is_applied`)
	var pe *pgconn.PgError
	if errors.As(err, &pe) && pe.Code == codeUndefinedTable {
		return 0, nil
	}
	return version, err
}

// newest returns the highest version among the migration files.
func newest(files fs.FS) (int64, error) {
	names, err := fs.Glob(files, "*.sql")
	if err != nil {
		return 0, err
	}
	var top int64
	for _, name := range names {
		version, err := goose.NumericComponent(path.Base(name))
		if err != nil {
			return 0, err
		}
		top = max(top, version)
	}
	return top, nil
}
