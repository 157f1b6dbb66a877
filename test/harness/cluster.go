package harness

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"testing"

	"reservation.dev/platform/id"
	"reservation.dev/platform/pgserver"
)

// ClusterOptions say how to run the platform as a process per part.
type ClusterOptions struct {
	// Gateways is how many processes serve Interface A; 0: one.
	Gateways int
	// Durable is PostgreSQL's; Safe unless said otherwise.
	Durable pgserver.Durability
	// Env is added to the environment of every part.
	Env map[string]string
}

// Cluster is the platform as a process per part, with a PostgreSQL server and,
// in the test process, a NATS server of its own.
type Cluster struct {
	Platform
	Postgres *Postgres
	NATS     *NATS
	// Gateways are the base addresses of Interface A.
	Gateways []string

	dir         string
	env         map[string]string
	credentials map[string]Credential // of the parts
	parts       map[string]*Part
	owner, app  map[string]string // database URLs of the owners and the parts, by part
}

// Part is one part's process.
type Part struct {
	*Process
	admin string
}

// busPrefix is a cluster's on its own NATS.
const busPrefix = "reservation"

// StartCluster runs every part and returns when all are ready.
func StartCluster(t testing.TB, o ClusterOptions) *Cluster {
	t.Helper()
	Program(t, "auth", "customer", "booking", "pass", "gateway-a")
	dir := TempDir(t)
	c := &Cluster{
		dir: dir, credentials: map[string]Credential{}, parts: map[string]*Part{}, owner: map[string]string{}, app: map[string]string{},
		Postgres: StartPostgres(t, filepath.Join(dir, "postgres"), o.Durable),
		NATS:     StartNATS(t, filepath.Join(dir, "nats")),
	}
	c.settings(t, o)
	for _, part := range []struct {
		name string
		grpc string
	}{{"auth", c.Auth}, {"customer", c.Customer}, {"booking", c.Booking}, {"pass", c.Pass}} {
		ownerURL, appURL := c.Postgres.database(t, part.name)
		c.owner[part.name], c.app[part.name] = ownerURL, appURL
		c.migrate(t, part.name, ownerURL)
		c.add(t, part.name, part.name, map[string]string{"GRPC_ADDR": part.grpc, "DATABASE_URL": appURL})
	}
	for i := range max(1, o.Gateways) {
		addr := loopback(freePorts(t))
		c.Gateways = append(c.Gateways, "http://"+addr)
		c.add(t, fmt.Sprintf("gateway-a-%d", i+1), "gateway-a", map[string]string{"HTTP_ADDR": addr})
	}
	c.BaseURL = c.Gateways[0]
	for _, p := range c.parts {
		p.Start(t)
	}
	for _, p := range c.parts {
		p.AwaitReady(t)
	}
	return c
}

// settings decides what all parts are told alike.
func (c *Cluster) settings(t testing.TB, o ClusterOptions) {
	base := freePorts(t)
	c.Auth, c.Customer, c.Booking, c.Pass = loopback(base), loopback(base+1), loopback(base+2), loopback(base+3)
	c.env = map[string]string{
		"LOG_LEVEL": "info", "LOG_FORMAT": "text",
		"NATS_URL": c.NATS.URL(), "BUS_PREFIX": busPrefix,
		"AUTH_ADDR": c.Auth, "CUSTOMER_ADDR": c.Customer, "BOOKING_ADDR": c.Booking, "PASS_ADDR": c.Pass,
		"MASTER_KEY": base64.StdEncoding.EncodeToString(random(32)),
	}
	type entry struct {
		Credential
		Name   string   `json:"name"`
		Scopes []string `json:"scopes"`
	}
	var entries []entry
	for _, name := range []string{"operator", "booking", "customer", "pass"} {
		credential := Credential{ID: id.New[id.ServiceCredential]().String(), Secret: hex.EncodeToString(random(32))}
		c.credentials[name] = credential
		entries = append(entries, entry{Credential: credential, Name: name, Scopes: []string{"platform:admin"}})
	}
	c.OperatorCredential = c.credentials["operator"]
	text, err := json.Marshal(entries)
	if err != nil {
		t.Fatal(err)
	}
	c.env["BOOTSTRAP_CREDENTIALS"] = string(text)
	maps.Copy(c.env, o.Env)
}

func random(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails
	return b
}

// add describes the process of a part.
func (c *Cluster) add(t testing.TB, name, program string, own map[string]string) {
	t.Helper()
	env := maps.Clone(c.env)
	maps.Copy(env, own)
	env["SERVICE_CREDENTIAL_ID"], env["SERVICE_CREDENTIAL_SECRET"] = c.credentials[program].ID, c.credentials[program].Secret
	admin := loopback(freePorts(t))
	env["ADMIN_ADDR"] = admin
	c.parts[name] = &Part{Process: newProcess(t, name, c.dir, env, Program(t, program)), admin: admin}
}

// migrate brings a part's database to the part's schema, as a deployment does.
func (c *Cluster) migrate(t testing.TB, name, ownerURL string) {
	t.Helper()
	env := maps.Clone(c.env)
	env["MIGRATION_DATABASE_URL"], env["DATABASE_APP_ROLE"] = ownerURL, name
	Run(t, Command{Program: name, Args: []string{"migrate"}, Env: env}).Succeeded(t)
}

// Part returns a part's process: auth, customer, booking, pass, gateway-a-1, ….
func (c *Cluster) Part(name string) *Part { return c.parts[name] }

// OwnerURL is the URL of the owner of a part's database.
func (c *Cluster) OwnerURL(part string) string { return c.owner[part] }

// AppURL is the URL by which a part itself reaches its database.
func (c *Cluster) AppURL(part string) string { return c.app[part] }

// Beside describes another process that runs beside the parts, with their
// settings and its own; Start runs it.
func (c *Cluster) Beside(t testing.TB, program string, own map[string]string) *Process {
	t.Helper()
	env := maps.Clone(c.env)
	maps.Copy(env, own)
	return newProcess(t, program, c.dir, env, Program(t, program))
}

// AwaitReady returns when the part takes requests.
func (p *Part) AwaitReady(t testing.TB) {
	t.Helper()
	p.await(t, "ready", func() error { return ready(p.admin) })
}

// Restart starts a part that has ended, and returns when it is ready.
func (p *Part) Restart(t testing.TB) {
	t.Helper()
	p.Start(t)
	p.AwaitReady(t)
}

// AdminAddr is where the part's /readyz and /metrics are.
func (p *Part) AdminAddr() string { return p.admin }
