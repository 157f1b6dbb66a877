package pass

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/devkit/testkit"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/page"
	"reservation.dev/platform/pg"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
)

func TestPassLists(t *testing.T) {
	w := open(t)
	ctx := w.as(w.company)
	customer := w.customer()
	now := time.Date(2026, 5, 31, 12, 0, 0, 0, time.UTC)
	w.server.now = func() time.Time { return now }
	byStatus := map[passv1.CustomerPassStatus]string{}
	add := func(status passv1.CustomerPassStatus, start string, change func(p *passv1.CustomerPass)) {
		now = now.Add(time.Second)
		res, err := w.client.AssignCustomerPass(ctx, &passv1.AssignCustomerPassRequest{CustomerId: customer, PassTypeId: w.passType().GetId(), StartDate: start})
		if err != nil {
			t.Fatal(err)
		}
		if change != nil {
			change(res.GetCustomerPass())
		}
		byStatus[status] = res.GetCustomerPass().GetId()
	}
	none := int32(0)
	add(passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_ACTIVE, "2026-05-01", nil)
	add(passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_PENDING, "2026-06-02", nil)
	add(passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_EXHAUSTED, "2026-05-01", func(p *passv1.CustomerPass) {
		w.update(&passv1.UpdateCustomerPassRequest{Id: p.GetId(), RemainingUses: &none})
	})
	add(passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_EXPIRED, "2026-01-01", nil)
	add(passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_PAUSED, "2026-05-01", func(p *passv1.CustomerPass) {
		w.update(&passv1.UpdateCustomerPassRequest{Id: p.GetId(), Status: passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_PAUSED})
	})
	add(passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_CANCELLED, "2026-05-01", func(p *passv1.CustomerPass) {
		w.update(&passv1.UpdateCustomerPassRequest{Id: p.GetId(), Status: passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_CANCELLED})
	})
	for status, want := range byStatus {
		t.Run("filter by the status as returned: "+status.String(), func(t *testing.T) {
			res, err := w.client.ListCustomerPasses(ctx, &passv1.ListCustomerPassesRequest{Status: status})
			if err != nil || res.GetTotal() != 1 || len(res.GetCustomerPasses()) != 1 || res.GetCustomerPasses()[0].GetId() != want || res.GetCustomerPasses()[0].GetStatus() != status {
				t.Errorf("got %v, %v", res, err)
			}
		})
	}
	for order := range passv1.PassOrder_name {
		t.Run("can be read by cursor in the order "+passv1.PassOrder_name[order], func(t *testing.T) {
			whole, err := w.client.ListCustomerPasses(ctx, &passv1.ListCustomerPassesRequest{Order: passv1.PassOrder(order)})
			if err != nil {
				t.Fatal(err)
			}
			var want, got []string
			for _, p := range whole.GetCustomerPasses() {
				want = append(want, p.GetId())
			}
			for req := (&passv1.ListCustomerPassesRequest{Order: passv1.PassOrder(order), PageSize: 2}); ; {
				res, err := w.client.ListCustomerPasses(ctx, req)
				if err != nil {
					t.Fatal(err)
				}
				for _, p := range res.GetCustomerPasses() {
					got = append(got, p.GetId())
				}
				if req.PageToken = res.GetNextPageToken(); req.PageToken == "" {
					break
				}
				other := &passv1.ListCustomerPassesRequest{Order: (req.GetOrder() + 1) % 5, PageToken: req.GetPageToken()}
				if _, err := w.client.ListCustomerPasses(ctx, other); !fault.Is(err, fault.Invalid) {
					t.Errorf("the token was accepted with another order: %v", err)
				}
			}
			if len(got) != 6 || !slices.Equal(got, want) {
				t.Errorf("got %v, want %v", got, want)
			}
			skipped, err := w.client.ListCustomerPasses(ctx, &passv1.ListCustomerPassesRequest{Order: passv1.PassOrder(order), Offset: 4})
			if err != nil || len(skipped.GetCustomerPasses()) != 2 || skipped.GetCustomerPasses()[0].GetId() != want[4] || skipped.GetTotal() != 6 {
				t.Errorf("got %v, %v", skipped, err)
			}
		})
	}
	t.Run("an identifier that does not exist, in any form, has an empty list", func(t *testing.T) {
		for _, req := range []*passv1.ListCustomerPassesRequest{
			{CustomerId: w.customer()}, {CustomerId: "cust_x"}, {CustomerId: "cust_00000000000000000000000000"},
			{PassTypeId: "pass_x"}, {PassTypeId: "pass_00000000000000000000000000"},
		} {
			res, err := w.client.ListCustomerPasses(ctx, req)
			if err != nil || res.GetTotal() != 0 || len(res.GetCustomerPasses()) != 0 {
				t.Errorf("%v: got %v, %v", req, res, err)
			}
		}
		for _, customer := range []string{"cust_x", "cust_00000000000000000000000000"} {
			res, err := w.client.ListEligiblePasses(ctx, &passv1.ListEligiblePassesRequest{CustomerId: customer})
			if err != nil || len(res.GetCustomerPasses()) != 0 {
				t.Errorf("%s: got %v, %v", customer, res, err)
			}
		}
	})
	t.Run("filter by type, customer and time of change", func(t *testing.T) {
		p := w.get(byStatus[passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_PAUSED])
		res, err := w.client.ListCustomerPasses(ctx, &passv1.ListCustomerPassesRequest{PassTypeId: p.GetPassTypeId(), CustomerId: customer, UpdatedSince: p.GetUpdatedAt()})
		if err != nil || res.GetTotal() != 1 || res.GetCustomerPasses()[0].GetId() != p.GetId() {
			t.Errorf("got %v, %v", res, err)
		}
		types, err := w.client.ListPassTypes(ctx, &passv1.ListPassTypesRequest{Status: passv1.PassTypeStatus_PASS_TYPE_STATUS_ARCHIVED})
		if err != nil || types.GetTotal() != 0 {
			t.Errorf("got %v, %v", types, err)
		}
	})
}

