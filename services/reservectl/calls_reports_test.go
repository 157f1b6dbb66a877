package reservectl

import (
	"context"
	"strings"
	"testing"

	reportsv1 "reservation.dev/proto/gen/reservation/reports/v1"
)

func reportTests() []callTest {
	march := &reportsv1.Span{From: "2026-03-01", To: "2026-03-31"}
	return []callTest{
		{"report takings --from 2026-03-01 --to 2026-03-31 --group-by method --currency EUR", reportsv1.ReportService_GetTakings_FullMethodName, &reportsv1.GetTakingsRequest{
			Span: march, GroupBy: reportsv1.TakingsGrouping_TAKINGS_GROUPING_METHOD, Currency: "EUR",
		}},
		{"report takings", reportsv1.ReportService_GetTakings_FullMethodName, &reportsv1.GetTakingsRequest{}},
		{"report attendance --from 2026-03-01 --to 2026-03-31 --group-by weekday", reportsv1.ReportService_GetAttendance_FullMethodName, &reportsv1.GetAttendanceRequest{
			Span: march, GroupBy: reportsv1.AttendanceGrouping_ATTENDANCE_GROUPING_WEEKDAY,
		}},
		{"report credits --from 2026-03-01 --to 2026-03-31", reportsv1.ReportService_GetCredits_FullMethodName, &reportsv1.GetCreditsRequest{Span: march}},
		{"report customers --from 2026-03-01 --to 2026-03-31 --period week", reportsv1.ReportService_GetCustomers_FullMethodName, &reportsv1.GetCustomersRequest{
			Span: march, Period: reportsv1.Period_PERIOD_WEEK,
		}},
		{"report expiring-passes --from 2026-03-01 --to 2026-03-31", reportsv1.ReportService_ListExpiringPasses_FullMethodName, &reportsv1.ListExpiringPassesRequest{Span: march, PageSize: 50}},
		{"report expiring --from 2026-03-01 --to 2026-03-31 --group-by pass_type", reportsv1.ReportService_SumExpiringPasses_FullMethodName, &reportsv1.SumExpiringPassesRequest{
			Span: march, GroupBy: reportsv1.ExpiringGrouping_EXPIRING_GROUPING_PASS_TYPE,
		}},
		{"report status", reportsv1.ReportMaintenanceService_GetReportStatus_FullMethodName, &reportsv1.GetReportStatusRequest{}},
		{"report rebuild", reportsv1.ReportMaintenanceService_RebuildReports_FullMethodName, &reportsv1.RebuildReportsRequest{}},
	}
}

// buildWorld is a reports service with a build that ends when its status has been read twice.
type buildWorld struct {
	reportsv1.UnimplementedReportMaintenanceServiceServer
	reads int
}

func (w *buildWorld) RebuildReports(context.Context, *reportsv1.RebuildReportsRequest) (*reportsv1.RebuildReportsResponse, error) {
	return &reportsv1.RebuildReportsResponse{Status: &reportsv1.ReportStatus{Generation: 1, Building: true, Step: "events"}}, nil
}

func (w *buildWorld) GetReportStatus(context.Context, *reportsv1.GetReportStatusRequest) (*reportsv1.GetReportStatusResponse, error) {
	w.reads++
	if w.reads == 1 {
		return &reportsv1.GetReportStatusResponse{Status: &reportsv1.ReportStatus{Generation: 1, Building: true, Step: "bookings", Rows: 1000, Failure: "booking is unavailable"}}, nil
	}
	return &reportsv1.GetReportStatusResponse{Status: &reportsv1.ReportStatus{Generation: 2}}, nil
}

func TestRebuild(t *testing.T) {
	w := newWorld(t)
	t.Run("returns at once unless it is to wait", func(t *testing.T) {
		if out := ok(t, "report", "rebuild", "-o", "json"); !strings.Contains(out, `"building": true`) || w.builds.reads != 0 {
			t.Errorf("read the status %d times, and printed %s", w.builds.reads, out)
		}
	})
	t.Run("waits for the end of the build, and prints its progress", func(t *testing.T) {
		r := run(t, "", "report", "rebuild", "--wait", "-o", "json")
		if r.code != 0 || !strings.Contains(r.out, `"generation": 2`) {
			t.Errorf("exit status %d, printed %s%s", r.code, r.out, r.errOut)
		}
		for _, want := range []string{"building: events, 0 rows read\n", "building: bookings, 1000 rows read; the last attempt failed and is repeated: booking is unavailable\n"} {
			if !strings.Contains(r.errOut, want) {
				t.Errorf("%q is missing in %q", want, r.errOut)
			}
		}
	})
}
