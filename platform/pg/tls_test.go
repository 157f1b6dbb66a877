package pg_test

import (
	"context"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"reservation.dev/devkit/mtlstest"
	"reservation.dev/devkit/pgserver"
	"reservation.dev/devkit/pgserver/pgservertest"
	"reservation.dev/devkit/testkit"
	"reservation.dev/platform/config"
	"reservation.dev/platform/pg"
)

// tlsServer is a PostgreSQL server that accepts services only over TLS.
type tlsServer struct {
	*pgserver.Server
	// url is the URL of the service's role without TLS parameters, and owner that of the
	// owner of its database.
	url, owner string
}

func startTLS(t *testing.T, ca *mtlstest.CA) *tlsServer {
	t.Helper()
	dir, err := os.MkdirTemp("", "pg-tls-*")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil { // root's server runs as another account
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	server, err := pgserver.Start(t.Context(), pgserver.Options{Dir: dir, Durable: pgserver.Fast})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := server.Remove(ctx); err != nil {
			t.Error(err)
		}
	})
	s := &tlsServer{Server: server}
	owner, app, err := server.EnsureDatabase(t.Context(), "sample", "sample_owner", "sample")
	if err != nil {
		t.Fatal(err)
	}
	s.certify(t, ca)
	strip := func(raw string) string {
		u, err := url.Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		u.RawQuery = ""
		return u.String()
	}
	s.url, s.owner = strip(app), strip(owner)
	return s
}

// certify gives the server a certificate of the authority. New connections use it after a
// reload.
func (s *tlsServer) certify(t *testing.T, ca *mtlstest.CA) {
	t.Helper()
	pair := ca.Issue(t, "localhost")
	if err := pgservertest.RequireTLS(t.Context(), s.AdminURL(), pair.Cert, pair.Key); err != nil {
		t.Fatal(err)
	}
}

