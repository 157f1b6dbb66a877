package cells

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"reservation.dev/devkit/mtlstest"
	"reservation.dev/test/harness"
)

// serveTLS serves one cell with the certificate pair, and returns its address.
func serveTLS(t *testing.T, name string, pair mtlstest.Pair) string {
	t.Helper()
	certificate, err := tls.X509KeyPair(pair.Cert, pair.Key)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, name, " as ", r.TLS.ServerName)
	}))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // handshakes that HAProxy refuses
	server.StartTLS()
	t.Cleanup(server.Close)
	return server.Listener.Addr().String()
}

// TestRouterEncrypts checks the router with TLS on both sides: it proves its name to clients, and requires the right
// name and authority from each cell.
func TestRouterEncrypts(t *testing.T) {
	t.Parallel()
	ca, stranger := mtlstest.NewCA(t, "cells"), mtlstest.NewCA(t, "stranger")
	names := func(cell string) []string {
		return []string{"a." + cell + ".example.com", "b." + cell + ".example.com", "media." + cell + ".example.com"}
	}
	right := serveTLS(t, "west", ca.Issue(t, names("west")...))
	for _, c := range []struct {
		name string
		pair mtlstest.Pair
		want int
	}{
		{"its names", ca.Issue(t, names("east")...), http.StatusOK},
		{"another cell's names", ca.Issue(t, names("west")...), http.StatusServiceUnavailable},
		{"another authority", stranger.Issue(t, names("east")...), http.StatusServiceUnavailable},
	} {
		t.Run("a cell with a certificate of "+c.name, func(t *testing.T) {
			t.Parallel()
			dir := harness.TempDir(t)
			certificates, authorities := filepath.Join(dir, "router.pem"), filepath.Join(dir, "ca.pem")
			own := ca.Issue(t, "router.example.com")
			write(t, certificates, slices.Concat(own.Cert, own.Key))
			write(t, authorities, ca.PEM)
			other := serveTLS(t, "east", c.pair)
			router := harness.NewRouter(t, map[string]string{
				"ROUTER_CERTIFICATES": certificates, "CELLS_CA_FILE": authorities,
				"WEST_A": right, "WEST_B": right, "WEST_MEDIA": right, "EAST_A": other, "EAST_B": other, "EAST_MEDIA": other,
			})
			router.AddCompany(t, "ready", "ready")
			router.AddCompany(t, "comp_west", "west")
			router.AddCompany(t, "comp_east", "east")
			router.AddCompany(t, strings.Repeat("01", 16), "west")
			router.AddCompany(t, strings.Repeat("02", 16), "east")
			router.HAProxy.Start(t)
			client := tlsClient(ca, router.Addr)

			for path, face := range map[string]string{"/customers": "a", "/api/v1/events": "b"} {
				await(t, client, path, "comp_west", http.StatusOK, "west as "+face+".west.example.com")
				east := ""
				if c.want == http.StatusOK {
					east = "east as " + face + ".east.example.com"
				}
				await(t, client, path, "comp_east", c.want, east)
			}
			// Links to media begin with the company. Their servers have no health check.
			east := ""
			if c.want == http.StatusOK {
				east = "east as media.east.example.com"
			}
			await(t, client, mediaLink(1), "", http.StatusOK, "west as media.west.example.com")
			await(t, client, mediaLink(2), "", c.want, east)
		})
	}
}

// mediaLink returns the path of a link to media of the company that consists of one byte.
func mediaLink(company byte) string {
	return "/play/" + base64.RawURLEncoding.EncodeToString(bytes.Repeat([]byte{company}, 16)) + "/film.mp4"
}

// tlsClient returns a client that reaches router.example.com at addr and trusts ca.
func tlsClient(ca *mtlstest.CA, addr string) *http.Client {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca.PEM)
	dialer := &net.Dialer{}
	return &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{
		ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12},
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return dialer.DialContext(ctx, network, addr)
		},
	}}
}

// await waits until a request of a company is answered with a status and, unless it is empty, a body.
func await(t *testing.T, client *http.Client, path, company string, status int, body string) {
	t.Helper()
	token := "e30." + base64.RawURLEncoding.EncodeToString([]byte(`{"cid":"`+company+`"}`)) + ".e30"
	harness.Eventually(t, time.Minute, func() error {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://router.example.com"+path, nil)
		if err != nil {
			return err
		}
		req.Header.Set("Authorization", "Bearer "+token)
		resp, err := client.Do(req)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		switch {
		case err != nil:
			return err
		case resp.ProtoMajor != 2:
			return errors.New("not HTTP/2: " + resp.Proto)
		case resp.StatusCode != status || body != "" && strings.TrimSpace(string(text)) != body:
			return fmt.Errorf("%s of %s: %d %s", path, company, resp.StatusCode, text)
		}
		return nil
	})
}
