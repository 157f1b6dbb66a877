package idem_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"reservation.dev/devkit/testkit"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/idem"
	"reservation.dev/platform/pg"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// schema has the table that the requests of these tests write to.
var schema = pg.Migrations{Part: "sample", FS: fstest.MapFS{
	"0001_effects.sql": {Data: []byte("-- +goose Up\ncreate table effects (what text not null);\n")},
}}

type world struct {
	db      *pg.DB
	company id.Company
}

func newWorld(t *testing.T) world {
	t.Helper()
	return world{db: testkit.DB(t, schema), company: id.New[id.Company]()}
}

// request is a request of a caller.
type request struct {
	scope       pg.Scope
	key, caller string
	kind        string
	body        proto.Message
	during      func() error // called while the request runs
}

func (w world) request(key, body string) request {
	return request{scope: pg.For(w.company), key: key, caller: "m2m_a", body: wrapperspb.String(body)}
}

// do serves a request: it writes a row, and responds with a number that is unique to the run.
func (w world) do(ctx context.Context, r request) (answer string, err error) {
	resp := &wrapperspb.StringValue{}
	err = w.db.InTx(idem.WithKey(ctx, r.key, r.caller, r.kind), r.scope, func(ctx context.Context, tx *pg.Tx) error {
		return idem.Do(ctx, tx, r.body, resp, func() error {
			if _, err := tx.Exec(ctx, `insert into effects values ($1)`, r.key); err != nil {
				return err
			}
			resp.Value = id.NewUUID().String()
			if r.during != nil {
				return r.during()
			}
			return nil
		})
	})
	return resp.GetValue(), err
}

