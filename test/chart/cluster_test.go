package chart

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// clusterBin is the directory with the programs of a control plane, as `make chart-test` builds
// them.
var clusterBin = flag.String("cluster", "", "directory with server (etcd), kube-apiserver and kube-controller-manager; empty: the chart is not installed")

const (
	apiToken   = "chart-test" // for an API server on loopback that ends with the test
	kubeconfig = `apiVersion: v1
kind: Config
clusters: [{name: test, cluster: {server: %q, insecure-skip-tls-verify: true}}]
users: [{name: test, user: {token: %q}}]
contexts: [{name: test, context: {cluster: test, user: test}}]
current-context: test
`
)

// cluster is an API server with its controllers. Its nodes are simulated (nodes_test.go).
type cluster struct {
	kubeconfig string
	client     kubernetes.Interface
	dynamic    dynamic.Interface
}

// startCluster starts a control plane that ends with the test.
func startCluster(t *testing.T) *cluster {
	t.Helper()
	if *clusterBin == "" {
		t.Skip("the chart is installed on an API server by make chart-test")
	}
	dir := t.TempDir()
	ports := freePorts(t, 4)
	etcd, api := fmt.Sprintf("http://127.0.0.1:%d", ports[0]), fmt.Sprintf("https://127.0.0.1:%d", ports[2])
	key := filepath.Join(dir, "accounts.pem")
	writeKey(t, key)
	config := filepath.Join(dir, "kubeconfig")
	write(t, config, fmt.Sprintf(kubeconfig, api, apiToken))
	tokens := filepath.Join(dir, "tokens.csv")
	write(t, tokens, apiToken+",test,test,system:masters\n")

	start(t, dir, "server", "--data-dir", filepath.Join(dir, "etcd"), "--listen-client-urls", etcd, "--advertise-client-urls", etcd,
		"--listen-peer-urls", fmt.Sprintf("http://127.0.0.1:%d", ports[1]), "--unsafe-no-fsync")
	start(t, dir, "kube-apiserver", "--etcd-servers", etcd, "--bind-address", "127.0.0.1", "--secure-port", fmt.Sprint(ports[2]), "--cert-dir", filepath.Join(dir, "certificates"),
		"--token-auth-file", tokens, "--authorization-mode", "RBAC", "--service-cluster-ip-range", "10.96.0.0/16",
		"--service-account-issuer", "https://kubernetes.default.svc", "--service-account-key-file", key, "--service-account-signing-key-file", key)

	rc := &rest.Config{Host: api, BearerToken: apiToken, TLSClientConfig: rest.TLSClientConfig{Insecure: true}, QPS: 200, Burst: 400}
	c := &cluster{kubeconfig: config}
	var err error
	if c.client, err = kubernetes.NewForConfig(rc); err != nil {
		t.Fatal(err)
	}
	if c.dynamic, err = dynamic.NewForConfig(rc); err != nil {
		t.Fatal(err)
	}
	until(t, 3*time.Minute, "the API server is ready", func(ctx context.Context) error {
		return c.client.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
	})
	// Simulated nodes send no heartbeats, which the controllers must not mind.
	start(t, dir, "kube-controller-manager", "--kubeconfig", config, "--leader-elect=false", "--service-account-private-key-file", key,
		"--secure-port", fmt.Sprint(ports[3]), "--bind-address", "127.0.0.1", "--cert-dir", filepath.Join(dir, "certificates"),
		"--controllers", "*,-node-lifecycle-controller,-taint-eviction-controller,-node-ipam-controller")
	return c
}

// start runs a program until the test ends. Its log is printed if the test fails.
func start(t *testing.T, dir, program string, args ...string) {
	t.Helper()
	log, err := os.Create(filepath.Join(dir, program+".log"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(*clusterBin, program), args...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		stopped := make(chan struct{})
		go func() { _ = cmd.Wait(); close(stopped) }()
		select {
		case <-stopped:
		case <-time.After(10 * time.Second):
			_ = cmd.Process.Kill()
			<-stopped
		}
		if text, err := os.ReadFile(log.Name()); t.Failed() && err == nil {
			t.Logf("end of the log of %s:\n%s", program, text[max(0, len(text)-4000):])
		}
		log.Close()
	})
}

// until calls ask until it returns no error.
func until(t *testing.T, atMost time.Duration, what string, ask func(ctx context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), atMost)
	defer cancel()
	for {
		err := ask(ctx)
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("not after %s: %s: %v", atMost, what, err)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// freePorts returns ports that are free at the moment.
func freePorts(t *testing.T, n int) []int {
	t.Helper()
	var all []int
	for range n {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer ln.Close()
		all = append(all, ln.Addr().(*net.TCPAddr).Port)
	}
	return all
}

func writeKey(t *testing.T, file string) {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := pem.Encode(&text, &pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}); err != nil {
		t.Fatal(err)
	}
	write(t, file, text.String())
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

var crdResource = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// kinds returns every kind of object that a release can have in a namespace.
func (c *cluster) kinds(t *testing.T) []schema.GroupVersionResource {
	t.Helper()
	lists, err := c.client.Discovery().ServerPreferredNamespacedResources()
	if err != nil {
		t.Fatal(err)
	}
	var all []schema.GroupVersionResource
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range list.APIResources {
			if slices.Contains(r.Verbs, "list") && slices.Contains(r.Verbs, "delete") && r.Kind != "Event" {
				all = append(all, gv.WithResource(r.Name))
			}
		}
	}
	return all
}
