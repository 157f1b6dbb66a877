package faults

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/id"
	"reservation.dev/test/harness"
)

// streamed is the number of customers in the list: about ten megabytes, more than all buffers
// between the service and a client that does not read.
const streamed = 20_000

// testStream interrupts the list of all customers.
func (w *world) testStream(t *testing.T) {
	c := w.op.NewCompany(t, "Europe/London")
	wideCustomers(t, w.Cluster, c.ID, streamed)
	token := w.client(t, 0).Token(t, c.NewClient(t))

	t.Run("a slow reader gets one document with every customer", func(t *testing.T) {
		body := openList(t, w.Gateways[0], token)
		text, err := io.ReadAll(body)
		if err != nil {
			t.Fatal(err)
		}
		checkAllCustomers(t, text)
	})
	t.Run("a paused stream holds no database session, so it survives the loss of all sessions", func(t *testing.T) {
		body := openList(t, w.Gateways[0], token)
		head := make([]byte, 64<<10)
		if _, err := io.ReadFull(body, head); err != nil {
			t.Fatal(err)
		}
		admin := w.admin(t)
		harness.Eventually(t, backLimit, func() error { return resting(t, admin) })
		w.endSessions(t)
		rest, err := io.ReadAll(body)
		if err != nil {
			t.Fatal(err)
		}
		checkAllCustomers(t, append(head, rest...))
	})
	customer := w.Part("customer")
	breaks := map[string]struct{ it, mend func(testing.TB) }{
		"the customer service is killed": {customer.Kill, customer.Restart},
		// It lets requests in progress continue for the drain time, and then ends anyway.
		"the customer service is stopped": {customer.Stop, customer.Restart},
		"PostgreSQL is stopped":           {w.Postgres.Stop, w.Postgres.Start},
	}
	for name, breaks := range breaks {
		t.Run("the client sees a broken connection when "+name, func(t *testing.T) {
			body := openList(t, w.Gateways[0], token)
			head := make([]byte, 64<<10)
			if _, err := io.ReadFull(body, head); err != nil {
				t.Fatal(err)
			}
			breaks.it(t)
			defer func() {
				breaks.mend(t)
				w.settle(t)
			}()
			rest, err := io.ReadAll(body)
			text := append(head, rest...)
			if !errors.Is(err, io.ErrUnexpectedEOF) && !isReset(err) {
				t.Errorf("after %d bytes: %v", len(text), err)
			}
			if json.Valid(text) {
				t.Errorf("%d bytes are a complete document", len(text))
			}
		})
	}
	t.Run("a client that disconnects midway affects no other client", func(t *testing.T) {
		for range 5 {
			body := openList(t, w.Gateways[0], token)
			if _, err := io.ReadFull(body, make([]byte, 64<<10)); err != nil {
				t.Fatal(err)
			}
			body.close()
		}
		a := w.client(t, 0)
		harness.Eventually(t, backLimit, func() error {
			return code(t.Context(), a, harness.Request{Path: "/customers?page=0", Token: token}, http.StatusOK)
		})
		admin := w.admin(t)
		harness.Eventually(t, backLimit, func() error { return resting(t, admin) })
	})
}

// wideCustomers imports n customers whose fields have nearly every allowed length.
func wideCustomers(t *testing.T, cluster *harness.Cluster, company string, n int) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), cluster.OwnerURL("customer"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	c, err := id.Parse[id.Company](company)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(t.Context(), `insert into customers
			(company_id, id, first_name, last_name, email, mobile, archived, version, created_at, updated_at)
		select $1, gen_random_uuid(), repeat('Zoë "', 20), repeat('Å', 100 - i % 50), repeat('e', 200) || i || '@example.com', '+44 7700 900123',
			i % 50 = 0, 1, now(), now()
		from generate_series(1, $2) i`, [16]byte(c), n); err != nil {
		t.Fatal(err)
	}
}

// checkAllCustomers fails t unless text is a document with every customer exactly once.
func checkAllCustomers(t *testing.T, text []byte) {
	t.Helper()
	var list struct{ Data []struct{ ID string } }
	if err := json.Unmarshal(text, &list); err != nil {
		t.Fatal(err)
	}
	once := map[string]bool{}
	for _, c := range list.Data {
		once[c.ID] = true
	}
	if len(list.Data) != streamed || len(once) != streamed {
		t.Errorf("the list has %d items and %d different customers, want %d", len(list.Data), len(once), streamed)
	}
}

func isReset(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && !op.Timeout()
}

// body is the body of an answer that the test reads from the connection.
type body struct {
	io.Reader
	conn net.Conn
}

func (b body) close() { b.conn.Close() }

// openList requests all customers over a connection with very small client buffers, and returns
// the body.
func openList(t *testing.T, baseURL, token string) body {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(baseURL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := errors.Join(conn.(*net.TCPConn).SetReadBuffer(16<<10), conn.SetDeadline(time.Now().Add(time.Minute))); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprintf(conn, "GET /customers HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer %s\r\n\r\n", token); err != nil {
		t.Fatal(err)
	}
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	if res.StatusCode != http.StatusOK {
		t.Fatalf("answered %s", res.Status)
	}
	return body{Reader: res.Body, conn: conn}
}

func (w *world) admin(t *testing.T) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), w.Postgres.AdminURL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

// endSessions terminates all database sessions of the customer service.
func (w *world) endSessions(t *testing.T) {
	t.Helper()
	tag, err := w.admin(t).Exec(t.Context(), `select pg_terminate_backend(pid) from pg_stat_activity where usename = 'customer'`)
	if err != nil || tag.RowsAffected() == 0 {
		t.Fatalf("%d sessions were ended: %v", tag.RowsAffected(), err)
	}
}

// resting returns an error while the customer service reads customers, or did so a moment ago, as
// it does between two chunks.
func resting(t *testing.T, admin *pgx.Conn) error {
	t.Helper()
	var n int
	if err := admin.QueryRow(t.Context(), `select count(*) from pg_stat_activity where usename = 'customer'
		and (state <> 'idle' or query like '%customers%' and state_change > clock_timestamp() - interval '300 ms')`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	if n > 0 {
		return fmt.Errorf("%d sessions read customers", n)
	}
	return nil
}
