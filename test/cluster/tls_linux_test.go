package cluster

import (
	"path/filepath"
	"testing"

	"reservation.dev/platform/mtls/mtlstest"
	"reservation.dev/test/harness"
)

// testTLS installs again, on the secrets and volumes that stayed, with TLS between
// the parts.
func (c *cluster) testTLS(t *testing.T, credentials harness.Credentials) {
	ca := mtlstest.NewCA(t, "authority of a test")
	for _, name := range append(parts(), "reservectl") {
		pair, dir := ca.Issue(t, name), filepath.Join(c.dir, "tls", name)
		write(t, dir+"/tls.crt", string(pair.Cert))
		write(t, dir+"/tls.key", string(pair.Key))
		write(t, dir+"/ca.crt", string(ca.PEM))
		c.run(t, commandLimit, "kubectl", "--namespace", namespace, "create", "secret", "generic", fullname+"-"+name+"-grpc-tls", "--from-file", dir)
	}
	c.install(t, "--set", "grpcTLS.enabled=true")
	c.runs(t)
	shop := harness.NewShop(t, credentials)
	if _, err := shop.Book(t.Context(), "tls", nil); err != nil {
		t.Error(err)
	}
	if err := shop.Look(t.Context()); err != nil {
		t.Error(err)
	}
	verify := []string{"--credentials", c.dir + "/operator/credentials.json", "verify", "--company", credentials.CompanyID}
	own := c.dir + "/tls/reservectl/"
	c.run(t, commandLimit, "bin/reservectl", append(verify, "--tls-cert", own+"tls.crt", "--tls-key", own+"tls.key", "--tls-ca", own+"ca.crt")...)
	if out, err := c.try(t.Context(), commandLimit, "bin/reservectl", verify...); err == nil {
		t.Errorf("a caller without a certificate is served: %s", out)
	}
}
