package operations

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	"reservation.dev/test/harness"
)

// drill enables the test that destroys a platform and restores it.
var drill = flag.Bool("drill", false, "back up under load, destroy, restore: make restore-drill")

// steps prints each step and its duration.
type steps struct{ began time.Time }

func (s *steps) step(t *testing.T, what string, do func()) {
	t.Helper()
	began := time.Now()
	do()
	if t.Failed() {
		t.Fatalf("%s: failed", what)
	}
	fmt.Printf("%6.1fs  %-62s %6.1fs\n", time.Since(s.began).Seconds(), what, time.Since(began).Seconds())
}

// TestRestoreDrill restores the databases to different times: customer and pass from a backup,
// the others from a later one. The resulting differences must be found and corrected.
func TestRestoreDrill(t *testing.T) {
	if !*drill {
		t.Skip("backs up, destroys and restores a platform: make restore-drill")
	}
	s := &steps{began: time.Now()}
	harness.Program(t, "reservectl", parts()...)
	var w *world
	var f *traffic
	s.step(t, "a platform with people who use it", func() {
		w = newWorld(t, nil, map[string]string{"WEBHOOK_RETRIES": "1s,2s,4s,8s,16s,32s,60s,60s,60s", "WEBHOOK_BREAKER_PAUSE": "1s", "WEBHOOK_BREAKER_PAUSE_MAX": "5s"})
		f = w.open(t, 0)
	})
	k := w.newRestoreProbes(t)
	dir := harness.TempDir(t)
	w.storeFile(t)
	var first, second string
	s.step(t, "a backup, under load", func() { first = w.backup(t, dir) })
	f.awaitAnswers(t, 200)
	before := maps.Clone(f.sales())
	s.step(t, "another one, encrypted, by a role that may only read", func() {
		w.backupRole(t)
		second = w.backup(t, dir, "BACKUP_FILTER="+encrypt, "PGUSER=backup", "PGPASSWORD=drill", "MEDIA_DIR="+w.MediaDir())
	})
	s.step(t, "more that will be lost", func() {
		f.awaitAnswers(t, 100)
		k.after(t, w)
		f.close()
		f.report(t)
	})
	s.step(t, "everything is destroyed", func() { w.Destroy(t) })
	s.step(t, "an empty PostgreSQL and an empty NATS", func() { w.Rebuild(t) })
	s.step(t, "what is no whole backup is refused, and nothing is touched", func() { w.refusals(t, first, second) })
	mixed := mix(t, dir, first, second)
	if err := os.MkdirAll(w.MediaDir(), 0o755); err != nil {
		t.Fatal(err)
	}
	s.step(t, "restore", func() { w.restore(t, mixed, "RESTORE_FILTER="+decryptSome, "MEDIA_DIR="+w.MediaDir()) })
	s.step(t, "restore again, which finds nothing to do", func() { w.restore(t, mixed, "RESTORE_FILTER="+decryptSome, "MEDIA_DIR="+w.MediaDir()) })
	s.step(t, "the files of media are back", func() { w.checkFile(t) })
	s.step(t, "migrate", func() {
		for _, service := range services() {
			w.Migrate(t, service)
		}
	})
	s.step(t, "start", func() { w.StartParts(t) })
	s.step(t, "send the passes of subscriptions again", func() {
		if out := w.reservectl(t, 0, "subscription", "restore-passes"); !strings.Contains(out, `"subscriptions": `) {
			t.Errorf("restore-passes printed %s", out)
		}
	})
	s.step(t, "reconcile, which finds differences", func() {
		out := w.reservectl(t, 1, "reconcile", "--settle", "40s")
		credits, copies := strings.Count(out, `"credits"`), strings.Count(out, `"customer.version"`)
		if credits == 0 || copies == 0 {
			t.Errorf("%d credits and %d copies differ: %s", credits, copies, out)
		}
		t.Logf("%d bookings paid by pass differ, and %d copies of customers", credits, copies)
	})
	s.step(t, "reconcile --apply", func() { w.reservectl(t, 0, "reconcile", "--apply", "--settle", "1s") })
	s.step(t, "reconcile, which finds nothing any more", func() {
		if out := w.reservectl(t, 0, "reconcile"); strings.TrimSpace(out) != "[]" {
			t.Errorf("reconcile still found %s", out)
		}
	})
	s.step(t, "build the reports, which no backup has", func() { w.reservectl(t, 0, "report", "rebuild", "--wait") })
	s.step(t, "verify", func() { w.reservectl(t, 0, "verify") })
	s.step(t, "what was sold before the backup is there", func() { w.checkBookings(t, before) })
	s.step(t, "tokens, revocations and sessions are what they were", func() { k.check(t, w) })
	s.step(t, "every webhook arrives", func() { k.webhooks(t, w) })
	s.step(t, "people go on using it", func() {
		again := w.open(t, 1_000_000)
		again.awaitAnswers(t, 200)
		again.close()
		again.report(t)
		w.reservectl(t, 0, "verify")
	})
}

