package main

import (
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/id"
	"reservation.dev/platform/token"
	"reservation.dev/platform/zone"
)

const (
	purchaserSQL = `select first_name, last_name, email, deleted_at is not null
		from customers where company_id = $1 and id = $2`

	matching = `t.company_id = $1 and t.purchaser_id = $2 and t.status = 'confirmed'
		and t.purchased_at >= $3 and t.purchased_at <= $4`

	totalSQL = `select count(*) from transactions t where ` + matching

	pageSQL = `with page as materialized (select t.id, t.purchased_at, t.timezone from transactions t
		where ` + matching + ` order by t.purchased_at desc, t.id desc limit $5 offset $6)
	select p.id, p.purchased_at, p.timezone,
		b.id, b.is_cancelled, b.is_refunded, b.spaces, b.bought_for, b.pricing_option_id,
		b.method, b.currency, b.gross, b.net, b.credits_used,
		d.id, d.starts_at, d.timezone, d.duration_minutes, e.id, e.title, c.first_name, c.last_name, c.email
	from page p
	cross join lateral (select * from bookings b where b.company_id = $1 and b.transaction_id = p.id offset 0) b
	cross join lateral (select d.id, d.starts_at, d.timezone, d.duration_minutes from event_dates d
		where d.company_id = $1 and d.id = b.event_date_id offset 0) d
	cross join lateral (select e.id, e.title from events e
		where e.company_id = $1 and e.id = b.event_id offset 0) e
	left join lateral (select c.first_name, c.last_name, c.email from customers c
		where c.company_id = $1 and c.id = b.bought_for offset 0) c on true
	order by p.purchased_at desc, p.id desc, b.position`
)

type page struct {
	Data     []transaction `json:"data"`
	Total    int64         `json:"total"`
	Page     int           `json:"page"`
	PageSize int           `json:"pageSize"`
}

type transaction struct {
	ID           string    `json:"id"`
	Type         string    `json:"type"`
	PurchaseDate string    `json:"purchase_date"`
	Bookings     []booking `json:"bookings"`
}

type booking struct {
	ID            string     `json:"id"`
	Type          string     `json:"type"`
	IsCancelled   bool       `json:"is_cancelled"`
	IsRefunded    bool       `json:"is_refunded"`
	Spaces        int32      `json:"spaces"`
	PurchasedBy   *reference `json:"purchased_by"`
	BoughtFor     *reference `json:"bought_for,omitempty"`
	Event         event      `json:"event"`
	PricingOption struct {
		ID string `json:"id"`
	} `json:"pricing_option"`
	Payment payment `json:"payment"`
}

type reference struct {
	ID        string `json:"id"`
	Type      string `json:"type"`
	FirstName string `json:"firstname"`
	LastName  string `json:"lastname"`
	Email     string `json:"email"`
}

type event struct {
	ID   string `json:"id"`
	Type string `json:"type"`
	Name string `json:"name"`
	Date struct {
		ID       string `json:"id"`
		Type     string `json:"type"`
		Datetime string `json:"datetime"`
		Zone     string `json:"tz"`
		Duration int32  `json:"duration"`
	} `json:"date"`
}

type payment struct {
	Method      string `json:"method"`
	Currency    string `json:"currency"`
	Gross       *int64 `json:"base100gross_price,omitempty"`
	Net         *int64 `json:"base100net_price,omitempty"`
	CreditsUsed *int32 `json:"credits_used,omitempty"`
}

var errGone = errors.New("unknown customer")

func (s *server) bookings(w http.ResponseWriter, r *http.Request, claims *token.Claims) error {
	which, err := id.Parse[id.Customer](r.PathValue("id"))
	if err != nil {
		return err
	}
	query := r.URL.Query()
	from, err := time.Parse(time.DateOnly, query.Get("startDate"))
	if err != nil {
		return err
	}
	out := page{Data: []transaction{}}
	if out.Page, err = strconv.Atoi(query.Get("page")); err != nil {
		return err
	}
	if out.PageSize, err = strconv.Atoi(query.Get("pageSize")); err != nil {
		return err
	}
	purchaser := reference{ID: which.String(), Type: "customer"}
	args := []any{claims.Company, which, from, time.Now()}
	err = read(r.Context(), s.booking, claims.Company, func(batch *pgx.Batch) {
		batch.Queue(purchaserSQL, claims.Company, which).QueryRow(func(row pgx.Row) error {
			deleted := false
			err := row.Scan(&purchaser.FirstName, &purchaser.LastName, &purchaser.Email, &deleted)
			if err == nil && deleted {
				return errGone
			}
			return err
		})
		batch.Queue(totalSQL, args...).QueryRow(func(row pgx.Row) error { return row.Scan(&out.Total) })
		batch.Queue(pageSQL, append(args[:4:4], out.PageSize, out.Page*out.PageSize)...).Query(func(rows pgx.Rows) error {
			for rows.Next() {
				if err := out.scan(rows, &purchaser); err != nil {
					return err
				}
			}
			return rows.Err()
		})
	})
	if err != nil {
		return err
	}
	return answer(w, out)
}

func (p *page) scan(rows pgx.Rows, purchaser *reference) error {
	var t id.Transaction
	var which id.Booking
	var boughtFor id.Customer
	var option id.PricingOption
	var date id.EventDate
	var what id.Event
	var purchased, starts time.Time
	var timezone string
	var currency, first, last, email *string
	b := booking{Type: "event-booking", PurchasedBy: purchaser}
	b.Event.Type, b.Event.Date.Type = "event", "event_date"
	if err := rows.Scan(&t, &purchased, &timezone, &which, &b.IsCancelled, &b.IsRefunded, &b.Spaces, &boughtFor, &option,
		&b.Payment.Method, &currency, &b.Payment.Gross, &b.Payment.Net, &b.Payment.CreditsUsed,
		&date, &starts, &b.Event.Date.Zone, &b.Event.Date.Duration, &what, &b.Event.Name, &first, &last, &email); err != nil {
		return err
	}
	b.ID, b.PricingOption.ID, b.Event.ID, b.Event.Date.ID = which.String(), option.String(), what.String(), date.String()
	b.Payment.Currency = "CR"
	if currency != nil {
		b.Payment.Currency = *currency
	}
	if first != nil {
		b.BoughtFor = &reference{ID: boughtFor.String(), Type: "customer", FirstName: *first, LastName: *last, Email: *email}
	}
	var err error
	if b.Event.Date.Datetime, err = local(starts, b.Event.Date.Zone); err != nil {
		return err
	}
	text := t.String()
	if n := len(p.Data); n == 0 || p.Data[n-1].ID != text {
		on, err := local(purchased, timezone)
		if err != nil {
			return err
		}
		p.Data = append(p.Data, transaction{ID: text, Type: "event-booking", PurchaseDate: on})
	}
	newest := &p.Data[len(p.Data)-1]
	newest.Bookings = append(newest.Bookings, b)
	return nil
}

func local(at time.Time, name string) (string, error) {
	loc, err := zone.Load(name)
	if err != nil {
		return "", err
	}
	return at.In(loc).Format("2006-01-02T15:04:05"), nil
}
