package pg_test

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"

	"reservation.dev/devkit/testkit"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
)

// TestCutAtEachMessage checks invariant 5. It loses the connection of a transaction at each
// message of the protocol, in both directions: what is reported is what happened.
func TestCutAtEachMessage(t *testing.T) {
	t.Parallel()
	_, appURL := testkit.DBURLs(t, things())
	direct := open(t, appURL, pg.Config{MaxConns: 2})
	for name, fn := range map[string]func(company id.Company, ctx context.Context, tx *pg.Tx) error{
		"statements, and a commit of its own": func(company id.Company, ctx context.Context, tx *pg.Tx) error {
			return errors.Join(add(company, 1, "one")(ctx, tx), add(company, 2, "two")(ctx, tx))
		},
		"statements, and others that share the commit's round trip": func(company id.Company, ctx context.Context, tx *pg.Tx) error {
			if err := add(company, 1, "one")(ctx, tx); err != nil {
				return err
			}
			tx.Queue(pg.Query{SQL: insertThing, Args: []any{company, 2, "two"}}.Affecting(1))
			return nil
		},
		"queued statements only": func(company id.Company, _ context.Context, tx *pg.Tx) error {
			tx.Queue(pg.Query{SQL: insertThing, Args: []any{company, 1, "one"}}, pg.Query{SQL: insertThing, Args: []any{company, 2, "two"}})
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, proxied := newCutter(t, appURL)
			db := open(t, proxied, pg.Config{})
			outcomes := map[string]int{}
			for message := int64(1); ; message++ {
				// The statements are cached by a transaction before.
				var company id.Company
				var runs, hooks int
				run := func() error {
					company, runs, hooks = id.New[id.Company](), 0, 0
					return db.InTx(t.Context(), pg.For(company), func(ctx context.Context, tx *pg.Tx) error {
						runs++
						tx.AfterCommit(func() { hooks++ })
						return fn(company, ctx, tx)
					})
				}
				if err := run(); err != nil {
					t.Fatal(err)
				}
				c.cutAt.Store(message)
				err := run()
				missed := c.cutAt.Swap(0) > 0
				stored := settled(t, direct, company)
				switch {
				case err == nil && stored == 2 && hooks == 1 && runs <= 2:
					outcomes["committed"]++
					if runs == 2 {
						outcomes["repeated"]++
					}
				case errors.Is(err, pg.ErrUncertain) && stored%2 == 0 && hooks == 0 && runs == 1:
					outcomes["uncertain"]++
					if stored == 2 {
						outcomes["uncertain, committed"]++
					}
				case err != nil && stored == 0 && hooks == 0 && runs == 1 && fault.Is(pg.Fault(err, nil), fault.Unavailable):
					outcomes["failed"]++
				default:
					t.Errorf("cut at message %d: %d rows, %d runs, %d hooks, %v", message, stored, runs, hooks, err)
				}
				if missed {
					break
				}
			}
			for _, outcome := range []string{"committed", "repeated", "uncertain", "uncertain, committed"} {
				if outcomes[outcome] == 0 {
					t.Errorf("no cut had the outcome %q: %v", outcome, outcomes)
				}
			}
			// A commit that was not received is not a commit.
			if outcomes["uncertain"] == outcomes["uncertain, committed"] {
				t.Errorf("no lost commit was rolled back: %v", outcomes)
			}
		})
	}
}

// settled returns the number of a company's things after all transactions of others have ended.
func settled(t *testing.T, db *pg.DB, company id.Company) int {
	t.Helper()
	testkit.Eventually(t, patience, func() error {
		if n := one[int](t, db, pg.AllCompanies(), `select count(*)::integer from pg_locks l
			join pg_class c on c.oid = l.relation where c.relname = 'things' and l.mode = 'RowExclusiveLock'
			and l.database = (select oid from pg_database where datname = current_database())`); n > 0 {
			return errors.New("a transaction is in progress")
		}
		return nil
	})
	return one[int](t, db, pg.For(company), `select count(*)::integer from things`)
}

// cutter forwards connections to PostgreSQL, and cuts one of them instead of forwarding the
// message that cutAt counts down to.
type cutter struct {
	cutAt  atomic.Int64
	server string
}

func newCutter(t *testing.T, rawURL string) (*cutter, string) {
	t.Helper()
	u, err := url.Parse(rawURL)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &cutter{server: u.Host}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", c.server)
			if err != nil {
				client.Close()
				continue
			}
			running.Go(func() { c.forward(server, client, 4) }) // the startup message has no type
			running.Go(func() { c.forward(client, server, 5) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		running.Wait()
	})
	u.Host = l.Addr().String()
	return c, u.String()
}

// forward forwards messages of from. Its first one has a header of the given length, the others
// have a type byte and a length.
func (c *cutter) forward(to, from net.Conn, header int) {
	defer to.Close()
	defer from.Close()
	for ; ; header = 5 {
		message := make([]byte, header, 1024)
		if _, err := io.ReadFull(from, message); err != nil {
			return
		}
		body := make([]byte, binary.BigEndian.Uint32(message[header-4:])-4)
		if _, err := io.ReadFull(from, body); err != nil {
			return
		}
		if c.cutAt.Load() > 0 && c.cutAt.Add(-1) == 0 {
			return
		}
		if _, err := to.Write(append(message, body...)); err != nil {
			return
		}
	}
}
