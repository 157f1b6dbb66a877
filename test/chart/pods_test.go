package chart

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

func TestPodsAreConfined(t *testing.T) {
	for _, values := range valueFiles {
		for _, p := range render(t, values).pods() {
			if s := p.Spec.SecurityContext; s == nil || s.RunAsNonRoot == nil || !*s.RunAsNonRoot || s.RunAsUser == nil || *s.RunAsUser == 0 ||
				s.SeccompProfile == nil || s.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault {
				t.Errorf("%s: %s can run as root, or has no seccomp profile", values, p.name)
			}
			if token := p.Spec.AutomountServiceAccountToken; token == nil || *token {
				t.Errorf("%s: %s has a token of the Kubernetes API", values, p.name)
			}
			if links := p.Spec.EnableServiceLinks; links == nil || *links {
				t.Errorf("%s: %s gets environment variables from Services", values, p.name)
			}
			if p.Spec.HostNetwork || p.Spec.HostPID || p.Spec.HostIPC {
				t.Errorf("%s: %s shares its node's namespaces", values, p.name)
			}
			for _, v := range p.Spec.Volumes {
				if v.HostPath != nil {
					t.Errorf("%s: %s mounts %s of its node", values, p.name, v.HostPath.Path)
				}
			}
			for _, c := range p.containers() {
				s := c.SecurityContext
				if s == nil || s.AllowPrivilegeEscalation == nil || *s.AllowPrivilegeEscalation || s.ReadOnlyRootFilesystem == nil || !*s.ReadOnlyRootFilesystem ||
					s.Capabilities == nil || !slices.Contains(s.Capabilities.Drop, "ALL") || len(s.Capabilities.Add) > 0 || s.Privileged == nil || *s.Privileged {
					t.Errorf("%s: container %s of %s is not restricted", values, c.Name, p.name)
				}
				if c.Resources.Requests.Cpu().IsZero() || c.Resources.Requests.Memory().IsZero() || c.Resources.Limits.Memory().IsZero() {
					t.Errorf("%s: container %s of %s has no resource requests or no memory limit", values, c.Name, p.name)
				}
				if strings.HasSuffix(c.Image, ":latest") || !strings.Contains(c.Image, ":") {
					t.Errorf("%s: container %s of %s runs %s", values, c.Name, p.name, c.Image)
				}
			}
		}
	}
}

func TestProbes(t *testing.T) {
	for _, values := range valueFiles {
		m := render(t, values)
		for _, part := range parts {
			spec := m.deployments[fullname(values)+"-"+part].Spec.Template.Spec
			c := spec.Containers[0]
			for name, p := range map[string]struct {
				probe *corev1.Probe
				path  string
			}{"startup": {c.StartupProbe, "/livez"}, "readiness": {c.ReadinessProbe, "/readyz"}, "liveness": {c.LivenessProbe, "/livez"}} {
				if p.probe == nil || p.probe.HTTPGet == nil || p.probe.HTTPGet.Path != p.path || portOf(c, p.probe.HTTPGet.Port.StrVal) != 9100 {
					t.Errorf("%s: the %s probe of %s is %v", values, name, part, p.probe)
				}
			}
			env := environment(c)
			least := seconds(t, env["SHUTDOWN_DELAY"]) + seconds(t, env["SHUTDOWN_DRAIN"])
			if *spec.TerminationGracePeriodSeconds <= least {
				t.Errorf("%s: %s is killed after %d s, but needs more than %d", values, part, *spec.TerminationGracePeriodSeconds, least)
			}
		}
	}
}

func seconds(t *testing.T, text string) int64 {
	t.Helper()
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		t.Errorf("%q is not a drain time", text)
	}
	return int64(d / time.Second)
}

func portOf(c corev1.Container, name string) int32 {
	for _, p := range c.Ports {
		if p.Name == name {
			return p.ContainerPort
		}
	}
	return 0
}

