package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"reservation.dev/test/harness"
)

// The names in docs/KUBERNETES.md, whose commands the test runs.
const (
	namespace, release = "bookings", "studio"
	chart              = "deploy/helm/reservation"
	fullname           = release + "-reservation"
	// version is the tag of the images (test/compose builds them).
	version = "0.0.0-test"
)

func parts() []string {
	return []string{"auth", "customer", "booking", "pass", "subscription", "media", "reports", "webhook", "gateway-a", "gateway-b", "admin"}
}

// testInside is the test itself, in separate namespaces.
func testInside(t *testing.T, dir string) {
	settle(t, dir)
	c := startCluster(t, dir)
	c.apply(t, restricted+c.volumes(t))
	var credentials harness.Credentials
	ok := t.Run("the chart is installed, and every pod becomes ready", func(t *testing.T) {
		c.install(t)
		c.runs(t)
	})
	ok = ok && t.Run("pods run the programs of the images and cannot write to their file systems", c.testPods)
	ok = ok && t.Run("the first company is created as the page says", c.testFirstCompany)
	ok = ok && t.Run("a new user makes a booking as the page says", c.testStartPage)
	ok = ok && t.Run("the dashboard is available on a forwarded port", c.testDashboard)
	ok = ok && t.Run("the demonstration company is created", func(t *testing.T) {
		credentials = c.demonstration(t, c.dir, "", []string{"--credentials", c.dir + "/operator/credentials.json"})
	})
	if !ok {
		return
	}
	t.Run("Interfaces A and B conform", func(t *testing.T) {
		c.run(t, 10*time.Minute, "env", "HOME="+os.Getenv("HOME"), "CONFORMANCE_CREDENTIALS="+c.dir+"/credentials.json", "go", "test", "-count=1", "./test/conformance")
	})
	t.Run("deleted pods and upgrades under load cause no error", func(t *testing.T) { c.testLoad(t, credentials) })
	t.Run("another installation uses external databases, and Jobs migrate them first", c.testProduction)
	if t.Run("uninstalling leaves only secrets and volumes", c.testUninstall) {
		t.Run("a new installation reuses them, with TLS between the services", func(t *testing.T) { c.testTLS(t, credentials) })
	}
}

const restricted = `apiVersion: v1
kind: Namespace
metadata:
  name: ` + namespace + `
  labels: {pod-security.kubernetes.io/enforce: restricted, pod-security.kubernetes.io/enforce-version: latest}
---
`

// volumes provides directories of this machine as volumes for PostgreSQL, NATS and two installations
// of media.
func (c *cluster) volumes(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	for _, name := range []string{"one", "two", "three", "four"} {
		dir := filepath.Join(c.dir, "volumes", name)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&all, `apiVersion: v1
kind: PersistentVolume
metadata: {name: %s}
spec:
  capacity: {storage: 20Gi}
  accessModes: [ReadWriteOnce]
  local: {path: %s}
  nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [%s]}]}]}}
---
`, name, dir, node)
	}
	return all.String()
}

// install installs the chart.
func (c *cluster) install(t *testing.T, more ...string) {
	t.Helper()
	args := []string{
		"install", release, chart, "--namespace", namespace, "--values", chart + "/ci/minimal-values.yaml", "--wait", "--timeout", installLimit.String(),
		"--set", "image.tag=" + version, "--set", "postgresql.image=" + composed(t, "POSTGRES_IMAGE"), "--set", "nats.image=" + composed(t, "NATS_IMAGE"),
		// The services' default requests exceed a machine with two processors.
		"--set", "defaults.resources.requests.cpu=20m", "--set", "parts.gateway-b.settings.RATE_LIMIT=10000",
	}
	c.run(t, installLimit+time.Minute, "helm", append(args, more...)...)
}

// composed returns the name of an image in docker-compose.yml.
func composed(t *testing.T, variable string) string {
	t.Helper()
	match := regexp.MustCompile(variable + `:-([^}]+)`).FindStringSubmatch(harness.File(t, "docker-compose.yml"))
	if match == nil {
		t.Fatalf("docker-compose.yml has no %s", variable)
	}
	return match[1]
}

// testPods checks the running programs and that they cannot write.
func (c *cluster) testPods(t *testing.T) {
	for _, part := range parts() {
		if got := c.run(t, commandLimit, "kubectl", "--namespace", namespace, "exec", "deployment/"+fullname+"-"+part, "--", "/part", "version"); !strings.HasSuffix(got, version) {
			t.Errorf("%s says that it is %q", part, got)
		}
	}
	store := "statefulset/" + fullname + "-postgresql"
	if got := c.run(t, commandLimit, "kubectl", "--namespace", namespace, "exec", store, "--", "id", "-u"); got != "999" {
		t.Errorf("PostgreSQL runs as %s", got)
	}
	if out, err := c.kubectl(t.Context(), "--namespace", namespace, "exec", store, "--", "mkdir", "/x"); err == nil || !strings.Contains(err.Error(), "Read-only file system") {
		t.Errorf("PostgreSQL's pod can write: %s %v", out, err)
	}
}