func (w world) mustDo(t *testing.T, r request) string {
	t.Helper()
	answer, err := w.do(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

func (w world) count(t *testing.T, sql string) int64 {
	t.Helper()
	n, err := pg.One[int64](t.Context(), w.db, pg.AllCompanies(), sql)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func (w world) effects(t *testing.T) int64 { return w.count(t, `select count(*) from effects`) }

func wantReason(t *testing.T, err error, reason string) {
	t.Helper()
	f := fault.From(err)
	if f == nil || f.Reason != reason || f.Kind != fault.Conflict {
		t.Fatalf("got %v, want %s", err, reason)
	}
}

func TestDo(t *testing.T) {
	t.Run("a repeated request gets the first response and has no further effect", func(t *testing.T) {
		w := newWorld(t)
		first := w.mustDo(t, w.request("k", "a"))
		for range 3 {
			if again := w.mustDo(t, w.request("k", "a")); again != first {
				t.Errorf("got %q, then %q", first, again)
			}
		}
		if n := w.effects(t); n != 1 {
			t.Errorf("%d effects", n)
		}
	})
	t.Run("an empty response is replayed too, and resets resp", func(t *testing.T) {
		w := newWorld(t)
		runs := 0
		serve := func(resp proto.Message) {
			err := w.db.InTx(idem.WithKey(t.Context(), "k", "m2m_a", "things"), pg.For(w.company), func(ctx context.Context, tx *pg.Tx) error {
				return idem.Do(ctx, tx, wrapperspb.String("a"), resp, func() error {
					runs++
					return nil
				})
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		serve(&wrapperspb.StringValue{})
		stale := wrapperspb.String("stale")
		if serve(stale); runs != 1 || stale.GetValue() != "" {
			t.Errorf("%d runs, %q", runs, stale.GetValue())
		}
	})
	t.Run("without a key, every request runs and nothing is stored", func(t *testing.T) {
		w := newWorld(t)
		one, two := w.mustDo(t, w.request("", "a")), w.mustDo(t, w.request("", "a"))
		if one == two {
			t.Error("the response was replayed")
		}
		if w.effects(t) != 2 || w.count(t, `select count(*) from idempotency_keys`) != 0 {
			t.Error("something was stored")
		}
	})
	t.Run("the order of a map in the request makes no difference", func(t *testing.T) {
		w := newWorld(t)
		fields := map[string]any{}
		for i := range 50 {
			fields[fmt.Sprint(i)] = i
		}
		var first string
		for i := range 10 {
			body, err := structpb.NewStruct(fields)
			if err != nil {
				t.Fatal(err)
			}
			r := w.request("k", "")
			r.body = body
			answer := w.mustDo(t, r)
			if i == 0 {
				first = answer
			}
			if answer != first {
				t.Fatal("the request was not recognised")
			}
		}
	})
}

func TestDoRefusals(t *testing.T) {
	t.Run("a key that was used for another request is refused", func(t *testing.T) {
		w := newWorld(t)
		w.mustDo(t, w.request("k", "a"))
		_, err := w.do(t.Context(), w.request("k", "b"))
		wantReason(t, err, fault.ReasonIdempotencyKeyReused)
		otherMessage := w.request("k", "")
		otherMessage.body = wrapperspb.Bytes([]byte("a")) // the same bytes on the wire
		_, err = w.do(t.Context(), otherMessage)
		wantReason(t, err, fault.ReasonIdempotencyKeyReused)
		if n := w.effects(t); n != 1 {
			t.Errorf("%d effects", n)
		}
	})
	t.Run("a failure stores nothing and leaves the key free (invariant 2)", func(t *testing.T) {
		w := newWorld(t)
		full := fault.Refuse("EVENT_FULL", "no spaces are left")
		r := w.request("k", "a")
		r.during = func() error { return full }
		if _, err := w.do(t.Context(), r); !errors.Is(err, full) {
			t.Fatalf("got %v", err)
		}
		if w.effects(t) != 0 || w.count(t, `select count(*) from idempotency_keys`) != 0 {
			t.Error("something was stored")
		}
		w.mustDo(t, w.request("k", "another body"))
	})
	t.Run("keys of different callers and companies are independent (invariant 3)", func(t *testing.T) {
		w := newWorld(t)
		first := w.mustDo(t, w.request("k", "a"))
		otherCaller := w.request("k", "b")
		otherCaller.caller = "m2m_b"
		otherCompany := w.request("k", "c")
		otherCompany.scope = pg.For(id.New[id.Company]())
		noCompany := w.request("k", "d")
		noCompany.scope = pg.AllCompanies()
		for _, r := range []request{otherCaller, otherCompany, noCompany} {
			answer := w.mustDo(t, r)
			if answer == first || w.mustDo(t, r) != answer {
				t.Errorf("%+v met another's key", r)
			}
		}
		if n := w.effects(t); n != 4 {
			t.Errorf("%d effects", n)
		}
	})
	t.Run("keys of different kinds of resources are independent (invariant 3)", func(t *testing.T) {
		w := newWorld(t)
		answers := map[string]string{}
		for _, kind := range []string{"events", "passes", "customers", ""} {
			r := w.request("k", "body of "+kind)
			r.kind = kind
			answers[kind] = w.mustDo(t, r)
		}
		for kind, answer := range answers {
			r := w.request("k", "body of "+kind)
			r.kind = kind
			if again := w.mustDo(t, r); again != answer {
				t.Errorf("%q: got %q, then %q", kind, answer, again)
			}
			r.body = wrapperspb.String("another body")
			_, err := w.do(t.Context(), r)
			wantReason(t, err, fault.ReasonIdempotencyKeyReused)
		}
		if n := w.effects(t); n != 4 {
			t.Errorf("%d effects", n)
		}
	})
	t.Run("a key of the previous release applies to every kind", func(t *testing.T) {
		w := newWorld(t)
		r := w.request("k", "a")
		r.kind = "events"
		first := w.mustDo(t, r)
		err := w.db.InTx(t.Context(), pg.AllCompanies(), func(ctx context.Context, tx *pg.Tx) error {
			_, err := tx.Exec(ctx, `update idempotency_keys set kind = null`)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if again := w.mustDo(t, r); again != first {
			t.Errorf("got %q, then %q", first, again)
		}
		r.kind, r.body = "passes", wrapperspb.String("b")
		_, err = w.do(t.Context(), r)
		wantReason(t, err, fault.ReasonIdempotencyKeyReused)
	})
	t.Run("the previous release finds the response of the first kind", func(t *testing.T) {
		w := newWorld(t)
		r := w.request("k", "a")
		r.kind = "events"
		w.mustDo(t, r)
		if n := w.count(t, `select count(*) from idempotency_keys where caller = 'm2m_a' and key = 'k'`); n != 1 {
			t.Errorf("%d rows", n)
		}
	})
	t.Run("an invalid key is refused", func(t *testing.T) {
		w := newWorld(t)
		for _, key := range []string{strings.Repeat("é", 256), "a\x00b", "a\nb", "\xff"} {
			_, err := w.do(t.Context(), w.request(key, "a"))
			if !fault.Is(err, fault.Invalid) {
				t.Errorf("%q: %v", key, err)
			}
		}
		w.mustDo(t, w.request(strings.Repeat("é", 255), "a"))
	})
}

func TestConcurrency(t *testing.T) {
	t.Run("a request with a key that is in use is IDEMPOTENCY_IN_PROGRESS", func(t *testing.T) {
		w := newWorld(t)
		running, finish := make(chan struct{}), make(chan struct{})
		end := sync.OnceFunc(func() { close(finish) })
		t.Cleanup(end)
		r := w.request("k", "a")
		r.during = func() error {
			close(running)
			<-finish
			return nil
		}
		type result struct {
			answer string
			err    error
		}
		first := make(chan result, 1)
		go func() {
			answer, err := w.do(context.Background(), r)
			first <- result{answer, err}
		}()
		select {
		case <-running:
		case done := <-first:
			t.Fatal(done.err)
		}
		_, err := w.do(t.Context(), w.request("k", "a"))
		wantReason(t, err, fault.ReasonIdempotencyInProgress)
		if after := fault.From(err).RetryAfter; after != time.Second {
			t.Errorf("retry after %s", after)
		}
		otherCaller := w.request("k", "a")
		otherCaller.caller = "m2m_b"
		otherCompany := w.request("k", "a")
		otherCompany.scope = pg.For(id.New[id.Company]())
		for _, r := range []request{otherCaller, otherCompany, w.request("k2", "a")} {
			w.mustDo(t, r)
		}
		end()
		done := <-first
		if done.err != nil {
			t.Fatal(done.err)
		}
		if again := w.mustDo(t, w.request("k", "a")); again != done.answer {
			t.Errorf("got %q, then %q", done.answer, again)
		}
	})

	t.Run("of many concurrent requests one runs, and all responses are equal (invariant 1)", func(t *testing.T) {
		w := newWorld(t)
		for round := range 20 {
			r := w.request(fmt.Sprint(round), "a")
			var mu sync.Mutex
			answers := map[string]int{}
			var waiting atomic.Int64
			var racing sync.WaitGroup
			for range 8 {
				racing.Go(func() {
					answer, err := w.do(context.Background(), r)
					if err != nil {
						if fault.From(err).Reason != fault.ReasonIdempotencyInProgress {
							t.Error(err)
						}
						waiting.Add(1)
						return
					}
					mu.Lock()
					defer mu.Unlock()
					answers[answer]++
				})
			}
			racing.Wait()
			if len(answers) != 1 {
				t.Fatalf("%d different responses", len(answers))
			}
		}
		if n := w.effects(t); n != 20 {
			t.Errorf("%d effects of 20 requests", n)
		}
	})
}

func TestExpiry(t *testing.T) {
	expire := func(t *testing.T, w world) {
		t.Helper()
		err := w.db.InTx(t.Context(), pg.AllCompanies(), func(ctx context.Context, tx *pg.Tx) error {
			_, err := tx.Exec(ctx, `update idempotency_keys set expires_at = now() - interval '1 s'`)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}

	t.Run("a response is kept for 24 hours (invariant 4)", func(t *testing.T) {
		w := newWorld(t)
		w.mustDo(t, w.request("k", "a"))
		n := w.count(t, `select count(*) from idempotency_keys where expires_at = created_at + interval '24 hours'`)
		if n != 1 {
			t.Error("it expires at another time")
		}
	})

	t.Run("an expired key is free, pruned or not (invariant 4)", func(t *testing.T) {
		w := newWorld(t)
		first := w.mustDo(t, w.request("k", "a"))
		expire(t, w)
		second := w.mustDo(t, w.request("k", "another body"))
		if first == second {
			t.Error("an expired response was replayed")
		}
		if again := w.mustDo(t, w.request("k", "another body")); again != second {
			t.Errorf("got %q, then %q", second, again)
		}
	})

	t.Run("pruning deletes only expired responses", func(t *testing.T) {
		w := newWorld(t)
		for i := range 5 {
			w.mustDo(t, w.request(fmt.Sprint("old", i), "a"))
		}
		expire(t, w)
		// More than one statement deletes, some of which expired at the same time.
		err := w.db.InTx(t.Context(), pg.AllCompanies(), func(ctx context.Context, tx *pg.Tx) error {
			_, err := tx.Exec(ctx, `insert into idempotency_keys (company_id, caller, key, request_hash, response, expires_at)
				select company_id, caller, key || n, request_hash, response, expires_at - make_interval(secs => n / 900)
				from idempotency_keys, generate_series(1, 900) n`)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		kept := w.mustDo(t, w.request("new", "a"))
		if err := idem.Prune(t.Context(), w.db, time.Now()); err != nil {
			t.Fatal(err)
		}
		if n := w.count(t, `select count(*) from idempotency_keys`); n != 1 {
			t.Errorf("%d keys are left", n)
		}
		if again := w.mustDo(t, w.request("new", "a")); again != kept {
			t.Errorf("got %q, then %q", kept, again)
		}
	})
}

func TestWrite(t *testing.T) {
	w := newWorld(t)
	store := pg.Store{DB: w.db}
	runs := 0
	write := func(key, body string, fail error) (*wrapperspb.StringValue, error) {
		return idem.Write(idem.WithKey(t.Context(), key, "m2m_a", "things"), store, w.company, wrapperspb.String(body), &wrapperspb.StringValue{Value: "left over"},
			func(ctx context.Context, tx *pg.Tx) error {
				runs++
				_, err := tx.Exec(ctx, `insert into effects values ($1)`, key)
				return errors.Join(err, fail)
			})
	}
	for range 2 {
		resp, err := write("k", "a", nil)
		if err != nil || resp.GetValue() != "" {
			t.Errorf("got %v, %v", resp, err)
		}
	}
	if runs != 1 {
		t.Errorf("a request with a key ran %d times", runs)
	}
	if resp, err := write("failing", "a", fault.Missing("thing")); resp != nil || !fault.Is(err, fault.NotFound) {
		t.Errorf("a request that fails got %v, %v", resp, err)
	}
	if _, err := write("k", "b", nil); !fault.Is(err, fault.Conflict) {
		t.Errorf("the key of another request got %v", err)
	}
	if n, err := pg.One[int](t.Context(), w.db, pg.AllCompanies(), `select count(*)::int from effects`); err != nil || n != 1 {
		t.Errorf("%d effects, %v", n, err)
	}
}

func TestRevise(t *testing.T) {
	t.Run("a retry gets the revised response", func(t *testing.T) {
		w := newWorld(t)
		w.mustDo(t, w.request("k", "a"))
		other := w.mustDo(t, w.request("l", "a"))
		revise := func(key, body string) {
			t.Helper()
			ctx := idem.WithKey(t.Context(), key, "m2m_a", "things")
			if err := idem.Revise(ctx, pg.Store{DB: w.db}, w.company, wrapperspb.String(body), wrapperspb.String("revised")); err != nil {
				t.Fatal(err)
			}
		}
		revise("k", "another request")
		if got := w.mustDo(t, w.request("k", "a")); got == "revised" {
			t.Error("another request with the key revised the response")
		}
		revise("k", "a")
		revise("", "a")
		if got := w.mustDo(t, w.request("k", "a")); got != "revised" {
			t.Errorf("the retry got %q", got)
		}
		if got := w.mustDo(t, w.request("l", "a")); got != other {
			t.Errorf("the retry of another key got %q instead of %q", got, other)
		}
		if n := w.effects(t); n != 2 {
			t.Errorf("%d effects", n)
		}
	})
}
