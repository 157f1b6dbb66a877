package harness

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc"

	"reservation.dev/devkit/pgserver"
	"reservation.dev/platform/id"
	"reservation.dev/platform/rpc"
)

// ClusterOptions configure a cluster: the platform with one process per service.
type ClusterOptions struct {
	// Gateways is the number of replicas of the gateway for Interface A; 0 means one.
	Gateways int
	// GatewaysB is the number of replicas of the gateway for Interface B; 0 means none.
	GatewaysB int
	// Auths, Customers, Bookings, Passes, Subscriptions, Medias and Reports are the numbers of
	// replicas of these services, at most mostReplicas; 0 means one. Every caller gets the addresses of all of
	// them.
	Auths, Customers, Bookings, Passes, Subscriptions, Medias, Reports int
	// Dashboards is the number of replicas of the dashboard, at DashboardHost; 0 means none.
	Dashboards int
	// Webhooks is the number of replicas of the webhook service, at most mostReplicas; 0 means
	// none. They can send to Listen's servers.
	Webhooks int
	// OwnNATS runs NATS in its own process, so that its processor time can be measured.
	OwnNATS bool
	// Secure makes the services use mutual TLS with each other, and TLS with PostgreSQL and NATS.
	// It cannot be combined with OwnNATS.
	Secure bool
	// Engines are the PostgreSQL and the NATS to use; nil: the cluster has its own servers. It cannot
	// be combined with OwnNATS and Secure.
	Engines *Engines
	// Durable is PostgreSQL's durability; the default is Safe.
	Durable pgserver.Durability
	// Env is added to the environment of every service.
	Env map[string]string
	// Programs maps the services' names to the paths of their programs. A program that is not in
	// it is built from this tree.
	Programs map[string]string
}

// Engines are PostgreSQL and NATS servers that a test runs itself.
type Engines struct {
	// NATS has the URLs of the servers, separated by commas.
	NATS string
	// Database creates a database and its roles, and returns their URLs.
	Database func(t testing.TB, name string) (ownerURL, appURL string)
}

// Cluster is the platform with one process per service, its own PostgreSQL server and its own
// NATS server.
type Cluster struct {
	Platform
	// Postgres and NATS are nil if the cluster uses the engines of its options.
	Postgres *Postgres
	NATS     *NATS
	// Gateways are the base addresses of Interface A. GatewaysB are those of Interface B, path
	// included.
	Gateways, GatewaysB []string
	// Dashboards are the base addresses of the dashboard.
	Dashboards []string
	// Security holds the certificates and credentials of a secure cluster; it is nil otherwise.
	Security *Security

	authority   *authority // of Listen's servers
	engines     *Engines
	dir         string
	env         map[string]string
	credentials map[string]Credential // by service
	mediaFiles  []string              // HTTP addresses of media's replicas
	parts       map[string]*Part
	programs    map[string]string
	owner, app  map[string]string // database URLs of the owners and the services, by service
}

// Part is a process of a service.
type Part struct {
	*Process
	// Program is the name of its program.
	Program string

	admin string
}

// DashboardHost is the Host that requests to the dashboard must name.
const DashboardHost = "dashboard.test"

// busPrefix is the subject prefix that a cluster uses on its NATS.
const busPrefix = "reservation"

// mostReplicas is the largest number of replicas of a service: services share a block of ports.
const mostReplicas = 4

