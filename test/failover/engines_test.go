package failover

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"reservation.dev/devkit/pgserver"
	"reservation.dev/platform/pg"
	"reservation.dev/test/harness"
)

const (
	machineCount = 3
	nodeCount    = 2 // machines with PostgreSQL
	// replicas is how many copies of each event NATS keeps.
	replicas = "3"
	password = "failover"
	// settleLimit is how long the engines may take until they have all their members again.
	settleLimit = 90 * time.Second
)

// engines are PostgreSQL under Patroni, etcd and NATS on three machines.
type engines struct {
	dir      string
	account  *syscall.Credential
	machines []*machine
}

// newEngines describes the engines; start runs them.
func newEngines(t *testing.T) *engines {
	t.Helper()
	e := &engines{dir: harness.TempDir(t), account: account(t)}
	for i := range machineCount {
		m := &machine{
			name: fmt.Sprintf("machine %d", i+1), etcd: harness.FreeAddr(t), peers: harness.FreeAddr(t),
			nats: harness.FreeAddr(t), routes: harness.FreeAddr(t), monitor: harness.FreeAddr(t),
		}
		if i < nodeCount {
			m.postgres, m.patroni, m.data = harness.FreeAddr(t), harness.FreeAddr(t), filepath.Join(e.dir, fmt.Sprintf("postgres-%d", i+1), "data")
		}
		e.machines = append(e.machines, m)
	}
	server := natsServer(t)
	e.guard(t)
	for i, m := range e.machines {
		m.server = e.process(t, "nats", i, server, e.natsArgs(i), nil)
		m.engines = []*harness.Process{e.process(t, "etcd", i, "etcd", e.etcdArgs(i), nil), m.server}
		if m.data != "" {
			m.engines = append(m.engines, e.process(t, "postgres", i, "patroni", []string{e.patroniFile(t)}, e.patroniEnv(t, i)))
		}
	}
	return e
}

// process describes an engine's process, with a directory of its own.
func (e *engines) process(t *testing.T, name string, machine int, path string, args []string, env map[string]string) *harness.Process {
	t.Helper()
	name = fmt.Sprintf("%s-%d", name, machine+1)
	dir := filepath.Join(e.dir, name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if e.account != nil {
		if err := os.Chown(dir, int(e.account.Uid), int(e.account.Gid)); err != nil {
			t.Fatal(err)
		}
	}
	all := map[string]string{"HOME": dir}
	for key, value := range env {
		all[key] = value
	}
	path = executable(t, path)
	return harness.NewProgram(t, harness.ProgramOptions{Name: name, Path: path, Args: args, Env: all, Dir: dir, Account: e.account})
}

func (e *engines) etcdArgs(i int) []string {
	var cluster []string
	for n, m := range e.machines {
		cluster = append(cluster, fmt.Sprintf("etcd-%d=http://%s", n+1, m.peers))
	}
	m := e.machines[i]
	return []string{
		"--name", fmt.Sprintf("etcd-%d", i+1), "--data-dir", filepath.Join(e.dir, fmt.Sprintf("etcd-%d", i+1), "data"),
		"--listen-client-urls", "http://" + m.etcd, "--advertise-client-urls", "http://" + m.etcd,
		"--listen-peer-urls", "http://" + m.peers, "--initial-advertise-peer-urls", "http://" + m.peers,
		"--initial-cluster", strings.Join(cluster, ","), "--initial-cluster-state", "new", "--logger", "zap",
		"--heartbeat-interval", "200", "--election-timeout", "2000", // the machine is busy with the platform
	}
}

func (e *engines) natsArgs(i int) []string {
	var routes []string
	for _, m := range e.machines {
		routes = append(routes, "nats://"+m.routes)
	}
	m := e.machines[i]
	host, port, _ := net.SplitHostPort(m.nats)
	_, monitor, _ := net.SplitHostPort(m.monitor)
	return []string{
		"--name", fmt.Sprintf("nats-%d", i+1), "--addr", host, "--port", port, "--http_port", monitor,
		"--jetstream", "--store_dir", filepath.Join(e.dir, fmt.Sprintf("nats-%d", i+1), "data"),
		"--cluster_name", "reservation", "--cluster", "nats://" + m.routes, "--routes", strings.Join(routes, ","),
	}
}

// patroniFile copies the file of deploy/patroni to where the account can read it.
func (e *engines) patroniFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(e.dir, "patroni.yml")
	if err := errors.Join(os.WriteFile(path, []byte(harness.File(t, "deploy/patroni/patroni.yml")), 0o644), os.Chmod(path, 0o644)); err != nil {
		t.Fatal(err)
	}
	return path
}

