package harness

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"reservation.dev/platform/scopes"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

// Router is HAProxy in front of several cells, with deploy/router/haproxy.cfg and the directory.
type Router struct {
	HAProxy, Directory *Process
	// URL is the address of both interfaces, and Addr its host and port.
	URL, Addr string

	socket, maps, admin string
}

// NewRouter returns HAProxy with empty maps and with further variables of haproxy.cfg, which Start starts. It skips
// the test if HAProxy is not installed.
func NewRouter(t testing.TB, variables map[string]string) *Router {
	t.Helper()
	path, err := exec.LookPath("haproxy")
	if err != nil {
		if path, err = exec.LookPath("/usr/sbin/haproxy"); err != nil {
			t.Skip("haproxy is not installed; run deploy/install-haproxy.sh")
		}
	}
	root, err := Root()
	if err != nil {
		t.Fatal(err)
	}
	dir := TempDir(t)
	r := &Router{Addr: FreeAddr(t), socket: filepath.Join(dir, "haproxy.sock"), maps: filepath.Join(dir, "maps")}
	if err := os.Mkdir(r.maps, 0o700); err != nil {
		t.Fatal(err)
	}
	r.LoseMaps(t)
	env := map[string]string{"ROUTER_ADDR": r.Addr, "MAP_DIR": r.maps, "HAPROXY_SOCKET": r.socket}
	maps.Copy(env, variables)
	r.HAProxy = newProcess(t, "haproxy", dir, env, path, "-W", "-db", "-f", filepath.Join(root, "deploy", "router", "haproxy.cfg"))
	return r
}

// StartRouter starts a router with its directory in front of cells, which it knows by the names in haproxy.cfg: "west"
// and "east". It skips the test if HAProxy is not installed.
func StartRouter(t testing.TB, cells map[string]*Standalone) *Router {
	t.Helper()
	type cell struct {
		Name     string `json:"name"`
		AuthAddr string `json:"auth_addr"`
		ID       string `json:"credential_id"`
		Secret   string `json:"credential_secret"`
	}
	var list []cell
	servers := map[string]string{}
	for name, s := range cells {
		c := s.Credentials
		op := s.Operator(t)
		made, err := op.Credentials.CreateServiceCredential(op.As(t.Context(), ""), &authv1.CreateServiceCredentialRequest{
			Name: "directory", Scopes: []string{scopes.DirectoryRead}, Platform: true,
		}, waitForReady)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, cell{name, c.GRPC.Auth, made.GetServiceCredential().GetId(), made.GetSecret()})
		for face, url := range map[string]string{"A": c.InterfaceA.BaseURL, "B": c.InterfaceB.BaseURL, "MEDIA": c.Media.BaseURL} {
			host, _, _ := strings.Cut(strings.TrimPrefix(url, "http://"), "/")
			servers[strings.ToUpper(name)+"_"+face] = host
		}
	}
	text, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	r := NewRouter(t, servers)
	r.URL, r.admin = "http://"+r.Addr, FreeAddr(t)
	r.Directory = newProcess(t, "directory", TempDir(t), map[string]string{
		"CELLS": string(text), "MAP_DIR": r.maps, "HAPROXY_SOCKET": r.socket, "ADMIN_ADDR": r.admin,
	}, Program(t, "directory"))
	r.HAProxy.Start(t)
	r.Directory.Start(t)
	return r
}

// AddCompany adds a line to the file of companies.
func (r *Router) AddCompany(t testing.TB, key, value string) {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(r.maps, "companies.map"), os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = fmt.Fprintln(f, key, value)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// LoseMaps replaces the files of the maps by empty ones. HAProxy reads them when it starts or reloads.
func (r *Router) LoseMaps(t testing.TB) {
	t.Helper()
	for _, name := range []string{"companies.map", "credentials.map"} {
		if err := os.WriteFile(filepath.Join(r.maps, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// Reload lets HAProxy replace its worker by one that reads the configuration and the maps.
func (r *Router) Reload() { r.HAProxy.signal(syscall.SIGUSR2) }

// PID returns the process identifier of HAProxy's worker.
func (r *Router) PID() (string, error) {
	answer, err := r.command("show info")
	for line := range strings.Lines(answer) {
		if pid, found := strings.CutPrefix(line, "Pid: "); found {
			return strings.TrimSpace(pid), nil
		}
	}
	return "", errors.Join(err, errors.New("HAProxy does not say its process identifier"))
}

// Await waits until the router knows companies or credentials.
func (r *Router) Await(t testing.TB, name string, keys ...string) {
	t.Helper()
	Eventually(t, time.Minute, func() error {
		for _, key := range keys {
			answer, err := r.command("get map " + filepath.Join(r.maps, name+".map") + " " + key)
			if err != nil || !strings.Contains(answer, "found=yes") {
				return fmt.Errorf("%s is not in the map: %s %w", key, answer, err)
			}
		}
		return nil
	})
}

// Lines returns how many lines of a map HAProxy has for a key.
func (r *Router) Lines(t testing.TB, name, key string) (n int) {
	t.Helper()
	answer, err := r.command("show map " + filepath.Join(r.maps, name+".map"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(answer) {
		if fields := strings.Fields(line); len(fields) == 3 && fields[1] == key {
			n++
		}
	}
	return n
}

// Conflicts returns how many companies and credentials are claimed by more than one cell, according to the directory.
func (r *Router) Conflicts(t testing.TB) string {
	t.Helper()
	resp, err := http.Get("http://" + r.admin + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) == 2 && strings.HasPrefix(f[0], "directory_conflicts") {
			return f[1]
		}
	}
	t.Fatal("the directory has no directory_conflicts")
	return ""
}

func (r *Router) command(text string) (string, error) {
	conn, err := net.DialTimeout("unix", r.socket, 5*time.Second)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, text+"\n"); err != nil {
		return "", err
	}
	answer, err := io.ReadAll(conn)
	return string(answer), err
}
