package cells

import (
	"bufio"
	"context"
	"encoding/json"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"reservation.dev/devkit/localca"
	"reservation.dev/devkit/pgserver"
	"reservation.dev/test/harness"
)

// cell is an installation with its own PostgreSQL server and NATS.
type cell struct {
	*harness.Standalone
	name     string
	postgres *harness.Postgres
	nats     string // the address of NATS
	op       *harness.Operator
}

// services are those with a database.
var services = []string{"auth", "booking", "customer", "media", "pass", "reports", "subscription", "webhook"}

// shared are the files of a cell that the next one has too: the master key, and the authority of receivers.
type shared struct{ state, authority, key []byte }

// newCell starts a cell. more are settings in addition to those that every cell has.
func newCell(t *testing.T, name string, s *shared, more map[string]string) *cell {
	t.Helper()
	dir := harness.TempDir(t)
	c := &cell{name: name, postgres: harness.StartLogicalPostgres(t, filepath.Join(dir, "server"), pgserver.Fast)}
	data := filepath.Join(dir, "data")
	if s.state != nil {
		if err := os.MkdirAll(data, 0o700); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(data, "state.json"), s.state)
		write(t, filepath.Join(data, "webhook-ca.pem"), s.authority)
		write(t, filepath.Join(data, "webhook-ca.key"), s.key)
	}
	c.nats = harness.FreeAddr(t)
	_, port, err := net.SplitHostPort(c.nats)
	if err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"DATABASE_URL": c.postgres.AdminURL(), "NATS_PORT": port, "WEBHOOK_RETRIES": "1s,1s,2s,2s,4s,4s,8s,8s"}
	maps.Copy(env, more)
	c.Standalone = harness.StartStandalone(t, harness.StandaloneOptions{Dir: data, Env: env})
	c.op = c.Operator(t)
	if s.state == nil {
		var state struct {
			MasterKey string `json:"master_key"`
		}
		if err := json.Unmarshal(read(t, filepath.Join(data, "state.json")), &state); err != nil {
			t.Fatal(err)
		}
		s.state, _ = json.Marshal(state)
		s.authority = read(t, c.Credentials.Webhooks.CAFile)
		s.key = read(t, localca.KeyFile(c.Credentials.Webhooks.CAFile))
	}
	return c
}

// database returns the superuser's URL of a service's database.
func (c *cell) database(service string) string {
	return strings.Replace(c.postgres.AdminURL(), "/postgres?", "/reservation_"+service+"?", 1)
}

// describe returns the cell as the file of cells has it.
func (c *cell) describe() map[string]any {
	databases := map[string]string{}
	for _, service := range services {
		databases[service] = c.database(service)
	}
	return map[string]any{
		"databases": databases, "nats": map[string]string{"url": "nats://" + c.nats}, "credentials": c.CredentialsFile(),
		"bucket": "file://" + filepath.ToSlash(filepath.Join(c.Dir, "media")) + "?metadata=skip",
	}
}

// query returns the only value of a statement in a service's database.
func query[T any](t *testing.T, c *cell, service, sql string, args ...any) (v T) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), c.database(service))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	if err := conn.QueryRow(t.Context(), sql, args...).Scan(&v); err != nil {
		t.Fatalf("%s of %s: %s: %v", service, c.name, sql, err)
	}
	return v
}

// leftovers returns what a move has left in a cell, without the rows of the company.
func (c *cell) leftovers(t *testing.T) int64 {
	t.Helper()
	var all int64
	for _, service := range services {
		all += query[int64](t, c, service, `select (select count(*) from company_moves) + (select count(*) from pg_publication)
			+ (select count(*) from pg_replication_slots where database = current_database())
			+ (select count(*) from pg_subscription s join pg_database d on d.oid = s.subdbid where d.datname = current_database())`)
	}
	return all
}

// rows counts the rows of a company in all tables of a cell.
func (c *cell) rows(t *testing.T, company string) (all int64) {
	t.Helper()
	for _, service := range services {
		all += query[int64](t, c, service, `select coalesce(sum((xpath('/row/n/text()', query_to_xml(
				format('select count(*) as n from %I where company_id = %L', relname, $1::uuid), false, true, '')))[1]::text::bigint), 0)::bigint
			from pg_class c where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition
				and exists (select from pg_policy p where p.polrelid = c.oid and p.polname = 'tenant')`, company)
	}
	return all
}

// router is the address that clients know. It sends requests to one cell at a time.
type router struct {
	target atomic.Pointer[url.URL]
	url    string
}

func newRouter(t *testing.T) *router {
	t.Helper()
	r := &router{}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{Rewrite: func(p *httputil.ProxyRequest) { p.SetURL(r.target.Load()) }}
	server := &http.Server{Handler: proxy, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = server.Serve(l) }() // until Close
	t.Cleanup(func() { _ = server.Close() })
	r.url = "http://" + l.Addr().String()
	return r
}

// send lets the router send requests to an address.
func (r *router) send(t *testing.T, to string) {
	t.Helper()
	u, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	r.target.Store(u)
}

// command is reservectl company move between two cells.
type command struct {
	path    string
	args    []string
	mayFail bool // without being killed
}

func newCommand(t *testing.T, company string, from, to *cell) *command {
	t.Helper()
	text, err := json.Marshal(map[string]any{"cells": map[string]any{from.name: from.describe(), to.name: to.describe()}})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(harness.TempDir(t), "cells.json")
	write(t, file, text)
	return &command{path: harness.Program(t, "reservectl"), args: []string{
		"company", "move", "--company", company, "--cells", file, "--from", from.name, "--to", to.name, "--output", "json",
	}}
}

// run runs the command. If kill is not empty, it kills it a moment after a line with that text. done reports whether
// the command succeeded; out is then its output, and otherwise what it said.
func (c *command) run(t *testing.T, kill string, more ...string) (out string, done bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.path, append(c.args[:len(c.args):len(c.args)], more...)...)
	var stdout strings.Builder
	cmd.Stdout = &stdout
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	killed, text := false, &strings.Builder{}
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		t.Log("reservectl: " + lines.Text())
		text.WriteString(lines.Text() + "\n")
		if kill != "" && !killed && strings.Contains(lines.Text(), kill) {
			killed = true
			time.AfterFunc(time.Duration(rand.IntN(150))*time.Millisecond, func() { _ = cmd.Process.Kill() })
		}
	}
	err = cmd.Wait()
	t.Logf("company move %v, killed after %q: %v %s", more, kill, err, stdout.String())
	if err != nil && !killed && !c.mayFail {
		t.Fatal("the command failed")
	}
	if err != nil {
		return text.String(), false
	}
	return stdout.String(), true
}

// start runs the command until it ends. wait returns when it has succeeded.
func (c *command) start(t *testing.T, more ...string) (wait func()) {
	t.Helper()
	done := false
	var running sync.WaitGroup
	running.Go(func() { _, done = c.run(t, "", more...) })
	return func() {
		t.Helper()
		if running.Wait(); !done {
			t.FailNow()
		}
	}
}

func write(t *testing.T, path string, text []byte) {
	t.Helper()
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
