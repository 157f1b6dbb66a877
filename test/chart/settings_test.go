package chart

import (
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// services are the services with a database; parts are all services.
var (
	services = []string{"auth", "customer", "booking", "pass", "subscription", "media", "reports", "webhook"}
	parts    = append(slices.Clone(services), "admin", "gateway-a", "gateway-b")
)

// setting is a row of the settings table in docs/OPERATIONS.md. Another test compares that table
// with the code.
type setting struct {
	required bool
	parts    []string
}

var settingRow = regexp.MustCompile("(?m)^\\| `([A-Z0-9_]+)` \\| ([^|]*) \\| ([^|]*) \\| .*\\|$")

// settings returns the settings by service.
func settings(t *testing.T) map[string]map[string]setting {
	t.Helper()
	text, err := os.ReadFile(root + "/docs/OPERATIONS.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, ok := strings.Cut(string(text), "<!-- settings:")
	table, _, closed := strings.Cut(table, "<!-- end of settings -->")
	if !ok || !closed {
		t.Fatal("docs/OPERATIONS.md has no table of settings")
	}
	all := map[string]map[string]setting{}
	for _, part := range parts {
		all[part] = map[string]setting{}
	}
	for _, row := range settingRow.FindAllStringSubmatch(table, -1) {
		of := strings.NewReplacer("all services", strings.Join(parts, ", "), "services with a database", strings.Join(services, ", ")).Replace(row[3])
		s := setting{required: strings.TrimSpace(row[2]) == "required", parts: strings.Split(of, ", ")}
		for _, part := range s.parts {
			if part = strings.TrimSpace(part); all[part] != nil {
				all[part][row[1]] = s
			}
		}
	}
	if len(all["booking"]) < 10 {
		t.Fatalf("the table of settings has only %d settings of booking", len(all["booking"]))
	}
	return all
}

// owner are the settings of `migrate`, which has no other required settings.
var owner = []string{"MIGRATION_DATABASE_URL", "DATABASE_APP_ROLE"}

// extra reports whether a variable is not a setting of the platform: one of those that
// ci/everything-values.yaml adds, or one of OpenTelemetry.
func extra(name string) bool { return name == "GOGC" || strings.HasPrefix(name, "OTEL_") }

// known reports whether a variable is a setting of a service, or the _FILE form of one.
func known(of map[string]setting, name string) bool {
	_, ok := of[name]
	if base, file := strings.CutSuffix(name, "_FILE"); !ok && file {
		_, ok = of[base]
	}
	return ok || extra(name)
}

// environment returns the variables of a container.
func environment(c corev1.Container) map[string]string {
	all := map[string]string{}
	for _, e := range c.Env {
		all[e.Name] = e.Value
	}
	return all
}

func TestSettings(t *testing.T) {
	of := settings(t)
	for _, values := range valueFiles {
		m := render(t, values)
		for _, part := range parts {
			d := m.deployments[fullname(values)+"-"+part]
			if d == nil {
				t.Errorf("%s: %s has no Deployment", values, part)
				continue
			}
			env := environment(d.Spec.Template.Spec.Containers[0])
			if len(env) != len(d.Spec.Template.Spec.Containers[0].Env) {
				t.Errorf("%s: %s has a duplicate variable", values, part)
			}
			for name := range env {
				if !known(of[part], name) {
					t.Errorf("%s: %s has no setting called %s", values, part, name)
				}
			}
			for name, s := range of[part] {
				if s.required && !slices.Contains(owner, name) && env[name] == "" && env[name+"_FILE"] == "" {
					t.Errorf("%s: %s lacks the required setting %s", values, part, name)
				}
			}
			for name := range of[part] {
				called, isAddress := strings.CutSuffix(name, "_ADDR")
				if callee := strings.ToLower(called); isAddress && slices.Contains(parts, callee) && callee != "admin" {
					if want := fullname(values) + "-" + callee + ":9090"; env[name] != want {
						t.Errorf("%s: %s has %s=%q, want %q", values, part, name, env[name], want)
					}
				}
			}
		}
	}
}

func TestListeningAddresses(t *testing.T) {
	m := render(t, "external")
	for _, part := range parts {
		env := environment(m.deployments[fullname("external")+"-"+part].Spec.Template.Spec.Containers[0])
		name, want := "GRPC_ADDR", ":9090"
		if !slices.Contains(services, part) {
			name, want = "HTTP_ADDR", ":8080"
		}
		if part == "media" && env["HTTP_ADDR"] != ":8080" {
			t.Errorf("media serves files on %q", env["HTTP_ADDR"])
		}
		if env[name] != want || env["ADMIN_ADDR"] != ":9100" {
			t.Errorf("%s listens on %s=%q, ADMIN_ADDR=%q", part, name, env[name], env["ADMIN_ADDR"])
		}
		if env["RESERVATION_ENV"] != "production" {
			t.Errorf("%s runs in %q, want the default production", part, env["RESERVATION_ENV"])
		}
	}
}

func TestMediaFiles(t *testing.T) {
	for values, want := range map[string]struct{ url, bucket, claim string }{
		"external":   {"https://media.example.com", "s3://reservation-media?region=eu-west-2", ""},
		"everything": {"https://media.example.com", "file:///data?no_tmp_dir=true&metadata=skip", "studio-media"},
		"minimal":    {"http://localhost:8083", "file:///data?no_tmp_dir=true&metadata=skip", fullname("minimal") + "-media"},
	} {
		m := render(t, values)
		spec := m.deployments[fullname(values)+"-media"].Spec.Template.Spec
		env := environment(spec.Containers[0])
		if env["MEDIA_URL"] != want.url || env["MEDIA_BUCKET"] != want.bucket {
			t.Errorf("%s: the files are in %s at %s, want %+v", values, env["MEDIA_BUCKET"], env["MEDIA_URL"], want)
		}
		claim := ""
		for _, v := range spec.Volumes {
			if v.PersistentVolumeClaim != nil {
				claim = v.PersistentVolumeClaim.ClaimName
			}
		}
		mounted := slices.ContainsFunc(spec.Containers[0].VolumeMounts, func(v corev1.VolumeMount) bool { return v.MountPath == "/data" })
		if claim != want.claim || mounted != (want.claim != "") {
			t.Errorf("%s: the volume is %q and mounted: %v, want %q", values, claim, mounted, want.claim)
		}
	}
}

func TestDashboardAddresses(t *testing.T) {
	m := render(t, "external")
	env := environment(m.deployments[fullname("external")+"-admin"].Spec.Template.Spec.Containers[0])
	for name, want := range map[string]string{
		"ADMIN_URL": "https://dashboard.example.com", "INTERFACE_A_URL": "https://api.example.com", "INTERFACE_B_URL": "https://www.example.com/api/v1",
		"MEDIA_URL": "https://media.example.com",
	} {
		if env[name] != want {
			t.Errorf("%s is %q, want %q", name, env[name], want)
		}
	}
	gateway := environment(m.deployments[fullname("external")+"-gateway-b"].Spec.Template.Spec.Containers[0])
	if got := gateway["INTERFACE_B_URL"]; got != "https://www.example.com/api/v1" {
		t.Errorf("gateway-b has the INTERFACE_B_URL %q", got)
	}
}

// weight returns the weight of a hook, which decides its order.
func weight(t *testing.T, annotations map[string]string) int {
	t.Helper()
	n, err := strconv.Atoi(annotations["helm.sh/hook-weight"])
	if err != nil {
		t.Error(err)
	}
	return n
}

func TestMigrations(t *testing.T) {
	of := settings(t)
	check := func(t *testing.T, part string, c corev1.Container) {
		t.Helper()
		env := environment(c)
		for _, name := range owner {
			if env[name] == "" && env[name+"_FILE"] == "" {
				t.Errorf("the migration of %s needs %s", part, name)
			}
		}
		for name := range env {
			if !known(of[part], name) {
				t.Errorf("%s has no setting called %s", part, name)
			}
		}
		if !slices.Equal(c.Args, []string{"migrate"}) || !strings.Contains(c.Image, "/"+part+":") {
			t.Errorf("the migration of %s is %s %v", part, c.Image, c.Args)
		}
	}
	t.Run("Jobs migrate an external database before anything else", func(t *testing.T) {
		m := render(t, "external")
		for _, part := range services {
			j := m.jobs[fullname("external")+"-"+part+"-migrate"]
			if j == nil {
				t.Errorf("%s has no Job", part)
				continue
			}
			if j.Annotations["helm.sh/hook"] != "pre-install,pre-upgrade" {
				t.Errorf("the Job of %s is a hook of %q", part, j.Annotations["helm.sh/hook"])
			}
			check(t, part, j.Spec.Template.Spec.Containers[0])
			if account := m.accounts[j.Spec.Template.Spec.ServiceAccountName]; account == nil || weight(t, account.Annotations) >= weight(t, j.Annotations) {
				t.Errorf("the Job of %s has a service account that does not exist yet when it runs", part)
			}
		}
	})
	t.Run("init containers migrate the bundled database", func(t *testing.T) {
		m := render(t, "minimal")
		if len(m.jobs) != 0 {
			t.Errorf("unexpected Jobs: %v", m.jobs)
		}
		for _, part := range services {
			d := m.deployments[fullname("minimal")+"-"+part]
			if len(d.Spec.Template.Spec.InitContainers) != 1 {
				t.Errorf("%s has %d init containers", part, len(d.Spec.Template.Spec.InitContainers))
				continue
			}
			check(t, part, d.Spec.Template.Spec.InitContainers[0])
			for _, mount := range d.Spec.Template.Spec.Containers[0].VolumeMounts {
				if mount.Name == "owner" {
					t.Errorf("the container of %s has the owner's password", part)
				}
			}
		}
	})
	t.Run("the chart runs no migrations with migrations.mode=none", func(t *testing.T) {
		m := render(t, "external", "--set", "migrations.mode=none")
		if len(m.jobs) != 0 || m.accounts[fullname("external")+"-migrate"] != nil {
			t.Error("the chart has Jobs or a service account for migrations")
		}
	})
}
