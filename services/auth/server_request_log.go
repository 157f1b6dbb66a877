package auth

import (
	"context"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/page"
	"reservation.dev/platform/rpc"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

// mostRequestsCounted limits the total of a list of requests.
const mostRequestsCounted = 10_000

// ListRequests implements RequestLogService.
func (s *Server) ListRequests(ctx context.Context, req *authv1.ListRequestsRequest) (*authv1.ListRequestsResponse, error) {
	company, err := rpc.Tenant(ctx)
	if err != nil {
		return nil, err
	}
	filter, err := requestFilterOf(req)
	if err != nil {
		return nil, err
	}
	p, err := page.Read(page.Of(req), latestRequests(), page.Sizes{Default: 50, Max: 200})
	if err != nil {
		return nil, err
	}
	if err := s.findRequestID(ctx, company, &filter); err != nil {
		return nil, err
	}
	list, err := s.store.requests(ctx, company, filter, p)
	if err != nil || !filter.fits(list) {
		return &authv1.ListRequestsResponse{}, err
	}
	list, next := page.Cut(p, list, func(r *LoggedRequest) page.Cursor { return page.Cursor{ID: r.ID.UUID()} })
	resp := &authv1.ListRequestsResponse{Requests: requestMessages(list), NextPageToken: next}
	if req.GetWithTotal() {
		resp.Total, err = s.store.countRequests(ctx, company, filter, mostRequestsCounted)
	}
	return resp, err
}

// latestRequests is the order of the request log.
func latestRequests() page.Order { return page.Order{Code: 'r', Desc: true} }

// findRequestID narrows a filter by request id to one request, if the platform chose the id: it is then
// the identifier of the request. Otherwise the id is what the caller sent, perhaps several times.
func (s *Server) findRequestID(ctx context.Context, company id.Company, f *requestFilter) error {
	u, err := id.ParseUUID(f.requestID)
	if err != nil || u.IsZero() {
		return nil
	}
	r, err := s.store.request(ctx, company, id.LoggedRequest(u))
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	if err == nil && r.RequestID == nil {
		f.requestID, f.only = "", &r.ID
	}
	return err
}

// GetRequest implements RequestLogService.
func (s *Server) GetRequest(ctx context.Context, req *authv1.GetRequestRequest) (*authv1.GetRequestResponse, error) {
	company, err := rpc.Tenant(ctx)
	if err != nil {
		return nil, err
	}
	request, err := id.Parse[id.LoggedRequest](req.GetId())
	if err != nil {
		return nil, fault.Missing("request")
	}
	r, err := s.store.request(ctx, company, request)
	if err != nil {
		return nil, err
	}
	return &authv1.GetRequestResponse{Request: requestMessage(&r)}, nil
}
