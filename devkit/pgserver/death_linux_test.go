package pgserver

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestParentKilled runs on Linux only, because other kernels do not end a server whose parent was
// killed.
func TestParentKilled(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := openDir(t)
	t.Run("PostgreSQL ends within seconds after its parent is killed, and Start waits for that (1, 2, 3)", func(t *testing.T) {
		h := startHolder(t, self, dir, nil)
		execute(t, h.AdminURL, `create table kept (v text); insert into kept values ('yes')`)
		if err := h.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		s := start(t, Options{Dir: dir})
		// It may still be a zombie, which has no command line.
		if line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", h.PID)); len(line) > 0 {
			t.Errorf("process %d of the killed parent still runs: %q", h.PID, line)
		}
		if got := value(t, s.AdminURL(), `select v from kept`); got != "yes" {
			t.Errorf("got %q", got)
		}
		stop(t, s)
		eventually(t, noneOn(t, filepath.Join(dir, "data")))
	})
	t.Run("PostgreSQL ends even if no other server is started (3)", func(t *testing.T) {
		h := startHolder(t, self, dir, nil)
		connect(t, h.AdminURL) // a session must not delay the shutdown
		if err := h.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		eventually(t, noneOn(t, filepath.Join(dir, "data")))
	})
	t.Run("Start ends a server that did not end with its parent (2)", func(t *testing.T) {
		// Without a death signal, the server continues to run. The test gets the same state by
		// releasing the directory without stopping the server.
		orphan, err := Start(t.Context(), Options{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		orphan.mu.Lock()
		orphan.releaseAll()
		orphan.mu.Unlock()
		s := start(t, Options{Dir: dir})
		<-orphan.process.done
		remove(t, s)
	})
}

func TestInterrupt(t *testing.T) {
	t.Run("Ctrl-C in a terminal reaches only the parent", func(t *testing.T) {
		p := sleeper(t, account{})
		group, err := syscall.Getpgid(p.cmd.Process.Pid)
		if err != nil {
			t.Fatal(err)
		}
		if group == syscall.Getpgrp() {
			t.Error("the program is in its parent's process group")
		}
	})
}

// TestSlowAccounts tests the account that runs PostgreSQL, which only root can choose.
func TestSlowAccounts(t *testing.T) {
	if os.Geteuid() != 0 {
		return // nothing to test: without root, there is only one account
	}
	for _, name := range unprivileged() {
		t.Run("an ordinary user runs the server as itself: "+name, func(t *testing.T) {
			a, err := lookUp(name)
			if err != nil {
				t.Fatal(err)
			}
			dir := openDir(t)
			program := filepath.Join(dir, "holder")
			copyFile(t, os.Args[0], program)
			state := filepath.Join(dir, "state")
			if err := os.Mkdir(state, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := a.chown(state); err != nil {
				t.Fatal(err)
			}
			h := startHolder(t, program, state, a.credential)
			mustRunAs(t, h.PID, a.credential.Uid)
			execute(t, h.AdminURL, `create table kept (v text)`)
			h.stdin.Close()
			if err := h.cmd.Wait(); err != nil {
				t.Fatal(err)
			}
			// Root runs it as the owner of the cluster.
			s := start(t, Options{Dir: state})
			mustRunAs(t, s.process.cmd.Process.Pid, a.credential.Uid)
			execute(t, s.AdminURL(), `select v from kept`)
			remove(t, s)
		})
	}
	t.Run("root runs the server as an unprivileged account", func(t *testing.T) {
		dir := openDir(t)
		s := start(t, Options{Dir: dir, Durable: Fast})
		if s.cluster.external() {
			t.Errorf("the cluster of an open directory is in %s", s.cluster.root)
		}
		if s.cluster.account.credential.Uid == 0 {
			t.Error("it runs as root")
		}
		mustRunAs(t, s.process.cmd.Process.Pid, s.cluster.account.credential.Uid)
		remove(t, s)
	})
	t.Run("refuses the cluster of another user", func(t *testing.T) {
		dir := openDir(t)
		stop(t, start(t, Options{Dir: dir, Durable: Fast}))
		nobody, err := lookUp("nobody")
		if err != nil {
			t.Fatal(err)
		}
		program := filepath.Join(dir, "holder")
		copyFile(t, os.Args[0], program)
		for _, path := range []string{dir, filepath.Join(dir, "lock")} {
			if err := nobody.chown(path); err != nil {
				t.Fatal(err)
			}
		}
		cmd := exec.Command(program)
		cmd.Env = append(os.Environ(), holderEnv+"="+dir)
		cmd.Dir = "/"
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: nobody.credential}
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(out), "belongs to") {
			t.Errorf("got %v: %s", err, out)
		}
	})
}

func TestClosedDirectories(t *testing.T) {
	if os.Geteuid() != 0 {
		return // nothing to test: without root, there is only one account
	}
	t.Run("keeps the cluster elsewhere if the account cannot enter the directory", func(t *testing.T) {
		outer := closedDir(t)
		dir := filepath.Join(outer, "state")
		s := start(t, Options{Dir: dir})
		root := s.cluster.root
		if !strings.HasPrefix(root, externalBase+"/") {
			t.Fatalf("the cluster is in %s", root)
		}
		execute(t, s.AdminURL(), `create table kept (v text); insert into kept values ('yes')`)
		stop(t, s)

		s = start(t, Options{Dir: dir})
		if got := value(t, s.AdminURL(), `select v from kept`); got != "yes" || s.cluster.root != root {
			t.Errorf("after a restart: %q in %s", got, s.cluster.root)
		}
		again := filepath.Join(outer, "copy")
		if out, err := exec.Command("cp", "-r", dir, again).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		log, waiting := logSignal(t, "waiting for another process")
		second := make(chan error)
		go func() { // (2)
			other, err := Start(t.Context(), Options{Dir: again, Log: log})
			if err == nil {
				err = errors.Join(other.Stop(t.Context()))
			}
			second <- err
		}()
		<-waiting
		execute(t, s.AdminURL(), `select v from kept`)
		stop(t, s)
		if err := <-second; err != nil {
			t.Errorf("the copy of the directory: %v", err)
		}

		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		fresh := start(t, Options{Dir: dir})
		if fresh.cluster.root == root {
			t.Error("a removed directory has its cluster back")
		}
		remove(t, fresh)
		if _, err := os.Stat(fresh.cluster.root); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is left: %v", fresh.cluster.root, err)
		}
		if err := os.RemoveAll(root); err != nil {
			t.Fatal(err)
		}
		_, err := Start(t.Context(), Options{Dir: again})
		mustContain(t, err, "instance", root, "restore")
	})
	t.Run("reports programs that the account cannot run", func(t *testing.T) {
		bin := filepath.Join(closedDir(t), "bin")
		fakeBinaries(t, bin, `echo "postgres (PostgreSQL) 15.1"`, "exit 1")
		_, err := Start(t.Context(), Options{Dir: openDir(t), BinDir: bin})
		mustContain(t, err, filepath.Join(bin, "postgres"), "permission denied", "executable for that account")
	})
}

func mustRunAs(t *testing.T, pid int, uid uint32) {
	t.Helper()
	info, err := os.Stat(fmt.Sprintf("/proc/%d", pid))
	if err != nil {
		t.Fatal(err)
	}
	if got := owner(info).Uid; got != uid {
		t.Errorf("PostgreSQL runs as user %d, want %d", got, uid)
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	in, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.Copy(out, in)
	if err := errors.Join(err, out.Chmod(0o755), out.Close()); err != nil {
		t.Fatal(err)
	}
}
