package webhook

import (
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"time"

	"reservation.dev/platform/seal"
	"reservation.dev/platform/service"
)

// Config holds the settings of the webhook service.
type Config struct {
	Base         service.Base
	Credential   service.Credential
	Seal         seal.Config
	AuthAddr     string `env:"AUTH_ADDR" envDefault:"127.0.0.1:8083" doc:"addresses of the auth service's gRPC, separated by commas"`
	CustomerAddr string `env:"CUSTOMER_ADDR" envDefault:"127.0.0.1:8084" doc:"addresses of the customer service's gRPC, separated by commas"`
	Delivery     Delivery
}

// Delivery holds the settings of sending.
type Delivery struct {
	Issuer              string          `env:"WEBHOOK_ISSUER" envDefault:"reservation" doc:"iss of the JWT that requests are signed with"`
	Timeout             time.Duration   `env:"WEBHOOK_TIMEOUT" envDefault:"10s" doc:"limit of a whole exchange, from dialling to the last byte of the answer"`
	Retries             []time.Duration `env:"WEBHOOK_RETRIES" envDefault:"30s,5m,50m" doc:"delays before the retries, a tenth more or less; as many as there are delays"`
	RetryAfterMax       time.Duration   `env:"WEBHOOK_RETRY_AFTER_MAX" envDefault:"24h" doc:"longest Retry-After that is honoured"`
	Concurrency         int             `env:"WEBHOOK_CONCURRENCY" envDefault:"1024" doc:"most requests in flight of one process"`
	EndpointConcurrency int             `env:"WEBHOOK_ENDPOINT_CONCURRENCY" envDefault:"32" doc:"most requests in flight of one process to one endpoint; fewer where it answers quickly, or WEBHOOK_CONCURRENCY is short"`
	Lease               time.Duration   `env:"WEBHOOK_LEASE" envDefault:"40s" doc:"how long a claimed delivery is left to its process; at least WEBHOOK_TIMEOUT and 4s"`
	BreakerFailures     int             `env:"WEBHOOK_BREAKER_FAILURES" envDefault:"10" doc:"failures in a row after which an endpoint is left alone for a while"`
	BreakerPause        time.Duration   `env:"WEBHOOK_BREAKER_PAUSE" envDefault:"15s" doc:"first pause of such an endpoint, before one delivery probes it; doubled up to WEBHOOK_BREAKER_PAUSE_MAX"`
	BreakerPauseMax     time.Duration   `env:"WEBHOOK_BREAKER_PAUSE_MAX" envDefault:"5m" doc:"longest such pause"`
	WarnAfter           time.Duration   `env:"WEBHOOK_WARN_AFTER" envDefault:"96h" doc:"how long nothing but failures until endpoint_failing is published"`
	DisableAfter        time.Duration   `env:"WEBHOOK_DISABLE_AFTER" envDefault:"120h" doc:"how long nothing but failures until the endpoint is disabled"`
	Sweep               time.Duration   `env:"WEBHOOK_SWEEP" envDefault:"5s" doc:"how often work is looked for of which no wake-up came: that of a process that died"`
	PrivateAddresses    string          `env:"WEBHOOK_PRIVATE_ADDRESSES" envDefault:"refuse" doc:"refuse, or allow: endpoints at private and local addresses, for development"`
	CAFile              string          `env:"WEBHOOK_CA_FILE" doc:"PEM file of certificates that are trusted beside the system's; read again when it changes"`
}

// Validate reports every wrong setting.
func (d Delivery) Validate() error {
	var faults []error
	positive := func(name string, v time.Duration) {
		if v <= 0 {
			faults = append(faults, errors.New(name+" must be positive"))
		}
	}
	positive("WEBHOOK_TIMEOUT", d.Timeout)
	positive("WEBHOOK_BREAKER_PAUSE", d.BreakerPause)
	positive("WEBHOOK_SWEEP", d.Sweep)
	for _, delay := range d.Retries {
		positive("WEBHOOK_RETRIES", delay)
	}
	if d.Lease < d.Timeout+2*leaseMargin {
		faults = append(faults, fmt.Errorf("WEBHOOK_LEASE must be at least WEBHOOK_TIMEOUT and %s", 2*leaseMargin))
	}
	if d.EndpointConcurrency < 1 || d.Concurrency < d.EndpointConcurrency {
		faults = append(faults, errors.New("WEBHOOK_ENDPOINT_CONCURRENCY must be 1 or more, and WEBHOOK_CONCURRENCY not less"))
	}
	if d.BreakerFailures < 1 {
		faults = append(faults, errors.New("WEBHOOK_BREAKER_FAILURES must be 1 or more"))
	}
	if d.BreakerPauseMax < d.BreakerPause {
		faults = append(faults, errors.New("WEBHOOK_BREAKER_PAUSE_MAX must not be less than WEBHOOK_BREAKER_PAUSE"))
	}
	if d.DisableAfter < d.WarnAfter || d.WarnAfter <= 0 {
		faults = append(faults, errors.New("WEBHOOK_WARN_AFTER must be positive, and WEBHOOK_DISABLE_AFTER not less"))
	}
	if d.PrivateAddresses != privateRefused && d.PrivateAddresses != privateAllowed {
		faults = append(faults, fmt.Errorf("WEBHOOK_PRIVATE_ADDRESSES is %q, want %s or %s", d.PrivateAddresses, privateRefused, privateAllowed))
	}
	if d.Issuer == "" {
		faults = append(faults, errors.New("WEBHOOK_ISSUER must not be empty"))
	}
	if d.RetryAfterMax < 0 {
		faults = append(faults, errors.New("WEBHOOK_RETRY_AFTER_MAX must not be negative"))
	}
	return errors.Join(append(faults, checkCAFile(d.CAFile))...)
}

// checkCAFile reports a WEBHOOK_CA_FILE that cannot be used, without which each
// delivery to an endpoint of that authority would fail.
func checkCAFile(path string) error {
	if path == "" {
		return nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("WEBHOOK_CA_FILE: %w", err)
	}
	if !x509.NewCertPool().AppendCertsFromPEM(text) {
		return fmt.Errorf("WEBHOOK_CA_FILE: %s has no certificate", path)
	}
	return nil
}

// Production reports what is for trying alone.
func (d Delivery) Production() error {
	if d.PrivateAddresses == privateAllowed {
		return errors.New("WEBHOOK_PRIVATE_ADDRESSES must not be allow in production: an endpoint could be a service of yours")
	}
	return nil
}

// Values of WEBHOOK_PRIVATE_ADDRESSES.
const (
	privateRefused = "refuse"
	privateAllowed = "allow"
)

func (d Delivery) guard() *guard { return &guard{private: d.PrivateAddresses == privateAllowed} }

// ahead is how many deliveries of one endpoint are held claimed beyond those in
// flight.
func (d Delivery) ahead() int { return 4 * d.EndpointConcurrency }
