package gatewayb

import (
	"errors"
	"net/url"
	"strings"

	"reservation.dev/platform/edge"
)

// Config holds the settings of gateway-b.
type Config struct {
	Addr             string `env:"HTTP_ADDR" envDefault:"127.0.0.1:8081" doc:"address on which gateway-b serves Interface B"`
	AuthAddr         string `env:"AUTH_ADDR" envDefault:"127.0.0.1:8083" doc:"gRPC addresses of the auth service, separated by commas"`
	CustomerAddr     string `env:"CUSTOMER_ADDR" envDefault:"127.0.0.1:8084" doc:"gRPC addresses of the customer service, separated by commas"`
	BookingAddr      string `env:"BOOKING_ADDR" envDefault:"127.0.0.1:8085" doc:"gRPC addresses of the booking service, separated by commas"`
	PassAddr         string `env:"PASS_ADDR" envDefault:"127.0.0.1:8086" doc:"gRPC addresses of the pass service, separated by commas"`
	SubscriptionAddr string `env:"SUBSCRIPTION_ADDR" envDefault:"127.0.0.1:8090" doc:"gRPC addresses of the subscription service, separated by commas"`
	MediaAddr        string `env:"MEDIA_ADDR" envDefault:"127.0.0.1:8091" doc:"gRPC addresses of the media service, separated by commas"`
	ReportsAddr      string `env:"REPORTS_ADDR" envDefault:"127.0.0.1:8093" doc:"gRPC addresses of the reports service, separated by commas"`
	WebhookAddr      string `env:"WEBHOOK_ADDR" envDefault:"127.0.0.1:8087" doc:"gRPC addresses of the webhook service, separated by commas"`
	RateLimit        int    `env:"RATE_LIMIT" envDefault:"100" doc:"requests that an API key without a limit of its own can make in any 60 seconds"`
	InterfaceB       string `env:"INTERFACE_B_URL" doc:"address of Interface B, on which the addresses of calendars are based; empty: http://HTTP_ADDR/api/v1"`
	Edge             edge.Config
}

// Validate reports an invalid setting.
func (c *Config) Validate() error {
	var faults []error
	if c.RateLimit < 1 || c.RateLimit > 10_000 {
		faults = append(faults, errors.New("RATE_LIMIT must be 1 to 10000"))
	}
	if c.InterfaceB != "" && !isBase(c.InterfaceB) {
		faults = append(faults, errors.New("INTERFACE_B_URL must be http(s)://host[:port][/path]"))
	}
	return errors.Join(faults...)
}

// isBase reports whether text is an address to which paths can be added.
func isBase(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.RawQuery == ""
}

// interfaceURL returns the address of Interface B.
func (c *Config) interfaceURL() string {
	if c.InterfaceB != "" {
		return c.InterfaceB
	}
	addr := c.Addr
	if strings.HasPrefix(addr, ":") {
		addr = "127.0.0.1" + addr
	}
	return "http://" + addr + base
}
