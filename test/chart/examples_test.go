package chart

import (
	"fmt"
	"net/netip"
	"os"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"
)

// exampleDir has the stores that ci/replicated-values.yaml uses.
const exampleDir = root + "/deploy/helm/examples"

// cloudNativePG is a resource of CloudNativePG, with the fields that the example sets.
type cloudNativePG struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Spec struct {
		// of a Cluster
		Instances  int               `json:"instances"`
		Storage    map[string]string `json:"storage"`
		Resources  map[string]any    `json:"resources"`
		Affinity   map[string]any    `json:"affinity"`
		Spread     []any             `json:"topologySpreadConstraints"`
		PostgreSQL struct {
			Synchronous struct {
				Method         string `json:"method"`
				Number         int    `json:"number"`
				DataDurability string `json:"dataDurability"`
				FailoverQuorum bool   `json:"failoverQuorum"`
			} `json:"synchronous"`
			Parameters map[string]string `json:"parameters"`
		} `json:"postgresql"`
		Managed struct {
			Roles []struct {
				Name           string            `json:"name"`
				Ensure         string            `json:"ensure"`
				Login          bool              `json:"login"`
				PasswordSecret map[string]string `json:"passwordSecret"`
			} `json:"roles"`
		} `json:"managed"`
		// of a Database
		Cluster       map[string]string `json:"cluster"`
		Name          string            `json:"name"`
		Owner         string            `json:"owner"`
		Template      string            `json:"template"`
		Encoding      string            `json:"encoding"`
		Locale        string            `json:"locale"`
		LocaleCollate string            `json:"localeCollate"`
	} `json:"spec"`
}

func example(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestCloudNativePGExample(t *testing.T) {
	var cluster cloudNativePG
	databases := map[string]cloudNativePG{}
	for doc := range strings.SplitSeq(example(t, exampleDir+"/cloudnativepg.yaml"), "\n---\n") {
		var r cloudNativePG
		if err := yaml.UnmarshalStrict([]byte(doc), &r); err != nil {
			t.Fatalf("%v in\n%s", err, doc)
		}
		switch {
		case r.APIVersion != "postgresql.cnpg.io/v1":
			t.Errorf("%s has the version %q", r.Metadata.Name, r.APIVersion)
		case r.Kind == "Cluster":
			cluster = r
		default:
			databases[r.Spec.Name] = r
		}
	}
	if s := cluster.Spec.PostgreSQL.Synchronous; cluster.Spec.Instances < 3 || s.Number < 1 || s.DataDurability != "required" || !s.FailoverQuorum {
		t.Errorf("a commit can be acknowledged that only the primary has: %d instances, %+v", cluster.Spec.Instances, s)
	}
	roles := map[string]string{} // the Secret of each
	for _, r := range cluster.Spec.Managed.Roles {
		if !r.Login {
			t.Errorf("the role %s cannot log in", r.Name)
		}
		roles[r.Name] = r.PasswordSecret["name"]
	}
	page := example(t, root+"/docs/KUBERNETES.md")
	used := 0
	for _, service := range services {
		if render(t, "replicated").deployments[fullname("replicated")+"-"+service] == nil {
			t.Errorf("%s is not installed", service)
		}
		d := databases[service]
		if d.Spec.Owner != service+"_owner" || d.Spec.Cluster["name"] != cluster.Metadata.Name || d.Spec.Encoding != "UTF8" || d.Spec.LocaleCollate != "C" {
			t.Errorf("the database of %s is %+v", service, d.Spec)
		}
		for _, role := range []string{service, service + "_owner"} {
			if want := "role-" + strings.ReplaceAll(role, "_", "-"); roles[role] != want {
				t.Errorf("the password of the role %s is in the Secret %q, not %q", role, roles[role], want)
			}
			used++
		}
	}
	if len(roles) != used || len(databases) != len(services) {
		t.Errorf("%d roles and %d databases are for %d services", len(roles), len(databases), len(services))
	}
	for _, want := range []string{
		"for SERVICE in " + strings.Join(services, " ") + "; do", "@" + cluster.Metadata.Name + "-rw/", "target_session_attrs=read-write",
		"generic role-$SERVICE ", "generic role-$SERVICE-owner ", "generic database-$SERVICE ",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("docs/KUBERNETES.md does not create the Secrets of the example: %q is missing", want)
		}
	}
}

func TestNATSExample(t *testing.T) {
	var values struct {
		FullnameOverride string
		Config           struct {
			Cluster struct {
				Enabled  bool
				Replicas int
			}
			JetStream struct {
				Enabled bool
				Merge   map[string]any
			}
		}
	}
	if err := yaml.Unmarshal([]byte(example(t, exampleDir+"/nats-values.yaml")), &values); err != nil {
		t.Fatal(err)
	}
	if !values.Config.Cluster.Enabled || !values.Config.JetStream.Enabled {
		t.Errorf("the example is no cluster with JetStream: %+v", values)
	}
	if values.Config.JetStream.Merge["sync_interval"] != "always" {
		t.Errorf("the servers acknowledge events that are not on disk: %+v", values.Config.JetStream)
	}
	var urls []string
	for i := range values.Config.Cluster.Replicas {
		urls = append(urls, fmt.Sprintf("nats://%[1]s-%[2]d.%[1]s-headless:4222", values.FullnameOverride, i))
	}
	m := render(t, "replicated")
	env := environment(m.deployments[fullname("replicated")+"-booking"].Spec.Template.Spec.Containers[0])
	if env["NATS_URL"] != strings.Join(urls, ",") || env["BUS_REPLICAS"] != fmt.Sprint(values.Config.Cluster.Replicas) {
		t.Errorf("booking has NATS_URL=%s and BUS_REPLICAS=%s for the servers %v", env["NATS_URL"], env["BUS_REPLICAS"], urls)
	}
}

func TestReplicatedStoresCanBeReached(t *testing.T) {
	n := network{t, render(t, "replicated")}
	for port, pods := range map[int32]labels.Set{5432: {"cnpg.io/cluster": "postgres"}, 4222: {"app.kubernetes.io/name": "nats"}} {
		from := n.m.labelsOf("replicated", "booking")
		if !n.leaves(from, end{labels: pods}, port) {
			t.Errorf("booking cannot reach port %d of %v", port, pods)
		}
		if n.leaves(from, end{labels: labels.Set{"app": "stranger"}}, port) || n.leaves(from, end{addr: netip.MustParseAddr("93.184.216.34")}, port) {
			t.Errorf("booking reaches port %d of others", port)
		}
	}
}
