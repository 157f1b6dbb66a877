package customer

import (
	"encoding/base64"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
)

const (
	byID        = customerv1.CustomerOrder_CUSTOMER_ORDER_UNSPECIFIED
	created1st  = customerv1.CustomerOrder_CUSTOMER_ORDER_CREATED
	createdLast = customerv1.CustomerOrder_CUSTOMER_ORDER_CREATED_DESC
	updated1st  = customerv1.CustomerOrder_CUSTOMER_ORDER_UPDATED
	updatedLast = customerv1.CustomerOrder_CUSTOMER_ORDER_UPDATED_DESC
)

func orders() []customerv1.CustomerOrder {
	return []customerv1.CustomerOrder{byID, created1st, createdLast, updated1st, updatedLast}
}

// sorted returns the customers in the order of a list.
func sorted(in []*customerv1.Customer, o customerv1.CustomerOrder) []*customerv1.Customer {
	list := slices.Clone(in)
	slices.SortFunc(list, func(a, b *customerv1.Customer) int {
		c := 0
		switch o {
		case created1st, createdLast:
			c = a.GetCreatedAt().AsTime().Compare(b.GetCreatedAt().AsTime())
		case updated1st, updatedLast:
			c = a.GetUpdatedAt().AsTime().Compare(b.GetUpdatedAt().AsTime())
		}
		if c == 0 {
			c = strings.Compare(a.GetId(), b.GetId())
		}
		if o == createdLast || o == updatedLast {
			return -c
		}
		return c
	})
	return list
}

func idsOf(list []*customerv1.Customer) []string {
	var ids []string
	for _, c := range list {
		ids = append(ids, c.GetId())
	}
	return ids
}

// follow reads a list by its page tokens to the end. It calls between after each page.
func (w *world) follow(req *customerv1.ListCustomersRequest, between func(*customerv1.ListCustomersResponse)) []*customerv1.Customer {
	w.t.Helper()
	req = proto.Clone(req).(*customerv1.ListCustomersRequest)
	var all []*customerv1.Customer
	for {
		res, err := w.client.ListCustomers(w.ctx(), req)
		if err != nil {
			w.t.Fatal(err)
		}
		all = append(all, res.GetCustomers()...)
		between(res)
		if req.PageToken = res.GetNextPageToken(); req.PageToken == "" {
			return all
		}
	}
}

func (w *world) remove(c *customerv1.Customer) {
	w.t.Helper()
	if _, err := w.client.DeleteCustomer(w.ctx(), &customerv1.DeleteCustomerRequest{Id: c.GetId()}); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) change(req *customerv1.UpdateCustomerRequest) *customerv1.Customer {
	w.t.Helper()
	res, err := w.client.UpdateCustomer(w.ctx(), req)
	if err != nil {
		w.t.Fatal(err)
	}
	return res.GetCustomer()
}

