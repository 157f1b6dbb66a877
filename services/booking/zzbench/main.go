package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"reservation.dev/services/booking/store"
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func cpu(pid uint32) float64 {
	f := strings.Fields(string(must(os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)))))
	u, s := must(strconv.ParseFloat(f[13], 64)), must(strconv.ParseFloat(f[14], 64))
	// nanosecond resolution
	if b, err := os.ReadFile(fmt.Sprintf("/proc/%d/schedstat", pid)); err == nil {
		return must(strconv.ParseFloat(strings.Fields(string(b))[0], 64)) / 1e3
	}
	return (u + s) * 1e4
}

const insT = `insert into transactions
			(company_id, id, purchaser_id, purchased_at, timezone, source, reference, status, version, expires_at, discount_code_id,
				request_key, request_hash)
		select $1, n.id, n.purchaser_id, n.purchased_at, n.timezone, $2, n.reference, n.status, n.version, n.expires_at, n.discount_code_id,
			n.request_key, n.request_hash
		from unnest($3::uuid[], $4::uuid[], $5::timestamptz[], $6::text[], $7::text[], $8::bigint[], $9::text[], $10::timestamptz[], $11::uuid[],
				$12::bytea[], $13::bytea[])
			n(id, purchaser_id, purchased_at, timezone, reference, version, status, expires_at, discount_code_id, request_key, request_hash)`
const insB = `insert into bookings (company_id, id, transaction_id, position, event_id, event_date_id,
			pricing_option_id, bought_for, spaces, is_cancelled, is_refunded,
			method, currency, gross, net, payment_reference, credits_used, customer_pass_id, discount, discount_code)
		select $1, n.id, n.transaction_id, n.position, n.event_id, n.event_date_id,
			n.pricing_option_id, n.bought_for, n.spaces, n.is_cancelled, n.is_refunded,
			n.method, n.currency, n.gross, n.net, n.payment_reference, n.credits_used, n.customer_pass_id, n.discount, n.discount_code
		from unnest($2::uuid[], $3::uuid[], $4::integer[], $5::uuid[], $6::uuid[],
				$7::uuid[], $8::uuid[], $9::integer[], $10::boolean[], $11::boolean[],
				$12::text[], $13::text[], $14::bigint[], $15::bigint[], $16::text[], $17::integer[], $18::uuid[], $19::bigint[], $20::text[])
			n(id, transaction_id, position, event_id, event_date_id,
				pricing_option_id, bought_for, spaces, is_cancelled, is_refunded,
				method, currency, gross, net, payment_reference, credits_used, customer_pass_id, discount, discount_code)`
const insO = `insert into outbox_events (id, company_id, subject, payload, trace, occurred_at)
	select e.id, e.company_id, e.subject, e.payload, e.trace::jsonb, e.occurred_at
	from unnest($1::uuid[], $2::uuid[], $3::text[], $4::bytea[], $5::text[], $6::timestamptz[])
		as e (id, company_id, subject, payload, trace, occurred_at)`
const confirmSQL = `with waited as (update waitlist_entries set state = 'booked', offer_expires_at = null
			where company_id = $1 and transaction_id = any($2) and state in ('offered', 'booking'))
		update transactions set status = 'confirmed', expires_at = null, held_until = null, held_prices = null,
			request_key = null, request_hash = null
		where company_id = $1 and id = any($2) and status = 'pending'`
const nameUsed = `update bookings b set customer_pass_id = n.pass from unnest($2::uuid[], $3::uuid[]) n(transaction_id, pass)
		where b.company_id = $1 and b.transaction_id = n.transaction_id and b.method = 'PASS'`
const lockAll = `select id from transactions where company_id = $1 and id = any($2) and status = 'pending' order by id for no key update`
const whichCancelled = `select id from event_dates where company_id = $1 and id = any($2) and status = 'cancelled'`