// addPasses adds n copies of a pass, each of another customer.
func (w *world) addPasses(n int) {
	w.t.Helper()
	w.exec(`with added as (
			insert into customer_passes (company_id, id, customer_id, pass_type_id, total_uses, remaining_uses, start_date, expiry_date, status, version, created_at, updated_at)
			select company_id, gen_random_uuid(), gen_random_uuid(), pass_type_id, total_uses, 0, start_date, expiry_date, status, 1,
				created_at + g * interval '1 s', updated_at + g * interval '1 s'
			from (select * from customer_passes limit 1) p, generate_series(1, $1::integer) g returning company_id, customer_id)
		insert into customers (company_id, id) select company_id, customer_id from added`, n)
}

// vacuum does what autovacuum would do at some time later. It marks every page of the lists as visible to all
// transactions, which is possible only after all commits are on disk, and while no other session, such as autovacuum,
// can see the earlier versions of changed rows.
func (w *world) vacuum() {
	w.t.Helper()
	admin, err := pgx.ParseConfig(testkit.AdminURL(w.t))
	if err != nil {
		w.t.Fatal(err)
	}
	admin.Database = w.db.Pool().Config().ConnConfig.Database
	conn, err := pgx.ConnectConfig(w.t.Context(), admin)
	if err != nil {
		w.t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(w.t.Context()))
	testkit.Eventually(w.t, 2*time.Minute, func() error {
		if _, err := conn.Exec(w.t.Context(), `vacuum (analyze)`); err != nil {
			return err
		}
		var left []string
		err := conn.QueryRow(w.t.Context(), `select coalesce(array_agg(relname::text), '{}') from pg_class
			where relname in ('customer_passes', 'ledger_entries') and relallvisible < relpages`).Scan(&left)
		if err == nil && len(left) > 0 {
			err = fmt.Errorf("pages of %v are not visible to all", left)
		}
		return err
	})
}