func (s *tlsServer) exec(t *testing.T, statement string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), s.AdminURL())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if _, err := conn.Exec(t.Context(), statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

func TestTLS(t *testing.T) {
	t.Parallel()
	ca, other := mtlstest.NewCA(t, "the database's"), mtlstest.NewCA(t, "another")
	s := startTLS(t, ca)
	trusted, wrong := filepath.Join(t.TempDir(), "ca.crt"), filepath.Join(t.TempDir(), "wrong.crt")
	write(t, trusted, ca.PEM)
	write(t, wrong, other.PEM)
	with := func(raw, query string) string { return raw + "?" + query }
	try := func(raw string) error {
		db, err := pg.Open(t.Context(), pg.Config{URL: config.Secret(raw), StartTimeout: 300 * time.Millisecond}, testkit.Log(t))
		if err == nil {
			db.Close()
		}
		return err
	}
	t.Run("verify-full accepts a server of the authority and encrypts the connections", func(t *testing.T) {
		db := open(t, with(s.url, "sslmode=verify-full&sslrootcert="+trusted), pg.Config{})
		encrypted, err := pg.One[bool](t.Context(), db, pg.Scope{}, `select ssl from pg_stat_ssl where pid = pg_backend_pid()`)
		if err != nil || !encrypted {
			t.Errorf("encrypted: %v, %v", encrypted, err)
		}
	})
	t.Run("refuses a server of another authority, with the reason and the setting", func(t *testing.T) {
		err := try(with(s.url, "sslmode=verify-full&sslrootcert="+wrong))
		if err == nil || !strings.Contains(err.Error(), "sslrootcert") || !strings.Contains(err.Error(), "unknown authority") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("refuses a host that is not in the certificate", func(t *testing.T) {
		u, _ := url.Parse(s.url)
		u.Host = "127.0.0.2:" + u.Port()
		err := try(with(u.String(), "sslmode=verify-full&sslrootcert="+trusted))
		if err == nil {
			t.Error("taken")
		}
	})
	t.Run("a server that requires TLS refuses a connection without TLS", func(t *testing.T) {
		if err := try(with(s.url, "sslmode=disable")); err == nil || !strings.Contains(err.Error(), "no encryption") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("reports a missing file of the authority by setting, without the URL", func(t *testing.T) {
		for raw, want := range map[string]string{
			"postgres://sample:hunter2@db/sample?sslmode=verify-full&sslrootcert=/nowhere/ca": "/nowhere/ca",
			"postgres://sample:hunter2@db:port/sample":                                        "DATABASE_URL cannot be used: ",
			"postgres://sample:hunter2/3@db/sample?sslmode=loud":                              "DATABASE_URL cannot be used: ",
			"hunter2": "DATABASE_URL cannot be used",
		} {
			err := config.Read(config.Env{"DATABASE_URL": raw}, &pg.Config{})
			if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "DATABASE_URL") || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("%s: %v", raw, err)
			}
		}
	})
	t.Run("migrations use TLS too", func(t *testing.T) {
		m := things()
		m.AppRole = "sample"
		if err := pg.Migrate(t.Context(), with(s.owner, "sslmode=verify-full&sslrootcert="+trusted), m); err != nil {
			t.Fatal(err)
		}
	})
}

func write(t *testing.T, path string, text []byte) {
	t.Helper()
	next := path + ".next"
	if err := errors.Join(os.WriteFile(next, text, 0o600), os.Rename(next, path)); err != nil {
		t.Fatal(err)
	}
}

// TestRotation replaces the database's authority and the service's role under load.
func TestRotation(t *testing.T) {
	t.Parallel()
	old, next := mtlstest.NewCA(t, "old"), mtlstest.NewCA(t, "next")
	s := startTLS(t, old)
	authorities, urlFile := filepath.Join(t.TempDir(), "ca.crt"), filepath.Join(t.TempDir(), "url")
	write(t, authorities, old.PEM)
	query := "?sslmode=verify-full&sslrootcert=" + authorities
	if err := pg.Migrate(t.Context(), s.owner+query, pg.Migrations{Part: "sample", AppRole: "sample", FS: things().FS}); err != nil {
		t.Fatal(err)
	}
	write(t, urlFile, []byte(s.url+query+"\n"))
	var cfg pg.Config
	if err := config.Read(config.Env{"DATABASE_URL_FILE": urlFile}, &cfg); err != nil {
		t.Fatal(err)
	}
	cfg.MaxConns = 4
	db, err := pg.Open(t.Context(), cfg, testkit.Log(t))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()

	var served atomic.Int64
	stop, failed := make(chan struct{}), make(chan error, 4)
	var load sync.WaitGroup
	for range 4 {
		load.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if _, err := pg.One[int](context.Background(), db, pg.Scope{}, `select n from counters where id = 1`); err != nil {
					failed <- err
					return
				}
				served.Add(1)
			}
		})
	}
	// step ends all sessions, as their age would within an hour, and waits for calls on new
	// sessions.
	step := func(what string) {
		t.Helper()
		db.Pool().Reset()
		before := served.Load()
		testkit.Eventually(t, time.Minute, func() error {
			select {
			case err := <-failed:
				t.Fatalf("%s: %v", what, err)
			default:
			}
			if served.Load() < before+50 {
				return errors.New("no calls")
			}
			return nil
		})
	}
	who := func() string {
		t.Helper()
		name, err := pg.One[string](t.Context(), db, pg.Scope{}, `select session_user::text`)
		if err != nil {
			t.Fatal(err)
		}
		return name
	}
	step("at first")
	write(t, authorities, append(append([]byte{}, old.PEM...), next.PEM...))
	step("both authorities are trusted")
	s.certify(t, next)
	step("the server's certificate is of the next one")
	write(t, authorities, next.PEM)
	step("the old authority is gone")

	s.exec(t, `create role sample_b login password 'another' in role sample`)
	u, err := url.Parse(s.url + query)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword("sample_b", "another")
	write(t, urlFile, []byte(u.String()))
	step("the file has another role")
	if got := who(); got != "sample_b" {
		t.Errorf("the sessions belong to %s", got)
	}
	s.exec(t, `alter role sample password 'changed'`)
	step("the first role's password is another one")
	if err := pg.CheckSchema(t.Context(), db, things()); err != nil {
		t.Errorf("the second role lacks rights of the first: %v", err)
	}
	write(t, urlFile, []byte("a URL that is none"))
	step("a file that is no URL leaves the one before")
	close(stop)
	load.Wait()
}
