package auth

import (
	"context"
	"log/slog"
	"time"

	"google.golang.org/grpc"

	"reservation.dev/platform/id"
	"reservation.dev/platform/outbox"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/rpc"
	"reservation.dev/platform/seal"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

// Server implements the RPCs of the auth service. Each file server_*.go has those of one subject.
type Server struct {
	authv1.UnimplementedCompanyServiceServer
	authv1.UnimplementedApiClientServiceServer
	authv1.UnimplementedApiKeyServiceServer
	authv1.UnimplementedServiceCredentialServiceServer
	authv1.UnimplementedPublishableKeyServiceServer
	authv1.UnimplementedTokenServiceServer
	authv1.UnimplementedSigningKeyServiceServer
	authv1.UnimplementedAdministratorServiceServer
	authv1.UnimplementedAuditServiceServer
	authv1.UnimplementedTestModeServiceServer
	authv1.UnimplementedRequestLogServiceServer
	authv1.UnimplementedDirectoryServiceServer

	store         *store
	outbox        *outbox.Outbox
	keys          *keyring
	companyCopies companyCopies
	testData      testData
	events        interface{ AwaitHandled(context.Context) error }
	throttle      *throttle
	passwords     *passwords
	sealer        *seal.Sealer
	sessions      sessionTimes
	log           *slog.Logger
	now           func() time.Time
	newID         func() id.UUID
}

// NewServer returns a server on db, which appends its events to box and signs
// with keys of the ring.
func NewServer(db *pg.DB, box *outbox.Outbox, keys *keyring, sessions sessionTimes, log *slog.Logger) *Server {
	return &Server{
		store: newStore(db), outbox: box, keys: keys, throttle: newThrottle(time.Now), passwords: newPasswords(usualCost()),
		sealer: keys.sealer, sessions: sessions, log: log, now: time.Now, newID: id.NewUUID,
	}
}

// register adds the services that s implements to a gRPC server.
func (s *Server) register(srv grpc.ServiceRegistrar) {
	authv1.RegisterCompanyServiceServer(srv, s)
	authv1.RegisterApiClientServiceServer(srv, s)
	authv1.RegisterApiKeyServiceServer(srv, s)
	authv1.RegisterServiceCredentialServiceServer(srv, s)
	authv1.RegisterPublishableKeyServiceServer(srv, s)
	authv1.RegisterTokenServiceServer(srv, s)
	authv1.RegisterSigningKeyServiceServer(srv, s)
	authv1.RegisterAdministratorServiceServer(srv, s)
	authv1.RegisterAuditServiceServer(srv, s)
	authv1.RegisterTestModeServiceServer(srv, s)
	authv1.RegisterRequestLogServiceServer(srv, s)
	authv1.RegisterDirectoryServiceServer(srv, s)
}

// instant returns the current time in the precision of PostgreSQL.
func (s *Server) instant() time.Time { return pg.Instant(s.now()) }

// isPlatform reports whether a call is the platform's own: by a platform credential, and for no
// company.
func isPlatform(ctx context.Context) bool {
	claims := rpc.ClaimsFrom(ctx)
	return claims != nil && claims.IsAdmin() && rpc.Company(ctx).IsZero()
}