// TestListPlans checks that each list reads along an index.
func TestListPlans(t *testing.T) {
	w := open(t)
	customer := w.customer()
	w.give(customer, nil)
	w.addPasses(20_000)
	w.vacuum()
	for order := range passv1.PassOrder_name {
		t.Run(passv1.PassOrder_name[order], func(t *testing.T) {
			req := &passv1.ListCustomerPassesRequest{Order: passv1.PassOrder(order)}
			res, err := w.client.ListCustomerPasses(w.as(w.company), req)
			if err != nil {
				t.Fatal(err)
			}
			req.PageToken = res.GetNextPageToken()
			p, err := pageOf(req)
			if err != nil || p.After == nil {
				t.Fatal(p, err)
			}
			s := page.NewFilter("company_id = $1", w.company).Page("select "+customerPassColumns+" from customer_passes p", p)
			var plan []string
			err = w.db.Read(t.Context(), pg.For(w.company), pg.Query{SQL: "explain (costs off) " + s.SQL, Args: s.Args, Scan: func(rows pgx.Rows) (err error) {
				plan, err = pgx.CollectRows(rows, pgx.RowTo[string])
				return err
			}})
			text := strings.Join(plan, "\n")
			if err != nil || !strings.Contains(text, "Index") || strings.Contains(text, "Sort") || strings.Contains(text, "Seq Scan on customer_passes") {
				t.Errorf("%v\n%s", err, text)
			}
		})
	}
}

// TestFilterPlans checks that pages with these filters read about as many rows as they return.
func TestFilterPlans(t *testing.T) {
	w := open(t)
	p := w.give(w.customer(), nil)
	w.addPasses(20_000)
	w.exec(`update customer_passes set status = 'paused', paused_on = current_date where id in (select id from customer_passes order by created_at desc limit 30)`)
	w.exec(`update customer_passes set remaining_uses = 5, start_date = '2026-01-01', expiry_date = case when recent > 30 then '2026-02-01' else '2026-12-31' end::date
		from (select id as pass, row_number() over (order by created_at desc) as recent from customer_passes) n where id = pass and status = 'active'`)
	w.vacuum()
	middle, err := pg.One[time.Time](t.Context(), w.db, pg.For(w.company), `select max(updated_at) - interval '10000 s' from customer_passes`)
	if err != nil {
		t.Fatal(err)
	}
	day := time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)
	since := pageStart(t, passv1.PassOrder_PASS_ORDER_UPDATED)
	later := since
	later.After = new(page.At(middle.Add(9000*time.Second), id.New[id.CustomerPass]().UUID()))
	for name, c := range map[string]struct {
		filter customerPassFilter
		page   page.Page
		index  string
	}{
		"active, from the oldest":        {customerPassFilter{status: statusActive, day: day}, pageStart(t, passv1.PassOrder_PASS_ORDER_CREATED), "customer_passes_current"},
		"pending, from the oldest":       {customerPassFilter{status: statusPending, day: day}, pageStart(t, passv1.PassOrder_PASS_ORDER_UPDATED), "customer_passes_current"},
		"paused":                         {customerPassFilter{status: statusPaused}, pageStart(t, passv1.PassOrder_PASS_ORDER_CREATED), "customer_passes_ended"},
		"of a period":                    {walkedFilter(customerPassFilter{createdFrom: middle, createdBefore: middle.Add(time.Hour)}), walkedPage(t, middle), "customer_passes_created"},
		"changed since":                  {customerPassFilter{updatedSince: middle}, since, "customer_passes_updated"},
		"changed since, on a later page": {customerPassFilter{updatedSince: middle}, later, "customer_passes_updated"},
		"changed since an early time":    {customerPassFilter{updatedSince: p.GetUpdatedAt().AsTime()}, later, "customer_passes_updated"},
	} {
		t.Run(name, func(t *testing.T) {
			s := c.filter.page(c.filter.where(w.company), "p.id", c.page)
			text := w.explain(s.SQL, s.Args)
			isSorted := c.index == "customer_passes_current"
			if !strings.Contains(text, c.index) || !isSorted && (strings.Contains(text, "Rows Removed") || strings.Contains(text, "Sort")) {
				t.Errorf("%s", text)
			}
			for _, hit := range regexp.MustCompile(`shared hit=(\d+)`).FindAllStringSubmatch(text, -1) {
				if n, err := strconv.Atoi(hit[1]); err != nil || n > 40 {
					t.Errorf("%d blocks (%v)\n%s", n, err, text)
				}
			}
		})
	}
	for _, status := range []string{statusActive, statusPending, statusExhausted} {
		t.Run("the number of passes that are "+status, func(t *testing.T) {
			q := customerPassFilter{status: status, day: day}.where(w.company).Count("customer_passes", customerPassTotalSQL, new(int64))
			if text := w.explain(q.SQL, q.Args); !strings.Contains(text, "customer_passes_current") {
				t.Errorf("%s", text)
			}
		})
	}
	t.Run("the pages after a time have every pass that changed since, once", func(t *testing.T) {
		req := &passv1.ListCustomerPassesRequest{Order: passv1.PassOrder_PASS_ORDER_UPDATED, UpdatedSince: timestamppb.New(middle.Add(9500 * time.Second)), PageSize: 200}
		seen := map[string]bool{}
		for {
			res, err := w.client.ListCustomerPasses(w.as(w.company), req)
			if err != nil || res.GetTotal() != 501 {
				t.Fatalf("%d in total, %v", res.GetTotal(), err)
			}
			for _, p := range res.GetCustomerPasses() {
				seen[p.GetId()] = true
			}
			if req.PageToken = res.GetNextPageToken(); req.GetPageToken() == "" {
				break
			}
		}
		if len(seen) != 501 {
			t.Errorf("%d passes", len(seen))
		}
	})
}

