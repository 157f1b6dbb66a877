package reports

import (
	"context"
	"slices"

	"google.golang.org/grpc"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/tenancy"
	reportsv1 "reservation.dev/proto/gen/reservation/reports/v1"
)

// factChunk is the number of facts in one message.
const factChunk = 1000

// VerifyReports implements ReportMaintenanceService. Each comparison sees facts and sums at one moment.
func (s *Server) VerifyReports(req *reportsv1.VerifyReportsRequest, out grpc.ServerStreamingServer[reportsv1.VerifyReportsResponse]) error {
	ctx := out.Context()
	company, err := s.companies.Of(ctx)
	if err != nil {
		return err
	}
	kinds, named, err := readFacts(req)
	if err != nil {
		return err
	}
	var checked int64
	if named == nil {
		if checked, err = s.verifySums(ctx, company, out); err != nil {
			return err
		}
	}
	facts := &factSender{out: out}
	for _, kind := range kinds {
		// A generation that was replaced is deleted soon, so each kind is read from the one that is shown now.
		shown, err := s.shown(ctx, company)
		if err != nil {
			return err
		}
		facts.kind, facts.timezone = kind, shown.timezone
		if err := s.store.eachFact(ctx, company.ID, shown.generation, kind, named, facts.add); err != nil {
			return err
		}
		if err := facts.flush(); err != nil {
			return err
		}
	}
	return out.Send(&reportsv1.VerifyReportsResponse{Checked: checked + facts.sent, VerifiedAt: instant(s.now())})
}

// readFacts returns the kinds of facts that a request wants, and which facts; nil means all.
func readFacts(req *reportsv1.VerifyReportsRequest) (kinds []factKind, named []id.UUID, err error) {
	if req.GetKind() == "" {
		if len(req.GetIds()) > 0 {
			return nil, nil, fault.InvalidParameter("kind", "required", "is required with ids")
		}
		return factKinds, nil, nil
	}
	i := slices.IndexFunc(factKinds, func(k factKind) bool { return k.name == req.GetKind() })
	if i < 0 {
		return nil, nil, fault.InvalidParameter("kind", "enum", "must be one of booking, customer, customer_pass, event_date, subscription")
	}
	named = []id.UUID{}
	for _, text := range req.GetIds() {
		of, err := factKinds[i].parse(text)
		if err != nil {
			return nil, nil, fault.InvalidParameter("ids", "format", "must be identifiers of the kind "+req.GetKind())
		}
		named = append(named, of)
	}
	return factKinds[i : i+1], named, nil
}

// verifySums compares all sums with the facts, and returns the number of rows compared.
func (s *Server) verifySums(ctx context.Context, company tenancy.Company, out grpc.ServerStreamingServer[reportsv1.VerifyReportsResponse]) (checked int64, err error) {
	for _, v := range verifications {
		shown, err := s.shown(ctx, company)
		if err != nil {
			return checked, err
		}
		n, err := s.store.verify(ctx, company.ID, shown.generation, v, func(d difference) error {
			return out.Send(&reportsv1.VerifyReportsResponse{
				Difference: &reportsv1.ReportDifference{What: d.what, Id: d.id, Stored: d.stored, Computed: d.computed},
			})
		})
		if err != nil {
			return checked, err
		}
		checked += n
	}
	return checked, nil
}

// factSender sends facts in chunks.
type factSender struct {
	out      grpc.ServerStreamingServer[reportsv1.VerifyReportsResponse]
	kind     factKind
	timezone string
	chunk    []*reportsv1.ReportFact
	sent     int64
}

func (f *factSender) add(fact storedFact) error {
	f.chunk = append(f.chunk, f.kind.message(fact))
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
	err := f.out.Send(&reportsv1.VerifyReportsResponse{Facts: f.chunk, Timezone: f.timezone})
	f.chunk = nil
	return err
}

// message converts a fact.
func (k factKind) message(f storedFact) *reportsv1.ReportFact {
	refersTo := make([]string, len(f.refersTo))
	for i, of := range f.refersTo {
		refersTo[i] = k.refersTo[i](of)
	}
	return &reportsv1.ReportFact{
		Kind: k.name, Id: k.id(f.id), Version: f.version, Gross: f.gross, Net: f.net, Quantity: f.quantity, Status: f.status, Day: f.day,
		RefersTo: refersTo, Terms: f.terms, Entries: f.entries, EntriesDigest: f.digest,
	}
}
