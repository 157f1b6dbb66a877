package gatewayb

import (
	"context"
	"slices"
	"strconv"

	"reservation.dev/platform/edge"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/resource"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	edgebv1 "reservation.dev/proto/gen/reservation/edge/b/v1"
)

// ListRequests is GET /requests.
func (f *facade) ListRequests(ctx context.Context, req *edgebv1.ListRequestsRequest) (*edgebv1.ListRequestsResponse, error) {
	var q edge.Query
	p := newPage(&q, parameters{page: req.Page, perPage: req.PerPage, cursor: req.Cursor}, 1)
	list := &authv1.ListRequestsRequest{
		PageSize: p.size, PageToken: p.cursor, Offset: p.offset(), WithTotal: true,
		CredentialId: identifier(req.CredentialId), Interface: edge.QueryEnum[authv1.PublicInterface](&q, "interface", req.Interface),
		Method: queryMethod(&q, req.Method), Since: q.Instant("since", req.Since), Until: q.Instant("until", req.Until), RequestId: identifier(req.RequestId),
	}
	list.MinStatus, list.MaxStatus = queryStatus(&q, req.Status)
	if err := q.Err(); err != nil {
		return nil, err
	}
	res, err := f.requests.ListRequests(ctx, list)
	if err != nil {
		return nil, err
	}
	return &edgebv1.ListRequestsResponse{
		Requests: edge.Convert(res.GetRequests(), resource.LoggedRequest),
		Total:    res.GetTotal(), Page: p.number, PerPage: p.size, NextCursor: nextCursor(res.GetNextPageToken()),
	}, nil
}

// GetRequest is GET /requests/{id}.
func (f *facade) GetRequest(ctx context.Context, req *edgebv1.GetRequestRequest) (*edgebv1.GetRequestResponse, error) {
	res, err := f.requests.GetRequest(ctx, &authv1.GetRequestRequest{Id: req.GetId()})
	if err != nil {
		return nil, err
	}
	return &edgebv1.GetRequestResponse{Request: resource.LoggedRequest(res.GetRequest())}, nil
}

// queryMethod reads the method of an operation. It returns "" if the parameter is absent.
func queryMethod(q *edge.Query, method *string) string {
	if method == nil {
		return ""
	}
	methods := []string{"GET", "POST", "PUT", "PATCH", "DELETE"}
	if !slices.Contains(methods, *method) {
		q.Fail(fault.InvalidParameter("method", "enum", fault.OneOf(methods)))
	}
	return *method
}

// queryStatus reads a status, a class of them or "error", and returns the lowest and the highest status.
// It returns 0 if the parameter is absent.
func queryStatus(q *edge.Query, status *string) (lowest, highest int32) {
	if status == nil {
		return 0, 0
	}
	switch *status {
	case "2xx", "3xx", "4xx", "5xx":
		lowest = int32((*status)[0]-'0') * 100
		return lowest, lowest + 99
	case "error":
		return 400, 599
	}
	exact, err := strconv.Atoi(*status)
	if err != nil || exact < 100 || exact > 599 {
		q.Fail(fault.InvalidParameter("status", "format", "must be a status such as 404, a class such as 4xx, or error"))
	}
	return int32(exact), int32(exact)
}