// walkedFilter and walkedPage are the filter and the first page of passes that were created from a time on.
func walkedFilter(f customerPassFilter) customerPassFilter {
	f, _ = f.walking(page.Page{Order: page.Order{Column: createdAt}})
	return f
}

func walkedPage(t *testing.T, from time.Time) page.Page {
	t.Helper()
	_, p := customerPassFilter{createdFrom: from}.walking(pageStart(t, passv1.PassOrder_PASS_ORDER_CREATED))
	return p
}

// TestPassesOfPeriod lists the passes that were created in a period.
func TestPassesOfPeriod(t *testing.T) {
	w := open(t)
	customer := w.customer()
	var all []*passv1.CustomerPass
	for range 5 {
		all = append(all, w.give(customer, nil))
	}
	for order, want := range map[passv1.PassOrder][]string{
		passv1.PassOrder_PASS_ORDER_CREATED:      {all[1].GetId(), all[2].GetId(), all[3].GetId()},
		passv1.PassOrder_PASS_ORDER_UNSPECIFIED:  {all[1].GetId(), all[2].GetId(), all[3].GetId()},
		passv1.PassOrder_PASS_ORDER_CREATED_DESC: {all[3].GetId(), all[2].GetId(), all[1].GetId()},
	} {
		for size := range int32(4) {
			t.Run(fmt.Sprintf("%s in pages of %d has each pass once", order, size), func(t *testing.T) {
				req := &passv1.ListCustomerPassesRequest{
					Order: order, PageSize: size, CreatedFrom: all[1].GetCreatedAt(), CreatedBefore: all[4].GetCreatedAt(), TotalLimit: 2,
				}
				var got []string
				for range all {
					res, err := w.client.ListCustomerPasses(w.as(w.company), req)
					if err != nil || res.GetTotal() != 2 {
						t.Fatalf("%d in total, %v", res.GetTotal(), err)
					}
					for _, p := range res.GetCustomerPasses() {
						got = append(got, p.GetId())
					}
					if req.PageToken = res.GetNextPageToken(); req.PageToken == "" {
						break
					}
				}
				if !slices.Equal(got, want) {
					t.Errorf("got %v, want %v", got, want)
				}
			})
		}
	}
	t.Run("names the wrong parameter", func(t *testing.T) {
		for want, req := range map[string]*passv1.ListCustomerPassesRequest{
			"created_from:range": {CreatedFrom: &timestamppb.Timestamp{Seconds: 1 << 60}}, "total_limit:range": {TotalLimit: -1},
		} {
			if _, err := w.client.ListCustomerPasses(w.as(w.company), req); faults(err) != want {
				t.Errorf("got %v, want %s", err, want)
			}
		}
	})
}

