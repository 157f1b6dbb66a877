package service

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"reservation.dev/platform/config"
	"reservation.dev/platform/pg"
)

// Owner holds the settings of the migrate command.
type Owner struct {
	DatabaseURL config.Secret `env:"MIGRATION_DATABASE_URL,required" doc:"PostgreSQL URL of the role that owns the schema"`
	AppRole     string        `env:"DATABASE_APP_ROLE,required" doc:"the service's application role, to which migrate grants its rights"`
	AdminURL    config.Secret `env:"DATABASE_ADMIN_URL" doc:"PostgreSQL URL of a role that can create roles and databases, so that migrate creates those of MIGRATION_DATABASE_URL and DATABASE_URL and sets the passwords; empty: they exist"`
}

// Validate reports URLs that cannot be used.
func (o Owner) Validate() error {
	var faults []error
	if o.DatabaseURL != "" { // reported as required
		faults = append(faults, pg.CheckURL("MIGRATION_DATABASE_URL", o.DatabaseURL))
	}
	if o.AdminURL != "" {
		faults = append(faults, pg.CheckURL("DATABASE_ADMIN_URL", o.AdminURL))
	}
	return errors.Join(faults...)
}

// migrate brings the service's database to the schema of this binary. With
// DATABASE_ADMIN_URL, it creates the database and its roles first if they are missing.
func migrate(ctx context.Context, p Part, env config.Env) error {
	if p.Migrations == nil {
		return errors.New("this service has no database: there is nothing to migrate")
	}
	var owner Owner
	var app application
	var proc Process
	groups := []any{&proc, &owner}
	if env.Value("DATABASE_ADMIN_URL") != "" {
		groups = append(groups, &app)
	}
	var faults []error
	for _, group := range groups {
		faults = append(faults, config.Read(env, group))
	}
	if proc.Stage == Production {
		for _, group := range groups {
			faults = append(faults, config.CheckProduction(env, group))
		}
	}
	if err := config.JoinFaults(faults...); err != nil {
		return err
	}
	if owner.AdminURL != "" {
		if err := ensureDatabase(ctx, owner, app); err != nil {
			return err
		}
	}
	return pg.Migrate(ctx, owner.DatabaseURL.Reveal(), pg.Migrations{
		Part: p.Name, FS: p.Migrations, AppRole: owner.AppRole,
	})
}

// application holds the URL of the service's own role. migrate sets the role's password
// when it creates the database.
type application struct {
	URL config.Secret `env:"DATABASE_URL,required"`
}

// ensureDatabase creates the database and the roles that the URLs name, if they are missing.
func ensureDatabase(ctx context.Context, owner Owner, app application) error {
	ownerRole, ownerErr := parseLogin("MIGRATION_DATABASE_URL", owner.DatabaseURL)
	appRole, appErr := parseLogin("DATABASE_URL", app.URL)
	if err := errors.Join(ownerErr, appErr); err != nil {
		return err
	}
	if appRole.role != owner.AppRole || appRole.database != ownerRole.database {
		return fmt.Errorf("DATABASE_URL has the role %q and the database %q, but DATABASE_APP_ROLE is %q and MIGRATION_DATABASE_URL has the database %q",
			appRole.role, appRole.database, owner.AppRole, ownerRole.database)
	}
	passwords := map[string]string{ownerRole.role: ownerRole.password, appRole.role: appRole.password}
	_, _, err := pg.EnsureDatabase(ctx, owner.AdminURL.Reveal(), ownerRole.database, ownerRole.role, appRole.role,
		func(role string) string { return passwords[role] })
	return err
}

// login holds the role, password and database of a PostgreSQL URL.
type login struct{ role, password, database string }

// parseLogin parses the URL of the setting name. Its errors do not show the URL, because
// it contains a password.
func parseLogin(name string, raw config.Secret) (login, error) {
	u, err := url.Parse(raw.Reveal())
	if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" {
		return login{}, fmt.Errorf("%s is not a URL like postgres://role:password@host:5432/database", name)
	}
	l := login{role: u.User.Username(), database: strings.TrimPrefix(u.Path, "/")}
	l.password, _ = u.User.Password()
	if l.role == "" || l.password == "" || l.database == "" {
		return login{}, fmt.Errorf("%s must contain a role, a password and a database, so that migrate can create them", name)
	}
	return l, nil
}