// testFirstCompany runs the commands of docs/KUBERNETES.md unchanged.
func (c *cluster) testFirstCompany(t *testing.T) {
	_, section, _ := strings.Cut(harness.File(t, "docs/KUBERNETES.md"), "\n## The first company\n")
	_, section, _ = strings.Cut(section, "```sh\n")
	script, _, found := strings.Cut(section, "```")
	if !found {
		t.Fatal("the page does not have these commands")
	}
	root, err := harness.Root()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Symlink(root+"/bin", dir+"/bin"); err != nil {
		t.Fatal(err)
	}
	out := c.run(t, commandLimit, "bash", "-euc", "cd "+dir+"\n"+script+"\nkill %1\nmkdir -p "+c.dir+"/operator && cp credentials.json "+c.dir+"/operator/")
	if !strings.Contains(out, "ada@example.com") {
		t.Errorf("the commands printed %s", out)
	}
}

// testStartPage follows docs/START_KUBERNETES.md, on the platform that is already installed. (The
// test of the chart renders the installation of the page.)
func (c *cluster) testStartPage(t *testing.T) {
	root, err := harness.Root()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Symlink(root+"/bin/reservectl", dir+"/reservectl"); err != nil {
		t.Fatal(err)
	}
	script := "cd " + dir + "\nhelm() { :; }\ntrap 'kill $(jobs -p)' EXIT\n" + harness.StartScript(t, "docs/START_KUBERNETES.md", harness.StartAddress)
	if out := c.run(t, commandLimit, "bash", "-c", script); !strings.Contains(out, `"status":"confirmed"`) {
		t.Errorf("the commands printed %s", out)
	}
}

// testDashboard opens the dashboard on the port that the page's first commands forward.
func (c *cluster) testDashboard(t *testing.T) {
	const address = "http://localhost:8082/"
	if page := harness.File(t, "docs/KUBERNETES.md"); !strings.Contains(page, "port-forward service/"+fullname+"-admin 8082:80\n") {
		t.Fatal("the page forwards another port")
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := c.try(ctx, commandLimit, "kubectl", "--namespace", namespace, "port-forward", "service/"+fullname+"-admin", "8082:80")
		ended <- err
	}()
	defer func() { stop(); <-ended }()
	harness.Eventually(t, time.Minute, func() error {
		res, err := http.Get(address)
		if err != nil {
			return err
		}
		defer res.Body.Close()
		if res.StatusCode != http.StatusOK || !strings.Contains(res.Request.URL.Path, "sign-in") {
			return fmt.Errorf("%s: %s", res.Request.URL, res.Status)
		}
		return nil
	})
}

// demonstration creates the demonstration company, and returns its credentials with the addresses
// of the interfaces' Services, whose names end in zone. Its files are in dir.
func (c *cluster) demonstration(t *testing.T, dir, zone string, flags []string) (made harness.Credentials) {
	t.Helper()
	face := "http://" + fullname + "-"
	c.run(t, 10*time.Minute, "bin/reservectl", append(flags, "demonstration", "--dir", dir,
		"--interface-a", face+"gateway-a"+zone, "--interface-b", face+"gateway-b"+zone+"/api/v1", "--dashboard", face+"admin"+zone, "--media", face+"media-files"+zone)...)
	text, err := os.ReadFile(dir + "/credentials.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &made); err != nil {
		t.Fatal(err)
	}
	return made
}

// testUninstall also checks that no process of a pod is left.
func (c *cluster) testUninstall(t *testing.T) {
	c.run(t, installLimit, "helm", "uninstall", release, "--namespace", namespace, "--wait", "--timeout", "10m")
	harness.Eventually(t, 3*time.Minute, func() error {
		out, err := c.kubectl(t.Context(), "--namespace", namespace, "get", "all,configmaps,networkpolicies,poddisruptionbudgets,serviceaccounts", "-o", "name", "--selector", "app.kubernetes.io/instance="+release)
		if err == nil && strings.TrimSpace(out) != "" {
			err = fmt.Errorf("these objects are left:\n%s", out)
		}
		return err
	})
	var kept []string
	for name := range strings.FieldsSeq(c.run(t, commandLimit, "kubectl", "--namespace", namespace, "get", "secrets", "-o", "name", "--selector", "app.kubernetes.io/instance="+release)) {
		kept = append(kept, strings.TrimPrefix(name, "secret/"+fullname+"-"))
	}
	slices.Sort(kept)
	if want := []string{"auth", "booking", "customer", "media", "operator", "pass", "postgresql", "reports", "subscription", "webhook"}; !slices.Equal(kept, want) {
		t.Errorf("the Secrets %v are kept, want %v", kept, want)
	}
	out, err := exec.CommandContext(t.Context(), "ctr", "--address", containerdSocket, "--namespace", "k8s.io", "tasks", "ls", "-q").Output()
	if err != nil || strings.TrimSpace(string(out)) != "" {
		t.Errorf("containers are still running: %s %v", out, err)
	}
}