// StartCluster starts every service and returns when all are ready.
func StartCluster(t testing.TB, o ClusterOptions) *Cluster {
	t.Helper()
	if o.Programs == nil {
		Program(t, "auth", "customer", "booking", "pass", "subscription", "media", "reports", "webhook", "gateway-a", "gateway-b")
	}
	dir := TempDir(t)
	c := &Cluster{
		dir: dir, programs: o.Programs, credentials: map[string]Credential{}, parts: map[string]*Part{}, owner: map[string]string{}, app: map[string]string{},
		authority: newAuthority(t, filepath.Join(dir, "receivers.pem")), engines: o.Engines,
	}
	if o.Engines == nil {
		c.startEngines(t, o)
	}
	c.settings(t, o)
	for _, part := range []struct {
		name string
		grpc string
	}{{"auth", c.Auth}, {"customer", c.Customer}, {"booking", c.Booking}, {"pass", c.Pass}, {"subscription", c.Subscription}, {"media", c.Media}, {"reports", c.Reports}, {"webhook", c.Webhook}} {
		if part.grpc == "" {
			continue
		}
		ownerURL, appURL := c.engines.Database(t, part.name)
		if c.Security != nil {
			ownerURL, appURL = c.Security.databaseURL(t, ownerURL), c.Security.databaseURL(t, appURL)
		}
		c.owner[part.name], c.app[part.name] = ownerURL, appURL
		c.migrateWith(t, part.name, c.program(t, part.name))
		for i, addr := range strings.Split(part.grpc, ",") {
			own := map[string]string{"GRPC_ADDR": addr, "DATABASE_URL": appURL}
			if part.name == "media" {
				own["HTTP_ADDR"] = c.mediaFiles[i]
			}
			c.add(t, replica(part.name, i), part.name, own)
		}
	}
	for i := range max(1, o.Gateways) {
		addr := loopback(freePorts(t))
		c.Gateways = append(c.Gateways, "http://"+addr)
		c.add(t, fmt.Sprintf("gateway-a-%d", i+1), "gateway-a", map[string]string{"HTTP_ADDR": addr})
	}
	for i := range o.GatewaysB {
		addr := loopback(freePorts(t))
		c.GatewaysB = append(c.GatewaysB, "http://"+addr+"/api/v1")
		c.add(t, fmt.Sprintf("gateway-b-%d", i+1), "gateway-b", map[string]string{"HTTP_ADDR": addr})
	}
	for i := range o.Dashboards {
		addr := loopback(freePorts(t))
		c.Dashboards = append(c.Dashboards, "http://"+addr)
		c.add(t, fmt.Sprintf("admin-%d", i+1), "admin", map[string]string{"HTTP_ADDR": addr, "ADMIN_URL": "http://" + DashboardHost})
	}
	c.BaseURL = c.Gateways[0]
	c.StartParts(t)
	return c
}

// startEngines starts the cluster's own PostgreSQL and NATS.
func (c *Cluster) startEngines(t testing.TB, o ClusterOptions) {
	t.Helper()
	c.Postgres = StartPostgres(t, filepath.Join(c.dir, "postgres"), o.Durable)
	dir := filepath.Join(c.dir, "nats")
	switch {
	case o.Secure:
		c.Security = newSecurity(t, c)
		c.NATS = c.Security.startNATS(t, dir)
	case o.OwnNATS:
		c.NATS = startNATSProcess(t, dir)
	default:
		c.NATS = StartNATS(t, dir)
	}
	c.engines = &Engines{NATS: c.NATS.URL(), Database: c.Postgres.database}
}

