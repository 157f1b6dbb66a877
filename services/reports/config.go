package reports

import "reservation.dev/platform/service"

// Config holds the settings of the reports service.
type Config struct {
	Base             service.Base
	Credential       service.Credential
	AuthAddr         string `env:"AUTH_ADDR" envDefault:"127.0.0.1:8083" doc:"gRPC addresses of the auth service, separated by commas"`
	CustomerAddr     string `env:"CUSTOMER_ADDR" envDefault:"127.0.0.1:8084" doc:"gRPC addresses of the customer service, separated by commas"`
	BookingAddr      string `env:"BOOKING_ADDR" envDefault:"127.0.0.1:8085" doc:"gRPC addresses of the booking service, separated by commas"`
	PassAddr         string `env:"PASS_ADDR" envDefault:"127.0.0.1:8086" doc:"gRPC addresses of the pass service, separated by commas"`
	SubscriptionAddr string `env:"SUBSCRIPTION_ADDR" envDefault:"127.0.0.1:8090" doc:"gRPC addresses of the subscription service, separated by commas"`
}
