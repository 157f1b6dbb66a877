package cluster

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"reservation.dev/test/harness"
)

type (
	pod struct {
		Metadata struct {
			Name              string
			DeletionTimestamp *time.Time
		}
		Spec   struct{ InitContainers, Containers []struct{ Image string } }
		Status struct {
			Phase             string
			Conditions        []struct{ Type, Status string }
			ContainerStatuses []struct{ RestartCount int }
		}
	}
	podList struct{ Items []pod }
)

func (p pod) ready() bool {
	for _, c := range p.Status.Conditions {
		if c.Type == "Ready" {
			return c.Status == "True" && p.Metadata.DeletionTimestamp == nil
		}
	}
	return false
}

// pods returns the pods of a service or a store.
func (c *cluster) pods(t *testing.T, component string) []pod {
	t.Helper()
	var list podList
	c.get(t, namespace, &list, "pods", "--selector", "app.kubernetes.io/instance="+release+",app.kubernetes.io/component="+component)
	return list.Items
}

// runs waits until there are exactly two ready pods of each service and one of each store.
func (c *cluster) runs(t *testing.T) {
	t.Helper()
	for _, component := range append(parts(), "postgresql", "nats") {
		c.awaitPods(t, component)
	}
}

func (c *cluster) awaitPods(t *testing.T, component string) {
	t.Helper()
	want := 2
	if component == "postgresql" || component == "nats" {
		want = 1
	}
	harness.Eventually(t, 5*time.Minute, func() error {
		ready, all := 0, c.pods(t, component)
		for _, p := range all {
			if p.ready() {
				ready++
			}
		}
		if ready != want || len(all) != want {
			return fmt.Errorf("%s: %d of %d pods are ready, want %d", component, ready, len(all), want)
		}
		return nil
	})
}

// testLoad deletes a pod of everything, upgrades, and rolls back, while clients book and read.
// Every request must eventually succeed.
func (c *cluster) testLoad(t *testing.T, credentials harness.Credentials) {
	load := harness.NewRetryingClient(t, credentials).StartLoad(t)
	load.AwaitMore(t, time.Minute)
	t.Logf("the load has started: %s", load)
	for _, component := range append(parts(), "nats", "postgresql") {
		name := c.pods(t, component)[0].Metadata.Name
		began := time.Now()
		c.run(t, 3*time.Minute, "kubectl", "--namespace", namespace, "delete", "pod", name, "--timeout", "2m")
		c.awaitPods(t, component)
		load.AwaitMore(t, 2*time.Minute)
		t.Logf("%s was deleted, and replaced after %.1f s: %s", name, time.Since(began).Seconds(), load)
	}
	before := c.restarts(t)
	c.release(t, next)
	// Use the command on the page.
	c.run(t, installLimit+time.Minute, "helm", "upgrade", release, chart, "--namespace", namespace, "--reset-then-reuse-values",
		"--set", "image.tag="+next, "--set", "settings.LOG_LEVEL=debug", "--wait", "--timeout", installLimit.String())
	c.runs(t)
	c.runsImage(t, next)
	load.AwaitMore(t, time.Minute)
	t.Logf("the upgrade replaced all pods: %s", load)
	c.run(t, installLimit+time.Minute, "helm", "rollback", release, "--namespace", namespace, "--wait", "--timeout", installLimit.String())
	c.runs(t)
	c.runsImage(t, version)
	load.AwaitMore(t, time.Minute)
	t.Logf("the rollback replaced all pods: %s", load)
	load.Stop(t)
	if after := c.restarts(t); after > before {
		t.Errorf("%d containers were restarted, want %d", after, before)
	}
	c.run(t, commandLimit, "bin/reservectl", "--credentials", c.dir+"/operator/credentials.json", "verify", "--company", credentials.CompanyID)
}

// next is the tag of the images after the upgrade.
const next = "0.0.1-test"

// release tags the images with another version.
func (c *cluster) release(t *testing.T, tag string) {
	t.Helper()
	for _, p := range parts() {
		name := "docker.io/reservation/" + p + ":"
		command(t, "ctr", "--address", containerdSocket, "--namespace", "k8s.io", "images", "tag", name+version, name+tag)
	}
}

// runsImage checks that the services' pods run the images of a version.
func (c *cluster) runsImage(t *testing.T, tag string) {
	t.Helper()
	for _, part := range parts() {
		for _, p := range c.pods(t, part) {
			if image := p.Spec.Containers[0].Image; !strings.HasSuffix(image, ":"+tag) {
				t.Errorf("%s runs %s", p.Metadata.Name, image)
			}
		}
	}
}

// restarts returns the number of container restarts in the existing pods.
func (c *cluster) restarts(t *testing.T) int {
	t.Helper()
	var list podList
	c.get(t, namespace, &list, "pods")
	n := 0
	for _, p := range list.Items {
		for _, s := range p.Status.ContainerStatuses {
			n += s.RestartCount
		}
	}
	return n
}
