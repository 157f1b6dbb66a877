package pgserver

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestLog(t *testing.T) {
	t.Run("the log has a bounded size and keeps its end", func(t *testing.T) {
		dir := t.TempDir()
		path := filepath.Join(dir, "postgres.log")
		l, err := openLog(path, 100)
		if err != nil {
			t.Fatal(err)
		}
		for range 50 {
			if _, err := l.Write([]byte("something happened\n")); err != nil {
				t.Fatal(err)
			}
		}
		_, _ = l.Write([]byte("the end\n"))
		l.close()
		if last := l.last(); !strings.HasSuffix(last, "something happened\nthe end") {
			t.Errorf("the last lines are %q", last)
		}
		for _, name := range []string{path, path + ".1"} {
			info, err := os.Stat(name)
			if err != nil {
				t.Fatal(err)
			}
			if info.Size() == 0 || info.Size() > 100 {
				t.Errorf("%s has %d bytes", name, info.Size())
			}
		}
		text, err := os.ReadFile(path)
		if err != nil || !strings.HasSuffix(string(text), "the end\n") {
			t.Errorf("the file ends with %q, %v", text, err)
		}
	})
	t.Run("a log that is opened again continues, within the same bound", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "postgres.log")
		for range 3 {
			l, err := openLog(path, 20)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = l.Write([]byte("ten bytes\n"))
			l.close()
		}
		text, err := os.ReadFile(path)
		if err != nil || string(text) != "ten bytes\n" {
			t.Errorf("the file holds %q, %v", text, err)
		}
	})
	t.Run("writes succeed even if the file cannot be written", func(t *testing.T) {
		l, err := openLog(filepath.Join(t.TempDir(), "postgres.log"), 100)
		if err != nil {
			t.Fatal(err)
		}
		l.close()
		if n, err := l.Write([]byte("lost\n")); n != 5 || err != nil {
			t.Errorf("got %d, %v", n, err)
		}
	})
}
