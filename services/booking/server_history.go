package booking

import (
	"context"

	"reservation.dev/platform/check"
	"reservation.dev/platform/id"
	"reservation.dev/platform/page"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/convert"
	"reservation.dev/services/booking/model"
	"reservation.dev/services/booking/store"
)

// ListBookingHistory implements BookingChangeService.
func (s *Server) ListBookingHistory(ctx context.Context, req *bookingv1.ListBookingHistoryRequest) (*bookingv1.ListBookingHistoryResponse, error) {
	company, err := s.companies.Claimed(ctx)
	if err != nil {
		return nil, err
	}
	which, err := check.ID[id.Booking](req.GetBookingId(), "booking")
	if err != nil {
		return nil, err
	}
	p, err := page.Read(page.Of(req), store.HistoryOf(which), pageSizes())
	if err != nil {
		return nil, err
	}
	found, total, err := s.store.History(ctx, company.ID, which, p)
	if err != nil {
		return nil, err
	}
	resp := &bookingv1.ListBookingHistoryResponse{Total: total}
	found, resp.NextPageToken = page.Cut(p, found, func(e *model.HistoryEntry) page.Cursor { return page.Cursor{Key: int64(e.Sequence)} })
	for i := range found {
		resp.Entries = append(resp.Entries, convert.HistoryEntry(&found[i]))
	}
	return resp, nil
}
