package pg

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
)

// renew returns a hook that reads the files again for each new connection:
// DATABASE_URL_FILE, and the certificates that the URL names. So a password, a role, a
// certificate or an authority can be replaced without a restart. An existing connection
// keeps its own for about an hour at most. If a file cannot be read, the hook uses the
// previous content.
func renew(cfg Config, log *slog.Logger) func(context.Context, *pgx.ConnConfig) error {
	var last atomic.Pointer[pgx.ConnConfig]
	return func(ctx context.Context, cc *pgx.ConnConfig) error {
		fresh, err := cfg.connConfig()
		if err != nil {
			log.WarnContext(ctx, "the database's settings cannot be read again; the earlier ones stay in use", "error", err.Error())
			if fresh = last.Load(); fresh == nil {
				return nil
			}
		}
		last.Store(fresh)
		cc.Host, cc.Port, cc.Database = fresh.Host, fresh.Port, fresh.Database
		cc.User, cc.Password = fresh.User, fresh.Password
		cc.TLSConfig, cc.Fallbacks = fresh.TLSConfig, fresh.Fallbacks
		cc.ValidateConnect = validator(fresh)
		return nil
	}
}

// connConfig reads the URL and the files that it names. Its errors never contain a
// password.
func (c Config) connConfig() (*pgx.ConnConfig, error) {
	raw, name := c.URL.Reveal(), "DATABASE_URL"
	if c.URLFile != "" {
		text, err := os.ReadFile(c.URLFile)
		if err != nil {
			return nil, fmt.Errorf("DATABASE_URL_FILE: %w", err)
		}
		raw, name = strings.TrimRight(string(text), "\r\n"), "DATABASE_URL_FILE"
	}
	cc, err := pgx.ParseConfig(raw)
	if err != nil {
		return nil, urlFault(name, err)
	}
	return cc, nil
}
