package privacy

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// databases returns the names of a cluster's databases.
func databases() []string {
	return []string{"auth", "booking", "customer", "pass", "subscription", "media", "reports", "webhook"}
}

// inDatabases returns the tables that contain a text, ignoring case, as "booking.customers".
func (w *world) inDatabases(t *testing.T, mark string) []string {
	t.Helper()
	var found []string
	for _, name := range databases() {
		for table, text := range w.dump(t, name) {
			if contains(text, mark) {
				found = append(found, name+"."+table)
			}
		}
	}
	slices.Sort(found)
	return found
}

// contains searches for a text, and for its bytes in PostgreSQL's notation for bytea.
func contains(text []byte, mark string) bool {
	text = bytes.ToLower(text)
	for _, m := range []string{strings.ToLower(mark), strings.ToUpper(mark), mark} {
		if bytes.Contains(text, []byte(hex.EncodeToString([]byte(m)))) {
			return true
		}
	}
	return bytes.Contains(text, []byte(strings.ToLower(mark)))
}

// dump returns all rows of every table of a database, in the format of pg_dump.
func (w *world) dump(t *testing.T, database string) map[string][]byte {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), w.OwnerURL(database))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	rows, err := conn.Query(t.Context(), `select c.oid::regclass::text from pg_class c join pg_namespace n on n.oid = c.relnamespace
		where c.relkind = 'r' and n.nspname not in ('pg_catalog', 'information_schema')`)
	if err != nil {
		t.Fatal(err)
	}
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(tables) < 5 {
		t.Fatalf("%s has %v: %v", database, tables, err)
	}
	dumped := map[string][]byte{}
	for _, table := range tables {
		var b bytes.Buffer
		// A query includes generated columns, which copying the table does not.
		if _, err := conn.PgConn().CopyTo(t.Context(), &b, fmt.Sprintf("copy (select * from %s) to stdout", table)); err != nil {
			t.Fatalf("%s.%s: %v", database, table, err)
		}
		dumped[table] = b.Bytes()
	}
	return dumped
}

// inFiles returns the files of the services' logs and of NATS that contain a text.
func (w *world) inFiles(t *testing.T, mark string) []string {
	t.Helper()
	var found []string
	seen := map[string]bool{}
	err := filepath.WalkDir(w.Dir(), func(path string, entry fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist): // NATS has deleted it since it was listed
			return nil
		case err != nil:
			return err
		case entry.IsDir() && entry.Name() == "postgres":
			return filepath.SkipDir
		case entry.IsDir():
			return nil
		}
		text, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		seen[filepath.Ext(path)] = true
		if contains(text, mark) {
			found = append(found, strings.TrimPrefix(path, w.Dir()+"/"))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if !seen[".log"] || !seen[".blk"] {
		t.Fatalf("logs or streams were not searched, only %v", seen)
	}
	return found
}
