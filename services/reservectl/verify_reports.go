package reservectl

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	reportsv1 "reservation.dev/proto/gen/reservation/reports/v1"
)

const (
	// statusPoll is how often verify fetches up to when reports are complete.
	statusPoll = 250 * time.Millisecond
	// factRounds is how often verify reads a thing that keeps changing.
	factRounds = 5
	// mostDiffering is the number of differing things of a kind that verify reads again.
	mostDiffering = 10_000
	// namedFacts is the number of facts that one request names.
	namedFacts = 500
)

// errNotYet ends a verification that could not compare everything.
var errNotYet = errors.New("not everything could be compared yet: run the command again")

// factVerification compares the facts of reports with the services that own the data. Sales can go on during the
// comparison. So it reads a thing that differs again when reports have all changes up to the first reading. The
// thing counts as a difference if it still differs, and its owner has not changed it in between.
type factVerification struct {
	*verification
	ctx    context.Context
	client reportsv1.ReportMaintenanceServiceClient
	owners owners
	wait   time.Duration
}

// differing is a thing of which reports and the owner have different values, or only one has it.
type differing struct {
	reported *reportsv1.ReportFact
	owned    *ownedFact
}

func (d differing) id() string {
	if d.owned != nil {
		return d.owned.GetId()
	}
	return d.reported.GetId()
}

func (d differing) key(k *ownedKind) string {
	if d.owned != nil {
		return k.key(d.owned.ReportFact)
	}
	return k.key(d.reported)
}

// reports compares the sums of reports with their facts, and the facts with their owners.
func (v *verification) reports(reports *session, o owners, wait time.Duration) error {
	f := &factVerification{verification: v, ctx: reports.ctx, client: reportsv1.NewReportMaintenanceServiceClient(reports.conn), owners: o, wait: wait}
	ctx, cancel := context.WithCancel(f.ctx)
	defer cancel()
	isBuilt, err := f.await(func(s *reportsv1.ReportStatus) bool { return s.GetGeneration() > 0 })
	if err != nil {
		return err
	}
	stream, err := f.client.VerifyReports(ctx, &reportsv1.VerifyReportsRequest{})
	if err != nil {
		return err
	}
	r := &factReader{recv: stream.Recv, verification: v}
	if !isBuilt {
		v.postpone("the first build of the reports has not ended; see reservectl report status")
		return r.drain()
	}
	kinds := f.owners.kinds()
	found := make([][]differing, len(kinds))
	for i, k := range kinds {
		if found[i], err = f.compare(ctx, r, k); err != nil {
			return err
		}
	}
	if err := r.drain(); err != nil {
		return err
	}
	for i, k := range kinds {
		if err := f.settle(k, found[i]); err != nil {
			return err
		}
	}
	return nil
}

// compare reads both sides of a kind, and returns what differs.
func (f *factVerification) compare(ctx context.Context, r *factReader, k *ownedKind) ([]differing, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	next, stop := pull(k.read(ctx, ""))
	defer stop()
	var found []differing
	more := 0
	left, right := &cursor[*reportedFact]{next: func() ([]*reportedFact, error) { return r.next(k.name) }}, &cursor[*ownedFact]{next: next}
	err := merge(left, right, func(l *reportedFact, r *ownedFact) int { return compareText(k.key(l.ReportFact), k.key(r.ReportFact)) },
		func(l *reportedFact, r *ownedFact) {
			d := differing{l.fact(), r.in(l)}
			if d.isSettled() {
				return
			}
			if len(found) < mostDiffering {
				found = append(found, d)
			} else {
				more++
			}
		})
	if more > 0 {
		f.add("report."+k.name+".more", "and others", more, 0)
	}
	return found, err
}

// settle reads what differs again, until it agrees, it is a difference, or it has changed too often.
func (f *factVerification) settle(k *ownedKind, found []differing) error {
	for range factRounds {
		if len(found) == 0 {
			return nil
		}
		isComplete, err := f.awaitReports()
		if err != nil || !isComplete {
			return err
		}
		if found, err = f.again(k, found); err != nil {
			return err
		}
	}
	if len(found) > 0 {
		f.postpone(fmt.Sprintf("%s kept changing, for example %s", quantity(len(found), "things of the kind "+k.name), found[0].id()))
	}
	return nil
}

