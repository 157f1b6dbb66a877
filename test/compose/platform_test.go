package compose

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"reservation.dev/test/harness"
)

const (
	// version is the tag of the test's images.
	version = "0.0.0-test"
	// startLimit is the time limit for a container to become healthy.
	startLimit = 3 * time.Minute
	// outside is the network from which webhooks are sent, and outsideHost this machine's address
	// in it.
	outside, outsideHost = "172.30.254.0/24", "172.30.254.1"
)

// replicated lists the programs that can have several replicas, in the order in which
// docs/UPGRADES.md replaces them.
func replicated() []string {
	return []string{"booking", "pass", "subscription", "media", "reports", "customer", "auth", "webhook", "gateway-a", "gateway-b", "admin"}
}

// platform is docker-compose.yml with the settings of a test.
type platform struct {
	*docker
	dir         string
	env         []string
	credentials harness.Credentials
}

// newPlatform returns a platform that is not started yet. Its interfaces get free ports of this
// machine, and it trusts certificate for webhooks to this machine.
func newPlatform(t *testing.T, d *docker, certificate []byte) *platform {
	t.Helper()
	p := &platform{docker: d, dir: t.TempDir()}
	a, b, dashboard, media, grafana := freePort(t), freePort(t), freePort(t), freePort(t), freePort(t)
	p.env = []string{
		"VERSION=" + version, "RATE_LIMIT=10000",
		fmt.Sprint("INTERFACE_A_PORT=", a), fmt.Sprintf("INTERFACE_A_URL=http://127.0.0.1:%d", a),
		fmt.Sprint("INTERFACE_B_PORT=", b), fmt.Sprintf("INTERFACE_B_URL=http://127.0.0.1:%d/api/v1", b),
		fmt.Sprint("DASHBOARD_PORT=", dashboard), fmt.Sprintf("ADMIN_URL=http://127.0.0.1:%d", dashboard),
		fmt.Sprint("MEDIA_PORT=", media), fmt.Sprintf("MEDIA_URL=http://127.0.0.1:%d", media),
		fmt.Sprint("GRAFANA_PORT=", grafana), "COMPOSE_ENV_FILES=deploy/compose/observability.env",
		"COMPOSE_FILE=docker-compose.yml:" + p.dir + "/receiver.yml",
	}
	p.write(t, "receiver.pem", certificate)
	p.write(t, "receiver.yml", []byte(`services:
  webhook:
    environment: { WEBHOOK_PRIVATE_ADDRESSES: allow, WEBHOOK_RETRIES: 1s, WEBHOOK_CA_FILE: /run/receiver.pem }
    volumes: ["`+p.dir+`/receiver.pem:/run/receiver.pem:ro"]
networks:
  outside: { ipam: { config: [{ subnet: `+outside+`, gateway: `+outsideHost+` }] } }
`))
	return p
}

// setting returns a variable of the environment.
func (p *platform) setting(name string) string {
	for _, setting := range p.env {
		if value, ok := strings.CutPrefix(setting, name+"="); ok {
			return value
		}
	}
	return ""
}

func (p *platform) write(t *testing.T, name string, content []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(p.dir, name), content, 0o644); err != nil {
		t.Fatal(err)
	}
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// compose runs docker compose and fails t if it fails or exceeds limit.
func (p *platform) compose(t *testing.T, limit time.Duration, args ...string) string {
	t.Helper()
	began := time.Now()
	out, err := p.tryCompose(t.Context(), limit, args...)
	if err != nil {
		t.Fatalf("%v\n%s", err, p.troubles())
	}
	t.Logf("docker compose %s: %.1f s", strings.Join(args, " "), time.Since(began).Seconds())
	return strings.TrimSpace(out)
}

func (p *platform) tryCompose(ctx context.Context, limit time.Duration, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return p.tryFrom(ctx, strings.NewReader(""), p.env, append([]string{"docker", "compose"}, args...)...)
}

// troubles returns the states of the containers, and the ends of their logs.
func (p *platform) troubles() string {
	ctx := context.Background() // the test's context may have ended
	states, _ := p.tryCompose(ctx, commandLimit, "--profile", "*", "ps", "-a")
	logs, _ := p.tryCompose(ctx, commandLimit, "--profile", "*", "logs", "--tail", "12", "--no-color")
	return states + string(tail([]byte(logs)))
}

