// Package cluster installs the chart on Kubernetes as docs/KUBERNETES.md describes, and follows
// docs/START_KUBERNETES.md. The cluster has one node and consists of real programs: etcd, the API
// server, the controllers, the scheduler, kubelet, kube-proxy, containerd, runc, a bridge between the
// pods, and CoreDNS. The images are those of deploy/Dockerfile.
//
// It runs if CLUSTER_TEST is set, which make cluster-test does after it has built and installed
// the requirements. It uses no registry.
//
// # How a cluster fits into a test
//
// TestCluster runs itself again in separate namespaces (processes, mounts, network), in which it
// is the first process:
//
//	this machine ── TestCluster ── cgroups and files of the test, removed at the end
//	   └─ namespaces ── TestCluster ── etcd, kube-apiserver, …, containerd ── pods
//
// When that process ends, for any reason, the kernel ends all processes in the namespaces and
// removes their mounts, interfaces and iptables rules. Settings that kubelet would change for the
// whole machine appear to be set already (machine_linux_test.go).
package cluster

import (
	"os"
	"testing"

	"reservation.dev/test/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }

// needCluster skips t unless CLUSTER_TEST is set, and fails it if a cluster cannot run here.
func needCluster(t *testing.T) {
	t.Helper()
	if os.Getenv("CLUSTER_TEST") == "" {
		t.Skip("runs a cluster for some minutes: make cluster-test")
	}
	if os.Geteuid() != 0 {
		t.Fatal("a cluster needs root")
	}
}
