package compose

import (
	"testing"
	"time"

	"reservation.dev/test/harness"
)

// testCrashes runs two replicas of every service, crashes a process of each, one after another,
// and replaces all of them, while clients book and read.
func (p *platform) testCrashes(t *testing.T) {
	scale := []string{"up", "-d", "--no-recreate"}
	for _, part := range replicated() {
		scale = append(scale, "--scale", part+"=2")
	}
	p.compose(t, startLimit, scale...)
	p.awaitHealthy(t, 2)

	load := harness.NewRetryingClient(t, p.credentials).StartLoad(t)
	for _, part := range replicated() {
		p.crash(t, p.containers(t, part)[0])
		load.AwaitMore(t, time.Minute)
		t.Logf("%s crashed and is healthy again: %s", part, load)
	}
	p.roll(t)
	t.Logf("all containers were replaced: %s", load)
	load.Stop(t)
	p.compose(t, commandLimit, "run", "--rm", "-T", "reservectl", "verify", "--company", p.credentials.CompanyID)
}
