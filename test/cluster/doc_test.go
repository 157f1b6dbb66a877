// Package cluster installs the chart on Kubernetes, as docs/KUBERNETES.md says: a
// cluster of one node, with etcd, the API server, the controllers, the scheduler,
// kubelet, kube-proxy, containerd, runc, a bridge between the pods and CoreDNS, all
// of them real, and the images of deploy/Dockerfile.
//
// It runs where CLUSTER_TEST is set, which make cluster-test does after it has
// built and installed what that needs. No registry is asked for anything.
//
// # How a cluster fits into a test
//
// TestCluster runs itself again, in namespaces of its own (processes, mounts,
// network), where it is the first process:
//
//	this machine ── TestCluster ── cgroups and files of the test, removed at the end
//	   └─ namespaces ── TestCluster ── etcd, kube-apiserver, …, containerd ── pods
//
// The end of that process ends everything in there, however it comes about, and
// with it go the mounts, the interfaces and the rules of iptables. What kubelet
// would set for the whole machine is shown to it as set (machine_linux_test.go).
package cluster

import (
	"os"
	"testing"

	"reservation.dev/test/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }

// needCluster skips t where nobody asked for a cluster, and fails it where none
// can be had.
func needCluster(t *testing.T) {
	t.Helper()
	if os.Getenv("CLUSTER_TEST") == "" {
		t.Skip("runs a cluster for some minutes: make cluster-test")
	}
	if os.Geteuid() != 0 {
		t.Fatal("a cluster needs root")
	}
}
