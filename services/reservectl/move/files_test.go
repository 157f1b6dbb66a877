package move

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"reservation.dev/platform/id"
)

// newFileMover returns a mover between two directories, and the directories.
func newFileMover(t *testing.T) (m *Mover, from, to string) {
	t.Helper()
	from, to = t.TempDir(), t.TempDir()
	bucket := func(dir string) *Cell {
		return &Cell{Bucket: "file://" + filepath.ToSlash(dir) + "?metadata=skip&no_tmp_dir=true"}
	}
	company := id.New[id.Company]()
	return &Mover{From: bucket(from), To: bucket(to), companies: []id.Company{company, company.Test()}, Progress: io.Discard}, from, to
}

func put(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// get returns the text of a file; "" if it does not exist.
func get(dir, name string) string {
	text, _ := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
	return string(text)
}

func TestFilesOfACompanyAreCopiedAndRemoved(t *testing.T) {
	t.Parallel()
	m, from, to := newFileMover(t)
	live, test := filePrefix(m.companies[0])+"item/a", filePrefix(m.companies[1])+"item/b"
	other := filePrefix(id.New[id.Company]()) + "item/c"
	put(t, from, live, "live")
	put(t, from, test, "test")
	put(t, from, other, "of another company")
	put(t, to, live, "cut off") // by an earlier command
	if err := m.copyFiles(t.Context()); err != nil {
		t.Fatal(err)
	}
	if get(to, live) != "live" || get(to, test) != "test" || get(to, other) != "" {
		t.Errorf("the target has %q, %q and %q", get(to, live), get(to, test), get(to, other))
	}
	late := filePrefix(m.companies[0]) + "item/late"
	put(t, from, late, "late")
	if err := m.copyFiles(t.Context()); err != nil {
		t.Fatal(err)
	}
	if get(to, late) != "late" {
		t.Error("the second copy does not have the difference")
	}
	deleted := filePrefix(m.companies[0]) + "item/deleted"
	put(t, to, deleted, "copied before it was deleted in the source")
	if err := m.copyFiles(t.Context()); err != nil {
		t.Fatal(err)
	}
	if get(to, deleted) != "" || get(to, live) != "live" || get(to, test) != "test" {
		t.Error("the next copy does not have the same files as the source")
	}
	if err := m.removeFiles(t.Context(), m.From); err != nil {
		t.Fatal(err)
	}
	if get(from, live)+get(from, test)+get(from, late) != "" || get(from, other) == "" || get(to, live) == "" {
		t.Error("not the files of the company in the source were removed")
	}
}

func TestFilesOfASharedBucketStay(t *testing.T) {
	t.Parallel()
	for what, options := range map[string]string{"the same URL": "", "another URL of the bucket": "&dir_file_mode=0700"} {
		m, from, _ := newFileMover(t)
		m.To = &Cell{Bucket: m.From.Bucket + options}
		name := filePrefix(m.companies[0]) + "item/a"
		put(t, from, name, "live")
		for _, err := range []error{m.copyFiles(t.Context()), m.removeFiles(t.Context(), m.From), m.removeFiles(t.Context(), m.To)} {
			if err != nil {
				t.Fatal(err)
			}
		}
		if get(from, name) != "live" {
			t.Errorf("%s: the file was removed", what)
		}
		if names, err := os.ReadDir(from); err != nil || len(names) != 1 {
			t.Errorf("%s: the bucket has %d names, %v", what, len(names), err)
		}
	}
}
