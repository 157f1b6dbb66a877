package pass

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
)

// snapshot is what a consumer knows of the passes of a company.
type snapshot struct {
	passes   map[string]*passv1.CustomerPass
	entries  map[string][]*passv1.LedgerEntry // by pass
	types    map[string]int64
	messages int
}

func newSnapshot() *snapshot {
	return &snapshot{passes: map[string]*passv1.CustomerPass{}, entries: map[string][]*passv1.LedgerEntry{}, types: map[string]int64{}}
}

func (s *snapshot) add(p *passv1.CustomerPass, entries []*passv1.LedgerEntry) {
	if s.passes[p.GetId()].GetVersion() < p.GetVersion() {
		s.passes[p.GetId()] = p
	}
	s.entries[p.GetId()] = append(s.entries[p.GetId()], entries...)
}

// published returns what the events of the company say, each entry as often as it is in them.
func (w *world) published() *snapshot {
	w.t.Helper()
	s := newSnapshot()
	err := w.db.Read(w.t.Context(), pg.AllCompanies(), pg.Query{
		SQL: `select subject, payload from outbox where company_id = $1 order by id`, Args: []any{w.company},
		Scan: pg.Each(func(rows pgx.Rows) error {
			var subject string
			var payload []byte
			if err := rows.Scan(&subject, &payload); err != nil {
				return err
			}
			switch subject {
			case subjectCustomerPassAssigned, subjectCustomerPassImported:
				var m passv1.CustomerPassAssigned // CustomerPassImported has the same fields
				if err := proto.Unmarshal(payload, &m); err != nil {
					return err
				}
				s.add(m.GetCustomerPass(), m.GetLedgerEntries())
			case subjectCustomerPassUpdated:
				var m passv1.CustomerPassUpdated
				if err := proto.Unmarshal(payload, &m); err != nil {
					return err
				}
				s.add(m.GetCustomerPass(), m.GetLedgerEntries())
			case subjectPassTypeCreated, subjectPassTypeUpdated:
				var m passv1.PassTypeCreated // PassTypeUpdated has the same field
				if err := proto.Unmarshal(payload, &m); err != nil {
					return err
				}
				s.types[m.GetPassType().GetId()] = max(s.types[m.GetPassType().GetId()], m.GetPassType().GetVersion())
			}
			return nil
		})})
	if err != nil {
		w.t.Fatal(err)
	}
	for _, list := range s.entries {
		slices.SortFunc(list, func(a, b *passv1.LedgerEntry) int { return int(a.GetSequence() - b.GetSequence()) })
	}
	return s
}

