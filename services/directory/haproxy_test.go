package directory

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"reservation.dev/devkit/testkit"
	"reservation.dev/platform/id"
)

// startHAProxy starts a HAProxy that has both maps, and returns its runtime API.
func startHAProxy(t *testing.T) *haproxy {
	t.Helper()
	path, err := exec.LookPath("haproxy")
	if err != nil {
		if path, err = exec.LookPath("/usr/sbin/haproxy"); err != nil {
			t.Skip("haproxy is not installed; run deploy/install-haproxy.sh")
		}
	}
	dir, err := os.MkdirTemp("", "directory-*") // short enough for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	h := &haproxy{socket: filepath.Join(dir, "s"), files: files{dir: dir}, now: time.Now}
	for _, m := range []mapName{companiesMap, credentialsMap} {
		if err := h.files.write(m, []byte("old west\n")); err != nil {
			t.Fatal(err)
		}
	}
	config := fmt.Sprintf(`global
	stats socket %s mode 600 level admin
defaults
	mode http
	timeout connect 1s
	timeout client 1s
	timeout server 1s
frontend f
	bind unix@%s/f
	http-request return status 200 if { str(x),map_str(%s) -m found } { str(x),map_str(%s) -m found }
`, h.socket, dir, h.files.path(companiesMap), h.files.path(credentialsMap))
	file := filepath.Join(dir, "haproxy.cfg")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, "-db", "-f", file)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	testkit.Eventually(t, time.Minute, func() error {
		_, err := h.command(t.Context(), "show info")
		return err
	})
	return h
}

// lines returns the lines of a map in HAProxy by key.
func (h *haproxy) lines(t *testing.T, m mapName) map[string]string {
	t.Helper()
	answer, err := h.command(t.Context(), "show map "+h.files.path(m))
	if err != nil {
		t.Fatal(err)
	}
	lines := map[string]string{}
	for line := range strings.Lines(answer) {
		if f := strings.Fields(line); len(f) == 3 {
			lines[f[1]] = f[2]
		}
	}
	return lines
}

