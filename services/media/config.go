package media

import (
	"reservation.dev/platform/seal"
	"reservation.dev/platform/service"
)

// Config holds the settings of the media service.
type Config struct {
	Base             service.Base
	Credential       service.Credential
	Seal             seal.Config
	HTTPAddr         string `env:"HTTP_ADDR" envDefault:"127.0.0.1:8092" doc:"address on which the service serves uploads and playback"`
	PublicURL        string `env:"MEDIA_URL" envDefault:"http://127.0.0.1:8092" doc:"address at which browsers and integrators reach HTTP_ADDR"`
	Bucket           string `env:"MEDIA_BUCKET" envDefault:"file:///var/lib/reservation/media?create_dir=true&no_tmp_dir=true&metadata=skip" doc:"URL of the bucket with the files: file, s3, gs or azblob"`
	AuthAddr         string `env:"AUTH_ADDR" envDefault:"127.0.0.1:8083" doc:"gRPC addresses of the auth service, separated by commas"`
	CustomerAddr     string `env:"CUSTOMER_ADDR" envDefault:"127.0.0.1:8084" doc:"gRPC addresses of the customer service, separated by commas"`
	BookingAddr      string `env:"BOOKING_ADDR" envDefault:"127.0.0.1:8085" doc:"gRPC addresses of the booking service, separated by commas"`
	PassAddr         string `env:"PASS_ADDR" envDefault:"127.0.0.1:8086" doc:"gRPC addresses of the pass service, separated by commas"`
	SubscriptionAddr string `env:"SUBSCRIPTION_ADDR" envDefault:"127.0.0.1:8090" doc:"gRPC addresses of the subscription service, separated by commas"`
}
