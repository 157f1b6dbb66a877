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

// probeTimeout is longer than what a readiness request may take by itself.
const probeTimeout = readyTimeout + time.Second

// probe asks the admin port of the process that runs with the same settings
// whether it is ready: what a container without a shell is checked by. It prints
// the answer, and returns an error unless that is yes.
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
	// No proxy of the environment: it is this machine that is asked.
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

// probeURL is where the admin port at addr answers this machine: one that is open
// on every address answers on loopback.
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
