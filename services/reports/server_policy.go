package reports

import (
	"reservation.dev/platform/rpc"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	reportsv1 "reservation.dev/proto/gen/reservation/reports/v1"
)

// Policy returns which callers each RPC accepts, as declared in the protos.
func Policy() rpc.Policy {
	return rpc.PolicyOf(
		&reportsv1.ReportService_ServiceDesc,
		&reportsv1.ReportMaintenanceService_ServiceDesc,
		&authv1.CompanyCopyService_ServiceDesc,
		&authv1.TestDataService_ServiceDesc,
	)
}
