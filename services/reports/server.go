package reports

import (
	"reservation.dev/platform/pg"
	"reservation.dev/platform/tenancy"
	reportsv1 "reservation.dev/proto/gen/reservation/reports/v1"
)

// Server implements ReportService and ReportMaintenanceService.
type Server struct {
	reportsv1.UnimplementedReportServiceServer
	reportsv1.UnimplementedReportMaintenanceServiceServer

	companies *tenancy.Companies
}

// NewServer returns a server.
func NewServer(companies *tenancy.Companies) *Server { return &Server{companies: companies} }

// NewCompanies returns the copy of companies in db, which fetches missing companies from auth.
func NewCompanies(db *pg.DB, auth tenancy.Auth) *tenancy.Companies {
	return tenancy.New(db, auth, tenancy.Timezone(), tenancy.Currency(), tenancy.ClockOffset())
}
