package chart

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/restmapper"
	"sigs.k8s.io/yaml"
)

// definitions are the chart's custom resources, with the modules whose archives define them.
var definitions = []struct{ module, file string }{
	{"github.com/prometheus-operator/prometheus-operator@v0.85.0", "example/prometheus-operator-crd/monitoring.coreos.com_podmonitors.yaml"},
	{"github.com/prometheus-operator/prometheus-operator@v0.85.0", "example/prometheus-operator-crd/monitoring.coreos.com_prometheusrules.yaml"},
	{"sigs.k8s.io/gateway-api@v1.6.3", "config/crd/standard/gateway.networking.k8s.io_httproutes.yaml"},
	{"github.com/cert-manager/cert-manager@v1.21.2", "deploy/crds/cert-manager.io_certificates.yaml"},
}

func TestInstall(t *testing.T) {
	c := startCluster(t)
	ctx, stop := context.WithCancel(t.Context())
	n := &nodes{client: c.client}
	done := make(chan struct{})
	go func() { defer close(done); n.run(ctx, t) }()
	t.Cleanup(func() { stop(); <-done })
	c.define(t)
	for _, values := range valueFiles {
		t.Run(values, func(t *testing.T) { c.install(t, n, values) })
	}
	t.Run("an upgrade without the master key is refused", func(t *testing.T) { c.loseMasterKey(t) })
}

// install installs, upgrades and uninstalls the chart in a namespace that only accepts restricted
// pods.
func (c *cluster) install(t *testing.T, n *nodes, values string) {
	ns := c.namespace(t, values)
	jobs := c.wantJobs(t, values)
	file := chartDir + "/ci/" + values + "-values.yaml"
	c.dryRun(t, ns, values)

	n.jobs()
	c.helm(t, "install", release, chartDir, "--namespace", ns, "--values", file, "--wait", "--timeout", "5m")
	if got := n.jobs(); !slices.Equal(got, jobs) {
		t.Errorf("during the installation the Jobs %v ended, want %v", got, jobs)
	}
	c.hooksAreGone(t, ns)
	c.runs(t, ns, values)
	before := c.secrets(t, ns)

	c.helm(t, "upgrade", release, chartDir, "--namespace", ns, "--values", file, "--set", "settings.LOG_LEVEL=debug", "--dry-run=server")
	c.helm(t, "upgrade", release, chartDir, "--namespace", ns, "--values", file, "--set", "settings.LOG_LEVEL=debug", "--wait", "--timeout", "5m")
	if got := n.jobs(); !slices.Equal(got, jobs) {
		t.Errorf("during the upgrade the Jobs %v ended, want %v", got, jobs)
	}
	c.runs(t, ns, values)
	if after := c.secrets(t, ns); !maps.Equal(before, after) {
		t.Errorf("an upgrade changed the secrets of %v", changed(before, after))
	}
	c.helm(t, "rollback", release, "1", "--namespace", ns, "--wait", "--timeout", "5m")
	n.jobs()

	c.helm(t, "uninstall", release, "--namespace", ns, "--wait", "--timeout", "5m")
	c.leftOver(t, ns)
	if values != "minimal" {
		return
	}
	c.helm(t, "install", release, chartDir, "--namespace", ns, "--values", file, "--wait", "--timeout", "5m")
	again := c.secrets(t, ns)
	for name, data := range before {
		// The Secrets of the bundled NATS are deleted, because its password is stored nowhere
		// else.
		if !strings.HasSuffix(name, "-nats") && again[name] != data {
			t.Errorf("another installation changed the Secret %s", name)
		}
	}
}

