package pg

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"reservation.dev/platform/config"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/pg/turns"
	"reservation.dev/platform/telemetry"
)

// Config has the settings of a service's connection to its database.
type Config struct {
	URL              config.Secret `env:"DATABASE_URL" doc:"PostgreSQL URL of the service's database, with the application role (not the owner)"`
	URLFile          string        `env:"DATABASE_URL_FILE" doc:"file with DATABASE_URL; read again for each new connection"`
	MaxConns         int           `env:"DATABASE_MAX_CONNS" envDefault:"8" doc:"maximum database connections of a process; about 4 per core of the database's share"`
	StatementTimeout time.Duration `env:"DATABASE_STATEMENT_TIMEOUT" envDefault:"15s" doc:"maximum duration of a statement; streams are exempt"`
	StartTimeout     time.Duration `env:"DATABASE_START_TIMEOUT" envDefault:"30s" doc:"how long to wait for the database at start"`
}

// Validate reports every invalid setting.
func (c Config) Validate() error {
	var faults []error
	if c.URL == "" {
		faults = append(faults, errors.New("DATABASE_URL is required"))
	} else if err := CheckURL("DATABASE_URL", c.URL); err != nil {
		faults = append(faults, err)
	}
	if c.MaxConns < 1 || c.MaxConns > 1000 {
		faults = append(faults, fmt.Errorf("DATABASE_MAX_CONNS is %d; it must be 1 to 1000", c.MaxConns))
	}
	if c.StatementTimeout <= 0 {
		faults = append(faults, errors.New("DATABASE_STATEMENT_TIMEOUT must be positive"))
	}
	if c.StartTimeout <= 0 {
		faults = append(faults, errors.New("DATABASE_START_TIMEOUT must be positive"))
	}
	return errors.Join(faults...)
}

// The defaults for a Config that was not read from the environment.
const (
	defaultMaxConns         = 8
	defaultStatementTimeout = 15 * time.Second
	defaultStartTimeout     = 30 * time.Second
)

func (c Config) withDefaults() Config {
	if c.MaxConns == 0 {
		c.MaxConns = defaultMaxConns
	}
	if c.StatementTimeout == 0 {
		c.StatementTimeout = defaultStatementTimeout
	}
	if c.StartTimeout == 0 {
		c.StartTimeout = defaultStartTimeout
	}
	return c
}

// DB is a pool of connections to a service's database. It is safe for concurrent use.
type DB struct {
	pool     *pgxpool.Pool
	turns    *turns.Turns[Scope]
	log      *slog.Logger
	maxConns int

	txRetries   atomic.Int64 // transactions repeated after losing to another
	connRetries atomic.Int64 // statements repeated on another connection
}

// Open creates a pool and waits up to cfg.StartTimeout for the server to answer. It fails
// immediately if the URL is invalid, and with the last error after the timeout.
func Open(ctx context.Context, cfg Config, log *slog.Logger) (*DB, error) {
	cfg = cfg.withDefaults()
	pc, err := poolConfig(cfg)
	if err != nil {
		return nil, err
	}
	pc.BeforeConnect = renew(cfg, log)
	pool, err := pgxpool.NewWithConfig(ctx, pc)
	if err != nil {
		return nil, fmt.Errorf("database: %w", err)
	}
	db := &DB{pool: pool, turns: turns.New[Scope](cfg.MaxConns), log: log, maxConns: cfg.MaxConns}
	if err := waitFor(ctx, cfg.StartTimeout, log, db.Ping); err != nil {
		pool.Close()
		return nil, err
	}
	return db, nil
}

func poolConfig(cfg Config) (*pgxpool.Config, error) {
	pc, err := pgxpool.ParseConfig(cfg.URL.Reveal())
	if err != nil {
		return nil, fmt.Errorf("database: %w", urlFault("DATABASE_URL", err))
	}
	pc.MaxConns = int32(cfg.MaxConns)
	pc.MaxConnLifetime = time.Hour
	pc.MaxConnLifetimeJitter = 10 * time.Minute
	pc.MaxConnIdleTime = 10 * time.Minute
	// If an idle connection was lost, its first statement fails and is repeated on another
	// connection. So the pool does not need a round trip to check the connection first.
	pc.ShouldPing = func(context.Context, pgxpool.ShouldPingParams) bool { return false }
	pc.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeCacheStatement
	setDefaults(pc.ConnConfig.RuntimeParams, map[string]string{
		"search_path":       "public",
		"timezone":          "UTC",
		"jit":               "off", // compiling a query takes longer than running it
		"random_page_cost":  "1.1", // most data is in memory or on an SSD
		"statement_timeout": strconv.FormatInt(cfg.StatementTimeout.Milliseconds(), 10),
		// A process that hangs inside a transaction must not hold its locks permanently.
		"idle_in_transaction_session_timeout": "60000",
	})
	if telemetry.IsTracing() {
		pc.ConnConfig.Tracer = tracer{database: pc.ConnConfig.Database}
	}
	if pc.ConnConfig.ConnectTimeout == 0 {
		pc.ConnConfig.ConnectTimeout = 5 * time.Second
	}
	pc.ConnConfig.DialFunc = dialFunc(pc.ConnConfig.ConnectTimeout)
	pc.ConnConfig.ValidateConnect = validator(pc.ConnConfig)
	return pc, nil
}

