package cluster

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

const (
	// node is the node's name, and address the address at which its pods reach it.
	node, address = "node-1", "10.99.0.1"
	pods          = "10.244.0.0/16"
	servicesRange = "10.96.0.0/16"
	domain        = "cluster.local"
)

// wanted returns the settings that kubelet makes for the whole machine if they differ.
func wanted() map[string]string {
	return map[string]string{
		"vm/overcommit_memory": "1", "vm/panic_on_oom": "0", "kernel/panic": "10", "kernel/panic_on_oops": "1",
		"kernel/keys/root_maxkeys": "1000000", "kernel/keys/root_maxbytes": "25000000",
	}
}

// tunables returns this machine's values of these settings.
func tunables(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, name := range slices.Sorted(maps.Keys(wanted())) {
		text, err := os.ReadFile("/proc/sys/" + name)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, name+"="+strings.TrimSpace(string(text)))
	}
	return all
}

// settle prepares new namespaces: private writable directories, an address, routing between the
// pods, and name resolution.
func settle(t *testing.T, dir string) {
	t.Helper()
	mount(t, "", "/", "", syscall.MS_REC|syscall.MS_PRIVATE)
	mount(t, "proc", "/proc", "proc", syscall.MS_NOSUID|syscall.MS_NOEXEC|syscall.MS_NODEV)
	resolver, err := filepath.EvalSymlinks("/etc/resolv.conf")
	if err != nil {
		t.Fatal(err)
	}
	// Directories where programs store data that no setting can move.
	for _, place := range []string{"/run", "/var/lib", "/var/log"} {
		mount(t, "tmpfs", place, "tmpfs", syscall.MS_NOSUID|syscall.MS_NODEV)
	}
	for name, value := range wanted() {
		file := filepath.Join(dir, "sys", strings.ReplaceAll(name, "/", "."))
		write(t, file, value+"\n")
		mount(t, file, "/proc/sys/"+name, "", syscall.MS_BIND)
	}
	names := filepath.Join(dir, "names", "resolv.conf")
	write(t, names, fmt.Sprintf("nameserver %s\nsearch %s.svc.%s svc.%[3]s %[3]s\noptions ndots:5\n", address, namespace, domain))
	if strings.HasPrefix(resolver, "/run/") {
		write(t, resolver, "") // it is below the new mount
	}
	mount(t, names, resolver, "", syscall.MS_BIND)

	command(t, "ip", "link", "set", "lo", "up")
	command(t, "ip", "link", "add", "node0", "type", "veth", "peer", "name", "outside")
	command(t, "ip", "address", "add", address+"/24", "dev", "node0")
	command(t, "ip", "link", "set", "node0", "up")
	command(t, "ip", "link", "set", "outside", "up")
	command(t, "ip", "route", "add", "default", "dev", "node0")
	for _, name := range []string{"ipv4/ip_forward", "bridge/bridge-nf-call-iptables"} {
		if err := os.WriteFile("/proc/sys/net/"+name, []byte("1"), 0o644); err != nil {
			t.Fatalf("%v: the kernel module br_netfilter is missing", err)
		}
	}
}

func mount(t *testing.T, source, target, kind string, flags uintptr) {
	t.Helper()
	if err := syscall.Mount(source, target, kind, flags, ""); err != nil {
		t.Fatalf("mount %s at %s: %v", source, target, err)
	}
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func command(t *testing.T, name string, args ...string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
}
