package pg

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/jackc/pgx/v5"
)

// ensureLock is the advisory lock that a process holds while it creates databases and
// roles.
const ensureLock int64 = 0x7265736572766462

// EnsureDatabase creates the database name on the server at adminURL, its owner ownerRole,
// and appRole, the role of the service, unless they exist. appRole can only connect;
// migrations grant it rights on tables. Both roles log in with the passwords that secretFor
// returns, and each call sets these passwords again. Other roles lose the rights that
// PostgreSQL grants to everybody on a new database. Several processes can call
// EnsureDatabase at the same time.
//
// The role of adminURL must be a superuser or have CREATEDB and CREATEROLE. The returned
// URLs keep the options of adminURL, such as sslmode. Migrations use the owner's URL, and
// the service uses the application's. EnsureDatabase returns an error if row level security
// does not apply to an existing role.
func EnsureDatabase(ctx context.Context, adminURL, name, ownerRole, appRole string,
	secretFor func(role string) string) (ownerURL, appURL string, err error) {
	e := ensurer{name: name, owner: ownerRole, app: appRole, secretFor: secretFor}
	if err := e.check(adminURL); err != nil {
		return "", "", fmt.Errorf("database %s: %w", name, err)
	}
	if err := e.ensure(ctx); err != nil {
		return "", "", fmt.Errorf("database %s: %w", name, err)
	}
	return e.url(ownerRole, secretFor(ownerRole)), e.url(appRole, secretFor(appRole)), nil
}

type ensurer struct {
	admin            *url.URL
	name, owner, app string
	secretFor        func(role string) string

	conn      *pgx.Conn
	superuser bool
}

func (e *ensurer) check(adminURL string) error {
	u, err := url.Parse(adminURL)
	if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" {
		// The error does not quote the URL, which can contain a password.
		return errors.New("the administrator's address must be a URL like postgres://user:password@host:5432/; in the password, write % as %25, # as %23 and a space as %20")
	}
	e.admin = u
	for _, s := range []string{e.name, e.owner, e.app} {
		// PostgreSQL truncates longer names.
		if s == "" || len(s) > 63 || strings.ContainsRune(s, 0) {
			return fmt.Errorf("%q cannot be the name of a database or role", s)
		}
	}
	if e.owner == e.app {
		return fmt.Errorf("the owner and the application must have different roles, but both are %s", e.owner)
	}
	return nil
}

// url returns the administrator's URL with another role and database.
func (e *ensurer) url(role, password string) string {
	u := *e.admin
	u.Path = "/" + e.name
	u.User = url.UserPassword(role, password)
	query := u.Query()
	for _, key := range []string{"user", "password", "dbname", "database", "passfile", "service", "servicefile"} {
		query.Del(key)
	}
	u.RawQuery = query.Encode()
	return u.String()
}

func (e *ensurer) ensure(ctx context.Context) (err error) {
	e.conn, err = pgx.Connect(ctx, e.admin.String())
	if err != nil {
		return err
	}
	defer e.conn.Close(context.WithoutCancel(ctx)) // releases the lock as well
	if _, err := e.conn.Exec(ctx, `select pg_advisory_lock($1)`, ensureLock); err != nil {
		return err
	}
	var me string
	err = e.conn.QueryRow(ctx, `select rolname, rolsuper from pg_roles where rolname = current_user`).Scan(&me, &e.superuser)
	if err != nil {
		return err
	}
	for _, role := range []string{e.owner, e.app} {
		if role == me {
			return fmt.Errorf("the role %s is the role of the administrator's address; use another", role)
		}
		if err := e.ensureRole(ctx, role); err != nil {
			return fmt.Errorf("role %s: %w", role, err)
		}
	}
	var member bool
	if err := e.conn.QueryRow(ctx, `select pg_has_role($1, $2, 'MEMBER')`, e.app, e.owner).Scan(&member); err != nil {
		return err
	}
	if member {
		return fmt.Errorf("the role %s must not be a member of %s, because it could then own tables", e.app, e.owner)
	}
	if err := e.ensureDatabase(ctx); err != nil {
		return err
	}
	return e.ensureSchema(ctx)
}

func (e *ensurer) ensureRole(ctx context.Context, role string) error {
	var privileged bool
	err := e.conn.QueryRow(ctx, `select rolsuper or rolbypassrls from pg_roles where rolname = $1`, role).Scan(&privileged)
	quoted := quote(role)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		_, err = e.conn.Exec(ctx, `create role `+quoted+` nosuperuser nobypassrls nocreatedb nocreaterole noreplication`)
	case err == nil && privileged:
		err = errors.New("row level security does not apply to it (SUPERUSER or BYPASSRLS); use another role, or revoke the attribute")
	}
	if err != nil {
		return err
	}
	if _, err := e.conn.Exec(ctx, `alter role `+quoted+` login password `+literal(e.secretFor(role))); err != nil {
		return err
	}
	if role != e.owner || e.superuser {
		return nil
	}
	// Only a member of a role can make that role an owner.
	_, err = e.conn.Exec(ctx, `grant `+quoted+` to current_user`)
	return err
}

func (e *ensurer) ensureDatabase(ctx context.Context) error {
	var owner, encoding string
	err := e.conn.QueryRow(ctx, `select pg_get_userbyid(datdba), pg_encoding_to_char(encoding)
		from pg_database where datname = $1`, e.name).Scan(&owner, &encoding)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		// Text sorts by code point on every server, regardless of the server's language.
		_, err = e.conn.Exec(ctx, `create database `+quote(e.name)+` owner `+quote(e.owner)+
			` template template0 encoding 'UTF8' locale_provider libc lc_collate 'C'`)
	case err != nil:
	case encoding != "UTF8":
		err = fmt.Errorf("it exists with the encoding %s; it must have UTF8", encoding)
	case owner != e.owner:
		_, err = e.conn.Exec(ctx, `alter database `+quote(e.name)+` owner to `+quote(e.owner))
	}
	if err != nil {
		return err
	}
	for _, statement := range []string{
		`revoke all on database ` + quote(e.name) + ` from public`,
		`grant connect on database ` + quote(e.name) + ` to ` + quote(e.app),
	} {
		if _, err := e.conn.Exec(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// ensureSchema restricts the schema public to the owner. On a server that was upgraded
// from a version before 15, everybody can still create tables in it.
func (e *ensurer) ensureSchema(ctx context.Context) error {
	config := e.conn.Config().Copy()
	config.Database = e.name
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	for _, statement := range []string{
		`revoke all on schema public from public`,
		`grant all on schema public to ` + quote(e.owner),
		`grant usage on schema public to ` + quote(e.app),
	} {
		if _, err := conn.Exec(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

func quote(name string) string { return pgx.Identifier{name}.Sanitize() }

// literal quotes s for statements that accept no parameters. The result is correct with
// either value of the server's standard_conforming_strings.
func literal(s string) string {
	s = strings.ReplaceAll(s, "\x00", "")
	s = strings.ReplaceAll(s, `\`, `\\`)
	return ` E'` + strings.ReplaceAll(s, `'`, `''`) + `'`
}
