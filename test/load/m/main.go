// Command m is the reference for the platform's costs: one hand-written process over net/http,
// pgx and encoding/json. It answers three operations of Interface A from the services' databases,
// with their SQL and a cache of verified tokens. Apart from that SQL it has none of the
// platform's tenant isolation, limits, logs, metrics or error bodies. It is only for benchmarks.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"reservation.dev/platform/bus"
	"reservation.dev/platform/id"
	"reservation.dev/platform/token"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "m:", err)
		os.Exit(1)
	}
}

type server struct {
	verifier           *token.Verifier
	customers, booking *pgxpool.Pool
}

func run(ctx context.Context) error {
	b, err := bus.Connect(ctx, bus.Config{URL: os.Getenv("NATS_URL"), Prefix: os.Getenv("BUS_PREFIX")}, slog.Default())
	if err != nil {
		return err
	}
	defer b.Close()
	s := &server{verifier: token.NewVerifier(token.Config{Issuer: "reservation", CacheSize: 1024}, time.Now)}
	verifying := make(chan error, 1)
	go func() { verifying <- s.verifier.Run(ctx, b) }()
	if err := s.verifier.WaitReady(ctx); err != nil {
		return err
	}
	if s.customers, err = open(ctx, os.Getenv("CUSTOMER_DATABASE_URL")); err != nil {
		return err
	}
	defer s.customers.Close()
	if s.booking, err = open(ctx, os.Getenv("BOOKING_DATABASE_URL")); err != nil {
		return err
	}
	defer s.booking.Close()

	mux := http.NewServeMux()
	mux.Handle("GET /customers", s.handler(s.list))
	mux.Handle("GET /customer/{id}/profile", s.handler(s.profile))
	mux.Handle("GET /customer/{id}/bookings", s.handler(s.bookings))
	srv := &http.Server{Addr: os.Getenv("HTTP_ADDR"), Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	context.AfterFunc(ctx, func() { _ = srv.Close() })
	if err := srv.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return <-verifying
}

// open creates a connection pool with the services' settings.
func open(ctx context.Context, url string) (*pgxpool.Pool, error) {
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	cfg.MaxConns = 8
	cfg.ConnConfig.RuntimeParams["jit"] = "off"
	return pgxpool.NewWithConfig(ctx, cfg)
}

// handler verifies the token and writes errors.
func (s *server) handler(serve func(w http.ResponseWriter, r *http.Request, claims *token.Claims) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		claims, err := s.verifier.Verify(r.Context(), raw)
		if err != nil {
			http.Error(w, err.Error(), http.StatusUnauthorized)
			return
		}
		if err := serve(w, r, claims); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	})
}

// tenantSQL sets the tenant of a read, as the services do.
const tenantSQL = `select set_config('app.company_id', $1, true), set_config('transaction_read_only', 'on', true)`

// read runs queries for a company in one round trip.
func read(ctx context.Context, pool *pgxpool.Pool, company id.Company, queue func(*pgx.Batch)) error {
	batch := &pgx.Batch{}
	batch.Queue(tenantSQL, pgtype.UUID{Bytes: company, Valid: true}.String())
	queue(batch)
	return pool.SendBatch(ctx, batch).Close()
}

type customer struct {
	ID        string `json:"id"`
	Type      string `json:"type"`
	FirstName string `json:"firstname"`
	LastName  string `json:"lastname"`
	Email     string `json:"email"`
	Mobile    string `json:"mobile"`
}

const profileSQL = `select id, first_name, last_name, email, mobile from customers
	where company_id = $1 and id = $2 and deleted_at is null`

func (s *server) profile(w http.ResponseWriter, r *http.Request, claims *token.Claims) error {
	which, err := id.Parse[id.Customer](r.PathValue("id"))
	if err != nil {
		return err
	}
	c := customer{Type: "customer"}
	err = read(r.Context(), s.customers, claims.Company, func(batch *pgx.Batch) {
		batch.Queue(profileSQL, claims.Company, which).QueryRow(func(row pgx.Row) error {
			err := row.Scan(&which, &c.FirstName, &c.LastName, &c.Email, &c.Mobile)
			c.ID = which.String()
			return err
		})
	})
	if err != nil {
		return err
	}
	return answer(w, struct {
		Data customer `json:"data"`
	}{c})
}

type listed struct {
	customer
	Archived bool `json:"archived"`
}

const listSQL = `select id, first_name, last_name, email, mobile, archived from customers
	where company_id = $1 and deleted_at is null order by id`

func (s *server) list(w http.ResponseWriter, r *http.Request, claims *token.Claims) error {
	w.Header().Set("Content-Type", "application/json")
	if _, err := w.Write([]byte(`{"data":[`)); err != nil {
		return err
	}
	encoder := json.NewEncoder(w)
	err := read(r.Context(), s.customers, claims.Company, func(batch *pgx.Batch) {
		batch.Queue(listSQL, claims.Company).Query(func(rows pgx.Rows) error {
			for n := 0; rows.Next(); n++ {
				var which id.Customer
				c := listed{customer: customer{Type: "customer"}}
				if err := rows.Scan(&which, &c.FirstName, &c.LastName, &c.Email, &c.Mobile, &c.Archived); err != nil {
					return err
				}
				c.ID = which.String()
				if n > 0 {
					if _, err := w.Write([]byte(",")); err != nil {
						return err
					}
				}
				if err := encoder.Encode(c); err != nil {
					return err
				}
			}
			return rows.Err()
		})
	})
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	_, err = w.Write([]byte(`]}`))
	return err
}

func answer(w http.ResponseWriter, v any) error {
	w.Header().Set("Content-Type", "application/json")
	return json.NewEncoder(w).Encode(v)
}
