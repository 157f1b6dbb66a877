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
	AuthAddr     string `env:"AUTH_ADDR" envDefault:"127.0.0.1:8083" doc:"gRPC addresses of the auth service, separated by commas"`
	CustomerAddr string `env:"CUSTOMER_ADDR" envDefault:"127.0.0.1:8084" doc:"gRPC addresses of the customer service, separated by commas"`
	Delivery     Delivery
}

// Delivery holds the settings for sending webhooks.
type Delivery struct {
	Issuer              string          `env:"WEBHOOK_ISSUER" envDefault:"reservation" doc:"iss claim of the JWT that signs a webhook request"`
	Timeout             time.Duration   `env:"WEBHOOK_TIMEOUT" envDefault:"10s" doc:"time limit of an attempt, from dialling to the last byte of the response"`
	Retries             []time.Duration `env:"WEBHOOK_RETRIES" envDefault:"30s,5m,50m" doc:"delay before each retry, ± 10 %; the number of delays is the number of retries"`
	RetryAfterMax       time.Duration   `env:"WEBHOOK_RETRY_AFTER_MAX" envDefault:"24h" doc:"longest Retry-After that is honoured"`
	Concurrency         int             `env:"WEBHOOK_CONCURRENCY" envDefault:"1024" doc:"maximum requests in flight per process"`
	EndpointConcurrency int             `env:"WEBHOOK_ENDPOINT_CONCURRENCY" envDefault:"32" doc:"maximum requests in flight per process and endpoint; fewer if the endpoint answers quickly or WEBHOOK_CONCURRENCY is used up"`
	Lease               time.Duration   `env:"WEBHOOK_LEASE" envDefault:"40s" doc:"how long a process keeps a claimed delivery; at least WEBHOOK_TIMEOUT plus 4s"`
	BreakerFailures     int             `env:"WEBHOOK_BREAKER_FAILURES" envDefault:"10" doc:"consecutive failures after which an endpoint is paused"`
	BreakerPause        time.Duration   `env:"WEBHOOK_BREAKER_PAUSE" envDefault:"15s" doc:"first pause of an endpoint before one delivery probes it; doubles up to WEBHOOK_BREAKER_PAUSE_MAX"`
	BreakerPauseMax     time.Duration   `env:"WEBHOOK_BREAKER_PAUSE_MAX" envDefault:"5m" doc:"longest pause of an endpoint"`
	WarnAfter           time.Duration   `env:"WEBHOOK_WARN_AFTER" envDefault:"96h" doc:"how long an endpoint fails without a success before endpoint_failing is published"`
	DisableAfter        time.Duration   `env:"WEBHOOK_DISABLE_AFTER" envDefault:"120h" doc:"how long an endpoint fails without a success before it is disabled"`
	Sweep               time.Duration   `env:"WEBHOOK_SWEEP" envDefault:"5s" doc:"how often to look for deliveries that are due without a wake-up"`
	PrivateAddresses    string          `env:"WEBHOOK_PRIVATE_ADDRESSES" envDefault:"refuse" doc:"refuse, or allow endpoints at private and local addresses (for development)"`
	CAFile              string          `env:"WEBHOOK_CA_FILE" doc:"PEM file with CA certificates that are trusted in addition to the system's; read again when it changes"`
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
		faults = append(faults, fmt.Errorf("WEBHOOK_LEASE must be at least WEBHOOK_TIMEOUT plus %s", 2*leaseMargin))
	}
	if d.EndpointConcurrency < 1 || d.Concurrency < d.EndpointConcurrency {
		faults = append(faults, errors.New("WEBHOOK_ENDPOINT_CONCURRENCY must be 1 or more, and at most WEBHOOK_CONCURRENCY"))
	}
	if d.BreakerFailures < 1 {
		faults = append(faults, errors.New("WEBHOOK_BREAKER_FAILURES must be 1 or more"))
	}
	if d.BreakerPauseMax < d.BreakerPause {
		faults = append(faults, errors.New("WEBHOOK_BREAKER_PAUSE_MAX must not be less than WEBHOOK_BREAKER_PAUSE"))
	}
	if d.DisableAfter < d.WarnAfter || d.WarnAfter <= 0 {
		faults = append(faults, errors.New("WEBHOOK_WARN_AFTER must be positive, and at most WEBHOOK_DISABLE_AFTER"))
	}
	if d.PrivateAddresses != privateRefused && d.PrivateAddresses != privateAllowed {
		faults = append(faults, fmt.Errorf("WEBHOOK_PRIVATE_ADDRESSES is %q; it must be %s or %s", d.PrivateAddresses, privateRefused, privateAllowed))
	}
	if d.Issuer == "" {
		faults = append(faults, errors.New("WEBHOOK_ISSUER must not be empty"))
	}
	if d.RetryAfterMax < 0 {
		faults = append(faults, errors.New("WEBHOOK_RETRY_AFTER_MAX must not be negative"))
	}
	return errors.Join(append(faults, checkCAFile(d.CAFile))...)
}

// checkCAFile reports a WEBHOOK_CA_FILE that cannot be used. Otherwise every delivery to
// an endpoint with a certificate of that CA would fail.
func checkCAFile(path string) error {
	if path == "" {
		return nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("WEBHOOK_CA_FILE: %w", err)
	}
	if !x509.NewCertPool().AppendCertsFromPEM(text) {
		return fmt.Errorf("WEBHOOK_CA_FILE: %s contains no PEM certificate", path)
	}
	return nil
}

// Production reports settings that are only for development.
func (d Delivery) Production() error {
	if d.PrivateAddresses == privateAllowed {
		return errors.New("WEBHOOK_PRIVATE_ADDRESSES must not be \"allow\" in production: webhooks could then reach services in your network")
	}
	return nil
}

// Values of WEBHOOK_PRIVATE_ADDRESSES.
const (
	privateRefused = "refuse"
	privateAllowed = "allow"
)

func (d Delivery) guard() *guard { return &guard{private: d.PrivateAddresses == privateAllowed} }

// ahead returns how many deliveries of one endpoint are claimed in addition to those in
// flight.
func (d Delivery) ahead() int { return 4 * d.EndpointConcurrency }