// explain returns the plan of a statement that it has run.
func (w *world) explain(sql string, args []any) string {
	w.t.Helper()
	var plan []string
	err := w.db.Read(w.t.Context(), pg.For(w.company), pg.Query{
		SQL: "explain (analyze, buffers, costs off, timing off, summary off) " + sql, Args: args, Scan: pg.Collect(&plan),
	})
	if err != nil {
		w.t.Fatal(err)
	}
	executed, _, _ := strings.Cut(strings.Join(plan, "\n"), "Planning:") // which reads the catalog the first time
	return executed
}

// pageStart returns the first page of a list of customer passes.
func pageStart(t *testing.T, order passv1.PassOrder) page.Page {
	t.Helper()
	p, err := pageOf(&passv1.ListCustomerPassesRequest{Order: order})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestForgedCursor(t *testing.T) {
	w := open(t)
	for _, micros := range []int64{math.MinInt64, -4.6e18, 4.6e18, math.MaxInt64} {
		raw := append([]byte{byte(passv1.PassOrder_PASS_ORDER_CREATED)}, binary.BigEndian.AppendUint64(nil, uint64(micros))...)
		token := base64.RawURLEncoding.EncodeToString(append(raw, make([]byte, 16)...))
		_, err := w.client.ListCustomerPasses(w.as(w.company), &passv1.ListCustomerPassesRequest{Order: passv1.PassOrder_PASS_ORDER_CREATED, PageToken: token})
		if !fault.Is(err, fault.Invalid) {
			t.Errorf("%d: got %v", micros, err)
		}
	}
}

func TestLedgerPages(t *testing.T) {
	w := open(t)
	ctx := w.as(w.company)
	p := w.give(w.customer(), nil)
	for range 6 {
		w.mustRedeem(redeemRequest(p.GetCustomerId(), p.GetId(), 1))
	}
	sequences := func(res *passv1.ListLedgerEntriesResponse) (list []int64) {
		for _, e := range res.GetEntries() {
			list = append(list, e.GetSequence())
		}
		return list
	}
	for name, c := range map[string]struct {
		req  *passv1.ListLedgerEntriesRequest
		want []int64
	}{
		"oldest first":                        {&passv1.ListLedgerEntriesRequest{}, []int64{1, 2, 3, 4, 5, 6, 7}},
		"newest first":                        {&passv1.ListLedgerEntriesRequest{Descending: true}, []int64{7, 6, 5, 4, 3, 2, 1}},
		"oldest first from an offset":         {&passv1.ListLedgerEntriesRequest{Offset: 5}, []int64{6, 7}},
		"newest first from an offset":         {&passv1.ListLedgerEntriesRequest{Descending: true, Offset: 5}, []int64{2, 1}},
		"nothing from an offset past the end": {&passv1.ListLedgerEntriesRequest{Offset: 7}, nil},
		"nothing from a large offset":         {&passv1.ListLedgerEntriesRequest{Descending: true, Offset: math.MaxInt64}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			c.req.CustomerPassId = p.GetId()
			res, err := w.client.ListLedgerEntries(ctx, c.req)
			if err != nil || res.GetTotal() != 7 || !slices.Equal(sequences(res), c.want) {
				t.Errorf("got %v, %v", res, err)
			}
			var pages []int64
			for c.req.PageSize = 2; err == nil; c.req.Offset = 0 {
				res, err = w.client.ListLedgerEntries(ctx, c.req)
				pages = append(pages, sequences(res)...)
				if c.req.PageToken = res.GetNextPageToken(); c.req.GetPageToken() == "" {
					break
				}
			}
			if err != nil || !slices.Equal(pages, c.want) {
				t.Errorf("by token: got %v, %v", pages, err)
			}
		})
	}
	t.Run("refuses the token of the other order", func(t *testing.T) {
		res, err := w.client.ListLedgerEntries(ctx, &passv1.ListLedgerEntriesRequest{CustomerPassId: p.GetId(), PageSize: 2})
		if err != nil {
			t.Fatal(err)
		}
		_, err = w.client.ListLedgerEntries(ctx, &passv1.ListLedgerEntriesRequest{CustomerPassId: p.GetId(), PageToken: res.GetNextPageToken(), Descending: true})
		if faults(err) != "page_token:order" {
			t.Errorf("got %v", err)
		}
	})
	t.Run("a pass that does not exist is NOT_FOUND", func(t *testing.T) {
		_, err := w.client.ListLedgerEntries(ctx, &passv1.ListLedgerEntriesRequest{CustomerPassId: id.New[id.CustomerPass]().String()})
		if !fault.Is(err, fault.NotFound) {
			t.Errorf("got %v", err)
		}
	})
}

