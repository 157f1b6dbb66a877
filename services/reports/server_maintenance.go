package reports

import (
	"context"

	reportsv1 "reservation.dev/proto/gen/reservation/reports/v1"
)

// RebuildReports implements ReportMaintenanceService.
func (s *Server) RebuildReports(ctx context.Context, _ *reportsv1.RebuildReportsRequest) (*reportsv1.RebuildReportsResponse, error) {
	company, err := s.companies.Of(ctx)
	if err != nil {
		return nil, err
	}
	st, err := s.start(ctx, company, func(l locked) bool { return !l.isBuilding() })
	if err != nil {
		return nil, err
	}
	return &reportsv1.RebuildReportsResponse{Status: s.statusOf(st)}, nil
}

// GetReportStatus implements ReportMaintenanceService.
func (s *Server) GetReportStatus(ctx context.Context, _ *reportsv1.GetReportStatusRequest) (*reportsv1.GetReportStatusResponse, error) {
	company, err := s.companies.Of(ctx)
	if err != nil {
		return nil, err
	}
	st, err := s.store.status(ctx, company.ID)
	if err == nil && len(st.generations) == 0 {
		st, err = s.start(ctx, company, func(l locked) bool { return len(l.live) == 0 })
	}
	if err != nil {
		return nil, err
	}
	return &reportsv1.GetReportStatusResponse{Status: s.statusOf(st)}, nil
}

func (s *Server) statusOf(st status) *reportsv1.ReportStatus {
	out := &reportsv1.ReportStatus{}
	if g := st.of(stateCurrent); g != nil {
		out.Generation, out.AsOf = g.Number, instant(s.intake.complete(g))
		if g.BuiltAt != nil {
			out.BuiltAt = instant(*g.BuiltAt)
		}
	}
	if g := st.of(stateBuilding); g != nil {
		out.Building, out.Step, out.Rows, out.StartedAt, out.Failure = true, shownStep(g.Step), g.Rows, instant(g.StartedAt), g.Failure
	}
	return out
}
