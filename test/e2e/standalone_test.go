package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"reservation.dev/devkit/pgserver"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	"reservation.dev/test/harness"
)

// TestStandalone follows one instance that runs as `make run` starts it.
func TestStandalone(t *testing.T) { // invariants 1, 2 and 4 of deploy/standalone
	t.Parallel()
	dir := filepath.Join(harness.TempDir(t), "data")
	s := harness.StartStandalone(t, harness.StandaloneOptions{Dir: dir, Env: map[string]string{"DEMO": "on"}})
	demo := harness.Credential{ID: s.Credentials.InterfaceA.ClientID, Secret: s.Credentials.InterfaceA.ClientSecret}
	var kept snapshot

	t.Run("credentials.json has every documented entry and only its owner can read it", func(t *testing.T) {
		c := s.Credentials
		for name, value := range map[string]string{
			"base_url": c.InterfaceA.BaseURL, "client_id": c.InterfaceA.ClientID, "client_secret": c.InterfaceA.ClientSecret,
			"auth": c.GRPC.Auth, "customer": c.GRPC.Customer, "booking": c.GRPC.Booking, "pass": c.GRPC.Pass, "subscription": c.GRPC.Subscription, "media": c.GRPC.Media, "reports": c.GRPC.Reports,
			"service_token": c.GRPC.ServiceToken, "company_id": c.CompanyID,
			"email": c.Admin.Email, "password": c.Admin.Password,
		} {
			if value == "" {
				t.Errorf("%s is missing", name)
			}
		}
		info, err := os.Stat(s.CredentialsFile())
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("mode %v, %v", info.Mode(), err)
		}
	})
	t.Run("the demonstration company has customers with past and future bookings", func(t *testing.T) {
		a := s.A(t)
		n := &tenant{a: a, token: a.Token(t, demo)}
		customers := n.customers(t, "").Data
		if len(customers) < 50 {
			t.Fatalf("%d customers", len(customers))
		}
		past, future := 0, 0
		for _, c := range customers[:40] {
			past += n.bookings(t, c.ID, allTime).Total
			future += n.bookings(t, c.ID, "?future_only=true").Total
		}
		if past < 20 || future < 1 {
			t.Errorf("the first customers have %d purchases, %d of them with future dates", past, future)
		}
	})
	t.Run("data and answers are the same after a restart", func(t *testing.T) {
		kept = remember(t, s, demo)
		before := s.Credentials
		s.Interrupt(t)
		if _, err := os.Stat(s.CredentialsFile()); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("credentials.json is still there: %v", err)
		}
		harness.NothingLeft(t, dir)
		s.Start(t)
		s.AwaitReady(t)
		after := s.Credentials
		before.GRPC.ServiceToken, after.GRPC.ServiceToken = "", ""
		if before != after {
			t.Errorf("before %+v, after %+v", before, after)
		}
		kept.check(t, s)
	})
	t.Run("data and answers are the same after a crash", func(t *testing.T) {
		s.Kill(t)
		harness.NothingLeft(t, dir)
		s.Start(t)
		s.AwaitReady(t)
		kept.check(t, s)
	})
	t.Run("a second instance on the same directory is refused, and the first keeps running", func(t *testing.T) {
		r := harness.Run(t, harness.Command{Program: "standalone", Env: map[string]string{"DATA_DIR": dir, "PORT_BASE": "11900"}})
		if r.Code == 0 || !strings.Contains(r.Errors, "DATA_DIR") {
			t.Errorf("exit status %d: %s", r.Code, r.Errors)
		}
		kept.check(t, s)
	})
	t.Run("an instance whose ports are in use says so and ends", func(t *testing.T) {
		base := s.Credentials.InterfaceA.BaseURL
		port := base[strings.LastIndexByte(base, ':')+1:]
		other := filepath.Join(harness.TempDir(t), "data")
		r := harness.Run(t, harness.Command{Program: "standalone", Env: map[string]string{"DATA_DIR": other, "PORT_BASE": port}})
		if r.Code == 0 || !strings.Contains(r.Errors, "port") && !strings.Contains(r.Errors, "address already in use") {
			t.Errorf("exit status %d: %s", r.Code, r.Errors)
		}
		harness.NothingLeft(t, other)
		kept.check(t, s)
	})
	t.Run("Ctrl-C during the start leaves no process", func(t *testing.T) {
		s.Stop(t)
		for _, patience := range []time.Duration{0, 100 * time.Millisecond, 400 * time.Millisecond, 900 * time.Millisecond} {
			other := filepath.Join(harness.TempDir(t), "data")
			early := harness.NewStandalone(t, harness.StandaloneOptions{Dir: other})
			early.Start(t)
			<-time.After(patience) // interrupt at different stages of the start
			early.InterruptEarly(t)
			harness.NothingLeft(t, other)
		}
	})
}

