package cluster

import (
	"path/filepath"
	"testing"

	"reservation.dev/devkit/mtlstest"
	"reservation.dev/test/harness"
)

// certify creates the Secrets with the services' certificates, and returns the reservectl flags
// for its certificate.
func (c *cluster) certify(t *testing.T, namespace string) []string {
	t.Helper()
	ca, dir := mtlstest.NewCA(t, "authority of a test"), filepath.Join(c.dir, "tls-"+namespace)
	for _, name := range append(parts(), "reservectl") {
		pair, dir := ca.Issue(t, name), filepath.Join(dir, name)
		write(t, dir+"/tls.crt", string(pair.Cert))
		write(t, dir+"/tls.key", string(pair.Key))
		write(t, dir+"/ca.crt", string(ca.PEM))
		c.run(t, commandLimit, "kubectl", "--namespace", namespace, "create", "secret", "generic", fullname+"-"+name+"-grpc-tls", "--from-file", dir)
	}
	own := dir + "/reservectl/"
	return []string{"--tls-cert", own + "tls.crt", "--tls-key", own + "tls.key", "--tls-ca", own + "ca.crt"}
}

// testTLS installs again with the kept secrets and volumes, and with TLS between the services.
func (c *cluster) testTLS(t *testing.T, credentials harness.Credentials) {
	shown := c.certify(t, namespace)
	c.install(t, "--set", "grpcTLS.enabled=true")
	c.runs(t)
	trade(t, credentials)
	verify := []string{"--credentials", c.dir + "/operator/credentials.json", "verify", "--company", credentials.CompanyID}
	c.run(t, commandLimit, "bin/reservectl", append(verify, shown...)...)
	if out, err := c.try(t.Context(), commandLimit, "bin/reservectl", verify...); err == nil {
		t.Errorf("a caller without a certificate is served: %s", out)
	}
}

// trade books and reads.
func trade(t *testing.T, credentials harness.Credentials) {
	t.Helper()
	shop := harness.NewRetryingClient(t, credentials)
	if _, err := shop.Book(t.Context(), "trade", nil); err != nil {
		t.Error(err)
	}
	if err := shop.ListBookings(t.Context(), shop.Customer()); err != nil {
		t.Error(err)
	}
}
