package compose

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"reservation.dev/test/harness"
)

func TestCompose(t *testing.T) {
	needDocker(t)
	d := startDocker(t)
	for _, s := range append(replacements(t), observers(t)...) {
		d.make(t, s)
	}
	certificate, pem := selfSigned(t, outsideHost)
	p := newPlatform(t, d, pem)

	t.Run("all images are built from the source", func(t *testing.T) {
		p.compose(t, buildLimit, "--profile", "demo", "--profile", "tools", "build")
		for _, part := range parts(t) {
			d.testImage(t, filepath.Base(part), version)
		}
	})
	t.Run("builds of the same source are identical, byte for byte", func(t *testing.T) {
		d.testReproducible(t, parts(t), version)
	})
	began := time.Now()
	t.Run("one command starts everything and creates the demonstration company", func(t *testing.T) {
		t.Cleanup(func() {
			if t.Failed() {
				t.Log(p.troubles())
			}
		})
		p.compose(t, startLimit, "up", "-d") // with deploy/compose/observability.env
		p.compose(t, startLimit, "--profile", "demo", "up", "-d")
		p.awaitDemonstration(t)
		p.compose(t, commandLimit, "--profile", "demo", "cp", "demonstration:/data/credentials.json", p.dir+"/credentials.json")
		text, err := os.ReadFile(p.dir + "/credentials.json")
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, &p.credentials); err != nil {
			t.Fatal(err)
		}
		p.awaitHealthy(t, 1)
	})
	if t.Failed() {
		t.FailNow()
	}
	t.Run("containers are hardened and limited, and only four ports are open", p.testHardening)
	t.Run("Interfaces A and B conform", func(t *testing.T) {
		output(t, []string{"CONFORMANCE_CREDENTIALS=" + p.dir + "/credentials.json"}, "go", "test", "-count=1", "./test/conformance")
	})
	t.Run("the dashboard shows its sign-in page", func(t *testing.T) {
		res, err := http.Get(p.credentials.Admin.URL + "/")
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if res.StatusCode != http.StatusOK || !strings.Contains(res.Request.URL.Path, "sign-in") {
			t.Errorf("%s: %s", res.Request.URL, res.Status)
		}
	})
	t.Run("a registration is delivered by webhook", func(t *testing.T) { p.testWebhook(t, certificate) })
	t.Run("all processes are scraped", p.testTargets)
	t.Run("all rules are evaluated", p.testRules)
	t.Run("one trace leads from the registration to its webhook", func(t *testing.T) { p.testTrace(t, webhookRequest) })
	t.Run("Grafana's data sources answer", p.testSources)
	t.Run("a second up and a second demonstration change nothing", func(t *testing.T) {
		p.compose(t, startLimit, "--profile", "demo", "up", "-d")
		p.awaitDemonstration(t)
		var companies []struct{ ID string }
		p.reservectl(t, &companies, "company", "list", "-o", "json")
		if len(companies) != 1 {
			t.Errorf("got the companies %v", companies)
		}
	})
	t.Run("a new user makes a booking as the page says", p.testStartPage)
	t.Run("the databases can be backed up from the host", p.testBackup)
	t.Run("every dashboard panel has data", func(t *testing.T) { p.testDashboards(t, began) })
	t.Run("no alert fires", p.testQuiet)
	t.Run("alerts report a frozen and a missing service", p.testAlerts)
	t.Run("with two replicas each, crashes and an upgrade under load cause no error", p.testCrashes)
	t.Run("nothing is left after down", func(t *testing.T) {
		p.compose(t, commandLimit, "--profile", "*", "down", "--volumes")
		for _, command := range [][]string{{"docker", "ps", "-aq"}, {"docker", "volume", "ls", "-q"}, {"docker", "network", "ls", "-q", "--filter", "type=custom"}} {
			if left := d.run(t, commandLimit, command...); left != "" {
				t.Errorf("%v: %s", command, left)
			}
		}
	})
}