func TestList(t *testing.T) {
	w := open(t)
	// Several customers share each instant, and their ids are in a different order than their
	// instants.
	start, n := time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC), 0
	w.server.now = func() time.Time { n++; return start.Add(time.Duration(n/3) * time.Second) }
	w.server.newID = func() id.UUID { u := id.NewUUID(); u[0] = byte(n * 89); return u }
	var all []*customerv1.Customer
	for i := range 25 {
		all = append(all, w.create(fmt.Sprint("C", i)))
	}
	for i := range all {
		switch i % 5 {
		case 0:
			all[i] = w.change(&customerv1.UpdateCustomerRequest{Id: all[i].GetId(), Archived: ptr(true)})
		case 1:
			all[i] = w.change(&customerv1.UpdateCustomerRequest{Id: all[i].GetId(), Email: ptr("Zoë.Ö@Example.com")})
		}
	}
	w.remove(w.create("gone"))

	type filtered struct {
		name string
		req  *customerv1.ListCustomersRequest
		has  func(*customerv1.Customer) bool
	}
	since := all[11].GetUpdatedAt()
	filters := []filtered{
		{"all", &customerv1.ListCustomersRequest{}, func(*customerv1.Customer) bool { return true }},
		{"archived customers", &customerv1.ListCustomersRequest{Archived: ptr(true)}, (*customerv1.Customer).GetArchived},
		{"customers who are not archived", &customerv1.ListCustomersRequest{Archived: ptr(false)}, func(c *customerv1.Customer) bool { return !c.GetArchived() }},
		{"customers with an address, regardless of case", &customerv1.ListCustomersRequest{Email: " zoË.ö@EXAMPLE.com "}, func(c *customerv1.Customer) bool { return c.GetEmail() == "Zoë.Ö@Example.com" }},
		{"no customers, for an unknown address", &customerv1.ListCustomersRequest{Email: "nobody"}, func(*customerv1.Customer) bool { return false }},
		{"customers changed since an instant", &customerv1.ListCustomersRequest{UpdatedSince: since}, func(c *customerv1.Customer) bool {
			return !c.GetUpdatedAt().AsTime().Before(since.AsTime())
		}},
		{"customers created in a period", &customerv1.ListCustomersRequest{CreatedFrom: all[3].GetCreatedAt(), CreatedBefore: all[9].GetCreatedAt()}, func(c *customerv1.Customer) bool {
			at := c.GetCreatedAt().AsTime()
			return !at.Before(all[3].GetCreatedAt().AsTime()) && at.Before(all[9].GetCreatedAt().AsTime())
		}},
		{"customers who match all filters", &customerv1.ListCustomersRequest{Archived: ptr(false), Email: "ZOË.Ö@example.com", UpdatedSince: since}, func(c *customerv1.Customer) bool {
			return !c.GetArchived() && c.GetEmail() == "Zoë.Ö@Example.com" && !c.GetUpdatedAt().AsTime().Before(since.AsTime())
		}},
	}
	for _, f := range filters {
		for _, o := range orders() {
			t.Run(fmt.Sprintf("of %s in the order %s has each once, by token and by offset, and their number (invariants 3 and 7)", f.name, o), func(t *testing.T) {
				var want []*customerv1.Customer
				for _, c := range all {
					if f.has(c) {
						want = append(want, c)
					}
				}
				want = sorted(want, o)
				req := proto.Clone(f.req).(*customerv1.ListCustomersRequest)
				req.Order, req.PageSize = o, 2
				right := func(res *customerv1.ListCustomersResponse) {
					if res.GetTotal() != int64(len(want)) {
						t.Errorf("the total is %d, want %d", res.GetTotal(), len(want))
					}
				}
				if got := idsOf(w.follow(req, right)); !slices.Equal(got, idsOf(want)) {
					t.Errorf("by token: got %v, want %v", got, idsOf(want))
				}
				var got []string
				for ; req.Offset <= int64(len(want)); req.Offset += 2 {
					res, err := w.client.ListCustomers(w.ctx(), req)
					if err != nil {
						t.Fatal(err)
					}
					right(res)
					got = append(got, idsOf(res.GetCustomers())...)
				}
				if !slices.Equal(got, idsOf(want)) {
					t.Errorf("by offset: got %v, want %v", got, idsOf(want))
				}
			})
		}
	}
}