// validator returns the check of a new connection that the URL chooses with target_session_attrs.
// Without it, a standby is refused, because a service would answer from old data and could not write.
func validator(cc *pgx.ConnConfig) pgconn.ValidateConnectFunc {
	if cc.ValidateConnect != nil {
		return cc.ValidateConnect
	}
	return pgconn.ValidateConnectTargetSessionAttrsPrimary
}

// setDefaults adds the defaults that params does not set.
func setDefaults(params, defaults map[string]string) {
	for name, value := range defaults {
		if _, said := params[name]; !said {
			params[name] = value
		}
	}
}

// waitFor calls try until it succeeds, ctx ends or limit has passed.
func waitFor(ctx context.Context, limit time.Duration, log *slog.Logger, try func(context.Context) error) error {
	deadline := time.Now().Add(limit)
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, 2*time.Second) {
		err := try(ctx)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("database: %w", ctx.Err())
		}
		left := time.Until(deadline)
		if left <= 0 {
			return fmt.Errorf("database did not answer within %s: %w", limit, explain(err))
		}
		log.WarnContext(ctx, "waiting for the database", "error", explain(err), "left", left.Round(time.Second))
		if err := sleep(ctx, min(pause, left)); err != nil {
			return fmt.Errorf("database: %w", err)
		}
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// Ping makes one round trip to the server. It is the readiness check.
func (db *DB) Ping(ctx context.Context) error {
	return db.onConn(ctx, AllCompanies(), turns.Read, func(c *pgxpool.Conn) (bool, error) {
		return false, c.Ping(ctx)
	})
}

// Job runs a batch of a job's own statements in one round trip, as one implicit transaction.
// It is not repeated. The batch sets its scope itself and its statements wait for no locks of
// rows, so it takes its turn as a read.
func (db *DB) Job(ctx context.Context, batch *pgx.Batch) error {
	if err := db.guard(ctx); err != nil {
		return err
	}
	return db.onConn(ctx, AllCompanies(), turns.Read, func(c *pgxpool.Conn) (bool, error) {
		return true, c.SendBatch(ctx, batch).Close()
	})
}

// Pool returns the underlying pool, for tests, and for a heartbeat that must not wait behind a
// service's jobs. Its statements run without a company and so see no tenant's rows. They take no
// turn, so a service does not use it for anything else.
func (db *DB) Pool() *pgxpool.Pool { return db.pool }

// Close waits until all connections have been returned and closes them.
func (db *DB) Close() { db.pool.Close() }

// onConn calls use with a connection of the pool when it is the turn of the scope's company
// (package turns). If the connection was lost while idle, it calls use again with another one.
// use reports whether it has already had an effect that must not be repeated.
func (db *DB) onConn(ctx context.Context, s Scope, class turns.Class, use func(*pgxpool.Conn) (started bool, err error)) error {
	turn, err := db.turns.Take(ctx, s, class)
	if err != nil {
		return waitFault(err)
	}
	defer turn.End()
	for attempt := 0; ; attempt++ {
		started, lost, err := db.tryConn(ctx, use)
		// Each lost connection leaves the pool. After maxConns of them, every attempt
		// has a new connection, and its loss is a real error.
		if err == nil || started || !lost || attempt == db.maxConns || ctx.Err() != nil {
			return err
		}
		db.connRetries.Add(1)
	}
}

// errTooMany is the fault of a request beyond the queue of its company.
var errTooMany = fault.New(fault.Unavailable, fault.ReasonServiceUnavailable,
	"too many requests of this company are waiting; wait, then send fewer at a time").After(time.Second)

// waitFault translates an error of waiting for a turn.
func waitFault(err error) error {
	if errors.Is(err, turns.ErrFull) {
		return errTooMany.Because(err)
	}
	return err
}

func (db *DB) tryConn(ctx context.Context, use func(*pgxpool.Conn) (bool, error)) (started, lost bool, err error) {
	c, err := db.pool.Acquire(ctx)
	if err != nil {
		return false, false, err
	}
	defer c.Release()
	started, err = use(c)
	return started, err != nil && (c.Conn().IsClosed() || planIsStale(err)), err
}
