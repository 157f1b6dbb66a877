package model

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"pgregory.net/rapid"

	"reservation.dev/test/harness"
)

// compareAll reads everything and compares it with the model, whose sums it computes again.
func (m *machine) compareAll(t *rapid.T) {
	for _, e := range m.events {
		m.read(t, e.path(), e.deleted, e.view, "createdAt", "updatedAt")
		for _, d := range e.dates {
			if taken := m.spots(d); taken != d.taken || !d.fits(0) {
				t.Fatalf("date %s: %d spots are taken, and the registrations and holds have %d: capacity %v", d.id, d.taken, taken, d.capacity)
			}
			m.read(t, d.path(), e.deleted, func() object { return m.viewDate(e, d) }, "updatedAt")
		}
	}
	m.compareList(t, "/registrations", "registrations", views(m.registered(), (*registration).view), loose()...)
	m.compareList(t, "/waitlist-entries", "waitlistEntries", views(m.listed(), m.viewEntry), looseOfEntry()...)
	m.compareList(t, "/discount-codes", "discountCodes", views(m.discounts, (*discount).view), "createdAt", "updatedAt")
	for _, h := range m.holds {
		m.read(t, h.path(), false, h.view, "expiresAt", "createdAt")
	}
	m.compareTransactions(t)
	for _, r := range m.regs {
		m.compareHistory(t, r, 100, true)
	}
	for _, h := range m.held {
		m.read(t, h.path(), false, h.view, looseOfHeld()...)
		m.compareLedger(t, h)
	}
}

func views[T any](all []T, view func(T) object) []object {
	out := make([]object, len(all))
	for i, one := range all {
		out[i] = view(one)
	}
	return out
}

// spots counts the spots of a date that registrations and holds have.
func (m *machine) spots(d *date) int {
	regs := slices.Clone(m.regs)
	for _, h := range m.holds {
		if h.status == "active" {
			regs = append(regs, h.regs...)
		}
	}
	taken := 0
	for _, r := range regs {
		if r.date == d && r.status == "confirmed" {
			taken += r.spots
		}
	}
	return taken
}

// all reads a whole list.
func (m *machine) all(t failer, path, collection string) []any {
	var got []any
	for cursor := "?perPage=100"; ; {
		a := m.call(t, http.MethodGet, path+cursor, nil)
		a.expect(t, http.StatusOK, fine)
		items, _ := a.body[collection].([]any)
		got = append(got, items...)
		next, more := a.body["nextCursor"].(string)
		if !more {
			return got
		}
		cursor = "?perPage=100&cursor=" + next
	}
}

func (m *machine) compareList(t *rapid.T, path, collection string, want []object, without ...string) {
	m.compare(t, path, m.all(t, path, collection), want, false, without)
}

// compareTransactions compares the list of transactions, and the sums of their money.
func (m *machine) compareTransactions(t *rapid.T) {
	m.compareList(t, "/transactions", "transactions", views(m.bought(), (*purchase).view), looseOfPurchase()...)
	for _, r := range m.regs {
		timely := r.status == "cancelled" && !r.late && !r.byPass()
		if r.repaid+r.due > r.paid || !timely && r.due > r.paid-r.price || timely && r.due+r.repaid != r.paid {
			t.Fatalf("%v: what is due and what was refunded do not agree with the price", r.view())
		}
	}
}

// compareLedger checks that the changes of a pass add up to its balances, and the last one is what
// remains.
func (m *machine) compareLedger(t *rapid.T, h *customerPass) {
	number := func(v any) int {
		n, err := strconv.Atoi(string(v.(json.Number)))
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	sum := 0
	for i, item := range m.all(t, h.path()+"/ledger", "ledger") {
		line := item.(object)
		if sum += number(line["change"]); number(line["balance"]) != sum || number(line["sequence"]) != i+1 {
			t.Fatalf("%s: the changes add up to %d: %v", h.id, sum, line)
		}
	}
	if sum != h.remaining {
		t.Fatalf("%s: the ledger adds up to %d, and %d uses remain", h.id, sum, h.remaining)
	}
}

// verify runs reservectl verify.
func (m *machine) verify(t *rapid.T) {
	out, err := m.verified()
	if err != nil {
		t.Fatalf("reservectl verify: %s: %v", out, err)
	}
}

// verified returns what reservectl verify prints. It fails if there are differences.
func (m *machine) verified() (string, error) {
	res := harness.Run(m.t, harness.Command{
		Program: "reservectl", Args: []string{"verify", "--company", m.company}, Env: map[string]string{"RESERVATION_CREDENTIALS": m.s.CredentialsFile()},
	})
	if res.Code != 0 {
		return res.Output, fmt.Errorf("exit status %d: %s", res.Code, res.Errors)
	}
	return res.Output, nil
}

// compareTexts compares pairs of texts.
func compareTexts(pairs ...any) int {
	for i := 0; i+1 < len(pairs); i += 2 {
		if c := cmp.Compare(fmt.Sprint(pairs[i]), fmt.Sprint(pairs[i+1])); c != 0 {
			return c
		}
	}
	return 0
}