// patroniEnv returns the settings of one machine. docs/DEPLOYMENT.md lists them.
func (e *engines) patroniEnv(t *testing.T, i int) map[string]string {
	t.Helper()
	bin, err := pgserver.Find(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	m := e.machines[i]
	return map[string]string{
		"PATRONI_NAME":           fmt.Sprintf("postgres-%d", i+1),
		"PATRONI_RESTAPI_LISTEN": m.patroni, "PATRONI_RESTAPI_CONNECT_ADDRESS": m.patroni,
		"PATRONI_ETCD3_HOSTS":       strings.Join(e.addresses(func(m *machine) string { return m.etcd }), ","),
		"PATRONI_POSTGRESQL_LISTEN": m.postgres, "PATRONI_POSTGRESQL_CONNECT_ADDRESS": m.postgres,
		"PATRONI_POSTGRESQL_DATA_DIR": m.data, "PATRONI_POSTGRESQL_BIN_DIR": bin.Dir,
		"PATRONI_POSTGRESQL_PGPASS":  filepath.Join(filepath.Dir(m.data), "pgpass"),
		"PATRONI_SUPERUSER_USERNAME": "postgres", "PATRONI_SUPERUSER_PASSWORD": password,
		"PATRONI_REPLICATION_USERNAME": "replicator", "PATRONI_REPLICATION_PASSWORD": password,
	}
}

// addresses returns one address of each machine that has it.
func (e *engines) addresses(of func(*machine) string) []string {
	var all []string
	for _, m := range e.machines {
		if addr := of(m); addr != "" {
			all = append(all, addr)
		}
	}
	return all
}

// start runs everything, and returns when there is a primary with a synchronous standby.
func (e *engines) start(t *testing.T) {
	t.Helper()
	// Ending them one after the other would take long: each waits for the others.
	t.Cleanup(func() {
		for _, m := range e.machines {
			m.kill(t)
		}
	})
	for _, m := range e.machines {
		for _, p := range m.engines {
			p.Start(t)
		}
	}
	harness.Eventually(t, settleLimit, func() error { return e.complete(t.Context()) })
}

// natsURL returns the addresses of all NATS servers.
func (e *engines) natsURL() string {
	return "nats://" + strings.Join(e.addresses(func(m *machine) string { return m.nats }), ",nats://")
}

// database creates a database on the primary, and returns URLs with all hosts.
func (e *engines) database(t testing.TB, name string) (ownerURL, appURL string) {
	t.Helper()
	secret := func(string) string { return password }
	// The standby does not know a new database immediately, and a refusal for this reason is final.
	if _, _, err := pg.EnsureDatabase(t.Context(), databaseURL(e.primary(t).postgres, "postgres", "postgres"), name, name+"_owner", name, secret); err != nil {
		t.Fatal(err)
	}
	return e.url(name+"_owner", name), e.url(name, name)
}

// url returns a URL as docs/DEPLOYMENT.md recommends it.
func (e *engines) url(role, database string) string {
	return databaseURL(strings.Join(e.addresses(func(m *machine) string { return m.postgres }), ","), role, database)
}

func databaseURL(hosts, role, database string) string {
	return fmt.Sprintf("postgres://%s:%s@%s/%s?target_session_attrs=read-write&connect_timeout=2", role, password, hosts, database)
}

// member is a PostgreSQL server as Patroni sees it.
type member struct{ Name, Role, State string }

// members asks any Patroni for all members.
func (e *engines) members(ctx context.Context) ([]member, error) {
	var faults []error
	for _, m := range e.machines {
		if m.patroni == "" {
			continue
		}
		var cluster struct{ Members []member }
		err := getJSON(ctx, "http://"+m.patroni+"/cluster", &cluster)
		if err == nil {
			return cluster.Members, nil
		}
		faults = append(faults, err)
	}
	return nil, errors.Join(faults...)
}

// complete returns an error unless every engine has all its members: a primary with a
// synchronous standby, and servers of etcd and NATS that are up to date.
func (e *engines) complete(ctx context.Context) error {
	for _, m := range e.machines {
		if err := m.healthy(ctx); err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
	}
	members, err := e.members(ctx)
	if err != nil {
		return err
	}
	roles := map[string]int{}
	for _, m := range members {
		if m.State == "running" || m.State == "streaming" {
			roles[m.Role]++
		}
	}
	if roles["leader"] != 1 || roles["sync_standby"] != nodeCount-1 {
		return fmt.Errorf("PostgreSQL has no primary with a synchronous standby: %v", members)
	}
	return nil
}

// primary returns the machine of the primary, and standby that of the standby.
func (e *engines) primary(t testing.TB) *machine { return e.withRole(t, "leader") }
func (e *engines) standby(t testing.TB) *machine { return e.withRole(t, "sync_standby") }

func (e *engines) withRole(t testing.TB, role string) *machine {
	t.Helper()
	var found *machine
	harness.Eventually(t, settleLimit, func() error {
		members, err := e.members(t.Context())
		for _, m := range members {
			if m.Role == role {
				found = e.machines[number(t, strings.TrimPrefix(m.Name, "postgres-"))-1]
				return nil
			}
		}
		return errors.Join(fmt.Errorf("PostgreSQL has no %s: %v", role, members), err)
	})
	return found
}

// getJSON reads a JSON document from an engine.
func getJSON(ctx context.Context, url string, v any) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", url, res.Status)
	}
	return json.NewDecoder(res.Body).Decode(v)
}
