package operations

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"reservation.dev/test/harness"
)

// runUpgrade enables TestRollingUpgrade, which replaces every process twice. It takes a minute or
// two after the build of the previous release.
var runUpgrade = flag.Bool("upgrade", false, "replace the previous release under load: make upgrade-test")

// replicas is the number of processes of each service. The others serve while one is replaced.
const replicas = 2

// services lists the services with a database in the order in which they are replaced: a service
// comes before its callers.
func services() []string {
	return []string{"booking", "pass", "subscription", "media", "reports", "customer", "auth", "webhook"}
}

// parts lists all programs in the order in which they are replaced: services before gateways.
// docs/UPGRADES.md has the same order. Going back reverses it.
func parts() []string { return append(services(), "gateway-a", "gateway-b", "admin") }

// drainTime is how long a service keeps serving after it is asked to end, and pollInterval how often a
// balancer polls readiness.
const (
	drainTime    = time.Second
	pollInterval = 100 * time.Millisecond
	// settling is how long a process must have been ready before the next one is replaced.
	// Callers of the previous release look for a returned process every two seconds.
	settling = 2500 * time.Millisecond
)

func TestRollingUpgrade(t *testing.T) {
	if !*runUpgrade {
		t.Skip("replaces all processes twice: make upgrade-test")
	}
	previous, err := harness.PreviousRelease()
	if err != nil {
		t.Fatal(err)
	}
	// The cluster has the services that are new since then from the start, as step 4 of the page demands
	// it before their callers are replaced.
	old := previous.Programs(t, released(previous)...)
	harness.Program(t, "reservectl", parts()...)
	w := newWorld(t, old, map[string]string{"SHUTDOWN_DELAY": drainTime.String()})
	traffic := w.open(t, 0)

	t.Run("the schemas are migrated while the old processes run", func(t *testing.T) {
		traffic.phase("migrating")
		for _, service := range services() {
			w.Migrate(t, service)
		}
		traffic.awaitAnswers(t, 100)
	})
	t.Run("each process is replaced by a new one", func(t *testing.T) {
		traffic.phase("upgrading")
		for _, p := range w.processes() {
			w.replace(t, p, harness.Program(t, p.Program))
			<-time.After(settling)
		}
		traffic.awaitAnswers(t, 200)
	})
	t.Run("the new processes are replaced by new ones", func(t *testing.T) {
		traffic.phase("restarting")
		for _, p := range w.processes() {
			w.replace(t, p, harness.Program(t, p.Program))
		}
		traffic.awaitAnswers(t, 200)
	})
	t.Run("each process goes back to the old one, on the new schema", func(t *testing.T) {
		traffic.phase("going back")
		for _, p := range slices.Backward(w.processes()) {
			if old[p.Program] != "" {
				w.replace(t, p, old[p.Program])
			}
		}
		traffic.awaitAnswers(t, 200)
	})
	traffic.close()
	traffic.report(t)
	t.Run("no process of this release broke a connection", func(t *testing.T) { traffic.checkUnbroken(t, "restarting", "going back") })
	t.Run("bookings, webhooks and sums are consistent", func(t *testing.T) { w.audit(t, traffic) })
}

// released returns the programs that a release has.
func released(r *harness.Release) []string {
	return slices.DeleteFunc(parts(), func(part string) bool {
		return slices.Contains(services(), part) && r.Schemas[part].Version == 0
	})
}

// TestUpgradeOrder compares docs/UPGRADES.md with the order that TestRollingUpgrade uses.
func TestUpgradeOrder(t *testing.T) {
	page, err := os.ReadFile("../../docs/UPGRADES.md")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(string(page)), " ")
	all := parts()
	up := strings.Join(services(), ", ") + ", then gateway-a, gateway-b and admin."
	slices.Reverse(all)
	for _, order := range []string{up, strings.Join(all, ", ") + "."} {
		if !strings.Contains(text, order) {
			t.Errorf("docs/UPGRADES.md does not say %q", order)
		}
	}
}

// processes returns the processes of all services.
func (w *world) processes() []*harness.Part {
	var all []*harness.Part
	for _, part := range parts() {
		for i := range replicas {
			all = append(all, w.Part(processName(part, i)))
		}
	}
	return all
}

// processName returns the harness's name of process i of a service.
func processName(part string, i int) string {
	switch {
	case !slices.Contains(services(), part):
		return fmt.Sprintf("%s-%d", part, i+1)
	case i == 0:
		return part
	}
	return fmt.Sprintf("%s-%d", part, i+1)
}

// replace replaces a process as an orchestrator does: it stops the process and starts another
// program in its place.
func (w *world) replace(t *testing.T, p *harness.Part, path string) {
	t.Helper()
	p.Stop(t)
	p.SetProgram(path)
	p.Restart(t)
}

// newWorld runs a platform. programs are those of another release; nil means this tree's.
func newWorld(t *testing.T, programs, env map[string]string) *world {
	t.Helper()
	w := &world{Cluster: harness.StartCluster(t, harness.ClusterOptions{
		Auths: replicas, Customers: replicas, Bookings: replicas, Passes: replicas, Subscriptions: replicas, Medias: replicas, Reports: replicas,
		Webhooks: replicas, Gateways: replicas, GatewaysB: replicas, Dashboards: replicas, Programs: programs, Env: env,
	})}
	w.furnish(t)
	return w
}