func TestHAProxy(t *testing.T) { // invariant 5
	t.Parallel()
	h := startHAProxy(t)
	t.Run("has restarted only once", func(t *testing.T) {
		for _, want := range []bool{true, false} {
			if got, err := h.hasRestarted(t.Context()); err != nil || got != want {
				t.Errorf("got %v, %v", got, err)
			}
		}
	})
	t.Run("makes single changes", func(t *testing.T) {
		for _, o := range []op{
			{"add", companiesMap, "comp_1", "west"}, {"add", companiesMap, "comp_2", "west"}, {"set", companiesMap, "comp_1", "east"}, {"del", companiesMap, "old", ""},
		} {
			if err := h.apply(t.Context(), o); err != nil {
				t.Error(err)
			}
		}
		same(t, "lines", map[string]string{"comp_1": "east", "comp_2": "west"}, h.lines(t, companiesMap))
	})
	t.Run("reports a change that HAProxy refuses", func(t *testing.T) {
		err := h.apply(t.Context(), op{"set", companiesMap, "comp_9", "east"})
		if err == nil || !strings.Contains(err.Error(), "set map") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("replaces a map by many lines, without duplicates", func(t *testing.T) {
		var text strings.Builder
		for n := range 800 {
			fmt.Fprintf(&text, "key_%026d comp_%026d\n", n, n)
		}
		for range 2 {
			if err := h.replace(t.Context(), credentialsMap, []byte(text.String())); err != nil {
				t.Fatal(err)
			}
		}
		if got := h.lines(t, credentialsMap); len(got) != 800 || got["key_"+fmt.Sprintf("%026d", 799)] != "comp_"+fmt.Sprintf("%026d", 799) {
			t.Errorf("got %d lines", len(got))
		}
		if err := h.replace(t.Context(), credentialsMap, nil); err != nil || len(h.lines(t, credentialsMap)) != 0 {
			t.Errorf("no lines: %v", err)
		}
	})
}

// TestLostFiles loses the files while HAProxy has the maps and one of two cells cannot be read.
func TestLostFiles(t *testing.T) { // invariant 4
	t.Parallel()
	h, log := startHAProxy(t), testkit.Log(t)
	west, east := id.New[id.Company](), id.New[id.Company]()
	inMaps := newTable([]string{"west", "east"}, log)
	for cell, live := range map[string]id.Company{"west": west, "east": east} {
		inMaps.answer(cell, map[id.Company]state{live: open}, nil, time.Now(), 0)
		inMaps.belong(cell, map[string]string{id.New[id.APIKey]().String(): live.String(), id.New[id.PublishableKey]().String(): live.Test().String()}, 0)
	}
	want := map[mapName]map[string]string{}
	for _, m := range []mapName{companiesMap, credentialsMap} {
		if err := h.replace(t.Context(), m, inMaps.lines(m)); err != nil {
			t.Fatal(err)
		}
		want[m] = h.lines(t, m)
	}
	for name, lose := range map[string]func(path string) error{
		"are missing": os.Remove,
		"are empty":   func(path string) error { return os.WriteFile(path, nil, 0o600) },
	} {
		t.Run("the lines of a cell that cannot be read stay if the files "+name, func(t *testing.T) {
			for m := range want {
				if err := lose(h.files.path(m)); err != nil {
					t.Fatal(err)
				}
			}
			again := newTable([]string{"west", "east"}, log)
			if err := load(t.Context(), again, h, log); err != nil {
				t.Fatal(err)
			}
			again.answer("west", map[id.Company]state{west: open}, nil, time.Now(), 0)
			h.pid = "" // as in a new process
			p := &publisher{table: again, haproxy: h, files: h.files, metrics: newMetrics(), log: log, written: map[mapName]time.Time{}}
			if err := p.once(t.Context()); err != nil {
				t.Fatal(err)
			}
			for m, lines := range want {
				same(t, "HAProxy", lines, h.lines(t, m))
				file, err := h.files.read(m)
				if err != nil {
					t.Fatal(err)
				}
				same(t, "file", lines, file)
			}
		})
	}
	t.Run("reads a map that is larger than any other answer", func(t *testing.T) {
		var text strings.Builder
		for n := range 5000 {
			fmt.Fprintf(&text, "key_%026d comp_%026d\n", n, n)
		}
		if err := h.replace(t.Context(), credentialsMap, []byte(text.String())); err != nil {
			t.Fatal(err)
		}
		if lines, err := h.read(t.Context(), credentialsMap); err != nil || len(lines) != 5000 {
			t.Errorf("got %d lines, %v", len(lines), err)
		}
	})
	t.Run("reports a map that HAProxy does not have", func(t *testing.T) {
		if _, err := h.read(t.Context(), "other"); err == nil || !strings.Contains(err.Error(), "Unknown map") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("has no lines without HAProxy", func(t *testing.T) {
		absent := &haproxy{socket: h.socket + ".absent", files: files{dir: t.TempDir()}, now: time.Now}
		if err := load(t.Context(), newTable([]string{"west"}, log), absent, log); err != nil {
			t.Error(err)
		}
	})
}

func TestPublisher(t *testing.T) {
	t.Parallel()
	h := startHAProxy(t)
	table := newTable([]string{"west"}, testkit.Log(t))
	p := &publisher{table: table, haproxy: h, files: h.files, metrics: newMetrics(), log: testkit.Log(t), written: map[mapName]time.Time{}}
	publish := func(t *testing.T) {
		t.Helper()
		if err := p.once(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	company := id.New[id.Company]()
	want := map[string]string{readyKey: "yes"}
	for _, key := range spellings(company) {
		want[key] = "west"
	}
	t.Run("leaves the maps alone while it knows nothing (invariant 4)", func(t *testing.T) {
		publish(t)
		for _, m := range []mapName{companiesMap, credentialsMap} {
			same(t, "lines", map[string]string{"old": "west"}, h.lines(t, m))
			lines, err := h.files.read(m)
			if err != nil {
				t.Fatal(err)
			}
			same(t, "file", map[string]string{"old": "west"}, lines)
		}
	})
	t.Run("replaces them when it knows a company", func(t *testing.T) {
		table.answer("west", map[id.Company]state{company: open}, nil, time.Now(), 0)
		publish(t)
		same(t, "lines", want, h.lines(t, companiesMap))
	})
	t.Run("writes lost files again when HAProxy has started", func(t *testing.T) {
		if err := h.files.write(companiesMap, nil); err != nil {
			t.Fatal(err)
		}
		h.pid, p.written = "", map[mapName]time.Time{} // as if another HAProxy answered, after some time
		publish(t)
		lines, err := h.files.read(companiesMap)
		if err != nil {
			t.Fatal(err)
		}
		same(t, "file", want, lines)
	})
}
