package cluster

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

const (
	containerdSocket = "/run/containerd/containerd.sock"
	// sandbox is the image of a pod's infrastructure process (test/compose builds it).
	sandbox = "reservation.test/pause:1"

	// kubelet requests an oom_score_adj that is too low for a process without CAP_SYS_RESOURCE.
	containerdConfig = `version = 2
root = "%[1]s/containerd"
state = "/run/containerd"
[grpc]
address = "` + containerdSocket + `"
[plugins."io.containerd.internal.v1.opt"]
path = "%[1]s/opt"
[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = "` + sandbox + `"
restrict_oom_score_adj = true
[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = "%[2]s"
conf_dir = "%[1]s/cni"
`
	network = `{"cniVersion": "0.4.0", "name": "pods", "plugins": [
  {"type": "bridge", "bridge": "cni0", "isGateway": true, "hairpinMode": true,
   "ipam": {"type": "host-local", "ranges": [[{"subnet": "` + pods + `"}]], "routes": [{"dst": "0.0.0.0/0"}]}}
]}
`
	kubeletConfig = `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
authentication: {anonymous: {enabled: true}, webhook: {enabled: false}}
authorization: {mode: AlwaysAllow}
cgroupDriver: cgroupfs
cgroupRoot: /%[2]s
failCgroupV1: false
failSwapOn: false
clusterDNS: [` + address + `]
clusterDomain: ` + domain + `
containerRuntimeEndpoint: unix://` + containerdSocket + `
# The disk is the machine's, and its fullness not a matter of the test.
evictionHard: {memory.available: 50Mi, nodefs.available: 1%%}
imageGCHighThresholdPercent: 100
oomScoreAdj: 0
resolvConf: %[1]s/names/none
volumePluginDir: %[1]s/plugins
`
	proxyConfig = `apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
clientConnection: {kubeconfig: %[1]s}
hostnameOverride: ` + node + `
mode: iptables
clusterCIDR: ` + pods + `
# As they are: some are the whole machine's.
conntrack: {maxPerCore: 0, min: 0, tcpEstablishedTimeout: 0s, tcpCloseWaitTimeout: 0s}
oomScoreAdj: 0
`
	names = domain + `:53 {
  bind ` + address + `
  errors
  kubernetes {
    kubeconfig %[1]s test
  }
}
`
)

// startNode starts the programs of a node. Its pods are in the cgroup.
func (c *cluster) startNode(t *testing.T, cgroup string) {
	t.Helper()
	write(t, c.dir+"/containerd.toml", fmt.Sprintf(containerdConfig, c.dir, plugins(t)))
	write(t, c.dir+"/cni/pods.conflist", network)
	c.start(t, "containerd", "--config", c.dir+"/containerd.toml")
	c.await(t, "containerd answers", func() error {
		conn, err := net.Dial("unix", containerdSocket)
		if err == nil {
			conn.Close()
		}
		return err
	})
	began := time.Now()
	command(t, "ctr", "--address", containerdSocket, "--namespace", "k8s.io", "images", "import", filepath.Join(binaries(t), "images.tar"))
	t.Logf("the images are loaded: %.1f s", time.Since(began).Seconds())

	write(t, c.dir+"/names/none", "")
	write(t, c.dir+"/kubelet.yaml", fmt.Sprintf(kubeletConfig, c.dir, cgroup))
	c.start(t, "kubelet", "--config", c.dir+"/kubelet.yaml", "--kubeconfig", c.kubeconfig, "--root-dir", c.dir+"/kubelet", "--cert-dir", c.dir+"/kubelet-certificates",
		"--hostname-override", node, "--node-ip", address)
	write(t, c.dir+"/proxy.yaml", fmt.Sprintf(proxyConfig, c.kubeconfig))
	c.start(t, "kube-proxy", "--config", c.dir+"/proxy.yaml")
}

// startNames starts the DNS server on the node's address.
func (c *cluster) startNames(t *testing.T) {
	t.Helper()
	write(t, c.dir+"/Corefile", fmt.Sprintf(names, c.kubeconfig))
	c.start(t, "dns", "-conf", c.dir+"/Corefile")
}

// plugins returns the directory of the installed CNI plugins.
func plugins(t *testing.T) string {
	t.Helper()
	for _, dir := range []string{"/usr/lib/cni", "/opt/cni/bin"} {
		if _, err := os.Stat(dir + "/host-local"); err == nil {
			return dir
		}
	}
	t.Fatal("no CNI plugins: make cluster-test installs them")
	return ""
}
