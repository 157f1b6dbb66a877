package gatewayb

import (
	"context"

	"reservation.dev/platform/edge"
	"reservation.dev/platform/resource"
	edgebv1 "reservation.dev/proto/gen/reservation/edge/b/v1"
	reportsv1 "reservation.dev/proto/gen/reservation/reports/v1"
)

// GetTakingsReport is GET /reports/takings.
func (f *facade) GetTakingsReport(ctx context.Context, req *edgebv1.GetTakingsReportRequest) (*edgebv1.GetTakingsReportResponse, error) {
	var q edge.Query
	by := edge.QueryEnum[reportsv1.TakingsGrouping](&q, "groupBy", req.GroupBy)
	get := &reportsv1.GetTakingsRequest{Span: querySpan(&q, req.From, req.To), GroupBy: by, Currency: identifier(req.Currency)}
	if err := q.Err(); err != nil {
		return nil, err
	}
	res, err := f.reports.GetTakings(ctx, get)
	if err != nil {
		return nil, err
	}
	return &edgebv1.GetTakingsReportResponse{Report: resource.TakingsReport(res, by)}, nil
}

// GetAttendanceReport is GET /reports/attendance.
func (f *facade) GetAttendanceReport(ctx context.Context, req *edgebv1.GetAttendanceReportRequest) (*edgebv1.GetAttendanceReportResponse, error) {
	var q edge.Query
	get := &reportsv1.GetAttendanceRequest{
		Span: querySpan(&q, req.From, req.To), GroupBy: edge.QueryEnum[reportsv1.AttendanceGrouping](&q, "groupBy", req.GroupBy),
	}
	if err := q.Err(); err != nil {
		return nil, err
	}
	res, err := f.reports.GetAttendance(ctx, get)
	if err != nil {
		return nil, err
	}
	return &edgebv1.GetAttendanceReportResponse{Report: resource.AttendanceReport(res)}, nil
}

// GetCreditsReport is GET /reports/credits.
func (f *facade) GetCreditsReport(ctx context.Context, req *edgebv1.GetCreditsReportRequest) (*edgebv1.GetCreditsReportResponse, error) {
	var q edge.Query
	get := &reportsv1.GetCreditsRequest{Span: querySpan(&q, req.From, req.To), Currency: identifier(req.Currency)}
	if err := q.Err(); err != nil {
		return nil, err
	}
	res, err := f.reports.GetCredits(ctx, get)
	if err != nil {
		return nil, err
	}
	return &edgebv1.GetCreditsReportResponse{Report: resource.CreditsReport(res)}, nil
}

// GetCustomersReport is GET /reports/customers.
func (f *facade) GetCustomersReport(ctx context.Context, req *edgebv1.GetCustomersReportRequest) (*edgebv1.GetCustomersReportResponse, error) {
	var q edge.Query
	get := &reportsv1.GetCustomersRequest{
		Span: querySpan(&q, req.From, req.To), Period: edge.QueryEnum[reportsv1.Period](&q, "period", req.Period),
	}
	if err := q.Err(); err != nil {
		return nil, err
	}
	res, err := f.reports.GetCustomers(ctx, get)
	if err != nil {
		return nil, err
	}
	return &edgebv1.GetCustomersReportResponse{Report: resource.CustomersReport(res)}, nil
}

// ListExpiringPasses is GET /reports/expiring-passes.
func (f *facade) ListExpiringPasses(ctx context.Context, req *edgebv1.ListExpiringPassesRequest) (*edgebv1.ListExpiringPassesResponse, error) {
	var q edge.Query
	p := newPage(&q, parameters{page: req.Page, perPage: req.PerPage, cursor: req.Cursor}, 0)
	list := &reportsv1.ListExpiringPassesRequest{Span: querySpan(&q, req.From, req.To), PageSize: p.size, PageToken: p.cursor, Offset: p.offset()}
	if err := q.Err(); err != nil {
		return nil, err
	}
	res, err := f.reports.ListExpiringPasses(ctx, list)
	if err != nil {
		return nil, err
	}
	return &edgebv1.ListExpiringPassesResponse{
		ExpiringPasses: edge.Convert(res.GetPasses(), resource.ExpiringPass),
		Total:          res.GetTotal(), Page: p.number, PerPage: p.size, NextCursor: nextCursor(res.GetNextPageToken()),
		AsOf: resource.ReportTime(res.GetAsOf()), Complete: res.GetComplete(),
	}, nil
}

// querySpan reads the first and the last day of a report. The service has the defaults.
func querySpan(q *edge.Query, from, to *string) *reportsv1.Span {
	return &reportsv1.Span{From: queryDay(q, "from", from), To: queryDay(q, "to", to)}
}
