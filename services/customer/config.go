package customer

import (
	"errors"
	"time"

	"reservation.dev/platform/service"
)

// Config holds the settings of the customer service.
type Config struct {
	Base             service.Base
	Credential       service.Credential
	AuthAddr         string        `env:"AUTH_ADDR" envDefault:"127.0.0.1:8083" doc:"gRPC addresses of the auth service, separated by commas"`
	BookingAddr      string        `env:"BOOKING_ADDR" envDefault:"127.0.0.1:8085" doc:"gRPC addresses of the booking service, separated by commas"`
	PassAddr         string        `env:"PASS_ADDR" envDefault:"127.0.0.1:8086" doc:"gRPC addresses of the pass service, separated by commas"`
	SubscriptionAddr string        `env:"SUBSCRIPTION_ADDR" envDefault:"127.0.0.1:8090" doc:"gRPC addresses of the subscription service, separated by commas"`
	MediaAddr        string        `env:"MEDIA_ADDR" envDefault:"127.0.0.1:8091" doc:"gRPC addresses of the media service, separated by commas"`
	Settle           time.Duration `env:"ERASURE_SETTLE" envDefault:"2m" doc:"maximum duration of a request in progress; this long after an erasure, every service checks once more for data that such a request stored"`
}

// Validate reports every wrong setting.
func (c *Config) Validate() error {
	var faults []error
	if c.Settle <= 0 {
		faults = append(faults, errors.New("ERASURE_SETTLE must be positive"))
	}
	return errors.Join(append(faults, c.Base.DB.Validate(), c.Base.Bus.Validate(), c.Base.Token.Validate())...)
}