func TestListRefusals(t *testing.T) {
	w := open(t)
	w.create("A")
	w.create("B")
	tokens := map[customerv1.CustomerOrder]string{}
	for _, o := range orders() {
		res, err := w.client.ListCustomers(w.ctx(), &customerv1.ListCustomersRequest{PageSize: 1, Order: o})
		if err != nil || res.GetNextPageToken() == "" {
			t.Fatalf("%s: got %v, %v", o, res, err)
		}
		tokens[o] = res.GetNextPageToken()
	}
	for _, made := range orders() {
		for _, used := range orders() {
			t.Run(fmt.Sprintf("a token of %s is for that order, not for %s", made, used), func(t *testing.T) { // invariant 7
				_, err := w.client.ListCustomers(w.ctx(), &customerv1.ListCustomersRequest{Order: used, PageToken: tokens[made]})
				if made == used && err != nil || made != used && !fault.Is(err, fault.Invalid) {
					t.Errorf("got %v", err)
				}
			})
		}
	}
	token := func(at int64) string {
		raw := []byte{1}
		for shift := 56; shift >= 0; shift -= 8 {
			raw = append(raw, byte(at>>shift))
		}
		return base64.RawURLEncoding.EncodeToString(append(raw, make([]byte, 16)...))
	}
	tests := []struct {
		field, rule string
		req         *customerv1.ListCustomersRequest
	}{
		{"page_size", "range", &customerv1.ListCustomersRequest{PageSize: -1}},
		{"page_size", "range", &customerv1.ListCustomersRequest{PageSize: 1001}},
		{"offset", "range", &customerv1.ListCustomersRequest{Offset: -1}},
		{"offset", "exclusive", &customerv1.ListCustomersRequest{Offset: 1, PageToken: tokens[byID]}},
		{"order", "enum", &customerv1.ListCustomersRequest{Order: 99}},
		{"order", "enum", &customerv1.ListCustomersRequest{Order: -1}},
		{"email", "characters", &customerv1.ListCustomersRequest{Email: "a\x00b"}},
		{"created_from", "range", &customerv1.ListCustomersRequest{CreatedFrom: &timestamppb.Timestamp{Seconds: math.MaxInt64}}},
		{"created_before", "range", &customerv1.ListCustomersRequest{CreatedBefore: &timestamppb.Timestamp{Seconds: math.MaxInt64}}},
		{"updated_since", "range", &customerv1.ListCustomersRequest{UpdatedSince: &timestamppb.Timestamp{Seconds: math.MaxInt64}}},
		{"page_token", "format", &customerv1.ListCustomersRequest{PageToken: "x"}},
		{"page_token", "format", &customerv1.ListCustomersRequest{PageToken: id.NewUUID().String()}},
		{"page_token", "format", &customerv1.ListCustomersRequest{PageToken: tokens[byID] + "A"}},
		{"page_token", "format", &customerv1.ListCustomersRequest{Order: created1st, PageToken: token(math.MinInt64)}},
		{"page_token", "format", &customerv1.ListCustomersRequest{Order: created1st, PageToken: token(math.MaxInt64)}},
		{"page_token", "format", &customerv1.ListCustomersRequest{Order: created1st, PageToken: token(math.MinInt64 / 2)}},
	}
	for _, test := range tests {
		t.Run(fmt.Sprintf("refuses %v for %s:%s", test.req, test.field, test.rule), func(t *testing.T) {
			_, err := w.client.ListCustomers(w.ctx(), test.req)
			f := fault.From(err)
			if err == nil || f.Reason != fault.ReasonInvalidParameter || len(f.Fields) != 1 || f.Fields[0].Field != test.field || f.Fields[0].Rule != test.rule {
				t.Errorf("got %v with %v", err, f.Fields)
			}
		})
	}
	t.Run("refuses texts that are too long", func(t *testing.T) {
		for _, req := range []*customerv1.ListCustomersRequest{
			{Email: strings.Repeat("é", 128)}, {PageToken: strings.Repeat("x", 201)}, {Query: strings.Repeat("x", 101)},
		} {
			_, err := w.client.ListCustomers(w.ctx(), req)
			if f := fault.From(err); err == nil || f.Kind != fault.Invalid || len(f.Fields) != 1 || f.Fields[0].Rule != "max_length" {
				t.Errorf("%v: got %v", req, err)
			}
		}
	})
	t.Run("accepts the largest possible offset", func(t *testing.T) {
		for _, o := range orders() {
			req := &customerv1.ListCustomersRequest{Order: o, PageSize: 1000, Offset: math.MaxInt64, Archived: ptr(false), Email: "a@example.com"}
			if res, err := w.client.ListCustomers(w.ctx(), req); err != nil || len(res.GetCustomers()) != 0 || res.GetTotal() != 2 {
				t.Errorf("%s: got %v, %v", o, res, err)
			}
		}
	})
	t.Run("an export refuses an invalid instant", func(t *testing.T) {
		if _, err := w.export(w.ctx(), &timestamppb.Timestamp{Seconds: math.MaxInt64}); !fault.Is(err, fault.Invalid) {
			t.Errorf("got %v", err)
		}
	})
}