// settings sets the environment that all services share.
func (c *Cluster) settings(t testing.TB, o ClusterOptions) {
	base := freePorts(t)
	c.Auth, c.Customer = loopbacks(t, base, o.Auths), loopbacks(t, base+mostReplicas, o.Customers)
	base = freePorts(t)
	c.Booking, c.Pass = loopbacks(t, base, o.Bookings), loopbacks(t, base+mostReplicas, o.Passes)
	base = freePorts(t)
	c.Subscription, c.Media = loopbacks(t, base, o.Subscriptions), loopbacks(t, base+mostReplicas, o.Medias)
	c.mediaFiles = strings.Split(loopbacks(t, base+2*mostReplicas, o.Medias), ",")
	c.Reports = loopbacks(t, base+3*mostReplicas, o.Reports)
	c.MediaURL = "http://" + c.mediaFiles[0]
	if o.Webhooks > 0 {
		c.Webhook = loopbacks(t, freePorts(t), o.Webhooks)
	}
	c.env = map[string]string{
		"LOG_LEVEL": "info", "LOG_FORMAT": "text",
		"NATS_URL": c.engines.NATS, "BUS_PREFIX": busPrefix,
		"AUTH_ADDR": c.Auth, "CUSTOMER_ADDR": c.Customer, "BOOKING_ADDR": c.Booking, "PASS_ADDR": c.Pass,
		"SUBSCRIPTION_ADDR": c.Subscription, "MEDIA_ADDR": c.Media, "MEDIA_URL": c.MediaURL, "REPORTS_ADDR": c.Reports,
		"MEDIA_BUCKET": "file://" + filepath.ToSlash(c.MediaDir()) + "?create_dir=true&no_tmp_dir=true&metadata=skip",
		"WEBHOOK_ADDR": c.Webhook, "WEBHOOK_CA_FILE": c.authority.file, "WEBHOOK_PRIVATE_ADDRESSES": "allow",
		"MASTER_KEY": base64.StdEncoding.EncodeToString(random(32)),
	}
	type entry struct {
		Credential
		Name   string   `json:"name"`
		Scopes []string `json:"scopes"`
	}
	var entries []entry
	for _, name := range []string{"operator", "booking", "customer", "pass", "subscription", "media", "reports", "webhook"} {
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

// loopbacks returns the addresses of a service's n replicas as its callers get them: separated by
// commas.
func loopbacks(t testing.TB, port, n int) string {
	t.Helper()
	if n > mostReplicas {
		t.Fatalf("%d processes of a service are more than %d", n, mostReplicas)
	}
	addrs := make([]string, max(1, n))
	for i := range addrs {
		addrs[i] = loopback(port + i)
	}
	return strings.Join(addrs, ",")
}

// replica names replica i of a service.
func replica(service string, i int) string {
	if i == 0 {
		return service
	}
	return fmt.Sprintf("%s-%d", service, i+1)
}

func random(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails
	return b
}

// add describes a process of a service.
func (c *Cluster) add(t testing.TB, name, program string, own map[string]string) {
	t.Helper()
	env := maps.Clone(c.env)
	maps.Copy(env, own)
	env["SERVICE_CREDENTIAL_ID"], env["SERVICE_CREDENTIAL_SECRET"] = c.credentials[program].ID, c.credentials[program].Secret
	admin := loopback(freePorts(t))
	env["ADMIN_ADDR"] = admin
	if c.Security != nil {
		maps.Copy(env, c.Security.Env(t, program))
	}
	c.parts[name] = &Part{Process: newProcess(t, name, c.dir, env, c.program(t, program)), Program: program, admin: admin}
}

// program returns the path of a service's program.
func (c *Cluster) program(t testing.TB, name string) string {
	t.Helper()
	if path := c.programs[name]; path != "" {
		return path
	}
	return Program(t, name)
}

// Migrate migrates a service's database to the schema of this tree, as a deployment does.
func (c *Cluster) Migrate(t testing.TB, name string) {
	t.Helper()
	c.migrateWith(t, name, Program(t, name))
}

func (c *Cluster) migrateWith(t testing.TB, name, path string) {
	t.Helper()
	env := maps.Clone(c.env)
	env["MIGRATION_DATABASE_URL"], env["DATABASE_APP_ROLE"] = c.owner[name], name
	Run(t, Command{Program: name, Path: path, Args: []string{"migrate"}, Env: env}).Succeeded(t)
}

// Part returns a process by name: auth, customer, booking, booking-2, pass, gateway-a-1,
// gateway-b-1, ….
func (c *Cluster) Part(name string) *Part { return c.parts[name] }

// MasterKey returns the key that seals secrets.
func (c *Cluster) MasterKey() string { return c.env["MASTER_KEY"] }

// Credential returns the credential of a service.
func (c *Cluster) Credential(part string) Credential { return c.credentials[part] }

// AddCredential makes another platform credential. Auth knows it after its next start.
func (c *Cluster) AddCredential(t testing.TB, name string) Credential {
	t.Helper()
	var entries []any
	if err := json.Unmarshal([]byte(c.env["BOOTSTRAP_CREDENTIALS"]), &entries); err != nil {
		t.Fatal(err)
	}
	added := Credential{ID: id.New[id.ServiceCredential]().String(), Secret: hex.EncodeToString(random(32))}
	text, err := json.Marshal(append(entries, map[string]any{"id": added.ID, "secret": added.Secret, "name": name, "scopes": []string{"platform:admin"}}))
	if err != nil {
		t.Fatal(err)
	}
	c.env["BOOTSTRAP_CREDENTIALS"] = string(text)
	c.parts["auth"].Set(map[string]string{"BOOTSTRAP_CREDENTIALS": string(text)})
	return added
}

// OwnerURL returns the URL with which the owner connects to a service's database.
func (c *Cluster) OwnerURL(part string) string { return c.owner[part] }

// AppURL returns the URL with which a service connects to its database.
func (c *Cluster) AppURL(part string) string { return c.app[part] }

// NewProcess describes an additional process that gets the settings of the services and its own.
// Start runs it.
func (c *Cluster) NewProcess(t testing.TB, program string, own map[string]string) *Process {
	t.Helper()
	env := maps.Clone(c.env)
	maps.Copy(env, own)
	return newProcess(t, program, c.dir, env, Program(t, program))
}

// AwaitReady returns when the service is ready.
func (p *Part) AwaitReady(t testing.TB) {
	t.Helper()
	p.await(t, "ready", func() error { return ready(p.admin) })
}

// SetProgram sets the path of the program that the next start runs.
func (p *Part) SetProgram(path string) { p.path = path }

// Ready returns an error unless the service is ready.
func (p *Part) Ready() error { return ready(p.admin) }

// Restart starts a process that has ended, and returns when it is ready.
func (p *Part) Restart(t testing.TB) {
	t.Helper()
	p.Start(t)
	p.AwaitReady(t)
}

// AdminAddr returns the address of /readyz and /metrics.
func (p *Part) AdminAddr() string { return p.admin }

// Dir returns the cluster's directory, with PostgreSQL's and NATS's data and the services' logs.
func (c *Cluster) Dir() string { return c.dir }

// MediaDir returns the directory with the files of media.
func (c *Cluster) MediaDir() string { return filepath.Join(c.dir, "media") }

// Connect connects to a service's gRPC address. The connection ends with the test.
func (c *Cluster) Connect(t testing.TB, addr string) *grpc.ClientConn {
	t.Helper()
	conn, err := rpc.Dial(addr, rpc.DialOptions{Timeout: requestLimit})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// Destroy kills every service, and removes the databases, the streams and the files of media.
func (c *Cluster) Destroy(t testing.TB) {
	t.Helper()
	for _, p := range c.parts {
		p.KillNow()
	}
	for _, p := range c.parts {
		p.Kill(t) // waits until it has ended
	}
	c.Postgres.remove(t)
	c.NATS.Stop(t)
	for _, dir := range []string{c.NATS.opts.StoreDir, c.MediaDir()} {
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	}
}

// Rebuild makes a new PostgreSQL with empty databases, and a new NATS, for the services of a
// destroyed platform. It does not start the services.
func (c *Cluster) Rebuild(t testing.TB) {
	t.Helper()
	c.Postgres.Start(t)
	c.NATS.Start(t)
	for name := range c.owner {
		c.owner[name], c.app[name] = c.Postgres.database(t, name)
	}
	for _, p := range c.parts {
		if url := c.app[p.Program]; url != "" {
			p.set("DATABASE_URL", url)
		}
	}
}

// StartParts starts all services, and returns when they are ready.
func (c *Cluster) StartParts(t testing.TB) {
	t.Helper()
	for _, p := range c.parts {
		p.Start(t)
	}
	for _, p := range c.parts {
		p.AwaitReady(t)
	}
}
