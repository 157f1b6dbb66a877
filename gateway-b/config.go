package gatewayb

import (
	"errors"
	"time"

	"reservation.dev/platform/bus"
	"reservation.dev/platform/edge"
	"reservation.dev/platform/token"
)

// Config holds the settings of gateway-b.
type Config struct {
	Addr         string        `env:"HTTP_ADDR" envDefault:"127.0.0.1:8081" doc:"address on which Interface B is served"`
	AuthAddr     string        `env:"AUTH_ADDR" envDefault:"127.0.0.1:8083" doc:"addresses of the auth service's gRPC, separated by commas"`
	CustomerAddr string        `env:"CUSTOMER_ADDR" envDefault:"127.0.0.1:8084" doc:"addresses of the customer service's gRPC, separated by commas"`
	BookingAddr  string        `env:"BOOKING_ADDR" envDefault:"127.0.0.1:8085" doc:"addresses of the booking service's gRPC, separated by commas"`
	PassAddr     string        `env:"PASS_ADDR" envDefault:"127.0.0.1:8086" doc:"addresses of the pass service's gRPC, separated by commas"`
	RateLimit    int           `env:"RATE_LIMIT" envDefault:"100" doc:"requests that an API key without a limit of its own may make in any 60 seconds"`
	Drain        time.Duration `env:"SHUTDOWN_DRAIN" envDefault:"10s" doc:"how long requests in flight may take to end at shutdown"`
	Proxies      edge.Proxies  `env:"TRUSTED_PROXIES" doc:"networks (CIDR, comma separated) whose X-Forwarded-For names the client; empty: none"`
	Bus          bus.Config
	Token        token.Config
}

// Validate reports every wrong setting.
func (c *Config) Validate() error {
	var faults []error
	if c.Drain <= 0 {
		faults = append(faults, errors.New("SHUTDOWN_DRAIN must be positive"))
	}
	if c.RateLimit < 1 || c.RateLimit > 10_000 {
		faults = append(faults, errors.New("RATE_LIMIT must be 1 to 10000"))
	}
	return errors.Join(faults...)
}