// snapshot holds answers of a platform for comparison with later answers.
type snapshot struct {
	token, revoked string
	client         harness.Credential
	answers        map[string][]byte
	updated        string // path of a profile that was updated under a key
}

const rememberedUpdate = `{"firstname":"Re","lastname":"Member","email":"re@example.org"}`

func remember(t *testing.T, s *harness.Standalone, client harness.Credential) snapshot {
	t.Helper()
	a := s.A(t)
	m := snapshot{client: client, token: a.Token(t, client), answers: map[string][]byte{}}
	n := &tenant{a: a, token: m.token}

	// A revoked token must stay revoked.
	op := s.Operator(t)
	company := op.NewCompany(t, "Europe/London")
	gone := company.NewClient(t)
	m.revoked = a.Token(t, gone)
	if _, err := op.Clients.DisableApiClient(company.Ctx(t.Context()), &authv1.DisableApiClientRequest{Id: gone.ID}); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, eventLimit, func() error { return refused(a, m.revoked) })

	ids := n.customers(t, "").ids()
	m.updated = profilePath(ids[0])
	n.put(t, m.updated, rememberedUpdate, "Idempotency-Key", "remembered").Into(t, http.StatusOK, nil)
	paths := []string{"/customers", m.updated}
	for _, id := range ids[1:6] {
		paths = append(paths, profilePath(id), bookingsPath(id)+allTime)
		for _, transaction := range n.bookings(t, id, allTime).Data {
			paths = append(paths, bookingPath(id, transaction.ID))
		}
	}
	for _, path := range paths {
		answer := n.get(t, path)
		answer.Into(t, http.StatusOK, nil)
		m.answers[path] = answer.Body
	}
	return m
}

// refused returns an error unless the token is refused.
func refused(a *harness.A, token string) error {
	answer, err := a.Try(context.Background(), harness.Request{Path: "/customers", Token: token})
	if err == nil && answer.Code != http.StatusUnauthorized {
		err = fmt.Errorf("answered %d", answer.Code)
	}
	return err
}

func (m snapshot) check(t *testing.T, s *harness.Standalone) {
	t.Helper()
	a := s.A(t)
	for name, token := range map[string]string{"an old": m.token, "a new": a.Token(t, m.client)} {
		for path, want := range m.answers {
			if got := a.Do(t, harness.Request{Path: path, Token: token}); got.Code != http.StatusOK || !bytes.Equal(got.Body, want) {
				t.Errorf("%s with %s token: %d %s\nbefore it was %s", path, name, got.Code, got.Body, want)
			}
		}
	}
	if err := refused(a, m.revoked); err != nil {
		t.Errorf("the revoked token: %v", err)
	}
	n := &tenant{a: a, token: m.token}
	n.put(t, m.updated, rememberedUpdate, "Idempotency-Key", "remembered").Into(t, http.StatusOK, nil)
	n.put(t, m.updated, update("An", "Other", "a@example.org"), "Idempotency-Key", "remembered").
		Refused(t, http.StatusConflict, "IDEMPOTENCY_KEY_REUSED")
}

