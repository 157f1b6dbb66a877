package volume

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"reservation.dev/test/harness"
)

// TestSlowVolume measures every page of the dashboard and the reads of Interface B.
func TestSlowVolume(t *testing.T) {
	began := time.Now()
	w := newWorld(t)
	t.Logf("the databases were filled in %s", time.Since(began).Round(time.Second))
	var many int64
	if err := w.bookings.QueryRow(t.Context(), `select count(*) from bookings where company_id = $1`, w.company).Scan(&many); err != nil || many < 1_000_000 {
		t.Fatalf("%d bookings, %v", many, err)
	}
	o := w.busiest(t)
	t.Run("dashboard", func(t *testing.T) { w.testDashboard(t, o) })
	t.Run("Interface B", func(t *testing.T) { w.testInterfaceB(t, o) })
}

func (w *world) testDashboard(t *testing.T, o objects) {
	v := newVisitor(t, w.Credentials.Admin.URL)
	v.signIn(t, w.Credentials.Admin.Email, w.Credentials.Admin.Password)
	var costs []cost
	reached := map[string]bool{}
	for _, p := range v.crawl(t, o.pages()) {
		reached[p.pattern] = true
		c, last, err := measure(t.Context(), w.statements, p.path, func() (answer, error) { return v.get(t.Context(), p.path) })
		if err != nil {
			t.Fatalf("%s: %v", p.path, err)
		}
		assets, err := v.assetsOf(t.Context(), last.body)
		if err != nil {
			t.Fatal(err)
		}
		c.total += assets
		costs = append(costs, c)
		if err := c.check(o.most(p.path)); err != nil && !strings.HasSuffix(p.path, "/export") { // a file
			t.Error(err)
		}
	}
	write(t.Output(), costs)
	for _, pattern := range v.patterns {
		if !reached[pattern] && !unreached(pattern) {
			t.Errorf("no page of %s was found", pattern)
		}
	}
}

// unreached reports whether no link leads to a page in this test. These pages are for guests, redirect, or show
// objects of which the company has none; none of them lists customers or bookings.
func unreached(pattern string) bool {
	_, path, _ := strings.Cut(pattern, " ")
	for _, prefix := range []string{"/sign-in", "/reset/", "/invitation/", "/settings", "/test-mode", "/dates/", "/events/{id}/dates/{date}/offers/", "/subscriptions/{id}/", "/discounts/{id}", "/rooms/{id}/time-off/", "/calendars/{id}", "/library/{id}/access/{entitlement}"} {
		if strings.HasPrefix(path, prefix) {
			return true
		}
	}
	return false
}

func (w *world) testInterfaceB(t *testing.T, o objects) {
	base := w.Credentials.InterfaceB.BaseURL
	key := w.Operator(t).Company(w.Credentials.CompanyID).NewKey(t, 10_000) // requests a minute
	v := &visitor{url: base, client: http.Client{Timeout: time.Minute}, token: harness.NewB(t, base).Token(t, key)}
	defer v.client.CloseIdleConnections()
	var costs []cost
	for _, path := range o.routes() {
		c, _, err := measure(t.Context(), w.statements, path, func() (answer, error) { return v.mustGet(t.Context(), path) })
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		costs = append(costs, c)
		if err := c.check(o.most(path)); err != nil {
			t.Error(err)
		}
	}
	write(t.Output(), costs)
}

// mustGet is get for a path that exists.
func (v *visitor) mustGet(ctx context.Context, path string) (answer, error) {
	a, err := v.get(ctx, path)
	if err == nil && a.status != http.StatusOK {
		err = errors.New(a.body)
	}
	return a, err
}
