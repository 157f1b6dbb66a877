package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"

	"golang.org/x/sync/errgroup"

	"reservation.dev/devkit/pgserver"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/service"
)

// startPostgres starts the private PostgreSQL server.
func startPostgres(ctx context.Context, s *Settings, log *slog.Logger) (*pgserver.Server, error) {
	srv, err := pgserver.Start(ctx, pgserver.Options{
		Dir: filepath.Join(s.DataDir, "postgres"), Port: s.PortBase + portPostgres,
		Durable: pgserver.Safe, Log: log, MaxConnections: 100,
	})
	if errors.Is(err, pgserver.ErrPortTaken) {
		err = fmt.Errorf("port %d (PostgreSQL) is used by another program\nset another PORT_BASE (now %d) to move all ports",
			s.PortBase+portPostgres, s.PortBase)
	}
	return srv, err
}

// prepareDatabases creates the missing databases and roles of the services, and migrates the
// databases. It returns the URLs with which the services connect, by service.
func prepareDatabases(ctx context.Context, adminURL string, s *Settings, st *state, parts []service.Part) (map[string]string, error) {
	urls := map[string]string{}
	owners := map[string]string{}
	for _, p := range parts {
		if p.Migrations == nil {
			continue
		}
		name := s.DBPrefix + p.Name
		owner, app, err := pg.EnsureDatabase(ctx, adminURL, name, name+"_owner", name, st.secretFor)
		if err != nil {
			if s.DatabaseURL != "" {
				err = fmt.Errorf("the server of DATABASE_URL: %w", err)
			}
			return nil, err
		}
		owners[p.Name], urls[p.Name] = owner, app
	}
	if err := st.save(); err != nil {
		return nil, err
	}
	g, ctx := errgroup.WithContext(ctx)
	for _, p := range parts {
		if p.Migrations == nil {
			continue
		}
		g.Go(func() error {
			return pg.Migrate(ctx, owners[p.Name], pg.Migrations{Part: p.Name, FS: p.Migrations, AppRole: s.DBPrefix + p.Name})
		})
	}
	return urls, g.Wait()
}
