//go:build unix

package pgserver

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

func TestServer(t *testing.T) {
	whole := t // servers run longer than the subtest that starts them
	dir := openDir(t)
	s := start(t, Options{Dir: dir, MaxConnections: 33})

	t.Run("listens on the loopback address only and requires a password (4)", func(t *testing.T) {
		for setting, want := range map[string]string{
			"listen_addresses": "127.0.0.1", "unix_socket_directories": "", "max_connections": "33", "fsync": "on", "jit": "off",
		} {
			if got := value(t, s.AdminURL(), "select current_setting('"+setting+"')"); got != want {
				t.Errorf("%s is %q, want %q", setting, got, want)
			}
		}
		open := value(t, s.AdminURL(), `select count(*)::text from pg_hba_file_rules where auth_method <> 'scram-sha-256'`)
		if open != "0" {
			t.Errorf("%s rules require no password", open)
		}
		u, _ := url.Parse(s.AdminURL())
		u.User = url.UserPassword("postgres", "guess")
		if conn, err := pgx.Connect(t.Context(), u.String()); err == nil {
			conn.Close(t.Context())
			t.Error("a wrong password was let in")
		}
	})
	t.Run("only the owner can read passwords (4)", func(t *testing.T) {
		for name, want := range map[string]os.FileMode{"password": 0o600, "postgres.log": 0o600, "data": 0o700} {
			info, err := os.Stat(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			if got := info.Mode().Perm(); got != want {
				t.Errorf("%s has permissions %o, want %o", name, got, want)
			}
		}
		if _, err := os.Stat(filepath.Join(dir, "initdb.password")); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("initdb's copy of the password is left: %v", err)
		}
	})
	t.Run("text is UTF-8 and sorts by code point, and lower() handles all letters", func(t *testing.T) {
		if got := value(t, s.AdminURL(), `select current_setting('server_encoding')`); got != "UTF8" {
			t.Errorf("the encoding is %s", got)
		}
		if got := value(t, s.AdminURL(), `select string_agg(v, '' order by v) from unnest('{b,ä,a,B,Z}'::text[]) v`); got != "BZabä" {
			t.Errorf("sorted: %s", got)
		}
		if got := value(t, s.AdminURL(), `select lower('ÄÖÉŁ')`); got != "äöéł" {
			t.Errorf("lower: %s", got)
		}
	})
	t.Run("committed data survives a restart (1)", func(t *testing.T) {
		execute(t, s.AdminURL(), `create table kept (v text); insert into kept values ('yes')`)
		stop(t, s)
		s = start(whole, Options{Dir: dir})
		if got := value(t, s.AdminURL(), `select v from kept`); got != "yes" {
			t.Errorf("got %q", got)
		}
	})
	t.Run("Wait reports a killed server, and the next start recovers its data (1)", func(t *testing.T) {
		execute(t, s.AdminURL(), `insert into kept values ('before the crash')`)
		if err := syscall.Kill(s.process.cmd.Process.Pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		mustContain(t, s.Wait(t.Context()), "ended unexpectedly", "killed")
		stop(t, s)
		s = start(whole, Options{Dir: dir})
		if got := value(t, s.AdminURL(), `select count(*)::text from kept`); got != "2" {
			t.Errorf("%s rows are left", got)
		}
	})
	t.Run("Stop with an ended context stops the server immediately and returns an error (1, 3)", func(t *testing.T) {
		execute(t, s.AdminURL(), `insert into kept values ('before the hard stop')`)
		over, cancel := context.WithCancel(t.Context())
		cancel()
		mustContain(t, s.Stop(over), "in time")
		eventually(t, noneOn(t, dir))
		s = start(whole, Options{Dir: dir})
		if got := value(t, s.AdminURL(), `select count(*)::text from kept`); got != "3" {
			t.Errorf("%s rows are left", got)
		}
	})
	t.Run("sessions do not delay Stop, which can be called several times at the same time (3)", func(t *testing.T) {
		conn := connect(t, s.AdminURL())
		if _, err := conn.Exec(t.Context(), `begin; lock table kept`); err != nil {
			t.Fatal(err)
		}
		waited := make(chan error)
		go func() { waited <- s.Wait(t.Context()) }()
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				if err := s.Stop(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if err := <-waited; err != nil {
			t.Errorf("Wait after Stop: %v", err)
		}
		eventually(t, noneOn(t, dir))
	})
	t.Run("Remove leaves no files in the directory, even after Stop", func(t *testing.T) {
		for range 2 {
			remove(t, s)
		}
		left, err := os.ReadDir(dir)
		if err != nil || len(left) > 0 {
			t.Errorf("left: %v, %v", left, err)
		}
	})
}

func TestSideBySide(t *testing.T) {
	t.Run("two servers run side by side", func(t *testing.T) {
		var servers [2]*Server
		var wg sync.WaitGroup
		for i := range servers {
			dir := openDir(t)
			wg.Go(func() {
				s, err := Start(t.Context(), Options{Dir: dir, Durable: Fast})
				if err != nil {
					t.Error(err)
					return
				}
				servers[i] = s
			})
		}
		wg.Wait()
		if t.Failed() {
			return
		}
		for _, s := range servers {
			defer remove(t, s)
			execute(t, s.AdminURL(), `create table mine (v text)`)
		}
		stop(t, servers[0])
		execute(t, servers[1].AdminURL(), `insert into mine values ('alive')`)
	})
}

func TestOneDirectory(t *testing.T) {
	dir := openDir(t)
	first := start(t, Options{Dir: dir, Durable: Fast})

	t.Run("Start on a directory in use names the process that uses it (2)", func(t *testing.T) {
		log, waiting := logSignal(t, "waiting for another process")
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		failed := make(chan error)
		go func() {
			_, err := Start(ctx, Options{Dir: dir, Durable: Fast, Log: log})
			failed <- err
		}()
		<-waiting
		cancel()
		if err := <-failed; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		if pid := pidIn(filepath.Join(dir, "lock")); pid != os.Getpid() {
			t.Errorf("the lock names process %d", pid)
		}
	})
	t.Run("Start waits for the first server to stop (2)", func(t *testing.T) {
		log, waiting := logSignal(t, "waiting for another process")
		type outcome struct {
			s   *Server
			err error
		}
		second := make(chan outcome)
		go func() {
			s, err := Start(t.Context(), Options{Dir: dir, Durable: Fast, Log: log})
			second <- outcome{s, err}
		}()
		<-waiting
		stop(t, first)
		got := <-second
		if got.err != nil {
			t.Fatal(got.err)
		}
		stop(t, got.s)
	})
	t.Run("a server that another program started keeps running (2)", func(t *testing.T) {
		c := first.cluster
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		s := &Server{opts: first.opts, cluster: c, log: first.log, port: first.port}
		s.opts.Port, s.freePort = 0, freePort
		nobody, err := os.Open(os.DevNull)
		if err != nil {
			t.Fatal(err)
		}
		defer nobody.Close()
		if err := s.launch(ctx, nobody); err != nil { // without the lock
			t.Fatal(err)
		}
		defer s.process.shutDown(ctx)
		_, err = Start(ctx, Options{Dir: dir, Durable: Fast})
		mustContain(t, err, "another program started", strconv.Itoa(s.process.cmd.Process.Pid))
	})
	t.Run("Start ignores the lock file of a killed server whose process identifier another program has (2)", func(t *testing.T) {
		// This is the state after a crash if another process of the account got the identifier.
		p := sleeper(t, first.cluster.account)
		data := first.cluster.data()
		lines := []string{strconv.Itoa(p.cmd.Process.Pid), data, "1", "5432", "", "127.0.0.1", "0 0", "ready"}
		path := filepath.Join(data, pidFile)
		if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := first.cluster.account.chown(path); err != nil {
			t.Fatal(err)
		}
		stop(t, start(t, Options{Dir: dir, Durable: Fast}))
	})
	t.Run("a cluster of another version is refused and stays unchanged (5)", func(t *testing.T) {
		path := filepath.Join(first.cluster.data(), "PG_VERSION")
		before, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		defer os.WriteFile(path, before, 0o600)
		if err := os.WriteFile(path, []byte("99\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err = Start(t.Context(), Options{Dir: dir})
		mustContain(t, err, "PostgreSQL 99", "not 99", dir)
	})
	t.Run("a cluster without its password is refused (5)", func(t *testing.T) {
		secret := first.cluster.secret()
		before, err := os.ReadFile(secret)
		if err != nil {
			t.Fatal(err)
		}
		defer os.WriteFile(secret, before, 0o600)
		if err := os.Remove(secret); err != nil {
			t.Fatal(err)
		}
		_, err = Start(t.Context(), Options{Dir: dir})
		mustContain(t, err, secret, "restore")
	})
	remove(t, first)
}

// sleeper starts a program that is not PostgreSQL.
func sleeper(t *testing.T, a account) *process {
	t.Helper()
	p, err := spawn(sleepCommand(), a, syscall.SIGKILL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.signal(syscall.SIGKILL)
		<-p.done
	})
	return p
}

func TestPort(t *testing.T) {
	dir := openDir(t)
	taken, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	port := taken.Addr().(*net.TCPAddr).Port

	t.Run("a used port is reported", func(t *testing.T) {
		_, err := Start(t.Context(), Options{Dir: dir, Port: port, Durable: Fast})
		mustContain(t, err, "port "+strconv.Itoa(port)+" is taken")
		if !errors.Is(err, ErrPortTaken) {
			t.Errorf("%v is not ErrPortTaken", err)
		}
		eventually(t, noneOn(t, dir))
	})
	t.Run("another free port is used if another program takes the first one", func(t *testing.T) {
		opts, err := Options{Dir: dir, Durable: Fast}.complete()
		if err != nil {
			t.Fatal(err)
		}
		asked := 0
		s := &Server{opts: opts, freePort: func() (int, error) {
			asked++
			if asked == 1 {
				return port, nil
			}
			return freePort()
		}}
		if err := s.start(t.Context()); err != nil {
			t.Fatal(err)
		}
		stop(t, s)
		if asked != 2 {
			t.Errorf("freePort was called %d times", asked)
		}
	})
	t.Run("a given port is used", func(t *testing.T) {
		taken.Close()
		s := start(t, Options{Dir: dir, Port: port, Durable: Fast})
		if got := value(t, s.AdminURL(), `select current_setting('port')`); got != strconv.Itoa(port) {
			t.Errorf("it listens on %s", got)
		}
		remove(t, s)
	})
	t.Run("invalid options are refused", func(t *testing.T) {
		for _, opts := range []Options{{}, {Dir: dir, Port: -1}, {Dir: dir, Port: 65536}, {Dir: dir, MaxConnections: -1}} {
			if _, err := Start(t.Context(), opts); err == nil {
				t.Errorf("%+v was accepted", opts)
			}
		}
	})
}

func TestCancel(t *testing.T) {
	dir := openDir(t)
	t.Run("a cancelled start leaves no process, and the next start succeeds (3, 5)", func(t *testing.T) {
		for timeout := 30 * time.Millisecond; ; timeout += timeout / 2 {
			ctx, cancel := context.WithTimeout(t.Context(), timeout)
			b := time.Now()
			s, err := Start(ctx, Options{Dir: dir, Log: slog.New(slog.NewTextHandler(testWriter{t}, nil))})
			t.Log(timeout, time.Since(b), err)
			cancel()
			if err == nil {
				stop(t, s)
				return
			}
			if !errors.Is(err, context.DeadlineExceeded) || timeout > time.Minute {
				t.Fatalf("after %s: %v", timeout, err)
			}
			eventually(t, noneOn(t, dir))
		}
	})
	t.Run("a start that is cancelled shortly before the server is ready leaves no process (3)", func(t *testing.T) {
		s, err := startAndCancel(t.Context(), dir)
		for tries := 1; err == nil && tries < 20; tries++ { // it was ready before it was cancelled
			stop(t, s)
			s, err = startAndCancel(t.Context(), dir)
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("got %v", err)
		}
		eventually(t, noneOn(t, dir))
		remove(t, start(t, Options{Dir: dir}))
	})
}

// startAndCancel starts a server, and cancels the start as soon as PostgreSQL's main process runs.
func startAndCancel(ctx context.Context, dir string) (s *Server, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s, err = Start(ctx, Options{Dir: dir})
	}()
	for postmasterPID(filepath.Join(dir, "data")) == 0 {
		select {
		case <-ended:
			return s, err
		default:
			runtime.Gosched()
		}
	}
	cancel()
	<-ended
	return s, err
}
