package ratelimit

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"

	"reservation.dev/devkit/testkit"
	"reservation.dev/platform/bus"
)

// newCluster runs three NATS servers, which can keep three copies of a stream.
func newCluster(t *testing.T) []*natsserver.Server {
	t.Helper()
	var ports []int
	var routes []*url.URL
	for range 3 {
		addr := testkit.FreeAddr(t)
		port, err := strconv.Atoi(strings.TrimPrefix(addr, "127.0.0.1:"))
		if err != nil {
			t.Fatal(err)
		}
		ports = append(ports, port)
		routes = append(routes, &url.URL{Scheme: "nats", Host: addr})
	}
	var servers []*natsserver.Server
	for i, port := range ports {
		s, err := natsserver.NewServer(&natsserver.Options{
			ServerName: fmt.Sprint("server-", i), Host: "127.0.0.1", Port: natsserver.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(),
			Cluster: natsserver.ClusterOpts{Name: "cluster", Host: "127.0.0.1", Port: port},
			Routes:  routes, JetStreamMaxMemory: 64 << 20, JetStreamMaxStore: 64 << 20,
			NoLog: true, NoSigs: true, DisableJetStreamBanner: true,
		})
		if err != nil {
			t.Fatal(err)
		}
		s.Start()
		t.Cleanup(func() {
			s.Shutdown()
			s.WaitForShutdown()
		})
		servers = append(servers, s)
	}
	for _, s := range servers {
		if !s.ReadyForConnections(time.Minute) {
			t.Fatal("a server did not start")
		}
	}
	testkit.Eventually(t, time.Minute, func() error {
		for _, s := range servers {
			if s.JetStreamIsLeader() && len(s.JetStreamClusterPeers()) == len(servers) {
				return nil
			}
		}
		return errors.New("the cluster has no leader")
	})
	return servers
}

func TestCluster(t *testing.T) { // invariants 1 and 5
	servers := newCluster(t)
	process := func(t *testing.T, server int) *Limiter {
		t.Helper()
		b, err := bus.Connect(t.Context(), bus.Config{URL: servers[server].ClientURL(), Prefix: "ratelimit", Replicas: 3}, testkit.Log(t))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(b.Close)
		return newLimiter(t, b, long)
	}
	var limiters []*Limiter
	for i := range 4 {
		limiters = append(limiters, process(t, i%2))
	}
	t.Run("has a stream that several processes create at the same time", func(t *testing.T) {
		var wg sync.WaitGroup
		for _, l := range limiters {
			wg.Go(func() { l.Take(t.Context(), "first", 100) })
		}
		wg.Wait()
		for _, l := range limiters {
			if n := metric(t, l, "ratelimit_decisions_total", "allowed"); n != 1 {
				t.Errorf("%v were allowed", n)
			}
		}
	})
	t.Run("holds a limit exactly", func(t *testing.T) {
		for i := range 5 {
			exactly(t, fmt.Sprint("key_", i), 100, limiters...)
		}
	})
	t.Run("keeps the counts when a server is lost", func(t *testing.T) {
		if n := take(t, "key_x", 100, 40, limiters...); n != 40 {
			t.Fatalf("%d of 40 passed", n)
		}
		servers[2].Shutdown()
		servers[2].WaitForShutdown()
		fresh := process(t, 0) // which remembers nothing itself
		back(t, fresh, 100)
		exactly(t, "key_x", 60, fresh)
	})
}

// exactly checks that n requests of a key pass that has a limit of 100, and no more. A burst can leave some of them to
// the requests after it.
func exactly(t *testing.T, key string, n int, limiters ...*Limiter) {
	t.Helper()
	passed := take(t, key, 100, n+50, limiters...)
	if passed > n {
		t.Errorf("%d of %d passed, want %d", passed, n+50, n)
	}
	testkit.Eventually(t, time.Minute, func() error { // what the burst has left
		if passed += take(t, key, 100, 1, limiters[0]); passed < n {
			return fmt.Errorf("%d passed, want %d", passed, n)
		}
		return nil
	})
	if passed += take(t, key, 100, 20, limiters...); passed != n {
		t.Errorf("%d passed, want %d", passed, n)
	}
}