// streamed returns a snapshot of a company.
func (w *world) streamed(ctx context.Context, afterType, afterPass string) (*snapshot, error) {
	s := newSnapshot()
	types, err := w.snapshots.StreamPassTypes(ctx, &passv1.StreamPassTypesRequest{AfterId: afterType})
	for err == nil {
		var m *passv1.StreamPassTypesResponse
		if m, err = types.Recv(); err == nil {
			for _, t := range m.GetPassTypes() {
				s.types[t.GetId()] = t.GetVersion()
			}
		}
	}
	if !errors.Is(err, io.EOF) {
		return s, err
	}
	passes, err := w.snapshots.StreamCustomerPasses(ctx, &passv1.StreamCustomerPassesRequest{AfterId: afterPass})
	for err == nil {
		var m *passv1.StreamCustomerPassesResponse
		if m, err = passes.Recv(); err == nil {
			s.messages++
			entries := 0
			for _, p := range m.GetCustomerPasses() {
				s.add(p.GetCustomerPass(), p.GetLedgerEntries())
				entries += len(p.GetLedgerEntries())
			}
			if entries > snapshotEntries {
				return s, fmt.Errorf("%d entries in a message", entries)
			}
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return s, err
}

// wantPublished compares the events with a snapshot: every entry is in exactly one of them.
func (w *world) wantPublished() *snapshot {
	w.t.Helper()
	want, err := w.streamed(w.asPlatform(), "", "")
	if err != nil {
		w.t.Fatal(err)
	}
	got := w.published()
	for name, pair := range map[string][2]any{
		"passes": {want.passes, got.passes}, "entries": {want.entries, got.entries}, "types": {want.types, got.types},
	} {
		if diff := gocmp.Diff(pair[0], pair[1], protocmp.Transform()); diff != "" {
			w.t.Errorf("%s (-snapshot +events):\n%s", name, diff)
		}
	}
	return got
}

func TestEveryLedgerEntryIsInOneEvent(t *testing.T) { // invariant 19
	w := open(t)
	w.startAtNoon() // the same day in the zone of the company and in that of the callers' tokens
	redeemed := func(pass *passv1.CustomerPass, credits ...int32) *passv1.RedeemCreditsRequest {
		req := redeemRequest(pass.GetCustomerId(), pass.GetId(), credits...)
		w.mustRedeem(req)
		return req
	}
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		change string
		make   func()
		kinds  []string
	}{
		{"an assignment", func() { w.give(w.customer(), nil) }, []string{entryAssigned}},
		{"a redemption of several bookings", func() { redeemed(w.give(w.customer(), nil), 1, 2) }, []string{entryAssigned, entryRedeemed, entryRedeemed}},
		{"redemptions in a batch", func() {
			p := w.give(w.customer(), nil)
			req := &passv1.BatchRedeemCreditsRequest{}
			for range 3 {
				r := redeemRequest(p.GetCustomerId(), p.GetId(), 1)
				req.Redemptions = append(req.Redemptions, r)
			}
			_, err := w.client.BatchRedeemCredits(w.as(w.company), req)
			check(err)
		}, []string{entryAssigned, entryRedeemed, entryRedeemed, entryRedeemed}},
		{"a return of one booking, and the cancellation of the rest", func() {
			req := redeemed(w.give(w.customer(), nil), 1, 2, 3)
			_, err := w.client.ReturnCredits(w.as(w.company), &passv1.ReturnCreditsRequest{RedemptionId: req.GetRedemptionId(), ReturnId: req.GetItems()[1].GetItemId(), Credits: 2})
			check(err)
			_, err = w.client.CancelRedemption(w.as(w.company), &passv1.CancelRedemptionRequest{RedemptionId: req.GetRedemptionId()})
			check(err)
		}, []string{entryAssigned, entryRedeemed, entryRedeemed, entryRedeemed, entryReturned, entryReturned, entryReturned}},
		{"an adjustment", func() {
			_, err := w.client.AdjustCredits(w.as(w.company), &passv1.AdjustCreditsRequest{CustomerPassId: w.give(w.customer(), nil).GetId(), Credits: 2, Reason: "sorry"})
			check(err)
		}, []string{entryAdjusted, entryAssigned}},
		{"a change of the uses", func() {
			w.update(&passv1.UpdateCustomerPassRequest{Id: w.give(w.customer(), nil).GetId(), RemainingUses: new(int32(3)), Reason: "sorry"})
		}, []string{entryAdjusted, entryAssigned}},
		{"a pause, which adds no entry", func() {
			w.update(&passv1.UpdateCustomerPassRequest{Id: w.give(w.customer(), nil).GetId(), Status: passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_PAUSED})
		}, []string{entryAssigned}},
		{"a subscription with renewals that expire credits, and its end", func() {
			s := w.subscribe()
			s.mustSend(credits(1, 8, 0))
			s.mustSend(credits(2, 8, 2), credits(3, 8, 2))
			s.next(func(r *passv1.SyncSubscriptionPassRequest) {
				r.Status = passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_CANCELLED
			})
		}, []string{entryAssigned, entryExpired, entryExpired, entryExpired, entryGranted, entryGranted}},
		{"the import of a subscription", func() {
			s := w.subscribe()
			s.req.Quiet = true
			s.mustSend(credits(1, 8, 0))
		}, []string{entryAssigned}},
	} {
		w.t = t
		w.company = id.New[id.Company]()
		tt.make()
		var kinds []string
		for _, list := range w.wantPublished().entries {
			for i, e := range list {
				kinds = append(kinds, strings.ToLower(strings.TrimPrefix(e.GetKind().String(), "LEDGER_ENTRY_KIND_")))
				if e.GetSequence() != int64(i+1) {
					t.Errorf("%s: entry %d has the number %d", tt.change, i+1, e.GetSequence())
				}
			}
		}
		if slices.Sort(kinds); !slices.Equal(kinds, tt.kinds) {
			t.Errorf("%s has the entries %v, want %v", tt.change, kinds, tt.kinds)
		}
	}
}

func TestPassSnapshots(t *testing.T) { // invariant 20
	w := open(t)
	w.startAtNoon() // the same day in the zone of the company and in that of the callers' tokens
	p := w.give(w.customer(), nil)
	other := w.give(w.customer(), nil)
	w.mustRedeem(redeemRequest(p.GetCustomerId(), p.GetId(), 1))
	w.wantPublished()
	t.Run("days are those of the company, also of rows of earlier releases", func(t *testing.T) {
		w.exec(`insert into ledger_entries (company_id, customer_pass_id, sequence, kind, credits, balance, actor, created_at, day)
			select company_id, id, n, 'adjusted', case n when 3 then -1 else 1 end, remaining_uses - case n when 3 then 1 else 0 end, 'x', '2026-03-01T03:30:00Z', case n when 3 then date '2026-02-27' end
			from customer_passes, generate_series(3, 4) n where id = $1`, idOf(t, p.GetId()))
		w.exec(`update customer_passes set created_at = '2026-03-01T03:30:00Z', created_on = null where id = $1`, idOf(t, p.GetId()))
		s, err := w.streamed(w.asPlatform(), "", "")
		if err != nil {
			t.Fatal(err)
		}
		entries := s.entries[p.GetId()]
		if entries[2].GetDay() != "2026-02-27" || entries[3].GetDay() != "2026-02-28" || s.passes[p.GetId()].GetCreatedOn() != "2026-02-28" {
			t.Errorf("got %v of %v", entries, s.passes[p.GetId()])
		}
	})
	t.Run("a pass with many entries is split, and the stream continues after any pass", func(t *testing.T) {
		w.exec(`insert into ledger_entries (company_id, customer_pass_id, sequence, kind, credits, balance, actor, created_at)
			select company_id, id, n, 'adjusted', case n % 2 when 0 then 1 else -1 end, remaining_uses - n % 2, 'x', now()
			from customer_passes, generate_series(5, $2::integer) n where id = $1`, idOf(t, p.GetId()), 2*snapshotEntries+6)
		s, err := w.streamed(w.asPlatform(), "", "")
		if err != nil || len(s.entries[p.GetId()]) != 2*snapshotEntries+6 || len(s.entries[other.GetId()]) != 1 || s.messages < 3 {
			t.Errorf("got %d and %d entries in %d messages, %v", len(s.entries[p.GetId()]), len(s.entries[other.GetId()]), s.messages, err)
		}
		first := min(p.GetId(), other.GetId())
		rest, err := w.streamed(w.asPlatform(), p.GetPassTypeId(), first)
		if err != nil || len(rest.passes) != 1 || rest.passes[first] != nil || rest.types[p.GetPassTypeId()] != 0 || len(rest.types) > 1 {
			t.Errorf("got %v, %v", rest, err)
		}
	})
	t.Run("another company has nothing, and others are refused", func(t *testing.T) {
		company := w.company
		defer func() { w.company = company }()
		if _, err := w.streamed(w.as(w.company), "", ""); !fault.Is(fault.From(err), fault.Forbidden) {
			t.Error(err)
		}
		if _, err := w.streamed(w.asPlatform(), "", "x"); !fault.Is(fault.From(err), fault.Invalid) {
			t.Error(err)
		}
		w.company = id.New[id.Company]()
		if s, err := w.streamed(w.asPlatform(), "", ""); err != nil || len(s.passes)+len(s.types) != 0 {
			t.Errorf("got %v, %v", s, err)
		}
	})
}

func idOf(t *testing.T, pass string) id.CustomerPass {
	t.Helper()
	p, err := id.Parse[id.CustomerPass](pass)
	if err != nil {
		t.Fatal(err)
	}
	return p
}