func (c *cluster) loseMasterKey(t *testing.T) {
	ns := "install-minimal"
	if err := c.client.CoreV1().Secrets(ns).Delete(t.Context(), fullname("minimal")+"-auth", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	_, problems, err := helm(t, "--kubeconfig", c.kubeconfig, "upgrade", release, chartDir, "--namespace", ns, "--values", chartDir+"/ci/minimal-values.yaml")
	if err == nil || !strings.Contains(problems, "is gone") {
		t.Errorf("%v: %s", err, problems)
	}
}

// namespace creates a namespace with the objects that the installation expects in it.
func (c *cluster) namespace(t *testing.T, values string) string {
	t.Helper()
	ns := "install-" + values
	restricted := map[string]string{"pod-security.kubernetes.io/enforce": "restricted", "pod-security.kubernetes.io/enforce-version": "latest"}
	if _, err := c.client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns, Labels: restricted}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	return ns
}

func (c *cluster) wantJobs(t *testing.T, values string) []string {
	t.Helper()
	return slices.Sorted(maps.Keys(render(t, values).jobs))
}

func (c *cluster) helm(t *testing.T, args ...string) {
	t.Helper()
	began := time.Now()
	out, problems, err := helm(t, append([]string{"--kubeconfig", c.kubeconfig}, args...)...)
	if err != nil {
		t.Fatalf("helm %s: %v\n%s%s", strings.Join(args, " "), err, out, problems)
	}
	t.Logf("helm %s: %.1f s", args[0], time.Since(began).Seconds())
}

// runs checks that every workload has its number of pods and becomes available: helm itself does
// not wait for minReadySeconds.
func (c *cluster) runs(t *testing.T, ns, values string) {
	t.Helper()
	var deployments *appsv1.DeploymentList
	until(t, time.Minute, "all pods are available", func(ctx context.Context) (err error) {
		if deployments, err = c.client.AppsV1().Deployments(ns).List(ctx, metav1.ListOptions{}); err != nil {
			return err
		}
		for _, d := range deployments.Items {
			if d.Status.AvailableReplicas != *d.Spec.Replicas || d.Status.UpdatedReplicas != *d.Spec.Replicas || *d.Spec.Replicas == 0 {
				return fmt.Errorf("%s has %d of %d pods", d.Name, d.Status.AvailableReplicas, *d.Spec.Replicas)
			}
		}
		return nil
	})
	for _, d := range deployments.Items {
		budget, err := c.client.PolicyV1().PodDisruptionBudgets(ns).Get(t.Context(), d.Name, metav1.GetOptions{})
		if err != nil {
			t.Error(err)
		} else if budget.Spec.MaxUnavailable.IntVal != 1 {
			t.Errorf("%s: the budget is %v", d.Name, budget.Spec)
		}
		// The control plane itself reports which pods a Service selects.
		slices, err := c.client.DiscoveryV1().EndpointSlices(ns).List(t.Context(), metav1.ListOptions{LabelSelector: "kubernetes.io/service-name=" + d.Name})
		if err != nil || len(slices.Items) == 0 {
			t.Errorf("%s has no endpoints: %v", d.Name, err)
		}
	}
	if len(deployments.Items) != len(parts) {
		t.Errorf("%s: %d Deployments", values, len(deployments.Items))
	}
}

// hooksAreGone checks that the objects of the migrations are deleted.
func (c *cluster) hooksAreGone(t *testing.T, ns string) {
	t.Helper()
	of := metav1.ListOptions{LabelSelector: "app.kubernetes.io/component=migrate"}
	jobs, err1 := c.client.BatchV1().Jobs(ns).List(t.Context(), of)
	accounts, err2 := c.client.CoreV1().ServiceAccounts(ns).List(t.Context(), of)
	policies, err3 := c.client.NetworkingV1().NetworkPolicies(ns).List(t.Context(), of)
	if err1 != nil || err2 != nil || err3 != nil {
		t.Fatal(err1, err2, err3)
	}
	if n := len(jobs.Items) + len(accounts.Items) + len(policies.Items); n != 0 {
		t.Errorf("%d objects of the migrations are left", n)
	}
}

