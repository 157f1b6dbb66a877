package pass

import (
	"context"
	"time"

	"google.golang.org/grpc"

	"reservation.dev/platform/check"
	"reservation.dev/platform/id"
	"reservation.dev/platform/page"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
)

const (
	// snapshotTypes is the number of pass types in a message of a snapshot.
	snapshotTypes = 500
	// snapshotPasses is the number of customer passes that a snapshot reads at a time, and snapshotEntries the
	// number of ledger entries in a message.
	snapshotPasses  = 100
	snapshotEntries = 1000
)

// StreamPassTypes implements PassSnapshotService.
func (s *Server) StreamPassTypes(req *passv1.StreamPassTypesRequest, out grpc.ServerStreamingServer[passv1.StreamPassTypesResponse]) error {
	company, err := s.tenant(out.Context())
	if err != nil {
		return err
	}
	after, err := check.After[id.PassType]("after_id", req.GetAfterId())
	if err != nil {
		return err
	}
	return page.Keyset[id.PassType, PassType]{
		Size: snapshotTypes, Key: func(t *PassType) id.PassType { return t.ID },
		Read: func(ctx context.Context, after id.PassType) ([]PassType, error) {
			return s.store.snapshotTypes(ctx, company.ID, after, snapshotTypes)
		},
		Send: func(all []PassType) error {
			resp := &passv1.StreamPassTypesResponse{PassTypes: make([]*passv1.PassType, len(all))}
			for n, t := range all {
				resp.PassTypes[n] = passTypeMessage(t)
			}
			return out.Send(resp)
		},
	}.Stream(out.Context(), after)
}

// StreamCustomerPasses implements PassSnapshotService.
func (s *Server) StreamCustomerPasses(req *passv1.StreamCustomerPassesRequest, out grpc.ServerStreamingServer[passv1.StreamCustomerPassesResponse]) error {
	company, err := s.tenant(out.Context())
	if err != nil {
		return err
	}
	after, err := check.After[id.CustomerPass]("after_id", req.GetAfterId())
	if err != nil {
		return err
	}
	x := passStream{store: s.store, company: company, today: s.today(company), out: out}
	return page.Keyset[id.CustomerPass, CustomerPass]{
		Size: snapshotPasses, Key: func(p *CustomerPass) id.CustomerPass { return p.ID },
		Read: func(ctx context.Context, after id.CustomerPass) ([]CustomerPass, error) {
			return s.store.snapshotPasses(ctx, company.ID, after, snapshotPasses)
		},
		Send: x.send,
	}.Stream(out.Context(), after)
}

// passStream sends passes with their ledgers.
type passStream struct {
	store   *store
	company tenant
	today   time.Time
	out     grpc.ServerStreamingServer[passv1.StreamCustomerPassesResponse]
	next    []*passv1.CustomerPassSnapshot // of the next message
	entries int                            // in next
}

// send sends a page of passes. A pass whose entries do not fit in one message is sent several times.
func (x *passStream) send(passes []CustomerPass) error {
	ids := make([]id.CustomerPass, len(passes))
	for n := range passes {
		ids[n] = passes[n].ID
	}
	first, err := x.store.snapshotLedgers(x.out.Context(), x.company.ID, ids, 0, snapshotEntries)
	if err != nil {
		return err
	}
	for n := range passes {
		p := &passes[n]
		for entries := first[p.ID]; ; {
			if err := x.add(p, entries); err != nil {
				return err
			}
			if len(entries) < snapshotEntries {
				break
			}
			more, err := x.store.snapshotLedgers(x.out.Context(), x.company.ID, []id.CustomerPass{p.ID}, entries[len(entries)-1].Sequence, snapshotEntries)
			if err != nil {
				return err
			}
			if entries = more[p.ID]; len(entries) == 0 {
				break
			}
		}
	}
	return x.flush()
}

// add adds a pass to the next message.
func (x *passStream) add(p *CustomerPass, entries []LedgerEntry) error {
	if x.entries > 0 && x.entries+len(entries) > snapshotEntries {
		if err := x.flush(); err != nil {
			return err
		}
	}
	x.entries += len(entries)
	x.next = append(x.next, &passv1.CustomerPassSnapshot{
		CustomerPass: customerPassMessage(*p, x.company.zone, x.today), LedgerEntries: ledgerMessages(entries, x.company.zone),
	})
	return nil
}

func (x *passStream) flush() error {
	if len(x.next) == 0 {
		return nil
	}
	err := x.out.Send(&passv1.StreamCustomerPassesResponse{CustomerPasses: x.next})
	x.next, x.entries = nil, 0
	return err
}
