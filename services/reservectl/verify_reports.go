package reservectl

import (
	"context"

	reportsv1 "reservation.dev/proto/gen/reservation/reports/v1"
)

// reports compares the sums of reports with the facts that they add up.
func (v *verification) reports(ctx context.Context, client reportsv1.ReportMaintenanceServiceClient) error {
	stream, err := client.VerifyReports(ctx, &reportsv1.VerifyReportsRequest{})
	if err != nil {
		return err
	}
	return each(stream.Recv, func(res *reportsv1.VerifyReportsResponse) {
		v.checked += res.GetChecked()
		if d := res.GetDifference(); d != nil {
			v.add(d.GetWhat(), d.GetId(), d.GetStored(), d.GetComputed())
		}
	})
}