func TestEveryPart(t *testing.T) {
	for _, values := range valueFiles {
		m := render(t, values)
		for _, part := range parts {
			name := fullname(values) + "-" + part
			d, s, b := m.deployments[name], m.services[name], m.budgets[name]
			if d == nil || s == nil || b == nil || m.policies[name] == nil || m.accounts[name] == nil {
				t.Errorf("%s: %s lacks a Deployment, Service, PodDisruptionBudget, NetworkPolicy or ServiceAccount", values, part)
				continue
			}
			l := labels.Set(d.Spec.Template.Labels)
			if d.Spec.MinReadySeconds < 5 {
				t.Errorf("%s: callers of %s have %d s to find a new pod (docs/UPGRADES.md)", values, part, d.Spec.MinReadySeconds)
			}
			if d.Spec.Template.Spec.ServiceAccountName != name {
				t.Errorf("%s: %s runs as %s", values, part, d.Spec.Template.Spec.ServiceAccountName)
			}
			for what, selector := range map[string]*metav1.LabelSelector{
				"Deployment": d.Spec.Selector, "PodDisruptionBudget": b.Spec.Selector, "Service": {MatchLabels: s.Spec.Selector}, "NetworkPolicy": &m.policies[name].Spec.PodSelector,
			} {
				for _, other := range parts {
					got := network{t, m}.selects(selector, m.labelsOf(values, other))
					if want := other == part; got != want {
						t.Errorf("%s: the %s of %s selects %s: %v", values, what, part, other, got)
					}
				}
			}
			for _, c := range d.Spec.Template.Spec.TopologySpreadConstraints {
				if !(network{t, m}).selects(c.LabelSelector, l) {
					t.Errorf("%s: %s has a spread constraint that does not select its own pods", values, part)
				}
			}
			grpc := slices.Contains(services, part)
			if headless := s.Spec.ClusterIP == corev1.ClusterIPNone; headless != grpc {
				t.Errorf("%s: the Service of %s is headless: %v", values, part, headless)
			}
			for _, p := range s.Spec.Ports {
				if want := map[bool]int32{true: 9090, false: 8080}[grpc]; portOf(d.Spec.Template.Spec.Containers[0], p.TargetPort.StrVal) != want || grpc && p.Port != want {
					t.Errorf("%s: the Service of %s targets port %v", values, part, p)
				}
			}
			if scaler := m.scalers[name]; (scaler == nil) == (d.Spec.Replicas == nil) {
				t.Errorf("%s: %s must have either a number of replicas or an autoscaler", values, part)
			} else if scaler != nil && scaler.Spec.ScaleTargetRef.Name != name {
				t.Errorf("%s: the autoscaler of %s scales %s", values, part, scaler.Spec.ScaleTargetRef.Name)
			}
		}
	}
}

func TestFaces(t *testing.T) {
	external, everything := render(t, "external"), render(t, "everything")
	for part, host := range map[string]string{"gateway-a": "api.example.com", "gateway-b": "www.example.com", "admin": "dashboard.example.com", "media": "media.example.com"} {
		service := fullname("external") + "-" + part
		if part == "media" {
			service += "-files"
		}
		i := external.ingresses[fullname("external")+"-"+part]
		if i == nil {
			t.Errorf("%s has no Ingress", part)
			continue
		}
		backend := i.Spec.Rules[0].HTTP.Paths[0].Backend.Service
		s := external.services[backend.Name]
		if i.Spec.Rules[0].Host != host || len(i.Spec.TLS) != 1 || i.Spec.TLS[0].Hosts[0] != host || s == nil || s.Name != service || s.Spec.Ports[0].Name != backend.Port.Name {
			t.Errorf("the Ingress of %s is %v", part, i.Spec)
			continue
		}
		pod := external.deployments[fullname("external")+"-"+part].Spec.Template
		if port := portOf(pod.Spec.Containers[0], s.Spec.Ports[0].TargetPort.StrVal); port != 8080 || !labels.SelectorFromSet(s.Spec.Selector).Matches(labels.Set(pod.Labels)) {
			t.Errorf("the Service %s leads to port %d of %v", s.Name, port, s.Spec.Selector)
		}
		if everything.custom["HTTPRoute/studio-"+part] == nil {
			t.Errorf("%s has no HTTPRoute", part)
		}
	}
	if len(external.ingresses) != 4 || len(render(t, "minimal").ingresses) != 0 {
		t.Error("only the configured interfaces may be exposed")
	}
}