// leftOver checks that an uninstalled release leaves only the Secrets that are to be kept.
func (c *cluster) leftOver(t *testing.T, ns string) {
	t.Helper()
	until(t, time.Minute, "the release is gone", func(ctx context.Context) error {
		var names []string
		of := metav1.ListOptions{LabelSelector: "app.kubernetes.io/instance=" + release}
		for _, kind := range c.kinds(t) {
			list, err := c.dynamic.Resource(kind).Namespace(ns).List(ctx, of)
			if err != nil {
				return err
			}
			for _, o := range list.Items {
				kept := o.GetAnnotations()["helm.sh/resource-policy"] == "keep" || o.GetKind() == "PersistentVolumeClaim"
				if !kept {
					names = append(names, o.GetKind()+"/"+o.GetName())
				}
			}
		}
		if len(names) > 0 {
			return fmt.Errorf("left: %v", names)
		}
		return nil
	})
}

// secrets returns the data of each Secret of the release.
func (c *cluster) secrets(t *testing.T, ns string) map[string]string {
	t.Helper()
	list, err := c.client.CoreV1().Secrets(ns).List(t.Context(), metav1.ListOptions{LabelSelector: "app.kubernetes.io/instance=" + release})
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, s := range list.Items {
		text, err := json.Marshal(s.Data)
		if err != nil {
			t.Fatal(err)
		}
		all[s.Name] = string(text)
	}
	return all
}

func changed(before, after map[string]string) []string {
	var names []string
	for name := range before {
		if before[name] != after[name] {
			names = append(names, name)
		}
	}
	return names
}

// dryRun sends every object to the API server in a dry run, which covers defaults, validation,
// admission and unknown fields.
func (c *cluster) dryRun(t *testing.T, ns, values string) {
	t.Helper()
	groups, err := restmapper.GetAPIGroupResources(c.client.Discovery())
	if err != nil {
		t.Fatal(err)
	}
	mapper := restmapper.NewDiscoveryRESTMapper(groups)
	text, err := template(t, values, "--namespace", ns)
	if err != nil {
		t.Fatal(err, text)
	}
	for doc := range strings.SplitSeq(text, "\n---\n") {
		var o unstructured.Unstructured
		if err := yaml.Unmarshal([]byte(doc), &o.Object); err != nil {
			t.Fatal(err)
		}
		if len(o.Object) == 0 {
			continue
		}
		mapping, err := mapper.RESTMapping(o.GroupVersionKind().GroupKind(), o.GroupVersionKind().Version)
		if err != nil {
			t.Errorf("%s %s: %v", o.GetKind(), o.GetName(), err)
			continue
		}
		strict := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}, FieldValidation: metav1.FieldValidationStrict}
		if mapping.Scope.Name() == meta.RESTScopeNameRoot {
			_, err = c.dynamic.Resource(mapping.Resource).Create(t.Context(), &o, strict)
		} else {
			_, err = c.dynamic.Resource(mapping.Resource).Namespace(ns).Create(t.Context(), &o, strict)
		}
		if err != nil {
			t.Errorf("%s %s: %v", o.GetKind(), o.GetName(), err)
		}
	}
}

// define registers the custom resource definitions.
func (c *cluster) define(t *testing.T) {
	t.Helper()
	crds := c.dynamic.Resource(crdResource)
	for _, d := range definitions {
		out, err := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", d.module).Output()
		var module struct{ Dir string }
		if err != nil || json.Unmarshal(out, &module) != nil {
			t.Fatalf("go mod download %s: %v\n%s", d.module, err, out)
		}
		text := read(t, filepath.Join(module.Dir, d.file))
		var o unstructured.Unstructured
		if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
			t.Fatal(err)
		}
		if _, err := crds.Create(t.Context(), &o, metav1.CreateOptions{}); err != nil {
			t.Fatalf("%s: %v", d.file, err)
		}
		until(t, time.Minute, o.GetName()+" is served", func(ctx context.Context) error {
			got, err := crds.Get(ctx, o.GetName(), metav1.GetOptions{})
			if err != nil {
				return err
			}
			conditions, _, err := unstructured.NestedSlice(got.Object, "status", "conditions")
			for _, condition := range conditions {
				if is := condition.(map[string]any); is["type"] == "Established" && is["status"] == "True" {
					return err
				}
			}
			return fmt.Errorf("its conditions are %v", conditions)
		})
	}
}
