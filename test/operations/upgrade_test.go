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

// long goes on until everything of the old release has been replaced twice: a
// minute or two, and the build of the old release before it.
var long = flag.Bool("upgrade", false, "replace the previous release under load: make upgrade-test")

// replicas is how many processes each part has. The others serve while one is
// replaced.
const replicas = 2

// services lists the services with a database, in the order in which they are
// replaced: a service that is called by another one comes first.
func services() []string { return []string{"booking", "pass", "customer", "auth", "webhook"} }

// parts lists all programs, in the order in which they are replaced: services before
// gateways. docs/UPGRADES.md gives the same order, and going back reverses it.
func parts() []string { return append(services(), "gateway-a", "gateway-b", "admin") }

// leaving is how long a part goes on that is asked to end, and looking how often a
// balancer looks which ones are ready.
const (
	leaving = time.Second
	looking = 100 * time.Millisecond
	// settling is how long a process must have been ready before the next one is
	// replaced: callers of the previous release look for one that was away every
	// two seconds.
	settling = 2500 * time.Millisecond
)

func TestRollingUpgrade(t *testing.T) {
	if !*long {
		t.Skip("it replaces all processes twice: make upgrade-test")
	}
	previous, err := harness.PreviousRelease()
	if err != nil {
		t.Fatal(err)
	}
	old := previous.Programs(t, parts()...)
	harness.Program(t, "reservectl", parts()...)
	w := newWorld(t, old, map[string]string{"SHUTDOWN_DELAY": leaving.String()})
	traffic := w.open(t, 0)

	t.Run("the schemas are migrated under the old processes", func(t *testing.T) {
		traffic.phase("migrating")
		for _, service := range services() {
			w.Migrate(t, service)
		}
		traffic.some(t, 100)
	})
	t.Run("each process is replaced by a new one", func(t *testing.T) {
		traffic.phase("upgrading")
		for _, p := range w.processes() {
			w.replace(t, p, harness.Program(t, p.Program))
			<-time.After(settling)
		}
		traffic.some(t, 200)
	})
	t.Run("the new processes are replaced among themselves", func(t *testing.T) {
		traffic.phase("restarting")
		for _, p := range w.processes() {
			w.replace(t, p, harness.Program(t, p.Program))
		}
		traffic.some(t, 200)
	})
	t.Run("each process goes back to the old one, on the new schema", func(t *testing.T) {
		traffic.phase("going back")
		for _, p := range slices.Backward(w.processes()) {
			w.replace(t, p, old[p.Program])
		}
		traffic.some(t, 200)
	})
	traffic.close()
	traffic.report(t)
	t.Run("nobody was cut off by a process of this release", func(t *testing.T) { traffic.whole(t, "restarting", "going back") })
	t.Run("the books are right", func(t *testing.T) { w.audit(t, traffic) })
}

// TestUpgradeOrder holds docs/UPGRADES.md to the order that TestRollingUpgrade uses.
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

// processes are those of all parts.
func (w *world) processes() []*harness.Part {
	var all []*harness.Part
	for _, part := range parts() {
		for i := range replicas {
			all = append(all, w.Part(processName(part, i)))
		}
	}
	return all
}

// processName is the harness's name of a part's process i.
func processName(part string, i int) string {
	switch {
	case !slices.Contains(services(), part):
		return fmt.Sprintf("%s-%d", part, i+1)
	case i == 0:
		return part
	}
	return fmt.Sprintf("%s-%d", part, i+1)
}

// replace is what an orchestrator does with one process: it is asked to end, and
// another program is started in its place.
func (w *world) replace(t *testing.T, p *harness.Part, path string) {
	t.Helper()
	p.Stop(t)
	p.Become(path)
	p.Restart(t)
}

// newWorld runs a platform; programs are those of another release, none: of this one.
func newWorld(t *testing.T, programs, env map[string]string) *world {
	t.Helper()
	w := &world{Cluster: harness.StartCluster(t, harness.ClusterOptions{
		Auths: replicas, Customers: replicas, Bookings: replicas, Passes: replicas, Webhooks: replicas,
		Gateways: replicas, GatewaysB: replicas, Dashboards: replicas, Programs: programs, Env: env,
	})}
	w.furnish(t)
	return w
}
