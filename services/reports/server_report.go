package reports

import (
	"context"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/check"
	"reservation.dev/platform/tenancy"
	reportsv1 "reservation.dev/proto/gen/reservation/reports/v1"
)

// maxRows is the number of rows by product, event or pass type that a report lists.
const maxRows = 500

// report is the beginning of a report: what is compared, and up to when it is complete.
type report struct {
	compared
	head *reportsv1.Compared
}

// begin reads the span of a request and finds the generation that the report reads.
func (s *Server) begin(ctx context.Context, company tenancy.Company, in *reportsv1.Span) (report, error) {
	return s.beginWith(ctx, company, in, s.today(company).month(), monthEnd)
}

// beginWith is begin for a report whose default span starts on a day and ends as end says.
func (s *Server) beginWith(ctx context.Context, company tenancy.Company, in *reportsv1.Span, start Day, end func(from Day) Day) (report, error) {
	sp, err := readSpan(in, start, end)
	if err != nil {
		return report{}, err
	}
	r := report{compared: compared{company: company.ID, span: sp, before: sp.before()}}
	shown, err := s.shown(ctx, company)
	if err != nil {
		return report{}, err
	}
	r.generation = shown.generation
	r.head = &reportsv1.Compared{Span: sp.proto(), Before: r.before.proto(), AsOf: shown.asOf, Complete: shown.complete}
	return r, nil
}

// today returns the company's day.
func (s *Server) today(company tenancy.Company) Day {
	return localDay(company.Now(s.now()), company.Timezone)
}

// shown is the generation that reports read.
type shown struct {
	generation int64
	timezone   string
	complete   bool
	asOf       *timestamppb.Timestamp // unset if it is not complete
}

// shown returns the generation that reports of a company read: the current one, and before the first build has
// ended, the one that is being built. If there is none, it starts a build.
func (s *Server) shown(ctx context.Context, company tenancy.Company) (shown, error) {
	st, err := s.store.status(ctx, company.ID)
	if err != nil {
		return shown{}, err
	}
	if len(st.generations) == 0 {
		if st, err = s.start(ctx, company, func(l locked) bool { return len(l.live) == 0 }); err != nil {
			return shown{}, err
		}
	}
	if g := st.of(stateCurrent); g != nil {
		return shown{generation: g.Number, timezone: g.Timezone, complete: true, asOf: instant(s.intake.complete(g))}, nil
	}
	if g := st.of(stateBuilding); g != nil {
		return shown{generation: g.Number, timezone: g.Timezone}, nil
	}
	return shown{}, nil
}

// start starts a build of a company if isNeeded says so, and returns the state after it.
func (s *Server) start(ctx context.Context, company tenancy.Company, isNeeded func(locked) bool) (status, error) {
	if err := s.store.begin(ctx, company.ID, company.Timezone, isNeeded, s.now()); err != nil {
		return status{}, err
	}
	return s.store.status(ctx, company.ID)
}

// instant converts an instant; the zero time is unset.
func instant(at time.Time) *timestamppb.Timestamp {
	if at.IsZero() {
		return nil
	}
	return timestamppb.New(at)
}

// currencyOf reads the currency of a request.
func currencyOf(company tenancy.Company, code string) (string, error) {
	if code == "" {
		return company.Currency, nil
	}
	var f check.Fields
	f.Currency("currency", code)
	return code, f.Err()
}
