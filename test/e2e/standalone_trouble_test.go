package e2e

import (
	"errors"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"reservation.dev/test/harness"
)

// TestStandaloneRefusals covers everything that prevents a start. Each message names the setting,
// and no process is left.
func TestStandaloneRefusals(t *testing.T) {
	taken, base := takenPort(t)
	file := filepath.Join(harness.TempDir(t), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	closed := filepath.Join(harness.TempDir(t), "closed")
	if err := os.Mkdir(closed, 0o555); err != nil {
		t.Fatal(err)
	}
	free := strconv.Itoa(base)
	for _, tt := range []struct {
		name    string
		env     map[string]string
		account *syscall.Credential
		want    []string
	}{
		{"a port of a service that is in use", map[string]string{"PORT_BASE": strconv.Itoa(taken - 5)}, nil,
			[]string{"port " + strconv.Itoa(taken) + " (gRPC of booking)", "PORT_BASE"}},
		{"the port of PostgreSQL that is in use", map[string]string{"PORT_BASE": strconv.Itoa(taken - 8)}, nil,
			[]string{"port " + strconv.Itoa(taken) + " (PostgreSQL)", "PORT_BASE"}},
		{"a data directory that cannot be written to", map[string]string{"DATA_DIR": closed, "PORT_BASE": free}, unprivilegedAccount(t),
			[]string{closed, "DATA_DIR", "permission denied"}},
		{"a data directory that cannot be created", map[string]string{"DATA_DIR": filepath.Join(closed, "data"), "PORT_BASE": free}, unprivilegedAccount(t),
			[]string{closed, "DATA_DIR", "permission denied"}},
		{"a data directory that is a file", map[string]string{"DATA_DIR": file, "PORT_BASE": free}, nil, []string{file, "DATA_DIR"}},
		{"a database server that is unavailable", map[string]string{"DATABASE_URL": "postgres://u:s3cret@127.0.0.1:1/x", "PORT_BASE": free}, nil,
			[]string{"DATABASE_URL", "connection refused"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := filepath.Join(harness.TempDir(t), "data")
			if tt.env["DATA_DIR"] == "" {
				tt.env["DATA_DIR"] = dir
			}
			r := harness.Run(t, harness.Command{Program: "standalone", Env: tt.env, Account: tt.account})
			for _, want := range tt.want {
				if !strings.Contains(r.Errors, want) {
					t.Errorf("the message lacks %q", want)
				}
			}
			if r.Code != 1 || strings.Contains(r.Errors, "s3cret") || t.Failed() {
				t.Errorf("exit status %d: %s", r.Code, r.Errors)
			}
			harness.NothingLeft(t, tt.env["DATA_DIR"])
		})
	}
}

// takenPort listens on a port with free ports around it. It returns the port, and the first of
// ten free ports.
func takenPort(t *testing.T) (taken, base int) {
	t.Helper()
	base = harness.NewStandalone(t, harness.StandaloneOptions{}).PortBase
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(harness.NewStandalone(t, harness.StandaloneOptions{}).PortBase+8)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l.Addr().(*net.TCPAddr).Port, base
}

// unprivilegedAccount returns the account of a user who owns nothing, or nil if the tests do not
// run as root.
func unprivilegedAccount(t *testing.T) *syscall.Credential {
	t.Helper()
	if os.Geteuid() != 0 {
		return nil
	}
	u, err := user.Lookup("nobody")
	if err != nil {
		t.Fatal(err)
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
}

// TestStandaloneAsOrdinaryUser runs as an ordinary user without a home directory, and ends the
// platform in various ways.
func TestStandaloneAsOrdinaryUser(t *testing.T) { // invariant 4 of deploy/standalone
	parent := harness.TempDir(t)
	account := unprivilegedAccount(t)
	if account != nil {
		if err := os.Chown(parent, int(account.Uid), int(account.Gid)); err != nil {
			t.Fatal(err)
		}
	}
	s := harness.NewStandalone(t, harness.StandaloneOptions{Dir: filepath.Join(parent, "data"), Account: account})
	s.Start(t)
	s.AwaitReady(t)
	t.Run("other users cannot read the secrets", func(t *testing.T) {
		for _, name := range []string{"credentials.json", "state.json"} {
			info, err := os.Stat(filepath.Join(s.Dir, name))
			if err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("%s: %v, %v", name, info, err)
			}
		}
	})
	company := s.Operator(t).NewCompany(t, "Europe/London")
	client := company.NewClient(t)
	t.Run("a second Ctrl-C does not disturb an orderly shutdown", func(t *testing.T) {
		s.InterruptTwice(t)
		harness.NothingLeft(t, s.Dir)
	})
	t.Run("SIGTERM causes an orderly shutdown", func(t *testing.T) {
		s.Start(t)
		s.AwaitReady(t)
		s.Stop(t)
		harness.NothingLeft(t, s.Dir)
	})
	t.Run("the platform ends when its database ends, and logs it", func(t *testing.T) {
		s.Start(t)
		s.AwaitReady(t)
		pid := postmaster(t, s.Dir)
		if err := s.AwaitFailure(t, func() error { return syscall.Kill(pid, syscall.SIGKILL) }); err == nil {
			t.Error("the platform ended without an error")
		}
		if !strings.Contains(s.Log(), "ended unexpectedly") {
			t.Error(s.Log())
		}
		harness.NothingLeft(t, s.Dir)
	})
	t.Run("stored data survives all of these", func(t *testing.T) {
		s.Start(t)
		s.AwaitReady(t)
		s.A(t).Token(t, client)
	})
	t.Run("Ctrl-C during the start ends the platform without an error", func(t *testing.T) {
		s.Stop(t)
		for _, patience := range []time.Duration{100 * time.Millisecond, 400 * time.Millisecond, time.Second} {
			before := starts(t, s)
			s.Start(t)
			harness.Eventually(t, time.Minute, func() error {
				if starts(t, s) == before {
					return errors.New("the platform has not begun to start")
				}
				return nil
			})
			<-time.After(patience) // interrupt at different stages of the start
			s.Interrupt(t)
			harness.NothingLeft(t, s.Dir)
		}
	})
}

// starts returns how often the log says that the platform starts.
func starts(t *testing.T, s *harness.Standalone) int {
	t.Helper()
	log, err := os.ReadFile(s.LogFile())
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count(string(log), "starting;")
}

// postmaster returns the process of the private PostgreSQL server in a data directory.
func postmaster(t *testing.T, dir string) int {
	t.Helper()
	for _, process := range harness.Leftovers(t, dir) {
		id, command, _ := strings.Cut(process, " ")
		if strings.Contains(command, "/postgres -D ") {
			pid, err := strconv.Atoi(id)
			if err != nil {
				t.Fatal(err)
			}
			return pid
		}
	}
	t.Fatalf("no PostgreSQL among %q", harness.Leftovers(t, dir))
	return 0
}