// testHardening checks the security settings, resource limits and open ports of the containers.
func (p *platform) testHardening(t *testing.T) {
	var open []string
	for _, c := range p.containers(t) {
		name := strings.TrimPrefix(c.Name, "/")
		h := c.HostConfig
		if !h.ReadonlyRootfs || !slices.Equal(h.CapDrop, []string{"ALL"}) || !slices.Contains(h.SecurityOpt, "no-new-privileges:true") {
			t.Errorf("%s: %+v", name, h)
		}
		if user, _, _ := strings.Cut(c.Config.User, ":"); user == "" || user == "0" || user == "root" {
			t.Errorf("%s runs as %q", name, c.Config.User)
		}
		if h.Memory == 0 || h.NanoCpus == 0 || h.PidsLimit == 0 {
			t.Errorf("%s has the limits %+v", name, h)
		}
		for _, bindings := range c.NetworkSettings.Ports {
			for _, b := range bindings {
				open = append(open, b.HostIP+":"+b.HostPort)
			}
		}
	}
	var want []string
	for _, setting := range p.env {
		if name, port, _ := strings.Cut(setting, "="); strings.HasSuffix(name, "_PORT") {
			want = append(want, net.JoinHostPort("127.0.0.1", port))
		}
	}
	slices.Sort(open)
	slices.Sort(want)
	if !slices.Equal(open, want) {
		t.Errorf("open ports are %v, want %v", open, want)
	}
}

// testStartPage follows docs/START_DOCKER.md.
func (p *platform) testStartPage(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), startLimit)
	defer cancel()
	script := harness.StartScript(t, "docs/START_DOCKER.md", p.setting("INTERFACE_B_URL"))
	out, err := p.tryFrom(ctx, strings.NewReader(""), p.env, "bash", "-c", script)
	if err != nil || !strings.Contains(out, `"status":"confirmed"`) {
		t.Errorf("%v\n%s", err, out)
	}
}

// testBackup backs up as docs/DEPLOYMENT.md says.
func (p *platform) testBackup(t *testing.T) {
	dir := output(t, []string{"PGHOST=" + p.address(t, "postgres"), "PGUSER=postgres", "PGPASSWORD=" + strings.TrimSpace(harness.File(t, "deploy/compose/secrets/postgres_password"))},
		"deploy/backup/backup.sh", t.TempDir())
	for _, part := range []string{"auth", "customer", "booking", "pass", "subscription", "media", "reports", "webhook"} {
		if _, err := os.Stat(filepath.Join(dir, part+".dump")); err != nil {
			t.Error(err)
		}
	}
}

// webhookRequest is the X-Request-Id of the registration in testWebhook.
const webhookRequest = "compose-webhook-1"

// testWebhook receives a notification on this machine, at the second attempt.
func (p *platform) testWebhook(t *testing.T, certificate tlsCertificate) {
	listener, err := net.Listen("tcp", outsideHost+":0")
	if err != nil {
		t.Fatal(err)
	}
	var made struct{ Endpoint, Secret string }
	p.reservectl(t, &made, "--company", p.credentials.CompanyID, "webhook", "create",
		"--url", "https://"+listener.Addr().String()+"/hook", "--events", "registration.created", "-o", "json")
	mailbox := harness.OpenMailbox(t, made.Endpoint, made.Secret, func(m harness.Mail) harness.Reply {
		if m.Try == 1 {
			return harness.Reply{Status: http.StatusServiceUnavailable}
		}
		return harness.Reply{}
	})
	serve(t, listener, certificate, mailbox)

	s := harness.NewRetryingClient(t, p.credentials)
	registration, err := s.Book(t.Context(), "webhook", http.Header{"X-Request-Id": {webhookRequest}, "Traceparent": {traceparent}})
	if err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, time.Minute, func() error {
		for _, mail := range mailbox.Mail() {
			if mail.Accepted && mail.Event == "registration.created" && strings.Contains(string(mail.Data), registration) {
				return nil
			}
		}
		return errNotYet
	})
}
