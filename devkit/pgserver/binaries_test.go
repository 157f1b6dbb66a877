//go:build unix

package pgserver

import (
	"os"
	"path/filepath"
	"testing"
)

// fakeBinaries writes the given shell scripts as the programs of a server.
func fakeBinaries(t *testing.T, dir, postgres, initdb string) {
	t.Helper()
	script(t, filepath.Join(dir, "postgres"), postgres)
	script(t, filepath.Join(dir, "initdb"), initdb)
}

func TestFind(t *testing.T) {
	t.Run("finds the machine's server without a directory", func(t *testing.T) {
		b, err := Find(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		if b.Major < oldestMajor {
			t.Errorf("found version %d", b.Major)
		}
	})
	t.Run("uses the directory of POSTGRES_BIN unless a setting names another one", func(t *testing.T) {
		env, setting := t.TempDir(), t.TempDir()
		fakeBinaries(t, env, `echo "postgres (PostgreSQL) 16.2 (Debian 16.2-1)"`, "exit 0")
		fakeBinaries(t, setting, `echo "postgres (PostgreSQL) 18beta1"`, "exit 0")
		t.Setenv(binEnv, env)
		if b, err := Find(t.Context(), ""); err != nil || b != (Binaries{Dir: env, Major: 16}) {
			t.Errorf("got %v, %v", b, err)
		}
		if b, err := Find(t.Context(), setting); err != nil || b != (Binaries{Dir: setting, Major: 18}) {
			t.Errorf("got %v, %v", b, err)
		}
	})
	t.Run("reports an unusable directory with the reason", func(t *testing.T) {
		empty, old, other, broken, flat := t.TempDir(), t.TempDir(), t.TempDir(), t.TempDir(), t.TempDir()
		fakeBinaries(t, old, `echo "postgres (PostgreSQL) 14.11"`, "exit 0")
		fakeBinaries(t, other, `echo "something else"`, "exit 0")
		fakeBinaries(t, broken, `echo "libpq.so.5 is missing" >&2; exit 127`, "exit 0")
		fakeBinaries(t, flat, `echo "postgres (PostgreSQL) 15.1"`, "exit 0")
		if err := os.Chmod(filepath.Join(flat, "initdb"), 0o644); err != nil {
			t.Fatal(err)
		}
		for dir, reason := range map[string]string{
			empty: "has no initdb", old: "older than 15", other: "not PostgreSQL", broken: "libpq.so.5 is missing", flat: "not a program",
		} {
			_, err := Find(t.Context(), dir)
			mustContain(t, err, dir, reason, binEnv)
		}
	})
	t.Run("without a server of the wanted version, says what to do and where it searched", func(t *testing.T) {
		t.Setenv(binEnv, "")
		dir := t.TempDir()
		fakeBinaries(t, dir, `echo "postgres (PostgreSQL) 13.3"`, "exit 0")
		script(t, filepath.Join(dir, "pg_config"), "echo "+dir)
		t.Setenv("PATH", dir)
		_, err := find(t.Context(), "", 99)
		mustContain(t, err, "99", "install-postgres.sh", binEnv, "DATABASE_URL", dir, "older than 15")
	})
	t.Run("reads versions from paths", func(t *testing.T) {
		for path, want := range map[string]int{
			"/usr/lib/postgresql/15/bin": 15, "/opt/homebrew/opt/postgresql@17/bin": 17, "/usr/pgsql-16/bin": 16, "/usr/local/pgsql/bin": 0,
		} {
			if got := lastNumber(path); got != want {
				t.Errorf("%s: %d", path, got)
			}
		}
	})
	t.Run("quotes the output of an initdb that fails, and leaves no files (5)", func(t *testing.T) {
		bin := filepath.Join(openDir(t), "bin")
		fakeBinaries(t, bin, `echo "postgres (PostgreSQL) 15.1"`, `echo "initdb: error: no space for it" >&2; exit 1`)
		dir := openDir(t)
		_, err := Start(t.Context(), Options{Dir: dir, BinDir: bin})
		mustContain(t, err, dir, "initdb", "no space for it")
		for _, name := range []string{"data", "data.new", "initdb.password"} {
			if _, err := os.Stat(filepath.Join(dir, name)); !os.IsNotExist(err) {
				t.Errorf("%s is left: %v", name, err)
			}
		}
	})
	t.Run("quotes the output of a server that does not start", func(t *testing.T) {
		bin := filepath.Join(openDir(t), "bin")
		fakeBinaries(t, bin, `[ "$1" = --version ] && { echo "postgres (PostgreSQL) 15.1"; exit 0; }; echo "FATAL: no memory for it"; exit 1`,
			`for a; do case $a in --pgdata=*) echo 15 > "${a#--pgdata=}/PG_VERSION";; esac; done`)
		_, err := Start(t.Context(), Options{Dir: openDir(t), BinDir: bin})
		mustContain(t, err, "no memory for it", "exit status 1")
	})
}
