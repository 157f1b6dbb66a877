package gatewaya

import "reservation.dev/platform/edge"

// Config holds the settings of gateway-a.
type Config struct {
	Addr         string `env:"HTTP_ADDR" envDefault:"127.0.0.1:8080" doc:"address on which Interface A is served"`
	AuthAddr     string `env:"AUTH_ADDR" envDefault:"127.0.0.1:8083" doc:"addresses of the auth service's gRPC, separated by commas"`
	CustomerAddr string `env:"CUSTOMER_ADDR" envDefault:"127.0.0.1:8084" doc:"addresses of the customer service's gRPC, separated by commas"`
	BookingAddr  string `env:"BOOKING_ADDR" envDefault:"127.0.0.1:8085" doc:"addresses of the booking service's gRPC, separated by commas"`
	Edge         edge.Config
}
