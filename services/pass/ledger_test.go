package pass

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/id"
	"reservation.dev/platform/page"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
)

// entriesOf returns all entries of a list, page by page, as "pass:sequence", and the total of the last page.
func (w *world) entriesOf(req *passv1.ListCompanyLedgerEntriesRequest) (list []string, total int64) {
	w.t.Helper()
	req = proto.Clone(req).(*passv1.ListCompanyLedgerEntriesRequest)
	for range 100 {
		res, err := w.client.ListCompanyLedgerEntries(w.as(w.company), req)
		if err != nil {
			w.t.Fatal(err)
		}
		for _, e := range res.GetEntries() {
			list = append(list, fmt.Sprint(e.GetCustomerPassId(), ":", e.GetEntry().GetSequence()))
		}
		if req.PageToken = res.GetNextPageToken(); req.PageToken == "" {
			return list, res.GetTotal()
		}
	}
	w.t.Fatal("the list does not end")
	return nil, 0
}

func TestCompanyLedger(t *testing.T) {
	w := open(t)
	one, two := w.give(w.customer(), nil), w.give(w.customer(), nil)
	for range 2 {
		w.mustRedeem(redeemRequest(one.GetCustomerId(), one.GetId(), 1))
		w.mustRedeem(redeemRequest(two.GetCustomerId(), two.GetId(), 1))
	}
	all := []string{one.GetId() + ":1", two.GetId() + ":1", one.GetId() + ":2", two.GetId() + ":2", one.GetId() + ":3", two.GetId() + ":3"}
	middle := w.ledger(one.GetId())[1].GetCreatedAt()
	for behaviour, tt := range map[string]struct {
		req  *passv1.ListCompanyLedgerEntriesRequest
		want []string
	}{
		"of all passes, oldest first": {&passv1.ListCompanyLedgerEntriesRequest{}, all},
		"from a time on":              {&passv1.ListCompanyLedgerEntriesRequest{CreatedFrom: middle}, all[2:]},
		"before a time":               {&passv1.ListCompanyLedgerEntriesRequest{CreatedBefore: middle}, all[:2]},
		"of an empty period":          {&passv1.ListCompanyLedgerEntriesRequest{CreatedFrom: middle, CreatedBefore: middle}, nil},
	} {
		t.Run("lists the entries "+behaviour+", in pages of any size", func(t *testing.T) {
			for size := range int32(4) {
				tt.req.PageSize = size
				if got, total := w.entriesOf(tt.req); !slices.Equal(got, tt.want) || total != int64(len(tt.want)) {
					t.Errorf("pages of %d: got %v, %d in total\nwant %v", size, got, total, tt.want)
				}
			}
		})
	}
	t.Run("lists entries of the same time once, of one pass and of several", func(t *testing.T) {
		at := timestamppb.Now()
		w.exec(`with made as (insert into customer_passes (company_id, id, customer_id, pass_type_id, remaining_uses, start_date, expiry_date, status, created_at, updated_at)
				select company_id, gen_random_uuid(), customer_id, pass_type_id, 3, start_date, expiry_date, 'active', $1, $1
				from customer_passes, generate_series(1, 3) returning company_id, id)
			insert into ledger_entries (company_id, customer_pass_id, sequence, kind, credits, balance, actor, created_at)
			select company_id, id, n, case n when 1 then 'assigned' else 'adjusted' end, 1, n, '', $1 from made, generate_series(1, 3) n`, at.AsTime())
		for size := range int32(4) {
			got, _ := w.entriesOf(&passv1.ListCompanyLedgerEntriesRequest{CreatedFrom: timestamppb.New(at.AsTime().Truncate(time.Microsecond)), PageSize: size})
			if sorted := slices.Compact(slices.Sorted(slices.Values(got))); len(got) != 18 || len(sorted) != 18 {
				t.Errorf("pages of %d: got %d entries, %d of them different", size, len(got), len(sorted))
			}
		}
	})
	t.Run("names the pass, its type and its customer", func(t *testing.T) {
		res, err := w.client.ListCompanyLedgerEntries(w.as(w.company), &passv1.ListCompanyLedgerEntriesRequest{PageSize: 1, TotalLimit: 2})
		if err != nil || res.GetTotal() != 2 {
			t.Fatalf("%d in total, %v", res.GetTotal(), err)
		}
		want := &passv1.CompanyLedgerEntry{
			CustomerPassId: one.GetId(), CustomerId: one.GetCustomerId(), PassTitle: one.GetTitle(), Entry: w.ledger(one.GetId())[0],
		}
		if got := res.GetEntries()[0]; !proto.Equal(got, want) {
			t.Errorf("got %v\nwant %v", got, want)
		}
	})
	t.Run("lists nothing of another company", func(t *testing.T) {
		res, err := w.client.ListCompanyLedgerEntries(w.as(id.New[id.Company]()), &passv1.ListCompanyLedgerEntriesRequest{})
		if err != nil || len(res.GetEntries()) != 0 || res.GetTotal() != 0 {
			t.Errorf("got %v, %v", res, err)
		}
	})
	t.Run("names the wrong parameter", func(t *testing.T) {
		late := &timestamppb.Timestamp{Seconds: 1 << 60}
		other := page.Cursor{Code: ledgerOrder, Within: id.NewUUID()}.Token()
		for want, req := range map[string]*passv1.ListCompanyLedgerEntriesRequest{
			"page_size:range": {PageSize: 1001}, "page_token:format": {PageToken: "x"}, "page_token:order": {PageToken: other},
			"created_from:range": {CreatedFrom: late}, "created_before:range": {CreatedBefore: late}, "total_limit:range": {TotalLimit: 10_001},
		} {
			if _, err := w.client.ListCompanyLedgerEntries(w.as(w.company), req); faults(err) != want {
				t.Errorf("got %v, want %s", err, want)
			}
		}
	})
}