// again reads things again: first reports, and then the owner. It returns those that differ and have changed.
func (f *factVerification) again(k *ownedKind, found []differing) (changed []differing, err error) {
	reported := map[string]*reportedFact{}
	for part := range slices.Chunk(found, namedFacts) {
		req := &reportsv1.VerifyReportsRequest{Kind: k.name}
		for _, d := range part {
			req.Ids = append(req.Ids, d.id())
		}
		if err := f.named(req, reported); err != nil {
			return nil, err
		}
	}
	keys := make([]string, len(found))
	for i, d := range found {
		keys[i] = d.key(k)
	}
	owned, err := k.find(f.ctx, keys)
	if err != nil {
		return nil, err
	}
	for i, before := range found {
		l := reported[before.id()]
		d := differing{l.fact(), owned[keys[i]].in(l)}
		switch {
		case d.isSettled():
		case isSame(before.owned, d.owned):
			f.report(k, d)
		default:
			changed = append(changed, d)
		}
	}
	return changed, nil
}

// named reads facts that a request names.
func (f *factVerification) named(req *reportsv1.VerifyReportsRequest, into map[string]*reportedFact) error {
	stream, err := f.client.VerifyReports(f.ctx, req)
	if err != nil {
		return err
	}
	return each(stream.Recv, func(res *reportsv1.VerifyReportsResponse) {
		for _, fact := range res.GetFacts() {
			into[fact.GetId()] = &reportedFact{fact, res.GetTimezone()}
		}
	})
}

// awaitReports returns when reports have all changes up to now. It returns false if they do not in time.
func (f *factVerification) awaitReports() (bool, error) {
	now, err := f.now()
	if err != nil {
		return false, err
	}
	var asOf *timestamppb.Timestamp
	isComplete, err := f.await(func(s *reportsv1.ReportStatus) bool {
		asOf = s.GetAsOf()
		return asOf != nil && !asOf.AsTime().Before(now.AsTime())
	})
	if err == nil && !isComplete {
		f.postpone(fmt.Sprintf("after %s, reports have the changes up to %s only; see the metric reports_lag_seconds", f.wait, timeText(asOf)))
	}
	return isComplete, err
}

// await returns when the status of the reports is as wanted. It returns false if it is not in time.
func (f *factVerification) await(isWanted func(*reportsv1.ReportStatus) bool) (bool, error) {
	late := time.After(f.wait)
	for {
		res, err := f.client.GetReportStatus(f.ctx, &reportsv1.GetReportStatusRequest{})
		if err != nil {
			return false, err
		}
		if isWanted(res.GetStatus()) {
			return true, nil
		}
		select {
		case <-f.ctx.Done():
			return false, f.ctx.Err()
		case <-late:
			return false, nil
		case <-time.After(statusPoll):
		}
	}
}

// now returns the time of the reports service.
func (f *factVerification) now() (at *timestamppb.Timestamp, err error) {
	stream, err := f.client.VerifyReports(f.ctx, &reportsv1.VerifyReportsRequest{Kind: f.owners.kinds()[0].name})
	if err != nil {
		return nil, err
	}
	err = each(stream.Recv, func(res *reportsv1.VerifyReportsResponse) { at = res.GetVerifiedAt() })
	return at, err
}

func timeText(at *timestamppb.Timestamp) string {
	if at == nil {
		return "an unknown time"
	}
	return at.AsTime().Format(time.RFC3339)
}

// factReader reads the messages of VerifyReports, whose facts come kind by kind.
type factReader struct {
	*verification
	recv    func() (*reportsv1.VerifyReportsResponse, error)
	chunk   *reportsv1.VerifyReportsResponse // of the next kind; nil: not read yet
	isEnded bool
}

// next returns the next facts of a kind, and io.EOF after the last ones.
func (r *factReader) next(kind string) ([]*reportedFact, error) {
	for len(r.chunk.GetFacts()) == 0 {
		if err := r.read(); err != nil {
			return nil, err
		}
	}
	if r.chunk.GetFacts()[0].GetKind() != kind {
		return nil, io.EOF
	}
	all := make([]*reportedFact, len(r.chunk.GetFacts()))
	for i, fact := range r.chunk.GetFacts() {
		all[i] = &reportedFact{fact, r.chunk.GetTimezone()}
	}
	r.chunk = nil
	return all, nil
}

// read reads a message. It returns io.EOF after the last one.
func (r *factReader) read() (err error) {
	if r.isEnded {
		return io.EOF
	}
	if r.chunk, err = r.recv(); err != nil {
		r.isEnded = errors.Is(err, io.EOF)
		return err
	}
	r.checked += r.chunk.GetChecked()
	if d := r.chunk.GetDifference(); d != nil {
		r.add(d.GetWhat(), d.GetId(), d.GetStored(), d.GetComputed())
	}
	return nil
}

// drain reads the remaining messages.
func (r *factReader) drain() error {
	for {
		if err := r.read(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}