func main() {
	role := flag.String("role", "app", "")
	mode := flag.String("plan", "auto", "")
	n := flag.Int("n", 2000, "")
	per := flag.Int("per", 1, "purchases in a commit")
	pass := flag.Bool("pass", false, "")
	only := flag.String("only", "", "run only reads n times: customers|offer|dates|set")
	show := flag.Bool("show", false, "")
	flag.Parse()
	ctx := context.Background()
	admin := must(pgx.Connect(ctx, "postgres://postgres@127.0.0.1:54399/booking?sslmode=disable"))
	c := must(pgx.Connect(ctx, "postgres://"+*role+"@127.0.0.1:54399/booking?sslmode=disable&timezone=UTC&jit=off&random_page_cost=1.1&plan_cache_mode="+*mode))
	var company uuid.UUID
	if err := admin.QueryRow(ctx, `select company_id from companies limit 1`).Scan(&company); err != nil {
		company = seed(ctx, admin)
	}
	var customers, dates []uuid.UUID
	collect := func(sql string) []uuid.UUID {
		return must(pgx.CollectRows(must(admin.Query(ctx, sql, company)), pgx.RowTo[uuid.UUID]))
	}
	customers = collect(`select id from customers where company_id = $1`)
	dates = collect(`select id from event_dates where company_id = $1`)
	events := map[uuid.UUID]uuid.UUID{}
	options := map[uuid.UUID]uuid.UUID{}
	rows := must(admin.Query(ctx, `select d.id, d.event_id, o.id from event_dates d join pricing_options o using (company_id, event_id) where company_id = $1`, company))
	for rows.Next() {
		var d, e, o uuid.UUID
		rows.Scan(&d, &e, &o)
		events[d], options[d] = e, o
	}
	payload := make([]byte, 900)
	run := func(b *pgx.Batch) {
		r := c.SendBatch(ctx, b)
		if err := r.Close(); err != nil {
			panic(err)
		}
	}
	begin := func(b *pgx.Batch) {
		b.Queue("begin")
		b.Queue(`select set_config('app.company_id', $1, true)`, company.String())
	}
	purchase := func() {
		var who, when, ev, op, tid, bid, oid, comp, nilu []uuid.UUID
		var sp, pos []int32
		var times, exp []*time.Time
		var zone, status, method, cur, subj, ntext []*string
		var ver, gross, net, nint8 []*int64
		var credits []*int32
		var f []bool
		var pl, nbytes [][]byte
		now := time.Now().UTC().Truncate(time.Second)
		later := now.Add(time.Minute)
		s := func(x string) *string { return &x }
		seen := map[uuid.UUID]bool{}
		for range *per {
			w, d := customers[rand.IntN(len(customers))], dates[rand.IntN(len(dates))]
			for seen[d] {
				d = dates[rand.IntN(len(dates))]
			}
			seen[d] = true
			who, when, ev, op = append(who, w), append(when, d), append(ev, events[d]), append(op, options[d])
			tid, bid, oid, comp = append(tid, must(uuid.NewV7())), append(bid, must(uuid.NewV7())), append(oid, must(uuid.NewV7())), append(comp, company)
			sp, pos, times, zone = append(sp, 1), append(pos, 0), append(times, &now), append(zone, s("Europe/London"))
			one, price := int64(1), int64(1200)
			ver = append(ver, &one)
			if *pass {
				status, exp, method, cur, gross, net = append(status, s("pending")), append(exp, &later), append(method, s("PASS")), append(cur, nil), append(gross, nil), append(net, nil)
				cr := int32(1)
				credits = append(credits, &cr)
			} else {
				status, exp, method, cur, gross, net = append(status, s("confirmed")), append(exp, nil), append(method, s("CARD")), append(cur, s("GBP")), append(gross, &price), append(net, &price)
				credits = append(credits, nil)
			}
			ntext, nint8, nbytes, f, subj, pl = append(ntext, nil), append(nint8, nil), append(nbytes, nil), append(f, false), append(subj, s("booking.v1.booking_confirmed.x")), append(pl, payload)
		}
		var nulls []*uuid.UUID
		for range *per {
			nulls = append(nulls, nil)
		}
		_ = nilu
		b := &pgx.Batch{}
		begin(b)
		b.Queue(store.KnownCustomersSQL, company, who)
		b.Queue(store.OfferedOptionsSQL, company, when)
		b.Queue(store.LockDatesSQL, company, when)
		run(b)
		b = &pgx.Batch{}
		b.Queue(store.TakeSpacesSQL, company, when, sp)
		b.Queue(insT, company, "live", tid, who, times, zone, ntext, ver, status, exp, nulls, nbytes, nbytes)
		b.Queue(insB, company, bid, tid, pos, ev, when, op, nulls, sp, f, f, method, cur, gross, net, ntext, credits, nulls, nint8, ntext)
		if !*pass {
			b.Queue(insO, oid, comp, subj, pl, ntext, times)
		}
		b.Queue("commit")
		run(b)
		if *pass {
			b = &pgx.Batch{}
			begin(b)
			b.Queue(lockAll, company, tid)
			b.Queue(whichCancelled, company, when)
			b.Queue(store.KnownCustomersSQL, company, who)
			run(b)
			b = &pgx.Batch{}
			b.Queue(confirmSQL, company, tid)
			b.Queue(nameUsed, company, tid, bid)
			b.Queue(insO, oid, comp, subj, pl, ntext, times)
			b.Queue("commit")
			run(b)
		}
	}
	step := purchase
	if *only != "" {
		step = func() {
			b := &pgx.Batch{}
			begin(b)
			who, when := []uuid.UUID{customers[rand.IntN(len(customers))]}, []uuid.UUID{dates[rand.IntN(len(dates))]}
			for range 20 {
				switch *only {
				case "customers":
					b.Queue(`select id, first_name, last_name, email, deleted_at from customers where company_id = $1 and id = any($2)`, company, who)
				case "offer":
					b.Queue(store.OfferedOptionsSQL, company, when)
				case "dates":
					b.Queue(store.LockDatesSQL, company, when)
				case "lockcustomers":
					b.Queue(store.KnownCustomersSQL, company, who)
				case "set":
					b.Queue(`select set_config('app.company_id', $1, true)`, company.String())
				}
			}
			b.Queue("commit")
			run(b)
		}
	}
	for range 50 {
		step()
	}
	pid := c.PgConn().PID()
	must(admin.Exec(ctx, `select pg_stat_statements_reset()`))
	var lsn, lsn2 string
	admin.QueryRow(ctx, `select pg_current_wal_insert_lsn()::text`).Scan(&lsn)
	before := cpu(pid)
	for range *n {
		step()
	}
	used := cpu(pid) - before
	var wal int64
	admin.QueryRow(ctx, `select (pg_current_wal_insert_lsn() - $1::pg_lsn)::bigint`, lsn).Scan(&wal)
	_ = lsn2
	count := float64(*n * *per)
	if *only != "" {
		count *= 20
	}
	fmt.Printf("role=%-6s plan=%-18s per=%-3d pass=%-5v only=%-9s cpu/each=%7.1f us  wal/each=%6.0f bytes\n", *role, *mode, *per, *pass, *only, used/count, float64(wal)/count)
	if *show {
		rows := must(admin.Query(ctx, `select calls, plans, round((total_plan_time*1000/calls)::numeric,1)::text, round((total_exec_time*1000/calls)::numeric,1)::text, round((wal_bytes/calls))::text, left(regexp_replace(query,'\s+',' ','g'),90) from pg_stat_statements where calls >= $1 order by total_exec_time+total_plan_time desc limit 20`, *n/2))
		for rows.Next() {
			var calls, plans int64
			var p, e, w, q string
			rows.Scan(&calls, &plans, &p, &e, &w, &q)
			fmt.Printf("   calls %6d plans %6d plan %6s us exec %6s us wal %5s  %s\n", calls, plans, p, e, w, q)
		}
	}
}

