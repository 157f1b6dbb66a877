package e2e

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"testing"
	"time"

	"reservation.dev/test/harness"
)

type customerPage struct {
	Data     []listedCustomer `json:"data"`
	Total    *int             `json:"total"`
	Page     *int             `json:"page"`
	PageSize *int             `json:"pageSize"`
}

func (n *tenant) customers(t *testing.T, query string) customerPage {
	t.Helper()
	var page customerPage
	n.get(t, "/customers"+query).Into(t, http.StatusOK, &page)
	return page
}

func (p customerPage) ids() []string {
	ids := []string{}
	for _, c := range p.Data {
		ids = append(ids, c.ID)
	}
	return ids
}

func (w *world) testCustomers(t *testing.T) {
	n := w.tenant(t, "Europe/London")
	t.Run("a company without customers has an empty list", func(t *testing.T) {
		n := n.at(t, w)
		if answer := n.get(t, "/customers"); string(answer.Body) != `{"data":[]}` {
			t.Errorf("answered %s", answer.Body)
		}
	})
	ids := n.ImportCustomers(t, "c", 150)
	archived, deleted := ids[7], ids[8]
	n.archive(t, archived)
	n.delete(t, deleted)
	made := n.NewCustomer(t, "Zoë", `O"Brien\`).GetId()
	want := append(slices.Clone(ids), made)
	want = slices.DeleteFunc(want, func(id string) bool { return id == deleted })
	slices.Sort(want)
	other := w.tenant(t, "Europe/London")
	stranger := other.NewCustomer(t, "Str", "Anger").GetId()

	t.Run("the list has every customer that is not deleted, including archived ones, by id", func(t *testing.T) {
		n := n.at(t, w)
		list := n.customers(t, "")
		equal(t, "customers", list.ids(), want)
		if list.Total != nil || list.Page != nil || list.PageSize != nil {
			t.Error("the whole list has the members of a page")
		}
	})
	t.Run("each customer has the six fields, and always archived", func(t *testing.T) {
		n := n.at(t, w)
		for _, c := range n.customers(t, "").Data {
			// The import archives every fiftieth customer.
			is := c.ID == archived || c.ID == ids[49] || c.ID == ids[99] || c.ID == ids[149]
			if c.Archived == nil || *c.Archived != is || c.Type != "customer" || c.Firstname == "" || c.Email == "" {
				t.Errorf("got %+v", c)
			}
			if c.ID == made && (c.Firstname != "Zoë" || c.Lastname != `O"Brien\` || c.Mobile != "+44 7700 900123") {
				t.Errorf("got %+v", c)
			}
		}
	})
	t.Run("the list has no customers of other companies", func(t *testing.T) {
		n, other := n.at(t, w), other.at(t, w)
		equal(t, "the other company's", other.customers(t, "").ids(), []string{stranger})
		if slices.Contains(n.customers(t, "").ids(), stranger) {
			t.Error("the list has another company's customer")
		}
	})
	t.Run("an update appears in the list immediately", func(t *testing.T) {
		n := n.at(t, w)
		n.put(t, profilePath(made), update("Ame", "Lie", "amelie@example.org", "")).Into(t, http.StatusOK, nil)
		list := n.customers(t, "").Data
		i := slices.IndexFunc(list, func(c listedCustomer) bool { return c.ID == made })
		if i < 0 || list[i].profile != n.profile(t, made) {
			t.Errorf("got %+v", list)
		}
	})
}

func (w *world) testCustomerPages(t *testing.T) {
	n := w.tenant(t, "Europe/London")
	ids := n.ImportCustomers(t, "p", 130)
	slices.Sort(ids)
	t.Run("the pages together are the whole list", func(t *testing.T) {
		n := n.at(t, w)
		var got []string
		for page := range 5 {
			p := n.customers(t, fmt.Sprintf("?page=%d&pageSize=40", page))
			if *p.Total != 130 || *p.Page != page || *p.PageSize != 40 {
				t.Fatalf("total %d, page %d, pageSize %d", *p.Total, *p.Page, *p.PageSize)
			}
			got = append(got, p.ids()...)
		}
		equal(t, "customers", got, ids)
	})
	t.Run("the defaults are page 0 and 30 items, and a pageSize above 100 is treated as 100", func(t *testing.T) {
		n := n.at(t, w)
		for query, size := range map[string]int{"?page=0": 30, "?pageSize=7": 7, "?pageSize=100": 100, "?pageSize=101": 100, "?pageSize=2147483647": 100} {
			p := n.customers(t, query)
			equal(t, query, p.ids(), ids[:size])
			if *p.PageSize != size || *p.Page != 0 {
				t.Errorf("%s: page %d, pageSize %d", query, *p.Page, *p.PageSize)
			}
		}
		far := n.customers(t, "?page=2147483647&pageSize=100")
		if len(far.Data) != 0 || *far.Total != 130 {
			t.Errorf("page far beyond the end: %d items of %d", len(far.Data), *far.Total)
		}
	})
	t.Run("an invalid page or pageSize is 400 and the field is named", func(t *testing.T) {
		n := n.at(t, w)
		for query, field := range map[string]string{
			"?page=-1": "page", "?page=x": "page", "?page=": "page", "?page=1.5": "page", "?pageSize=0": "pageSize", "?pageSize=-5": "pageSize",
			"?pageSize=all": "pageSize", "?updated_since=yesterday": "updated_since", "?page=99999999999999999999": "page",
		} {
			f := n.get(t, "/customers"+query).Refused(t, http.StatusBadRequest, "INVALID_PARAMETER")
			if f.Error.Details["field"] != field {
				t.Errorf("%s: details %v", query, f.Error.Details)
			}
		}
	})
	t.Run("updated_since leaves out customers that have not changed since", func(t *testing.T) {
		n := n.at(t, w)
		since := url.QueryEscape(time.Now().Format(time.RFC3339Nano))
		if got := n.customers(t, "?updated_since="+since).ids(); len(got) != 0 {
			t.Errorf("before any change: %v", got)
		}
		n.put(t, profilePath(ids[3]), update("Chan", "Ged", "a@example.org")).Into(t, http.StatusOK, nil)
		equal(t, "the whole list", n.customers(t, "?updated_since="+since).ids(), ids[3:4])
		page := n.customers(t, "?page=0&updated_since="+since)
		equal(t, "a page", page.ids(), ids[3:4])
		if *page.Total != 1 {
			t.Errorf("total %d", *page.Total)
		}
	})
	t.Run("a page needs the same scope as the whole list", func(t *testing.T) {
		a := w.client(t)
		tok := a.Token(t, n.NewClient(t, "profile:read"))
		a.Do(t, harness.Request{Path: "/customers?page=1", Token: tok}).Refused(t, http.StatusForbidden, "INSUFFICIENT_SCOPE")
	})
}
