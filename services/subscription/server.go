package subscription

import (
	"context"
	"log/slog"
	"time"

	"reservation.dev/platform/customers"
	"reservation.dev/platform/id"
	"reservation.dev/platform/outbox"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/rpc"
	"reservation.dev/platform/scopes"
	"reservation.dev/platform/tenancy"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	subscriptionv1 "reservation.dev/proto/gen/reservation/subscription/v1"
)

// Server implements PlanService, SubscriptionService and SubscriptionSnapshotService. The server_*.go files have the RPCs, advance.go
// and pass_sync.go the jobs.
type Server struct {
	subscriptionv1.UnimplementedPlanServiceServer
	subscriptionv1.UnimplementedSubscriptionServiceServer
	subscriptionv1.UnimplementedSubscriptionSnapshotServiceServer
	customerv1.UnimplementedCustomerDeletionServiceServer

	store     *store
	outbox    *outbox.Outbox
	companies *tenancy.Companies
	customers customers.Lookup
	passes    Passes
	media     Media
	log       *slog.Logger
	metrics   *metrics
	now       func() time.Time
	newID     func() id.UUID
	limits    limits
}

// NewServer returns a server that uses db, appends its events to box, and calls other services to look up
// companies, customers and collections, and to keep the passes.
func NewServer(db *pg.DB, box *outbox.Outbox, companies *tenancy.Companies, lookup customers.Lookup, passes Passes, media Media, log *slog.Logger) *Server {
	return &Server{
		store: newStore(db), outbox: box, companies: companies, customers: lookup, passes: passes, media: media, log: log,
		metrics: newMetrics(), now: time.Now, newID: id.NewUUID, limits: usualLimits(),
	}
}

// NewCompanies returns the copy of companies in db, which fetches missing companies from auth.
func NewCompanies(db *pg.DB, auth tenancy.Auth) *tenancy.Companies {
	return tenancy.New(db, auth, tenancy.Timezone(), tenancy.Currency(), tenancy.ClockOffset())
}

// tenant is the company of a request or of a job's work, with its time zone.
type tenant struct {
	tenancy.Company
	zone *time.Location
}

func (s *Server) tenant(ctx context.Context) (tenant, error) {
	company, err := s.companies.Of(ctx)
	if err != nil {
		return tenant{}, err
	}
	zone, err := company.Location()
	return tenant{Company: company, zone: zone}, err
}

// tenantOf is tenant for work without a request. It reads the copy, or fetches the company from auth.
func (s *Server) tenantOf(ctx context.Context, company id.Company) (tenant, error) {
	var kept tenancy.Company
	err := s.store.ReadOf(ctx, company, s.companies.Query(company, &kept))
	if err == nil && kept.ID.IsZero() {
		kept, err = s.companies.Fetch(ctx, company)
	}
	if err != nil {
		return tenant{}, err
	}
	zone, err := kept.Location()
	return tenant{Company: kept, zone: zone}, err
}

// clock returns the time of a company, by which the service decides and which resources show.
func (s *Server) clock(company tenant) time.Time { return pg.Instant(company.Now(s.now())) }

// seesOnlyCatalog reports whether the caller has catalog:read instead of plans:read, and so sees only the
// plans that are on offer.
func seesOnlyCatalog(ctx context.Context) bool {
	claims := rpc.ClaimsFrom(ctx)
	return claims != nil && !claims.Has(scopes.PlansRead)
}
