package mtls

import (
	"errors"
	"fmt"
	"strings"
)

// Config names the files of a process's certificate; none: plain gRPC.
type Config struct {
	CertFile    string `env:"GRPC_TLS_CERT_FILE" doc:"PEM certificate, with its intermediates, by which this process serves and calls gRPC; with the two below all gRPC is mutual TLS. All three are read again when they change"`
	KeyFile     string `env:"GRPC_TLS_KEY_FILE" doc:"PEM private key of that certificate"`
	CAFile      string `env:"GRPC_TLS_CA_FILE" doc:"PEM certificates of the authorities that vouch for the parts; several while one follows another"`
	TrustDomain string `env:"GRPC_TLS_TRUST_DOMAIN" doc:"SPIFFE trust domain: spiffe://DOMAIN/…/booking then names the part booking, as the DNS name does; empty: DNS names alone"`
}

// Enabled reports whether there is a certificate.
func (c Config) Enabled() bool { return c.CertFile != "" || c.KeyFile != "" || c.CAFile != "" }

// Validate reports a set of files that is not complete.
func (c Config) Validate() error {
	var missing []string
	for _, f := range []struct{ name, value string }{
		{"GRPC_TLS_CERT_FILE", c.CertFile}, {"GRPC_TLS_KEY_FILE", c.KeyFile}, {"GRPC_TLS_CA_FILE", c.CAFile},
	} {
		if f.value == "" {
			missing = append(missing, f.name)
		}
	}
	var faults []error
	if c.Enabled() && len(missing) > 0 {
		faults = append(faults, fmt.Errorf("%s must be set too: GRPC_TLS_CERT_FILE, GRPC_TLS_KEY_FILE and GRPC_TLS_CA_FILE go together",
			strings.Join(missing, " and ")))
	}
	if strings.ContainsAny(c.TrustDomain, "/:") {
		faults = append(faults, fmt.Errorf("GRPC_TLS_TRUST_DOMAIN is %q, want a domain alone, such as example.org", c.TrustDomain))
	}
	return errors.Join(faults...)
}
