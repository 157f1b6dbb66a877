package service

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"reservation.dev/platform/config"
)

// probeTimeout is longer than the time limit of a readiness request.
const probeTimeout = readyTimeout + time.Second

// probe runs the command health, the health check of a container without a shell. It
// queries the admin port of the process that runs with the same settings, and prints the
// response. It returns an error unless the process is ready.
func probe(ctx context.Context, env config.Env, out io.Writer) error {
	var proc Process
	if err := config.Read(env, &proc); err != nil {
		return err
	}
	url, err := probeURL(proc.AdminAddr)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	// This transport ignores HTTP_PROXY, because the request stays on this machine.
	res, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	if err != nil {
		return fmt.Errorf("not ready: %w", err)
	}
	defer res.Body.Close()
	if _, err := io.Copy(out, io.LimitReader(res.Body, 64<<10)); err != nil {
		return fmt.Errorf("not ready: %w", err)
	}
	if res.StatusCode != http.StatusOK {
		return errors.New("not ready")
	}
	return nil
}

// probeURL returns the URL of /readyz for the admin port at addr. If the port listens on
// every address, the URL uses loopback.
func probeURL(addr string) (string, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return "", fmt.Errorf("ADMIN_ADDR: %w", err)
	}
	if ip := net.ParseIP(host); host == "" || ip.Equal(net.IPv4zero) {
		host = "127.0.0.1"
	} else if ip.Equal(net.IPv6unspecified) {
		host = "::1"
	}
	return "http://" + net.JoinHostPort(host, port) + "/readyz", nil
}
