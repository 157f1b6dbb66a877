package reports

import (
	"google.golang.org/grpc"

	"reservation.dev/platform/id"
	"reservation.dev/platform/privacy"
	reportsv1 "reservation.dev/proto/gen/reservation/reports/v1"
)

// factChunk is the number of facts in one message.
const factChunk = 1000

// factKinds are the kinds of facts, sorted by name.
var factKinds = []factKind{
	{"booking", bookingFactsSQL, privacy.Named[id.Booking]},
	{"customer", customerFactsSQL, privacy.Named[id.Customer]},
	{"customer_pass", passFactsSQL, privacy.Named[id.CustomerPass]},
	{"event_date", dateFactsSQL, privacy.Named[id.EventDate]},
	{"subscription", subscriptionFactsSQL, privacy.Named[id.Subscription]},
}

// VerifyReports implements ReportMaintenanceService. Each comparison sees facts and sums at one moment.
func (s *Server) VerifyReports(_ *reportsv1.VerifyReportsRequest, out grpc.ServerStreamingServer[reportsv1.VerifyReportsResponse]) error {
	ctx := out.Context()
	company, err := s.companies.Of(ctx)
	if err != nil {
		return err
	}
	shown, err := s.shown(ctx, company)
	if err != nil {
		return err
	}
	var checked int64
	for _, v := range verifications {
		n, err := s.store.verify(ctx, company.ID, shown.generation, v, func(d difference) error {
			return out.Send(&reportsv1.VerifyReportsResponse{
				Difference: &reportsv1.ReportDifference{What: d.what, Id: d.id, Stored: d.stored, Computed: d.computed},
			})
		})
		if err != nil {
			return err
		}
		checked += n
	}
	facts := &factSender{out: out}
	for _, kind := range factKinds {
		err := s.store.eachFact(ctx, company.ID, shown.generation, kind, func(f storedFact) error { return facts.add(kind, f) })
		if err != nil {
			return err
		}
	}
	if err := facts.flush(); err != nil {
		return err
	}
	return out.Send(&reportsv1.VerifyReportsResponse{Checked: checked + facts.sent})
}

// factSender sends facts in chunks.
type factSender struct {
	out   grpc.ServerStreamingServer[reportsv1.VerifyReportsResponse]
	chunk []*reportsv1.ReportFact
	sent  int64
}

func (f *factSender) add(kind factKind, fact storedFact) error {
	f.chunk = append(f.chunk, &reportsv1.ReportFact{
		Kind: kind.name, Id: kind.id(fact.id), Version: fact.version, Gross: fact.gross, Net: fact.net, Quantity: fact.quantity, Status: fact.status,
	})
	if len(f.chunk) < factChunk {
		return nil
	}
	return f.flush()
}

func (f *factSender) flush() error {
	if len(f.chunk) == 0 {
		return nil
	}
	f.sent += int64(len(f.chunk))
	err := f.out.Send(&reportsv1.VerifyReportsResponse{Facts: f.chunk})
	f.chunk = nil
	return err
}
