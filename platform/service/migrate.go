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
	AppRole     string        `env:"DATABASE_APP_ROLE,required" doc:"the role that the service itself connects as, which gets its rights"`
	AdminURL    config.Secret `env:"DATABASE_ADMIN_URL" doc:"PostgreSQL URL of a role that may create roles and databases: migrate first makes the database and the two roles of MIGRATION_DATABASE_URL and DATABASE_URL, and sets their passwords; empty: they are there"`
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

// migrate brings the part's database to this binary's schema; with an
// administrator's URL it makes the database where there is none.
func migrate(ctx context.Context, p Part, env config.Env) error {
	if p.Migrations == nil {
		return errors.New("this part has no database")
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

// application is whom the service itself connects as; migrate sets its password
// where it makes the database.
type application struct {
	URL config.Secret `env:"DATABASE_URL,required"`
}

// ensureDatabase makes the database and the roles that the URLs name.
func ensureDatabase(ctx context.Context, owner Owner, app application) error {
	ownerRole, ownerErr := parseLogin("MIGRATION_DATABASE_URL", owner.DatabaseURL)
	appRole, appErr := parseLogin("DATABASE_URL", app.URL)
	if err := errors.Join(ownerErr, appErr); err != nil {
		return err
	}
	if appRole.role != owner.AppRole || appRole.database != ownerRole.database {
		return fmt.Errorf("DATABASE_URL is of role %q and database %q, DATABASE_APP_ROLE is %q and MIGRATION_DATABASE_URL is of database %q",
			appRole.role, appRole.database, owner.AppRole, ownerRole.database)
	}
	passwords := map[string]string{ownerRole.role: ownerRole.password, appRole.role: appRole.password}
	_, _, err := pg.EnsureDatabase(ctx, owner.AdminURL.Reveal(), ownerRole.database, ownerRole.role, appRole.role,
		func(role string) string { return passwords[role] })
	return err
}

// login is what a PostgreSQL URL says of who connects, and to what.
type login struct{ role, password, database string }

// parseLogin reads the URL of the setting name. Its errors do not show the URL,
// which holds a password.
func parseLogin(name string, raw config.Secret) (login, error) {
	u, err := url.Parse(raw.Reveal())
	if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" {
		return login{}, fmt.Errorf("%s is no URL like postgres://role:password@host:5432/database", name)
	}
	l := login{role: u.User.Username(), database: strings.TrimPrefix(u.Path, "/")}
	l.password, _ = u.User.Password()
	if l.role == "" || l.password == "" || l.database == "" {
		return login{}, fmt.Errorf("%s must have a role, a password and a database for them to be made", name)
	}
	return l, nil
}