// TestSideBySide runs two instances on a shared PostgreSQL server that neither of them started,
// with an administrator who is not a superuser.
func TestSideBySide(t *testing.T) { // invariant 3 of deploy/standalone
	t.Parallel()
	dir := harness.TempDir(t)
	postgres := harness.StartPostgres(t, filepath.Join(dir, "postgres"), pgserver.Fast)
	databaseURL := administrator(t, postgres)
	start := func(name string) *harness.Standalone {
		return harness.NewStandalone(t, harness.StandaloneOptions{
			Dir: filepath.Join(dir, name, "data"), Env: map[string]string{"DATABASE_URL": databaseURL, "DATABASE_PREFIX": name + "_"},
		})
	}
	one, two := start("one"), start("two")
	for _, s := range []*harness.Standalone{one, two} {
		if err := os.MkdirAll(filepath.Dir(s.Dir), 0o755); err != nil {
			t.Fatal(err)
		}
		s.Start(t)
	}
	one.AwaitReady(t)
	two.AwaitReady(t)
	company := one.Operator(t).NewCompany(t, "Europe/London")
	client := company.NewClient(t)
	customer := company.NewCustomer(t, "Zoë", "O'Brien").GetId()

	t.Run("each instance has its own data, clients and keys", func(t *testing.T) {
		a, b := one.A(t), two.A(t)
		token := a.Token(t, client)
		a.Do(t, harness.Request{Path: profilePath(customer), Token: token}).Into(t, http.StatusOK, nil)
		b.Do(t, harness.Request{Path: profilePath(customer), Token: token}).Refused(t, http.StatusUnauthorized, "UNAUTHORIZED")
		b.Do(t, harness.TokenRequest(client)).Refused(t, http.StatusUnauthorized, "INVALID_CREDENTIALS")
	})
	t.Run("stopping one instance affects neither the other nor the server", func(t *testing.T) {
		two.Interrupt(t)
		harness.NothingLeft(t, two.Dir)
		a := one.A(t)
		a.Do(t, harness.Request{Path: profilePath(customer), Token: a.Token(t, client)}).Into(t, http.StatusOK, nil)
	})
	t.Run("an instance finds its databases on the server after a restart", func(t *testing.T) {
		one.Interrupt(t)
		one.Start(t)
		one.AwaitReady(t)
		a := one.A(t)
		a.Do(t, harness.Request{Path: profilePath(customer), Token: a.Token(t, client)}).Into(t, http.StatusOK, nil)
	})
	t.Run("the logs contain no secret", func(t *testing.T) {
		u, err := url.Parse(databaseURL)
		if err != nil {
			t.Fatal(err)
		}
		password, _ := u.User.Password()
		for _, s := range []*harness.Standalone{one, two} {
			log := s.Log()
			for what, secret := range map[string]string{
				"the client's secret": client.Secret, "the operator's": s.OperatorCredential.Secret, "the database's password": password,
			} {
				if strings.Contains(log, secret) {
					t.Errorf("%s is in the log", what)
				}
			}
		}
	})
}

// administrator creates a role that can only create roles and databases.
func administrator(t *testing.T, postgres *harness.Postgres) string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), postgres.AdminURL())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	if _, err := conn.Exec(t.Context(), `create role landlord login nosuperuser createdb createrole password 'p4ssw0rd-of-landlord';
		grant connect on database postgres to landlord`); err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(postgres.AdminURL())
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword("landlord", "p4ssw0rd-of-landlord")
	return u.String()
}

// TestSettings checks the program's command line.
func TestSettings(t *testing.T) {
	t.Run("standalone settings lists every setting with its default", func(t *testing.T) {
		out := harness.Run(t, harness.Command{Program: "standalone", Args: []string{"settings"}}).Succeeded(t)
		for _, name := range []string{"PORT_BASE", "8080", "DATA_DIR", ".run", "DATABASE_URL", "DEMO"} {
			if !strings.Contains(out, name) {
				t.Errorf("%s is not in\n%s", name, out)
			}
		}
	})
	t.Run("a wrong command is refused with the usage", func(t *testing.T) {
		r := harness.Run(t, harness.Command{Program: "standalone", Args: []string{"frobnicate"}})
		if r.Code != 2 || !strings.Contains(r.Errors, "frobnicate") || !strings.Contains(r.Errors, "usage") {
			t.Errorf("exit status %d: %s", r.Code, r.Errors)
		}
	})
	t.Run("all invalid settings are reported together", func(t *testing.T) {
		r := harness.Run(t, harness.Command{Program: "standalone", Env: map[string]string{"PORT_BASE": "99999", "DEMO": "perhaps", "DATA_DIR": harness.TempDir(t)}})
		if r.Code != 2 || !strings.Contains(r.Errors, "PORT_BASE") || !strings.Contains(r.Errors, "DEMO") {
			t.Errorf("exit status %d: %s", r.Code, r.Errors)
		}
	})
	t.Run("invalid settings of all services, and trial settings in production, are reported before anything starts", func(t *testing.T) {
		dir := harness.TempDir(t)
		r := harness.Run(t, harness.Command{Program: "standalone", Env: map[string]string{
			"DATA_DIR": dir, "RESERVATION_ENV": "production", "WEBHOOK_TIMEOUT": "soon", "TOKEN_CACHE_SIZE": "many", "GRPC_TLS_CA_FILE": "/nowhere",
		}})
		for _, want := range []string{"DEMO", "ADMIN_URL", "WEBHOOK_TIMEOUT is", "TOKEN_CACHE_SIZE is", "GRPC_TLS_CA_FILE does not apply"} {
			if r.Code != 2 || strings.Count(r.Errors, want) != 1 {
				t.Errorf("exit status %d, without %q once: %s", r.Code, want, r.Errors)
			}
		}
		if _, err := os.Stat(filepath.Join(dir, "postgres")); err == nil {
			t.Error("PostgreSQL was started")
		}
	})
}

// decode decodes a program's JSON output.
func decode[T any](t *testing.T, text string) T {
	t.Helper()
	var v T
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return v
}
