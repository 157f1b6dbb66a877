package compose

import (
	"context"
	"net"
	"os/exec"
	"strings"
	"testing"

	"reservation.dev/test/harness"
)

// defaultBridge is the network that every Docker daemon creates and does not remove.
const defaultBridge = "docker0"

// restoreNetwork restores this machine's network settings after t, unless another daemon is
// running, which needs its own.
func restoreNetwork(t *testing.T) {
	t.Helper()
	if _, err := net.InterfaceByName(defaultBridge); err == nil {
		return
	}
	before := rules(t)
	for table, empty := range map[string]string{"*filter": ":FORWARD ACCEPT [0:0]\n", "*nat": ""} {
		if !strings.Contains(before, table+"\n") {
			before += table + "\n" + empty + "COMMIT\n"
		}
	}
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		restore := exec.CommandContext(ctx, "iptables-restore")
		restore.Stdin = strings.NewReader(before)
		if out, err := restore.CombinedOutput(); err != nil {
			t.Errorf("iptables-restore: %v: %s", err, out)
		}
		if _, err := net.InterfaceByName(defaultBridge); err != nil {
			return
		}
		if out, err := exec.CommandContext(ctx, "ip", "link", "delete", defaultBridge).CombinedOutput(); err != nil {
			t.Errorf("ip link delete: %v: %s", err, out)
		}
	})
}

func rules(t *testing.T) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "iptables-save").Output()
	if err != nil {
		t.Fatalf("iptables-save: %v", err)
	}
	return string(out)
}

// TestDaemon checks the daemon that the other test uses: it leaves no processes, files or
// networks.
func TestDaemon(t *testing.T) {
	needDocker(t)
	if _, err := net.InterfaceByName(defaultBridge); err == nil {
		t.Skip("another Docker daemon is running, and its network must stay")
	}
	var dir string
	t.Run("the daemon answers", func(t *testing.T) {
		d := startDocker(t)
		dir = d.dir
		d.run(t, commandLimit, "docker", "info")
	})
	harness.NothingLeft(t, dir)
	if _, err := net.InterfaceByName(defaultBridge); err == nil {
		t.Errorf("the network %s still exists", defaultBridge)
	}
	if left := rules(t); strings.Contains(left, "DOCKER") || strings.Contains(left, ":FORWARD DROP") {
		t.Errorf("iptables rules are left:\n%s", left)
	}
}
