package pass

import (
	"context"

	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
)

// ListCompanyLedgerEntries implements PassService.
func (s *Server) ListCompanyLedgerEntries(ctx context.Context, req *passv1.ListCompanyLedgerEntriesRequest) (*passv1.ListCompanyLedgerEntriesResponse, error) {
	company, err := s.tenant(ctx)
	if err != nil {
		return nil, err
	}
	q, err := companyLedgerOf(req)
	if err != nil {
		return nil, err
	}
	entries, total, err := s.store.companyLedger(ctx, company.ID, q)
	if err != nil {
		return nil, err
	}
	resp := &passv1.ListCompanyLedgerEntriesResponse{Total: total}
	if len(entries) > q.page.Size {
		entries = entries[:q.page.Size]
		resp.NextPageToken = entries[q.page.Size-1].position().token()
	}
	for _, e := range entries {
		resp.Entries = append(resp.Entries, &passv1.CompanyLedgerEntry{
			CustomerPassId: e.Pass.String(), CustomerId: e.Customer.String(), PassTitle: e.Title, Entry: ledgerMessage(e.LedgerEntry, company.zone),
		})
	}
	return resp, nil
}