// reservectl runs reservectl in a container and decodes its output into v.
func (p *platform) reservectl(t *testing.T, v any, args ...string) {
	t.Helper()
	out := p.compose(t, commandLimit, append([]string{"run", "--rm", "-T", "reservectl"}, args...)...)
	if err := json.Unmarshal([]byte(out), v); err != nil {
		t.Fatalf("%v: %v in %s", args, err, out)
	}
}

// container is the output of docker inspect for a container.
type container struct {
	ID           string `json:"Id"`
	RestartCount int
	State        struct {
		Pid    int
		Health *struct{ Status string }
	}
	Config     struct{ User string }
	HostConfig struct {
		ReadonlyRootfs bool
		CapDrop        []string
		SecurityOpt    []string
		Memory         int64
		NanoCpus       int64
		PidsLimit      int64
		RestartPolicy  struct{ Name string }
	}
	NetworkSettings struct {
		Ports map[string][]struct{ HostIP, HostPort string }
	}
	Name string
}

// containers returns the containers of the given services, or all that are running.
func (p *platform) containers(t *testing.T, services ...string) []container {
	t.Helper()
	out, err := p.tryCompose(t.Context(), commandLimit, append([]string{"--profile", "*", "ps", "-a", "-q"}, services...)...)
	if err != nil {
		t.Fatal(err)
	}
	return p.inspect(t, strings.Fields(out)...)
}

func (p *platform) inspect(t *testing.T, ids ...string) (all []container) {
	t.Helper()
	out, err := p.try(t.Context(), "", append([]string{"docker", "inspect"}, ids...)...)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(out), &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// crash ends a container's process as a bug would, and waits until Docker has restarted it and it
// is healthy.
func (p *platform) crash(t *testing.T, c container) {
	t.Helper()
	if err := syscall.Kill(c.State.Pid, syscall.SIGKILL); err != nil {
		t.Fatalf("%s: %v", c.Name, err)
	}
	harness.Eventually(t, startLimit, func() error {
		now := p.inspect(t, c.ID)[0]
		if now.RestartCount <= c.RestartCount || now.State.Pid == 0 || now.State.Health == nil || now.State.Health.Status != "healthy" {
			return fmt.Errorf("%s was restarted %d times and is %+v", now.Name, now.RestartCount, now.State)
		}
		return nil
	})
}

// awaitHealthy waits until each service has n healthy containers.
func (p *platform) awaitHealthy(t *testing.T, n int) {
	t.Helper()
	harness.Eventually(t, startLimit, func() error {
		for _, part := range replicated() {
			healthy := 0
			for _, c := range p.containers(t, part) {
				if c.State.Health != nil && c.State.Health.Status == "healthy" {
					healthy++
				}
			}
			if healthy != n {
				return fmt.Errorf("%s: %s healthy containers, want %d", part, strconv.Itoa(healthy), n)
			}
		}
		return nil
	})
}

// roll replaces the containers of all services as an upgrade does: after the migrations.
func (p *platform) roll(t *testing.T) {
	t.Helper()
	var migrations, ended []string
	for _, part := range []string{"auth", "customer", "booking", "pass", "subscription", "media", "reports", "webhook"} {
		migrations, ended = append(migrations, part+"-migrate"), append(ended, "reservation-"+part+"-migrate-1")
	}
	p.compose(t, startLimit, append([]string{"up", "-d"}, migrations...)...)
	if codes := p.run(t, startLimit, append([]string{"docker", "wait"}, ended...)...); codes != strings.TrimSpace(strings.Repeat("0\n", len(ended))) {
		t.Fatalf("the migrations ended with %s", codes)
	}
	old := map[string]bool{}
	for _, c := range p.containers(t, replicated()...) {
		old[c.ID] = true
	}
	ctx, cancel := context.WithTimeout(t.Context(), buildLimit)
	defer cancel()
	out, err := p.tryFrom(ctx, strings.NewReader(""), p.env, append([]string{"deploy/compose/roll.sh"}, replicated()...)...)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, part := range replicated() {
		now := p.containers(t, part)
		if len(now) != 2 {
			t.Errorf("got %d containers of %s", len(now), part)
		}
		for _, c := range now {
			if old[c.ID] {
				t.Errorf("%s was not replaced", c.Name)
			}
		}
	}
}

// awaitDemonstration waits until the demonstration company exists.
func (p *platform) awaitDemonstration(t *testing.T) {
	t.Helper()
	if code := p.run(t, startLimit, "docker", "wait", "reservation-demonstration-1"); code != "0" {
		t.Fatalf("the demonstration ended with %s\n%s", code, p.troubles())
	}
}
