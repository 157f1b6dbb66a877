//go:build unix

package pgserver

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"
)

// holderEnv makes the test binary start a server, print its address, and run until its standard
// input is closed or it is killed. The value is the server's directory.
const holderEnv = "PGSERVER_TEST_HOLD"

// patience limits the waits for what another process or goroutine ends by itself.
const patience = time.Minute

func TestMain(m *testing.M) {
	if dir := os.Getenv(holderEnv); dir != "" {
		hold(dir)
		return
	}
	code := m.Run()
	if code == 0 {
		code = checkGoroutines()
	}
	os.Exit(code)
}

// checkGoroutines returns the exit code of the tests: 1 if goroutines are left that do not end.
func checkGoroutines() int {
	deadline := time.Now().Add(patience)
	for {
		err := goleak.Find()
		if err == nil {
			return 0
		}
		if time.Now().After(deadline) {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
}

// serverInfo is what the holder prints about its server.
type serverInfo struct {
	AdminURL string
	PID      int
}

func hold(dir string) {
	s, err := Start(context.Background(), Options{Dir: dir})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	_ = json.NewEncoder(os.Stdout).Encode(serverInfo{s.AdminURL(), s.process.cmd.Process.Pid})
	_, _ = io.Copy(io.Discard, os.Stdin) // until the test closes it
	if err := s.Stop(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// holder is a process that runs a server.
type holder struct {
	serverInfo
	cmd   *exec.Cmd
	stdin io.Closer
}

func startHolder(t *testing.T, program, dir string, credential *syscall.Credential) *holder {
	t.Helper()
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), holderEnv+"="+dir)
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: credential}
	cmd.Stderr = testWriter{t}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	h := &holder{cmd: cmd, stdin: stdin}
	t.Cleanup(func() {
		stdin.Close()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	if err != nil {
		t.Fatalf("the process that starts a server ended: %v", err)
	}
	if err := json.Unmarshal(line, &h.serverInfo); err != nil {
		t.Fatal(err)
	}
	return h
}

type testWriter struct{ t *testing.T }

func (w testWriter) Write(text []byte) (int, error) {
	w.t.Log(strings.TrimSpace(string(text)))
	return len(text), nil
}

// openDir returns a directory that every account can enter. Only the owner can enter t.TempDir's.
func openDir(t *testing.T) string {
	t.Helper()
	dir := closedDir(t)
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// closedDir returns a directory that no other account can enter.
func closedDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "pgserver-test-*")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// start starts a server that is removed when t ends.
func start(t *testing.T, opts Options) *Server {
	t.Helper()
	s, err := Start(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return s
}

func stop(t *testing.T, s *Server) {
	t.Helper()
	if err := s.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, s *Server) {
	t.Helper()
	if err := s.Remove(context.Background()); err != nil {
		t.Error(err)
	}
}

func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

func execute(t *testing.T, url, sql string) {
	t.Helper()
	conn := connect(t, url)
	defer conn.Close(context.Background())
	if _, err := conn.Exec(t.Context(), sql); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

func value(t *testing.T, url, sql string) string {
	t.Helper()
	conn := connect(t, url)
	defer conn.Close(context.Background())
	var v string
	if err := conn.QueryRow(t.Context(), sql).Scan(&v); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return v
}

// eventually waits until cond returns nil. It is for conditions that another process fulfils.
func eventually(t *testing.T, cond func() error) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for {
		err := cond()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("not within %s: %v", patience, err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// programsOn lists the processes with dir in their command line, and their children: the helper
// processes of a PostgreSQL server.
func programsOn(t *testing.T, dir string) []int {
	t.Helper()
	out, err := exec.Command("ps", "-A", "-o", "pid=,ppid=,args=").Output()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	var pids []int
	lines := strings.Split(string(out), "\n")
	for range 2 { // parents first, then their children
		for _, line := range lines {
			fields := strings.Fields(line)
			if len(fields) < 3 || found[fields[0]] || fields[0] == strconv.Itoa(os.Getpid()) {
				continue
			}
			if !strings.Contains(line, dir) && !found[fields[1]] {
				continue
			}
			found[fields[0]] = true
			pid, _ := strconv.Atoi(fields[0])
			pids = append(pids, pid)
		}
	}
	return pids
}

func noneOn(t *testing.T, dir string) func() error {
	return func() error {
		if pids := programsOn(t, dir); len(pids) > 0 {
			return fmt.Errorf("processes %v are left", pids)
		}
		return nil
	}
}

// logSignal returns a logger and a channel that it closes when it gets the message.
func logSignal(t *testing.T, message string) (*slog.Logger, <-chan struct{}) {
	seen := make(chan struct{})
	return slog.New(&signalHandler{Handler: slog.NewTextHandler(testWriter{t}, nil), message: message, seen: seen}), seen
}

type signalHandler struct {
	slog.Handler
	message string
	seen    chan struct{}
}

func (h *signalHandler) Handle(_ context.Context, r slog.Record) error {
	if strings.Contains(r.Message, h.message) {
		close(h.seen)
	}
	return nil
}

// script writes an executable shell script.
func script(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	// The umask may have closed both to other accounts.
	if err := errors.Join(os.Chmod(filepath.Dir(path), 0o755), os.Chmod(path, 0o755)); err != nil {
		t.Fatal(err)
	}
}

func mustContain(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want one with %q", parts)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the error lacks %q: %v", part, err)
		}
	}
}
