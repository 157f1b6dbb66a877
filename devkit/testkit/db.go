package testkit

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/url"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/config"
	"reservation.dev/platform/pg"
)

// Roles of the test databases. As in production, the application's role owns nothing.
const (
	ownerRole = "testkit_owner"
	appRole   = "testkit_app"
	password  = "testkit"
)

const setupTimeout = 5 * time.Minute

// DB returns a database that only t uses, with the schema of m, opened with the application role. It
// is dropped when t ends.
func DB(t testing.TB, m pg.Migrations) *pg.DB {
	t.Helper()
	_, appURL := DBURLs(t, m)
	db, err := pg.Open(t.Context(), pg.Config{URL: config.Secret(appURL)}, Log(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return db
}

// DBURLs is DB for tests that run processes or need the owner of the tables. It returns the URLs of
// the owner and of the application role.
func DBURLs(t testing.TB, m pg.Migrations) (ownerURL, appURL string) {
	t.Helper()
	needMain(t)
	ctx, cancel := context.WithTimeout(t.Context(), setupTimeout)
	defer cancel()
	s, err := process.server.get(ctx)
	if err != nil {
		t.Fatalf("no PostgreSQL for tests: %v", err)
	}
	tmpl, err := s.template(ctx, m)
	if err != nil {
		t.Fatalf("template database of %s: %v", m.Part, err)
	}
	name := s.newName(m.Part)
	if err := s.create(ctx, name, tmpl); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.drop(name); err != nil {
			t.Errorf("drop %s: %v", name, err)
		}
	})
	return s.url(name, ownerRole), s.url(name, appRole)
}

// EmptyDB creates a database without a schema and returns its URLs with the owner and with the
// application role. It is dropped when t ends.
func EmptyDB(t testing.TB) (ownerURL, appURL string) {
	t.Helper()
	needMain(t)
	ctx, cancel := context.WithTimeout(t.Context(), setupTimeout)
	defer cancel()
	s, err := process.server.get(ctx)
	if err != nil {
		t.Fatalf("no PostgreSQL for tests: %v", err)
	}
	name := s.newName("empty")
	if err := s.create(ctx, name, "template0"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.drop(name); err != nil {
			t.Errorf("drop %s: %v", name, err)
		}
	})
	return s.url(name, ownerRole), s.url(name, appRole)
}

// AppRole returns the application role, for a test that migrates a database itself.
func AppRole() string { return appRole }

// server is the PostgreSQL server of this test process.
type server struct {
	admin   *url.URL
	prefix  string // of the names of this process's databases
	counter atomic.Int64
	// adminMu guards conn, which creates and drops databases.
	adminMu sync.Mutex
	conn    *pgx.Conn
}

type onceServer struct {
	once sync.Once
	s    *server
	err  error
}

func (o *onceServer) get(ctx context.Context) (*server, error) {
	o.once.Do(func() { o.s, o.err = startServer(ctx) })
	return o.s, o.err
}

func startServer(ctx context.Context) (*server, error) {
	raw, err := adminURL(ctx)
	if err != nil {
		return nil, err
	}
	admin, err := url.Parse(raw)
	if err != nil {
		return nil, err
	}
	conn, err := pgx.Connect(ctx, raw)
	if err != nil {
		return nil, err
	}
	s := &server{admin: admin, conn: conn, prefix: "t_" + randomName()}
	atExit(func() { _ = conn.Close(context.Background()) })
	return s, s.ensureRoles(ctx)
}

func randomName() string {
	var b [5]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// ensureRoles creates the roles unless they exist. Several test processes can call it on one server
// at the same time.
func (s *server) ensureRoles(ctx context.Context) error {
	_, err := s.conn.Exec(ctx, `do $$ begin
		perform pg_advisory_xact_lock(hashtext('testkit roles'));
		if not exists (select from pg_roles where rolname = '`+ownerRole+`') then
			create role `+ownerRole+` login nosuperuser nobypassrls password '`+password+`';
			create role `+appRole+` login nosuperuser nobypassrls password '`+password+`';
		end if;
	end $$`)
	if err != nil {
		return fmt.Errorf("roles: %w", err)
	}
	return nil
}

func (s *server) newName(part string) string {
	return s.prefix + "_" + part + "_" + strconv.FormatInt(s.counter.Add(1), 10)
}

func (s *server) url(database, role string) string {
	u := *s.admin
	u.Path = "/" + database
	u.User = url.UserPassword(role, password)
	return u.String()
}

func (s *server) create(ctx context.Context, name, tmpl string) error {
	if err := s.exec(ctx, `create database `+quote(name)+` template `+quote(tmpl)+` owner `+ownerRole); err != nil {
		return err
	}
	// Set the privileges as on the services' databases, because a clone does not inherit them.
	return s.exec(ctx, `revoke all on database `+quote(name)+` from public; grant connect on database `+quote(name)+` to `+appRole)
}

func (s *server) drop(name string) error {
	ctx, cancel := context.WithTimeout(context.Background(), setupTimeout)
	defer cancel()
	return s.exec(ctx, `drop database if exists `+quote(name)+` with (force)`)
}

func (s *server) exec(ctx context.Context, sql string) error {
	s.adminMu.Lock()
	defer s.adminMu.Unlock()
	_, err := s.conn.Exec(ctx, sql)
	return err
}

func quote(name string) string { return pgx.Identifier{name}.Sanitize() }

type template struct {
	once sync.Once
	name string
	err  error
}

// template returns the name of a database with the schema of m. It creates the database on first
// use.
func (s *server) template(ctx context.Context, m pg.Migrations) (string, error) {
	key, err := fingerprint(m)
	if err != nil {
		return "", err
	}
	v, _ := process.templates.LoadOrStore(key, new(template))
	tmpl := v.(*template)
	tmpl.once.Do(func() { tmpl.name, tmpl.err = s.makeTemplate(ctx, m) })
	return tmpl.name, tmpl.err
}

func (s *server) makeTemplate(ctx context.Context, m pg.Migrations) (string, error) {
	name := s.newName(m.Part + "_template")
	if err := s.create(ctx, name, "template0"); err != nil {
		return "", err
	}
	atExit(func() {
		if err := s.drop(name); err != nil {
			complain("drop %s: %v", name, err)
		}
	})
	m.AppRole = appRole
	return name, pg.Migrate(ctx, s.url(name, ownerRole), m)
}

// fingerprint returns a hash of the service's name and the text of its migrations.
func fingerprint(m pg.Migrations) (string, error) {
	sum := sha256.New()
	fmt.Fprintf(sum, "%s\n", m.Part)
	if m.FS == nil {
		return hex.EncodeToString(sum.Sum(nil)), nil
	}
	names, err := fs.Glob(m.FS, "*.sql")
	if err != nil {
		return "", err
	}
	for _, name := range names {
		text, err := fs.ReadFile(m.FS, name)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(sum, "%s %d\n%s", name, len(text), text)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// AdminURL returns the URL of a superuser, for a test that changes the server itself.
func AdminURL(t testing.TB) string {
	t.Helper()
	needMain(t)
	ctx, cancel := context.WithTimeout(t.Context(), setupTimeout)
	defer cancel()
	s, err := process.server.get(ctx)
	if err != nil {
		t.Fatalf("no PostgreSQL for tests: %v", err)
	}
	return s.admin.String()
}