func TestCatalog(t *testing.T) {
	w := open(t)
	onOffer, archived := w.passType(), w.passType()
	_, err := w.client.UpdatePassType(w.as(w.company), &passv1.UpdatePassTypeRequest{Id: archived.GetId(), Status: passv1.PassTypeStatus_PASS_TYPE_STATUS_ARCHIVED})
	if err != nil {
		t.Fatal(err)
	}
	ids := func(res *passv1.ListPassTypesResponse) (list []string) {
		for _, p := range res.GetPassTypes() {
			list = append(list, p.GetId())
		}
		return list
	}
	catalog := w.with(w.issuer.Client(w.company, "catalog:read"))
	for name, c := range map[string]struct {
		ctx    context.Context
		status passv1.PassTypeStatus
		want   []string
	}{
		"the catalog has the types on offer":    {catalog, 0, []string{onOffer.GetId()}},
		"the catalog has no archived types":     {catalog, passv1.PassTypeStatus_PASS_TYPE_STATUS_ARCHIVED, nil},
		"passes:read sees all of them":          {w.as(w.company), 0, []string{onOffer.GetId(), archived.GetId()}},
		"both scopes together see all of them":  {w.with(w.issuer.Client(w.company, "catalog:read", "passes:read")), 0, []string{onOffer.GetId(), archived.GetId()}},
		"another company's catalog has neither": {w.with(w.issuer.Client(id.New[id.Company](), "catalog:read")), 0, nil},
	} {
		t.Run(name, func(t *testing.T) {
			res, err := w.client.ListPassTypes(c.ctx, &passv1.ListPassTypesRequest{Status: c.status})
			if err != nil || !slices.Equal(ids(res), c.want) || res.GetTotal() != int64(len(c.want)) {
				t.Errorf("got %v, %v", res, err)
			}
			for _, p := range []*passv1.PassType{onOffer, archived} {
				_, err := w.client.GetPassType(c.ctx, &passv1.GetPassTypeRequest{Id: p.GetId()})
				if c.status == 0 && slices.Contains(c.want, p.GetId()) != (err == nil) || err != nil && !fault.Is(err, fault.NotFound) {
					t.Errorf("%s: got %v", p.GetId(), err)
				}
			}
		})
	}
	if _, err := w.client.ListCustomerPasses(catalog, &passv1.ListCustomerPassesRequest{}); !fault.Is(err, fault.Forbidden) {
		t.Errorf("got %v", err)
	}
}
