package auth

import (
	"errors"
	"time"

	"reservation.dev/platform/config"
	"reservation.dev/platform/seal"
	"reservation.dev/platform/service"
)

// Config holds the settings of the auth service.
type Config struct {
	Base             service.Base
	Seal             seal.Config
	CustomerAddr     string        `env:"CUSTOMER_ADDR" envDefault:"127.0.0.1:8084" doc:"gRPC addresses of the customer service, separated by commas"`
	BookingAddr      string        `env:"BOOKING_ADDR" envDefault:"127.0.0.1:8085" doc:"gRPC addresses of the booking service, separated by commas"`
	PassAddr         string        `env:"PASS_ADDR" envDefault:"127.0.0.1:8086" doc:"gRPC addresses of the pass service, separated by commas"`
	SubscriptionAddr string        `env:"SUBSCRIPTION_ADDR" envDefault:"127.0.0.1:8090" doc:"gRPC addresses of the subscription service, separated by commas"`
	MediaAddr        string        `env:"MEDIA_ADDR" envDefault:"127.0.0.1:8091" doc:"gRPC addresses of the media service, separated by commas"`
	ReportsAddr      string        `env:"REPORTS_ADDR" envDefault:"127.0.0.1:8093" doc:"gRPC addresses of the reports service, separated by commas"`
	WebhookAddr      string        `env:"WEBHOOK_ADDR" envDefault:"127.0.0.1:8087" doc:"gRPC addresses of the webhook service, separated by commas"`
	Bootstrap        config.Secret `env:"BOOTSTRAP_CREDENTIALS" doc:"platform credentials to create or update at start: a JSON list of {id (svc_…), name, secret (64 hexadecimal characters), scopes}"`
	Rotation         time.Duration `env:"SIGNING_KEY_ROTATION" envDefault:"720h" doc:"age at which a signing key is replaced"`
	Delay            time.Duration `env:"SIGNING_KEY_DELAY" envDefault:"1m" doc:"how long a new signing key is published before it signs"`
	Idle             time.Duration `env:"SESSION_IDLE_TIMEOUT" envDefault:"12h" doc:"how long an administrator stays signed in without doing anything"`
	Lifetime         time.Duration `env:"SESSION_LIFETIME" envDefault:"336h" doc:"how long an administrator stays signed in at most"`
	Retention        Retention
}

// Retention is how long audit entries, logged requests and invitations are kept.
type Retention struct {
	Audit       time.Duration `env:"AUDIT_KEPT" envDefault:"17520h" doc:"how long audit entries are kept"`
	Changes     time.Duration `env:"AUDIT_CREDENTIALS_KEPT" envDefault:"2160h" doc:"how long audit entries about changes by API keys, API clients and service credentials are kept"`
	Requests    time.Duration `env:"REQUEST_LOG_KEPT" envDefault:"720h" doc:"how long the request log keeps requests to the public interfaces"`
	Invitations time.Duration `env:"INVITATIONS_KEPT" envDefault:"720h" doc:"how long accepted, revoked and expired invitations are kept"`
}

// Validate reports every invalid setting.
func (c *Config) Validate() error {
	var faults []error
	if c.Rotation < time.Hour {
		faults = append(faults, errors.New("SIGNING_KEY_ROTATION must be at least 1h"))
	}
	if c.Delay < 0 || c.Delay > c.Rotation {
		faults = append(faults, errors.New("SIGNING_KEY_DELAY must be between 0 and SIGNING_KEY_ROTATION"))
	}
	if c.Idle < time.Minute {
		faults = append(faults, errors.New("SESSION_IDLE_TIMEOUT must be at least 1m"))
	}
	if c.Lifetime < c.Idle {
		faults = append(faults, errors.New("SESSION_LIFETIME must be at least SESSION_IDLE_TIMEOUT"))
	}
	if c.Retention.Audit < 24*time.Hour {
		faults = append(faults, errors.New("AUDIT_KEPT must be at least 24h"))
	}
	if c.Retention.Changes < 24*time.Hour || c.Retention.Changes > c.Retention.Audit {
		faults = append(faults, errors.New("AUDIT_CREDENTIALS_KEPT must be at least 24h and at most AUDIT_KEPT"))
	}
	if c.Retention.Requests < time.Hour {
		faults = append(faults, errors.New("REQUEST_LOG_KEPT must be at least 1h"))
	}
	if c.Retention.Invitations < time.Hour {
		faults = append(faults, errors.New("INVITATIONS_KEPT must be at least 1h"))
	}
	_, err := parseBootstrap(c.Bootstrap)
	return errors.Join(append(faults, err)...)
}
