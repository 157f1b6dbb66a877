package cluster

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"reservation.dev/test/harness"
)

// cluster is Kubernetes in the namespaces of a test.
type cluster struct {
	dir        string // directory of all its data
	kubeconfig string

	mu    sync.Mutex
	ended []string // programs that have ended, which is an error before the end of the test
}

const (
	apiToken   = "cluster-test" // for an API server that only the test can reach
	apiServer  = "https://127.0.0.1:6443"
	kubeconfig = `apiVersion: v1
kind: Config
clusters: [{name: test, cluster: {server: %q, insecure-skip-tls-verify: true}}]
users: [{name: test, user: {token: %q}}]
contexts: [{name: test, context: {cluster: test, user: test}}]
current-context: test
`
	startLimit = 5 * time.Minute // on a loaded machine
)

// startCluster starts a cluster of one node. It ends with this process.
func startCluster(t *testing.T, dir string) *cluster {
	t.Helper()
	c := &cluster{dir: dir, kubeconfig: filepath.Join(dir, "kubeconfig")}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(c.troubles())
		}
	})
	write(t, c.kubeconfig, fmt.Sprintf(kubeconfig, apiServer, apiToken))
	tokens, key := filepath.Join(dir, "tokens.csv"), filepath.Join(dir, "accounts.pem")
	write(t, tokens, apiToken+",test,test,system:masters\n")
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	write(t, key, string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(private)})))

	certificates := filepath.Join(dir, "certificates")
	c.start(t, "server", "--data-dir", filepath.Join(dir, "etcd"), "--unsafe-no-fsync") // etcd
	c.start(t, "kube-apiserver", "--etcd-servers", "http://127.0.0.1:2379", "--advertise-address", address, "--cert-dir", certificates,
		"--token-auth-file", tokens, "--authorization-mode", "RBAC", "--service-cluster-ip-range", servicesRange, "--kubelet-preferred-address-types", "InternalIP",
		"--service-account-issuer", "https://kubernetes.default.svc", "--service-account-key-file", key, "--service-account-signing-key-file", key)
	c.await(t, "the API server is ready", func() error { _, err := c.kubectl(t.Context(), "get", "--raw", "/readyz"); return err })
	c.start(t, "kube-controller-manager", "--kubeconfig", c.kubeconfig, "--leader-elect=false", "--service-account-private-key-file", key,
		"--cert-dir", certificates, "--controllers", "*,-node-ipam-controller")
	c.start(t, "kube-scheduler", "--kubeconfig", c.kubeconfig, "--leader-elect=false", "--authentication-skip-lookup", "--cert-dir", certificates)
	c.startNode(t, filepath.Base(dir))
	c.startNames(t)
	c.await(t, "the node is ready", func() error {
		_, err := c.kubectl(t.Context(), "wait", "--for=condition=Ready", "node/"+node, "--timeout=5s")
		return err
	})
	return c
}

// binaries returns the directory in which make cluster-test builds the programs.
func binaries(t *testing.T) string {
	t.Helper()
	root, err := harness.Root()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(root, ".cache", "kubernetes")
}

// start runs a program until this process ends.
func (c *cluster) start(t *testing.T, name string, args ...string) {
	t.Helper()
	path := filepath.Join(binaries(t), name)
	if _, err := os.Stat(path); err != nil {
		path = name // an installed program
	}
	log, err := os.Create(c.log(name))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	cmd := exec.Command(path, args...)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		err := cmd.Wait()
		c.mu.Lock()
		defer c.mu.Unlock()
		c.ended = append(c.ended, fmt.Sprintf("%s: %v", name, err))
	}()
}

func (c *cluster) log(program string) string {
	return filepath.Join(c.dir, filepath.Base(program)+".log")
}

// await waits until cond returns nil, and fails t after startLimit.
func (c *cluster) await(t *testing.T, what string, cond func() error) {
	t.Helper()
	began := time.Now()
	harness.Eventually(t, startLimit, func() error {
		c.mu.Lock()
		ended := len(c.ended)
		c.mu.Unlock()
		if ended > 0 {
			return nil
		}
		return cond()
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.ended) > 0 {
		t.Fatalf("%s: these programs have ended: %v", what, c.ended)
	}
	t.Logf("%s: %.1f s", what, time.Since(began).Seconds())
}
