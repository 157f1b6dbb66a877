package booking

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"

	"reservation.dev/devkit/testkit"
	"reservation.dev/platform/config"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

// TestHotStatementsAreNotPlannedAgain checks that PostgreSQL keeps the plans of the statements of
// purchases and of reads by identifier: making one takes longer than running it.
func TestHotStatementsAreNotPlannedAgain(t *testing.T) {
	ownerURL, appURL := testkit.DBURLs(t, schema())
	// All statements are prepared on the only connection.
	db, err := pg.Open(t.Context(), pg.Config{URL: config.Secret(appURL), MaxConns: 1}, testkit.Log(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	w := newWorldOn(t, db)
	// In an empty table any plan is cheap.
	ann := w.customer(w.company, "ann")
	w.event(w.ctx, nil)
	w.exec(fillOffersSQL, w.company, 2000)
	w.exec(`insert into customers (company_id, id, first_name, last_name, email, version)
		select $1, gen_random_uuid(), 'x', 'x', 'x@example.com', 1 from generate_series(1, 2000)`, w.company)
	owner, err := pgx.Connect(t.Context(), ownerURL)
	if err != nil {
		t.Fatal(err)
	}
	defer owner.Close(context.Background())
	withoutAutovacuum(t, owner)
	vacuum(t, owner)
	const runs = 12
	for range runs {
		e := w.event(w.ctx, nil)
		bought := w.mustBook(w.ctx, ann, e, 1)
		if _, err := w.bookings.GetTransaction(w.ctx, &bookingv1.GetTransactionRequest{CustomerId: ann.String(), TransactionId: bought.GetId()}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.bookings.ListTransactions(w.ctx, &bookingv1.ListTransactionsRequest{CustomerId: ann.String()}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.events.GetEvent(w.ctx, &bookingv1.GetEventRequest{Id: e.GetId()}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.events.ListEvents(w.ctx, &bookingv1.ListEventsRequest{}); err != nil {
			t.Fatal(err)
		}
	}
	type use struct {
		Statement       string
		Custom, Generic int64
	}
	// PostgreSQL makes five plans for the arguments of each run before it compares.
	const compared = 5
	uses, err := pg.Rows[use](t.Context(), db, pg.For(id.New[id.Company]()),
		`select statement, custom_plans as custom, generic_plans as generic from pg_prepared_statements where custom_plans + generic_plans >= $1`, runs)
	if err != nil || len(uses) < 10 {
		t.Fatalf("%d statements, %v", len(uses), err)
	}
	for _, u := range uses {
		if u.Custom > compared {
			t.Errorf("planned %d times, kept for %d runs: %s", u.Custom, u.Generic, u.Statement)
		}
	}
}
