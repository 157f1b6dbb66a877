package admin

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"reservation.dev/platform/edge"
)

// Config holds the settings of the dashboard.
type Config struct {
	Addr             string        `env:"HTTP_ADDR" envDefault:"127.0.0.1:8082" doc:"address on which the dashboard is served"`
	URL              string        `env:"ADMIN_URL" envDefault:"http://127.0.0.1:8082" doc:"address of the dashboard as browsers see it; with https, cookies are Secure and HSTS is sent"`
	InterfaceA       string        `env:"INTERFACE_A_URL" envDefault:"http://127.0.0.1:8080" doc:"address of Interface A that the dashboard shows to integrators"`
	InterfaceB       string        `env:"INTERFACE_B_URL" envDefault:"http://127.0.0.1:8081/api/v1" doc:"address of Interface B that the dashboard shows to integrators"`
	AuthAddr         string        `env:"AUTH_ADDR" envDefault:"127.0.0.1:8083" doc:"gRPC addresses of the auth service, separated by commas"`
	CustomerAddr     string        `env:"CUSTOMER_ADDR" envDefault:"127.0.0.1:8084" doc:"gRPC addresses of the customer service, separated by commas"`
	BookingAddr      string        `env:"BOOKING_ADDR" envDefault:"127.0.0.1:8085" doc:"gRPC addresses of the booking service, separated by commas"`
	PassAddr         string        `env:"PASS_ADDR" envDefault:"127.0.0.1:8086" doc:"gRPC addresses of the pass service, separated by commas"`
	ReportsAddr      string        `env:"REPORTS_ADDR" envDefault:"127.0.0.1:8093" doc:"gRPC addresses of the reports service, separated by commas"`
	WebhookAddr      string        `env:"WEBHOOK_ADDR" envDefault:"127.0.0.1:8087" doc:"gRPC addresses of the webhook service, separated by commas"`
	SubscriptionAddr string        `env:"SUBSCRIPTION_ADDR" envDefault:"127.0.0.1:8090" doc:"gRPC addresses of the subscription service, separated by commas"`
	MediaAddr        string        `env:"MEDIA_ADDR" envDefault:"127.0.0.1:8091" doc:"gRPC addresses of the media service, separated by commas"`
	MediaURL         string        `env:"MEDIA_URL" envDefault:"http://127.0.0.1:8092" doc:"address at which browsers reach the files of the media service"`
	Drain            time.Duration `env:"SHUTDOWN_DRAIN" envDefault:"10s" doc:"how long requests in flight can take to finish at shutdown"`
	Proxies          edge.Proxies  `env:"TRUSTED_PROXIES" doc:"networks (CIDR, separated by commas) whose X-Forwarded-For is trusted; empty: none"`
}

// Validate returns an error for each invalid setting.
func (c *Config) Validate() error {
	var faults []error
	if c.Drain <= 0 {
		faults = append(faults, errors.New("SHUTDOWN_DRAIN must be positive"))
	}
	if u, err := url.Parse(c.URL); err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || (u.Path != "" && u.Path != "/") {
		faults = append(faults, errors.New("ADMIN_URL must be http(s)://host[:port]"))
	}
	for _, s := range []struct{ name, address string }{{"INTERFACE_A_URL", c.InterfaceA}, {"INTERFACE_B_URL", c.InterfaceB}, {"MEDIA_URL", c.MediaURL}} {
		if u, err := url.Parse(s.address); err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
			faults = append(faults, fmt.Errorf("%s must be http(s)://host[:port][/path]", s.name))
		}
	}
	return errors.Join(faults...)
}

// Production reports settings that are only for development. Without TLS, anybody on the
// network could read passwords and sessions.
func (c *Config) Production() error {
	if strings.HasPrefix(c.URL, "http:") {
		return errors.New("ADMIN_URL must start with https:// in production")
	}
	return nil
}
