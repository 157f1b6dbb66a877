package reservectl

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	reportsv1 "reservation.dev/proto/gen/reservation/reports/v1"
)

func (a *app) reportCommand() *cobra.Command {
	return a.callGroup("report", "Read reports of takings, attendance, credits and customers, and build them again", []call{
		{
			use: "takings", short: "Show the money that was taken and refunded", method: reportsv1.ReportService_GetTakings_FullMethodName, into: "span",
			print:    []string{"compared", "currency", "currencies", "total", "total_before", "rows"},
			examples: []string{"", "--from 2026-03-01 --to 2026-03-31 --group-by method", "--group-by product -o json"},
		},
		{
			use: "attendance", short: "Show how event dates were booked and attended", method: reportsv1.ReportService_GetAttendance_FullMethodName, into: "span",
			print:    []string{"compared", "total", "total_before", "rows"},
			examples: []string{"", "--from 2026-03-01 --to 2026-03-31 --group-by weekday"},
		},
		{
			use: "credits", short: "Show the credits of passes, what changed them, and what they are worth", method: reportsv1.ReportService_GetCredits_FullMethodName, into: "span", hidden: []string{"span.week_start"},
			print:    []string{"compared", "currency", "currencies", "total", "total_before", "rows"},
			examples: []string{"", "--from 2026-03-01 --to 2026-03-31 --currency EUR"},
		},
		{
			use: "customers", short: "Show how many customers are new, active and lost", method: reportsv1.ReportService_GetCustomers_FullMethodName, into: "span",
			print:    []string{"compared", "total", "total_before", "rows"},
			examples: []string{"", "--from 2026-01-01 --to 2026-03-31 --period week"},
		},
		{
			use: "expiring-passes", short: "List the customer passes with credits left that expire", method: reportsv1.ReportService_ListExpiringPasses_FullMethodName, into: "span", hidden: []string{"span.week_start"},
			columns:  []string{"customer_pass_id", "customer_id", "title", "expiry_date", "remaining_uses", "unlimited_uses", "worth", "currency"},
			none:     "no passes expire",
			examples: []string{"", "--from 2026-03-01 --to 2026-03-31 --limit 0"},
		},
		{
			use: "expiring", short: "Show how many customer passes with credits left expire", method: reportsv1.ReportService_SumExpiringPasses_FullMethodName, into: "span",
			print:    []string{"compared", "currency", "currencies", "total", "total_before", "rows"},
			examples: []string{"", "--from 2026-03-01 --to 2026-03-31 --group-by pass_type"},
		},
		{
			use: "status", short: "Show up to when the reports are complete, and how far a build is", method: reportsv1.ReportMaintenanceService_GetReportStatus_FullMethodName,
		},
	}, a.reportRebuild())
}

// buildPoll is how often the command asks how far a build is.
const buildPoll = time.Second

func (a *app) reportRebuild() *cobra.Command {
	var wait bool
	c := &cobra.Command{
		Use: "rebuild", Short: "Build the reports again, from the services that own the data", Args: exactly(), ValidArgsFunction: cobra.NoFileCompletions,
		Long: `rebuild starts to build the reports of the company again, from the services that
own the data. Reports show the present numbers until the new ones are complete.
If a build is in progress, the command starts no second one.`,
		Example:     "  reservectl report rebuild --company comp_…\n  reservectl report rebuild --company comp_… --wait",
		Annotations: map[string]string{methodAnnotation: reportsv1.ReportMaintenanceService_RebuildReports_FullMethodName},
	}
	c.Flags().BoolVar(&wait, "wait", false, "wait until the reports are built, and print the progress")
	c.RunE = func(c *cobra.Command, _ []string) error { return a.rebuildReports(c.Context(), wait) }
	return c
}

func (a *app) rebuildReports(ctx context.Context, wait bool) error {
	s, err := a.reports(ctx)
	if err != nil {
		return err
	}
	defer s.close()
	client := reportsv1.NewReportMaintenanceServiceClient(s.conn)
	res, err := client.RebuildReports(s.ctx, &reportsv1.RebuildReportsRequest{})
	if err != nil {
		return err
	}
	status := res.GetStatus()
	for shown := ""; wait && status.GetBuilding(); {
		if progress := buildProgress(status); progress != shown {
			fmt.Fprintln(a.errOut, progress)
			shown = progress
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(buildPoll):
		}
		res, err := client.GetReportStatus(s.ctx, &reportsv1.GetReportStatusRequest{})
		if err != nil {
			return err
		}
		status = res.GetStatus()
	}
	return a.printOne(rowOf(status.ProtoReflect()))
}

// buildProgress describes how far a build is.
func buildProgress(s *reportsv1.ReportStatus) string {
	text := fmt.Sprintf("building: %s, %d rows read", s.GetStep(), s.GetRows())
	if s.GetFailure() != "" {
		text += "; the last attempt failed and is repeated: " + s.GetFailure()
	}
	return text
}