// TestListDuringChanges follows lists while others create, change and delete customers.
func TestListDuringChanges(t *testing.T) { // invariant 7
	w := open(t)
	const n = 600
	var busy, leave, quiet []string
	for i, r := range w.importN("r", n) {
		switch i % 3 {
		case 0:
			busy = append(busy, r.GetId())
		case 1:
			quiet = append(quiet, r.GetId())
		default:
			leave = append(leave, r.GetId())
		}
	}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	worker := func(n int, act func(i int) error) {
		wg.Go(func() {
			for i := range n {
				select {
				case <-stop:
					return
				default:
				}
				if err := act(i); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	worker(math.MaxInt, func(i int) error {
		_, err := w.client.CreateCustomer(w.ctx(), &customerv1.CreateCustomerRequest{FirstName: "N", LastName: "N", Email: "n@example.com"})
		return err
	})
	worker(len(leave), func(i int) error {
		_, err := w.client.DeleteCustomer(w.ctx(), &customerv1.DeleteCustomerRequest{Id: leave[i]})
		return err
	})
	worker(math.MaxInt, func(i int) error {
		_, err := w.client.UpdateCustomer(w.ctx(), &customerv1.UpdateCustomerRequest{Id: busy[i*7%len(busy)], Mobile: ptr(fmt.Sprint(i))})
		return err
	})
	for _, o := range orders() {
		for _, archived := range []*bool{nil, ptr(true)} {
			t.Run(fmt.Sprintf("%s, archived %v", o, archived), func(t *testing.T) {
				req := &customerv1.ListCustomersRequest{Order: o, PageSize: 20, Archived: archived}
				met, last := map[string]int64{}, map[string]int64{}
				var pages int
				var got []*customerv1.Customer
				for token := ""; ; {
					req.PageToken = token
					res, err := w.client.ListCustomers(w.ctx(), req)
					if err != nil {
						t.Fatal(err)
					}
					got = append(got, res.GetCustomers()...)
					pages++
					if token = res.GetNextPageToken(); token == "" {
						break
					}
					if pages > n {
						t.Fatal("the list does not end")
					}
				}
				for _, c := range got {
					met[c.GetId()]++
					if met[c.GetId()] > 1 && (o != updated1st || c.GetVersion() <= last[c.GetId()]) {
						t.Errorf("%s is listed twice, in versions %d and %d", c.GetId(), last[c.GetId()], c.GetVersion())
					}
					last[c.GetId()] = c.GetVersion()
				}
				there := quiet
				if o != updatedLast {
					there = slices.Concat(quiet, busy)
				}
				for _, c := range w.batch(there) {
					if met[c.GetId()] == 0 && (archived == nil || c.GetArchived()) {
						t.Errorf("%s is missing", c.GetId())
					}
				}
			})
		}
	}
	close(stop)
	wg.Wait()
	w.total()
}

func (w *world) batch(ids []string) []*customerv1.Customer {
	w.t.Helper()
	res, err := w.client.BatchGetCustomers(w.ctx(), &customerv1.BatchGetCustomersRequest{Ids: ids})
	if err != nil || len(res.GetCustomers()) != len(ids) {
		w.t.Fatalf("got %d of %d customers, %v", len(res.GetCustomers()), len(ids), err)
	}
	return res.GetCustomers()
}

func TestChangeTimesIncreaseWithVersions(t *testing.T) { // invariant 7
	at := time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)
	c := Customer{Version: 1, UpdatedAt: at}
	for i, now := range []time.Time{at, at.Add(-time.Hour), at.Add(time.Minute)} {
		before := c.UpdatedAt
		c.Apply(Change{Fields: map[string]string{"first_name": fmt.Sprint("A", i)}}, now)
		if !c.UpdatedAt.After(before) || c.UpdatedAt.Before(now) {
			t.Errorf("changed at %s with a clock at %s, after a change at %s", c.UpdatedAt, now, before)
		}
	}
}