// The dumps of the second backup are encrypted. A restore recognizes them by their first bytes.
const (
	encrypt     = "openssl enc -aes-256-cbc -pbkdf2 -pass pass:drill"
	decryptSome = `sh -c 'if [ "$(head -c 8 /proc/self/fd/0)" = Salted__ ]; then openssl enc -d -aes-256-cbc -pbkdf2 -pass pass:drill; else cat; fi'`
)

// script runs a script of deploy/backup against the cluster's PostgreSQL.
func (w *world) script(t *testing.T, name, argument string, env []string) (out string, err error) {
	t.Helper()
	root, err := harness.Root()
	if err != nil {
		t.Fatal(err)
	}
	admin, err := url.Parse(w.Postgres.AdminURL())
	if err != nil {
		t.Fatal(err)
	}
	password, _ := admin.User.Password()
	host := admin.Hostname()
	if socket := admin.Query().Get("host"); host == "" {
		host = socket
	}
	cmd := exec.Command(filepath.Join(root, "deploy", "backup", name), argument)
	cmd.Env = append(os.Environ(), "PGHOST="+host, "PGPORT="+admin.Port(), "PGUSER="+admin.User.Username(), "PGPASSWORD="+password)
	cmd.Env = append(cmd.Env, env...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	timer := time.AfterFunc(5*time.Minute, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	if err = cmd.Run(); err != nil {
		err = fmt.Errorf("%s: %w\n%s", name, err, stderr.String())
	}
	return strings.TrimSpace(stdout.String()), err
}

// mediaFile is a file of the media service, and its content.
const mediaFile, mediaContent = "company/item/file", "a recording"

// storeFile adds a file to the directory of media.
func (w *world) storeFile(t *testing.T) {
	t.Helper()
	path := filepath.Join(w.MediaDir(), mediaFile)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(mediaContent), 0o600); err != nil {
		t.Fatal(err)
	}
}

// checkFile checks that the file of storeFile exists.
func (w *world) checkFile(t *testing.T) {
	t.Helper()
	if text, err := os.ReadFile(filepath.Join(w.MediaDir(), mediaFile)); err != nil || string(text) != mediaContent {
		t.Errorf("the file has %q: %v", text, err)
	}
}

// backupRole creates the role that docs/BACKUP.md describes.
func (w *world) backupRole(t *testing.T) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), w.Postgres.AdminURL())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	for _, sql := range []string{
		`create role backup login bypassrls password 'drill'`, `grant pg_read_all_data to backup`,
		`grant connect on database auth, customer, pass, booking, subscription, media, webhook to backup`,
	} {
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
}

