//go:build unix

package operations

import (
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"reservation.dev/devkit/pgserver"
	"reservation.dev/test/harness"
)

// archived is a PostgreSQL server that is set up as docs/BACKUP.md says, with the commands of
// that page's section.
type archived struct {
	dir    string
	env    []string
	as     *syscall.Credential // nil: as the account of this process
	blocks []string
}

var pageBlock = regexp.MustCompile("(?s)```(?:sh|ini)\n(.*?)```")

// TestRestoreToMoment runs the commands that docs/BACKUP.md gives for a restore to any time.
// TestRestoreDrill covers the corrections to the restored databases.
func TestRestoreToMoment(t *testing.T) {
	if !*drill {
		t.Skip("creates, breaks and restores a PostgreSQL server: make restore-drill")
	}
	a := openArchived(t)
	settings, back, restore := a.blocks[0], a.blocks[1], a.blocks[2]
	a.run(t, `initdb --auth=trust --username=postgres --pgdata="$PGDATA" >/dev/null
cat >>"$PGDATA/postgresql.conf" <<'CONF'
listen_addresses = ''
unix_socket_directories = '`+a.dir+`'
`+settings+`CONF
pg_ctl -D "$PGDATA" -l "$PGDATA.log" -w start >/dev/null
psql -qc "create table kept (what text)" -c "insert into kept values ('before the base backup')"`)
	a.run(t, back+`echo "$base" >"$PGDATA.base"`)
	a.run(t, `psql -qc "insert into kept values ('before the moment')"`)
	moment := a.run(t, `psql -Atc 'select clock_timestamp()'; sleep 1; psql -qc "insert into kept values ('after the moment')"`)
	a.run(t, `kill -QUIT $(head -1 "$PGDATA/postmaster.pid"); while [ -e "$PGDATA/postmaster.pid" ] && kill -0 $(head -1 "$PGDATA/postmaster.pid") 2>/dev/null; do sleep 0.1; done`)

	typed := regexp.MustCompile(`recovery_target_time = '[^']*'`).ReplaceAllString(restore, fmt.Sprintf("recovery_target_time = '%s'", moment))
	typed = regexp.MustCompile(`(?m)^pg_basebackup ….*$`).ReplaceAllString(typed, "")
	if !strings.Contains(typed, moment) || strings.Contains(typed, "…") {
		t.Fatalf("the page has changed: %s", restore)
	}
	a.run(t, `base=$(cat "$PGDATA.base")`+"\n"+typed)
	if got, want := a.run(t, `psql -Atc 'select what from kept order by what'`), "before the base backup\nbefore the moment"; got != want {
		t.Errorf("restored %q, want %q", got, want)
	}
	a.run(t, back) // a new base backup immediately, as the page says
	if got := a.run(t, `grep -c 'recovery stopping before commit' "$PGDATA/recovery.log"; grep -c '^recovery_target\|^restore_command' "$PGDATA/postgresql.auto.conf" || true`); got != "1\n0" {
		t.Errorf("recovery.log and postgresql.auto.conf: %q", got)
	}
}

func openArchived(t *testing.T) *archived {
	t.Helper()
	bin, err := pgserver.Find(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	root, err := harness.Root()
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(root, "docs", "BACKUP.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## Point-in-time recovery\n")
	section, _, _ = strings.Cut(section, "\n## ")
	a := &archived{dir: harness.TempDir(t)}
	for _, m := range pageBlock.FindAllStringSubmatch(section, -1) {
		a.blocks = append(a.blocks, strings.ReplaceAll(m[1], "/var/backups", a.dir))
	}
	if len(a.blocks) != 3 {
		t.Fatalf("the section has %d blocks", len(a.blocks))
	}
	data := filepath.Join(a.dir, "data")
	a.env = append(os.Environ(), "PATH="+bin.Dir+":"+os.Getenv("PATH"), "PGDATA="+data, "PGHOST="+a.dir, "PGPORT=5432", "PGUSER=postgres", "LC_ALL=C.UTF-8")
	for _, dir := range []string{a.dir, filepath.Join(a.dir, "wal"), filepath.Join(a.dir, "base")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if os.Geteuid() == 0 { // PostgreSQL does not run as root
		a.as = accountOf(t, "postgres")
		for _, dir := range []string{a.dir, filepath.Join(a.dir, "wal"), filepath.Join(a.dir, "base")} {
			if err := os.Chown(dir, int(a.as.Uid), int(a.as.Gid)); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Cleanup(func() {
		if _, err := os.Stat(filepath.Join(data, "postmaster.pid")); err == nil {
			a.run(t, `pg_ctl -D "$PGDATA" -m immediate -w stop >/dev/null`)
		}
	})
	return a
}

func accountOf(t *testing.T, name string) *syscall.Credential {
	t.Helper()
	u, err := user.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	uid, uidErr := strconv.ParseUint(u.Uid, 10, 32)
	gid, gidErr := strconv.ParseUint(u.Gid, 10, 32)
	if uidErr != nil || gidErr != nil {
		t.Fatal(uidErr, gidErr)
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
}

// run runs lines with bash as PostgreSQL's user, and returns their output.
func (a *archived) run(t *testing.T, lines string) string {
	t.Helper()
	cmd := exec.Command("bash", "-eu", "-o", "pipefail", "-c", lines)
	cmd.Dir, cmd.Env = a.dir, a.env
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: a.as}
	out, err := os.CreateTemp(t.TempDir(), "out")
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	cmd.Stdout, cmd.Stderr = out, out // a file, because the server inherits it and a pipe would never end
	timer := time.AfterFunc(2*time.Minute, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	err = cmd.Run()
	text, readErr := os.ReadFile(out.Name())
	if err != nil || readErr != nil {
		t.Fatalf("%s\n%v %v\n%s", lines, err, readErr, text)
	}
	return strings.TrimSpace(string(text))
}
