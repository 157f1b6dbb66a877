package media

import (
	"errors"
	"fmt"
	"net/url"
	"time"

	"reservation.dev/platform/seal"
	"reservation.dev/platform/service"
)

// Config holds the settings of the media service.
type Config struct {
	Base             service.Base
	Credential       service.Credential
	Seal             seal.Config
	Media            Settings
	AuthAddr         string `env:"AUTH_ADDR" envDefault:"127.0.0.1:8083" doc:"gRPC addresses of the auth service, separated by commas"`
	CustomerAddr     string `env:"CUSTOMER_ADDR" envDefault:"127.0.0.1:8084" doc:"gRPC addresses of the customer service, separated by commas"`
	BookingAddr      string `env:"BOOKING_ADDR" envDefault:"127.0.0.1:8085" doc:"gRPC addresses of the booking service, separated by commas"`
	PassAddr         string `env:"PASS_ADDR" envDefault:"127.0.0.1:8086" doc:"gRPC addresses of the pass service, separated by commas"`
	SubscriptionAddr string `env:"SUBSCRIPTION_ADDR" envDefault:"127.0.0.1:8090" doc:"gRPC addresses of the subscription service, separated by commas"`
}

// Settings holds the settings for files.
type Settings struct {
	HTTPAddr         string        `env:"HTTP_ADDR" envDefault:"127.0.0.1:8092" doc:"address on which the service serves uploads and playback"`
	PublicURL        string        `env:"MEDIA_URL" envDefault:"http://127.0.0.1:8092" doc:"address at which browsers and integrators reach HTTP_ADDR"`
	Bucket           string        `env:"MEDIA_BUCKET" envDefault:"file:///var/lib/reservation/media?create_dir=true&no_tmp_dir=true&metadata=skip" doc:"URL of the bucket with the files: file, s3, gs or azblob"`
	MaxFile          int           `env:"MEDIA_MAX_FILE" envDefault:"2147483648" doc:"largest file, in bytes"`
	MaxUploads       int           `env:"MEDIA_MAX_UPLOADS" envDefault:"20" doc:"maximum open uploads of a company"`
	Parts            int           `env:"MEDIA_PARTS" envDefault:"32" doc:"maximum parts that a process receives at the same time"`
	CompanyParts     int           `env:"MEDIA_COMPANY_PARTS" envDefault:"8" doc:"maximum parts that a process receives at the same time from one company"`
	Playbacks        int           `env:"MEDIA_PLAYBACKS" envDefault:"512" doc:"maximum files that a process sends at the same time"`
	CompanyPlaybacks int           `env:"MEDIA_COMPANY_PLAYBACKS" envDefault:"128" doc:"maximum files that a process sends at the same time for one company"`
	Stalled          time.Duration `env:"MEDIA_STALLED" envDefault:"60s" doc:"how long a connection can transfer nothing before it is closed"`
	RemovalDelay     time.Duration `env:"MEDIA_REMOVAL_DELAY" envDefault:"168h" doc:"how long the service keeps files that no row names, so that a restored database finds them"`
}

// Validate reports every wrong setting.
func (s Settings) Validate() error {
	var faults []error
	if u, err := url.Parse(s.PublicURL); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.RawQuery != "" {
		faults = append(faults, errors.New("MEDIA_URL must be an address such as https://media.example.com"))
	}
	faults = append(faults, checkBucket(s.Bucket))
	if s.MaxFile < 1 || s.MaxFile > largestFile {
		faults = append(faults, fmt.Errorf("MEDIA_MAX_FILE must be 1 to %d", largestFile))
	}
	if s.MaxUploads < 1 {
		faults = append(faults, errors.New("MEDIA_MAX_UPLOADS must be 1 or more"))
	}
	if s.CompanyParts < 1 || s.Parts < s.CompanyParts {
		faults = append(faults, errors.New("MEDIA_COMPANY_PARTS must be 1 or more, and at most MEDIA_PARTS"))
	}
	if s.CompanyPlaybacks < 1 || s.Playbacks < s.CompanyPlaybacks {
		faults = append(faults, errors.New("MEDIA_COMPANY_PLAYBACKS must be 1 or more, and at most MEDIA_PLAYBACKS"))
	}
	if s.Stalled <= 0 {
		faults = append(faults, errors.New("MEDIA_STALLED must be positive"))
	}
	if s.RemovalDelay < 0 {
		faults = append(faults, errors.New("MEDIA_REMOVAL_DELAY must not be negative"))
	}
	return errors.Join(faults...)
}

// largestFile is the largest file that providers store in the parts that the service writes: 10,000 of
// 5 MiB.
const largestFile = 50_000 << 20
