package subscription

import "reservation.dev/platform/service"

// Config holds the settings of the subscription service.
type Config struct {
	Base         service.Base
	Credential   service.Credential
	AuthAddr     string `env:"AUTH_ADDR" envDefault:"127.0.0.1:8083" doc:"gRPC addresses of the auth service, separated by commas"`
	CustomerAddr string `env:"CUSTOMER_ADDR" envDefault:"127.0.0.1:8084" doc:"gRPC addresses of the customer service, separated by commas"`
	PassAddr     string `env:"PASS_ADDR" envDefault:"127.0.0.1:8086" doc:"gRPC addresses of the pass service, separated by commas"`
	MediaAddr    string `env:"MEDIA_ADDR" envDefault:"127.0.0.1:8091" doc:"gRPC addresses of the media service, separated by commas"`
}