// TestCompanyLedgerPlans checks that a page reads about as many entries as it returns.
func TestCompanyLedgerPlans(t *testing.T) {
	w := open(t)
	w.give(w.customer(), nil)
	w.addPasses(10_000)
	w.vacuum()
	for range 5 { // each well within the time of a statement
		w.exec(`insert into ledger_entries (company_id, customer_pass_id, sequence, kind, credits, balance, actor, created_at)
		select company_id, id, 1, 'assigned', remaining_uses, remaining_uses, '', created_at from customer_passes p
		where not exists (select from ledger_entries l where l.company_id = p.company_id and l.customer_pass_id = p.id) limit 2000`)
		w.vacuum()
	}
	middle := time.Now().Add(5000 * time.Second)
	for name, q := range map[string]companyLedger{
		"from the oldest":          {},
		"of a period":              {from: middle, before: middle.Add(time.Hour)},
		"after a page":             {after: &position{at: middle, pass: id.NewUUID(), sequence: 1}, before: middle.Add(time.Hour)},
		"after a page, to the end": {after: &position{at: middle, pass: id.NewUUID(), sequence: 1}},
	} {
		q.page.Size, q.mostCounted = 50, 50
		t.Run(name, func(t *testing.T) {
			for _, s := range []struct {
				sql  string
				args []any
			}{{q.list(w.company).SQL, q.list(w.company).Args}, {q.total(w.company).SQL, q.total(w.company).Args}} {
				text := w.explain(s.sql, s.args)
				if !strings.Contains(text, "ledger_entries_by_time") || strings.Contains(text, "Seq Scan on ledger_entries") || strings.Contains(text, "Seq Scan on customer_passes") {
					t.Errorf("%s", text)
				}
				for _, hit := range regexp.MustCompile(`shared hit=(\d+)`).FindAllStringSubmatch(text, -1) {
					// Each entry of the page looks up its pass and the pass type.
					if n, err := strconv.Atoi(hit[1]); err != nil || n > 51*8+20 {
						t.Errorf("%d blocks (%v)\n%s", n, err, text)
					}
				}
			}
		})
	}
}
