package service

import (
	"context"
	"errors"
	"regexp"
	"time"

	"google.golang.org/grpc"

	"reservation.dev/platform/config"
	"reservation.dev/platform/id"
	"reservation.dev/platform/token"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

// Credential holds the settings of the platform credential with which a service calls
// others on its own behalf, for calls that no caller's token covers.
type Credential struct {
	ID     string        `env:"SERVICE_CREDENTIAL_ID,required" doc:"identifier (svc_…) of the platform credential with which this service calls others"`
	Secret config.Secret `env:"SERVICE_CREDENTIAL_SECRET,required" doc:"secret of SERVICE_CREDENTIAL_ID"`
}

var secretForm = regexp.MustCompile(`^[0-9a-fA-F]{64}$`)

// Validate reports every wrong setting. Missing settings are reported by config.Read.
func (c Credential) Validate() error {
	var faults []error
	if _, err := id.Parse[id.ServiceCredential](c.ID); err != nil && c.ID != "" {
		faults = append(faults, errors.New("SERVICE_CREDENTIAL_ID is not a svc_ identifier"))
	}
	if c.Secret != "" && !secretForm.MatchString(c.Secret.Reveal()) {
		faults = append(faults, errors.New("SERVICE_CREDENTIAL_SECRET must have 64 hexadecimal characters"))
	}
	return errors.Join(faults...)
}

// Source returns the source of the service's own tokens, which the auth service at conn
// issues.
func (c Credential) Source(conn *grpc.ClientConn) *token.Source {
	auth := authv1.NewTokenServiceClient(conn)
	return token.NewSource(func(ctx context.Context) (string, time.Time, error) {
		requested := time.Now()
		res, err := auth.IssueToken(ctx, &authv1.IssueTokenRequest{ClientId: c.ID, ClientSecret: c.Secret.Reveal()})
		if err != nil {
			return "", time.Time{}, err
		}
		return res.GetAccessToken(), requested.Add(time.Duration(res.GetExpiresIn()) * time.Second), nil
	})
}
