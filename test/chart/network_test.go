package chart

import (
	"net/netip"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// network evaluates the network policies of one installation as a cluster does. All pods are in
// the same namespace.
type network struct {
	t *testing.T
	m *manifests
}

// end is one end of a connection: a pod's labels, or an external address.
type end struct {
	labels labels.Set
	addr   netip.Addr
}

func (n network) selects(s *metav1.LabelSelector, l labels.Set) bool {
	n.t.Helper()
	selector, err := metav1.LabelSelectorAsSelector(s)
	if err != nil {
		n.t.Fatal(err)
	}
	return selector.Matches(l)
}

// of returns the policies that apply to a pod.
func (n network) of(l labels.Set, direction networkingv1.PolicyType) []*networkingv1.NetworkPolicy {
	var all []*networkingv1.NetworkPolicy
	for _, p := range n.m.policies {
		if n.selects(&p.Spec.PodSelector, l) && slices.Contains(p.Spec.PolicyTypes, direction) {
			all = append(all, p)
		}
	}
	return all
}

// leaves reports whether a pod can connect to an end, and arrives whether an end can connect to a
// pod. A pod without a policy is open.
func (n network) leaves(from labels.Set, to end, port int32) bool {
	policies := n.of(from, networkingv1.PolicyTypeEgress)
	return len(policies) == 0 || slices.ContainsFunc(policies, func(p *networkingv1.NetworkPolicy) bool {
		return slices.ContainsFunc(p.Spec.Egress, func(r networkingv1.NetworkPolicyEgressRule) bool {
			return matchesPort(r.Ports, port) && n.matches(r.To, to)
		})
	})
}

func (n network) arrives(from end, to labels.Set, port int32) bool {
	policies := n.of(to, networkingv1.PolicyTypeIngress)
	return len(policies) == 0 || slices.ContainsFunc(policies, func(p *networkingv1.NetworkPolicy) bool {
		return slices.ContainsFunc(p.Spec.Ingress, func(r networkingv1.NetworkPolicyIngressRule) bool {
			return matchesPort(r.Ports, port) && n.matches(r.From, from)
		})
	})
}

func matchesPort(ports []networkingv1.NetworkPolicyPort, port int32) bool {
	return len(ports) == 0 || slices.ContainsFunc(ports, func(p networkingv1.NetworkPolicyPort) bool {
		if p.Protocol != nil && *p.Protocol != "TCP" {
			return false
		}
		last := p.Port.IntVal
		if p.EndPort != nil {
			last = *p.EndPort
		}
		return p.Port.IntVal <= port && port <= last
	})
}

func (n network) matches(peers []networkingv1.NetworkPolicyPeer, e end) bool {
	return len(peers) == 0 || slices.ContainsFunc(peers, func(p networkingv1.NetworkPolicyPeer) bool {
		switch {
		case p.IPBlock != nil:
			in := func(cidr string) bool { return netip.MustParsePrefix(cidr).Contains(e.addr) }
			return e.addr.IsValid() && in(p.IPBlock.CIDR) && !slices.ContainsFunc(p.IPBlock.Except, in)
		case p.NamespaceSelector != nil: // pods of another namespace
			return false
		}
		return e.labels != nil && n.selects(p.PodSelector, e.labels)
	})
}

// labelsOf returns the labels of a service's pods.
func (m *manifests) labelsOf(values, part string) labels.Set {
	name := fullname(values) + "-" + part
	if s := m.stateful[name]; s != nil {
		return s.Spec.Template.Labels
	}
	return m.deployments[name].Spec.Template.Labels
}

func TestArrows(t *testing.T) {
	of := settings(t)
	for _, values := range valueFiles {
		n := network{t, render(t, values)}
		for _, caller := range parts {
			for _, callee := range parts {
				_, calls := of[caller][strings.ToUpper(callee)+"_ADDR"]
				calls = calls && slices.Contains(services, callee)
				from, to := n.m.labelsOf(values, caller), n.m.labelsOf(values, callee)
				if got := n.leaves(from, end{labels: to}, 9090); got != calls {
					t.Errorf("%s: %s can call %s: %v, want %v", values, caller, callee, got, calls)
				}
				if got := n.arrives(end{labels: from}, to, 9090); got != calls {
					t.Errorf("%s: %s lets %s call: %v, want %v", values, callee, caller, got, calls)
				}
				for _, port := range []int32{9100, 22} {
					if n.leaves(from, end{labels: to}, port) && n.arrives(end{labels: from}, to, port) {
						t.Errorf("%s: %s reaches port %d of %s", values, caller, port, callee)
					}
				}
			}
		}
	}
}

func TestStoreArrows(t *testing.T) {
	of := settings(t)
	n := network{t, render(t, "minimal")}
	for store, s := range map[string]struct {
		port    int32
		setting string
	}{"postgresql": {5432, "DATABASE_URL"}, "nats": {4222, "NATS_URL"}} {
		to := n.m.labelsOf("minimal", store)
		for _, part := range parts {
			_, uses := of[part][s.setting]
			from := n.m.labelsOf("minimal", part)
			if got := n.leaves(from, end{labels: to}, s.port); got != uses {
				t.Errorf("%s can connect to %s: %v, want %v", part, store, got, uses)
			}
			if got := n.arrives(end{labels: from}, to, s.port); got != uses {
				t.Errorf("%s lets %s connect: %v, want %v", store, part, got, uses)
			}
		}
		if n.arrives(end{labels: labels.Set{"app": "stranger"}}, to, s.port) || n.leaves(to, end{addr: netip.MustParseAddr("93.184.216.34")}, 443) {
			t.Errorf("%s is open to other pods", store)
		}
	}
}

func TestFacesAndStrangers(t *testing.T) {
	n := network{t, render(t, "external")}
	stranger := end{labels: labels.Set{"app": "stranger"}}
	for _, part := range parts {
		to := n.m.labelsOf("external", part)
		if got, want := n.arrives(stranger, to, 8080), part == "media" || !slices.Contains(services, part); got != want {
			t.Errorf("another pod reaches port 8080 of %s: %v, want %v", part, got, want)
		}
		for _, port := range []int32{9090, 9100} {
			if n.arrives(stranger, to, port) {
				t.Errorf("another pod reaches port %d of %s", port, part)
			}
		}
	}
	for _, part := range []string{"gateway-a", "gateway-b", "admin", "media"} {
		if n := (network{t, render(t, "everything")}); n.arrives(stranger, n.m.labelsOf("everything", part), 8080) {
			t.Errorf("%s is open to pods outside networkPolicy.faces", part)
		}
	}
	operator := end{labels: labels.Set{"reservation.example.com/operator": "true"}}
	everything := network{t, render(t, "everything")}
	for _, part := range services {
		if !everything.arrives(operator, everything.m.labelsOf("everything", part), 9090) {
			t.Errorf("an operator does not reach %s", part)
		}
	}
}

func TestMigrationArrows(t *testing.T) {
	m := render(t, "external")
	n := network{t, m}
	policy := m.policies[fullname("external")+"-migrate"]
	for name, j := range m.jobs {
		l := labels.Set(j.Spec.Template.Labels)
		if !n.leaves(l, end{addr: netip.MustParseAddr("10.1.2.3")}, 5432) {
			t.Errorf("%s does not reach its database", name)
		}
		if n.leaves(l, end{addr: netip.MustParseAddr("10.1.2.3")}, 4222) || n.arrives(end{labels: l}, l, 5432) {
			t.Errorf("%s can reach more than its migration needs", name)
		}
		if weight(t, policy.Annotations) >= weight(t, j.Annotations) {
			t.Errorf("the policy is created after %s", name)
		}
	}
}

// refusedRange matches an address range in the list of ranges that the webhook service refuses.
var refusedRange = regexp.MustCompile(`"([0-9a-f.:]+/[0-9]+)"`)

func TestWhereWebhooksGo(t *testing.T) {
	n := network{t, render(t, "external")}
	from := n.m.labelsOf("external", "webhook")
	for _, public := range []string{"93.184.216.34", "8.8.8.8", "172.15.255.255", "172.32.0.1", "2606:4700:4700::1111", "2a00:1450:4001::200e"} {
		for _, port := range []int32{80, 443, 8443} {
			if !n.leaves(from, end{addr: netip.MustParseAddr(public)}, port) {
				t.Errorf("port %d of %s is closed", port, public)
			}
		}
	}
	closed := []string{"10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.100.100.200", "127.0.0.1", "::1", "fe80::1", "fd00:ec2::254", "fc00::1", "2002:a9fe:a9fe::1"}
	text, err := os.ReadFile(root + "/services/webhook/address.go")
	if err != nil {
		t.Fatal(err)
	}
	ranges := 0
	for _, m := range refusedRange.FindAllStringSubmatch(string(text), -1) {
		switch m[1] {
		case "2000::/3", "64:ff9b::/96": // allowed by the service; never opened by the policy
			continue
		}
		ranges++
		prefix := netip.MustParsePrefix(m[1])
		address := prefix.Addr()
		if !prefix.IsSingleIP() {
			address = address.Next()
		}
		closed = append(closed, address.String())
	}
	if ranges < 15 {
		t.Errorf("services/webhook/address.go lists %d ranges", ranges)
	}
	for _, private := range closed {
		if n.leaves(from, end{addr: netip.MustParseAddr(private)}, 443) {
			t.Errorf("%s is open", private)
		}
	}
	for _, part := range parts {
		if part != "webhook" && part != "media" && n.leaves(n.m.labelsOf("external", part), end{addr: netip.MustParseAddr("93.184.216.34")}, 443) {
			t.Errorf("%s reaches the internet", part)
		}
	}
}

func TestWhereMediaFilesGo(t *testing.T) {
	bucket, other := end{addr: netip.MustParseAddr("10.30.1.2")}, end{addr: netip.MustParseAddr("93.184.216.34")}
	identity := end{addr: netip.MustParseAddr("169.254.169.254")}
	reaches := func(n network, to end, port int32) bool {
		return n.leaves(n.m.labelsOf("everything", "media"), to, port)
	}
	t.Run("a volume needs no connection", func(t *testing.T) {
		n := network{t, render(t, "everything")}
		for _, to := range []end{bucket, other, identity} {
			if reaches(n, to, 443) || reaches(n, to, 80) {
				t.Errorf("media reaches %v", to.addr)
			}
		}
	})
	t.Run("a bucket is reached at the configured addresses only, and so is the cloud's identity", func(t *testing.T) {
		n := network{t, render(t, "everything", "--set", "media.bucket=gs://studio-media")}
		if !reaches(n, bucket, 443) || !reaches(n, identity, 80) {
			t.Error("media cannot use its bucket")
		}
		if reaches(n, other, 443) || reaches(n, bucket, 22) {
			t.Error("media reaches more than its bucket")
		}
	})
}