func seed(ctx context.Context, c *pgx.Conn) uuid.UUID {
	company := uuid.New()
	must(c.Exec(ctx, `insert into companies values ($1, 'Europe/London', 'GBP', 1)`, company))
	var cs [][]any
	for i := range 20000 {
		cs = append(cs, []any{company, must(uuid.NewV7()), nil, "Ada", "Lovelace", fmt.Sprintf("ada%d@example.com", i), int64(1), nil})
	}
	must(c.CopyFrom(ctx, pgx.Identifier{"customers"}, []string{"company_id", "id", "reference", "first_name", "last_name", "email", "version", "deleted_at"}, pgx.CopyFromRows(cs)))
	var es, ds, os [][]any
	for i := range 400 {
		e, d, o := must(uuid.NewV7()), must(uuid.NewV7()), must(uuid.NewV7())
		now := time.Now()
		es = append(es, []any{company, e, fmt.Sprint("Class ", i), "text", "class", "published", "Europe/London", "Room", now, now})
		ds = append(ds, []any{company, d, e, now.Add(time.Hour * time.Duration(i+100)), 60, "Europe/London", nil})
		os = append(os, []any{company, o, e, 0, "Full", int64(1200), "GBP", 1, 2000})
	}
	must(c.CopyFrom(ctx, pgx.Identifier{"events"}, []string{"company_id", "id", "title", "description", "type", "status", "timezone", "location", "created_at", "updated_at"}, pgx.CopyFromRows(es)))
	must(c.CopyFrom(ctx, pgx.Identifier{"event_dates"}, []string{"company_id", "id", "event_id", "starts_at", "duration_minutes", "timezone", "capacity"}, pgx.CopyFromRows(ds)))
	must(c.CopyFrom(ctx, pgx.Identifier{"pricing_options"}, []string{"company_id", "id", "event_id", "position", "name", "price", "currency", "credits", "tax_rate_basis_points"}, pgx.CopyFromRows(os)))
	must(c.Exec(ctx, `vacuum analyze`))
	return company
}
