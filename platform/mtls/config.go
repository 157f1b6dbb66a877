package mtls

import (
	"errors"
	"fmt"
	"strings"
)

// Config names the certificate files of a process. Without files, gRPC is not encrypted.
type Config struct {
	CertFile    string `env:"GRPC_TLS_CERT_FILE" doc:"PEM file with the certificate and its intermediates for serving and calling gRPC; enables mutual TLS, together with the next two; all three files are read again when they change"`
	KeyFile     string `env:"GRPC_TLS_KEY_FILE" doc:"PEM file with the private key of GRPC_TLS_CERT_FILE"`
	CAFile      string `env:"GRPC_TLS_CA_FILE" doc:"PEM file with the CA certificates that verify the other services; list the old and the new CA while you replace one"`
	TrustDomain string `env:"GRPC_TLS_TRUST_DOMAIN" doc:"SPIFFE trust domain, in which spiffe://DOMAIN/…/booking names the service booking like a DNS name; empty: only DNS names count"`
}

// Enabled reports whether any file is configured.
func (c Config) Enabled() bool { return c.CertFile != "" || c.KeyFile != "" || c.CAFile != "" }

// Validate reports missing files, and a trust domain that is not a domain.
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
		faults = append(faults, fmt.Errorf("%s must be set too: set all of GRPC_TLS_CERT_FILE, GRPC_TLS_KEY_FILE and GRPC_TLS_CA_FILE, or none",
			strings.Join(missing, " and ")))
	}
	if strings.ContainsAny(c.TrustDomain, "/:") {
		faults = append(faults, fmt.Errorf("GRPC_TLS_TRUST_DOMAIN is %q; it must be only a domain, such as example.org", c.TrustDomain))
	}
	return errors.Join(faults...)
}
