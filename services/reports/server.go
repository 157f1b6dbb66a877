package reports

import (
	"log/slog"
	"time"

	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/tenancy"
	reportsv1 "reservation.dev/proto/gen/reservation/reports/v1"
)

// Server implements ReportService and ReportMaintenanceService.
type Server struct {
	reportsv1.UnimplementedReportServiceServer
	reportsv1.UnimplementedReportMaintenanceServiceServer

	store     *store
	companies *tenancy.Companies
	intake    *Intake
	builder   *Builder
	metrics   *metrics
	now       func() time.Time
}

// NewServer returns a server with its intake of events and its builder.
func NewServer(db *pg.DB, companies *tenancy.Companies, snapshots *Snapshots, log *slog.Logger) *Server {
	s, m := newStore(db), newMetrics()
	return &Server{
		store: s, companies: companies, metrics: m, now: time.Now,
		intake:  &Intake{store: s, companies: companies, metrics: m, log: log, published: snapshots.publishedUntil, now: time.Now},
		builder: &Builder{store: s, snapshots: snapshots, metrics: m, log: log, now: time.Now, newID: id.NewUUID},
	}
}

// NewCompanies returns the copy of companies in db, which fetches missing companies from auth.
func NewCompanies(db *pg.DB, auth tenancy.Auth) *tenancy.Companies {
	return tenancy.New(db, auth, tenancy.Timezone(), tenancy.Currency(), tenancy.ClockOffset())
}