func (w *world) backup(t *testing.T, dir string, env ...string) string {
	t.Helper()
	made, err := w.script(t, "backup.sh", dir, env)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func (w *world) restore(t *testing.T, backup string, env ...string) {
	t.Helper()
	if _, err := w.script(t, "restore.sh", backup, env); err != nil {
		t.Fatal(err)
	}
}

// refusals checks that invalid backups are refused, and that a backup of an unknown database
// fails.
func (w *world) refusals(t *testing.T, whole, encrypted string) {
	t.Helper()
	damaged := filepath.Join(harness.TempDir(t), "damaged")
	copyDir(t, whole, damaged)
	if err := os.Truncate(filepath.Join(damaged, "webhook.dump"), 100); err != nil {
		t.Fatal(err)
	}
	partial := filepath.Join(harness.TempDir(t), "partial")
	copyDir(t, whole, partial)
	if err := os.Remove(filepath.Join(partial, "MANIFEST")); err != nil {
		t.Fatal(err)
	}
	for backup, why := range map[string]string{damaged: "damaged", partial: "not a complete backup", encrypted: "RESTORE_FILTER"} {
		if _, err := w.script(t, "restore.sh", backup, nil); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: not refused because of %q: %v", backup, why, err)
		}
	}
	dir := harness.TempDir(t)
	if _, err := w.script(t, "backup.sh", dir, []string{"WEBHOOK_DATABASE=not_there"}); err == nil || !strings.Contains(err.Error(), `"not_there" does not exist`) {
		t.Errorf("a backup of a missing database: %v", err)
	}
	left, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(left) != 1 || !strings.HasSuffix(left[0], ".partial") {
		t.Errorf("the failed backup left %v, %v", left, err)
	}
}

func copyDir(t *testing.T, from, to string) {
	t.Helper()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
}

// mix creates one backup out of two: customer and pass from the first, the others from the
// second.
func mix(t *testing.T, dir, first, second string) string {
	t.Helper()
	mixed := filepath.Join(dir, "mixed")
	copyDir(t, second, mixed)
	for _, part := range []string{"customer", "pass"} {
		text, err := os.ReadFile(filepath.Join(first, part+".dump"))
		if err == nil {
			err = os.WriteFile(filepath.Join(mixed, part+".dump"), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	sum := exec.Command("sh", "-c", "sha256sum MANIFEST ./*.dump ./*.tar >SHA256SUMS")
	sum.Dir = mixed
	if out, err := sum.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return mixed
}

// reservectl runs an operator's command for the company, and returns its output.
func (w *world) reservectl(t *testing.T, code int, args ...string) string {
	t.Helper()
	issued, err := w.Operator(t).Tokens.IssueToken(t.Context(), &authv1.IssueTokenRequest{ClientId: w.OperatorCredential.ID, ClientSecret: w.OperatorCredential.Secret})
	if err != nil {
		t.Fatal(err)
	}
	result := harness.Run(t, harness.Command{
		Program: "reservectl", Args: append(args, "--company", w.company.ID, "--booking", w.Booking, "--pass", w.Pass,
			"--subscription", w.Subscription, "--media", w.Media, "--customer", w.Customer, "--reports", w.Reports),
		Env: map[string]string{"RESERVATION_TOKEN": issued.GetAccessToken()},
	})
	if result.Code != code {
		t.Errorf("%v: exit status %d, want %d\n%s%s", args, result.Code, code, result.Output, result.Errors)
	}
	return result.Output
}

// checkBookings checks that the bookings that were acknowledged before the later backup exist.
func (w *world) checkBookings(t *testing.T, before map[string]bool) {
	t.Helper()
	books := w.books(t)
	for registration, cancelled := range before {
		if is, found := books[registration]; !found || cancelled && !is {
			t.Errorf("%s was acknowledged before the backup, cancelled %t; it exists %t, cancelled %t", registration, cancelled, found, is)
		}
	}
	if len(before) == 0 {
		t.Error("nothing was sold before the backup")
	}
}

// expect checks the status with which Interface A answers a request with the token.
func (w *world) expect(t *testing.T, token string, code int) {
	t.Helper()
	answer := harness.NewA(t, w.Gateways[0]).Do(t, harness.Request{Method: http.MethodGet, Path: "/customers?page=0", Token: token})
	answer.Into(t, code, nil)
}
