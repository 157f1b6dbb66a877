package customer

import (
	"errors"

	"reservation.dev/platform/service"
)

// Config holds the settings of the customer service.
type Config struct {
	Base       service.Base
	Credential service.Credential
	AuthAddr   string `env:"AUTH_ADDR" envDefault:"127.0.0.1:8083" doc:"addresses of the auth service's gRPC, separated by commas"`
}

// Validate reports every wrong setting.
func (c *Config) Validate() error {
	return errors.Join(c.Base.DB.Validate(), c.Base.Bus.Validate(), c.Base.Token.Validate())
}
