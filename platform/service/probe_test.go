package service

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"reservation.dev/devkit/testkit"
	"reservation.dev/platform/config"
)

// adminPort serves health on a free port until the test ends.
func adminPort(t *testing.T, health *Health) config.Env {
	t.Helper()
	admin, err := ListenAdmin("127.0.0.1:0", health, prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- admin.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return config.Env{"ADMIN_ADDR": admin.Addr()}
}

func TestHealthCommand(t *testing.T) {
	health := NewHealth()
	env := adminPort(t, health)
	t.Run("fails and prints the reasons while the process is not ready", func(t *testing.T) {
		health.SetServing("sample", true)
		health.Check("database", func(context.Context) error { return errors.New("is away") })
		var out bytes.Buffer
		if err := probe(t.Context(), env, &out); err == nil || !strings.Contains(out.String(), "is away") {
			t.Errorf("got %v, %s", err, &out)
		}
	})
	t.Run("succeeds once the process is ready", func(t *testing.T) {
		health.Check("database", func(context.Context) error { return nil })
		var out bytes.Buffer
		if err := probe(t.Context(), env, &out); err != nil || !strings.Contains(out.String(), `"ready":true`) {
			t.Errorf("got %v, %s", err, &out)
		}
	})
	t.Run("fails if nothing listens", func(t *testing.T) {
		if err := probe(t.Context(), config.Env{"ADMIN_ADDR": testkit.FreeAddr(t)}, &bytes.Buffer{}); err == nil {
			t.Error("a missing process is reported as ready")
		}
	})
}

func TestProbeURL(t *testing.T) {
	for addr, want := range map[string]string{
		":9100":          "http://127.0.0.1:9100/readyz",
		"0.0.0.0:9100":   "http://127.0.0.1:9100/readyz",
		"[::]:9100":      "http://[::1]:9100/readyz",
		"10.0.0.7:9100":  "http://10.0.0.7:9100/readyz",
		"localhost:9100": "http://localhost:9100/readyz",
	} {
		if got, err := probeURL(addr); err != nil || got != want {
			t.Errorf("%s: got %s, %v, want %s", addr, got, err, want)
		}
	}
	if _, err := probeURL("9100"); err == nil {
		t.Error("an address without a port is accepted")
	}
}
