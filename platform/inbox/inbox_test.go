package inbox_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"reservation.dev/devkit/testkit"
	"reservation.dev/platform/bus"
	"reservation.dev/platform/id"
	"reservation.dev/platform/inbox"
	"reservation.dev/platform/pg"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func messages(n int) []bus.Message {
	msgs := make([]bus.Message, n)
	for i := range msgs {
		msgs[i] = bus.Message{ID: id.NewUUID(), Payload: []byte(fmt.Sprint(i))}
	}
	return msgs
}

func handle(t *testing.T, db *pg.DB, consumer string, msgs []bus.Message) []bus.Message {
	t.Helper()
	var fresh []bus.Message
	err := db.InTx(t.Context(), pg.AllCompanies(), func(ctx context.Context, tx *pg.Tx) (err error) {
		fresh, err = inbox.Once(ctx, tx, consumer, msgs)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return fresh
}

func same(a, b []bus.Message) bool {
	return slices.EqualFunc(a, b, func(x, y bus.Message) bool { return x.ID == y.ID })
}

func TestOnce(t *testing.T) {
	db := testkit.DB(t, pg.Migrations{Part: "sample"})

	t.Run("returns each event as fresh once, in the given order", func(t *testing.T) {
		msgs := messages(10)
		shuffled := slices.Clone(msgs)
		rand.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		first := append(slices.Clone(shuffled[:6]), shuffled[0], shuffled[3])
		if got := handle(t, db, "c", first); !same(got, shuffled[:6]) {
			t.Errorf("got %v", got)
		}
		if got := handle(t, db, "c", shuffled); !same(got, shuffled[6:]) {
			t.Errorf("got %v", got)
		}
		if got := handle(t, db, "c", msgs); len(got) != 0 {
			t.Errorf("got %v", got)
		}
	})

	t.Run("handles an event once for each consumer", func(t *testing.T) {
		msgs := messages(3)
		for _, consumer := range []string{"one", "two"} {
			if got := handle(t, db, consumer, msgs); !same(got, msgs) {
				t.Errorf("%s: got %v", consumer, got)
			}
		}
	})

	t.Run("an event whose transaction was rolled back is fresh again (invariant 2)", func(t *testing.T) {
		msgs := messages(3)
		failed := errors.New("the effect failed")
		err := db.InTx(t.Context(), pg.AllCompanies(), func(ctx context.Context, tx *pg.Tx) error {
			if _, err := inbox.Once(ctx, tx, "c", msgs); err != nil {
				return err
			}
			return failed
		})
		if !errors.Is(err, failed) {
			t.Fatal(err)
		}
		if got := handle(t, db, "c", msgs); !same(got, msgs) {
			t.Errorf("got %v", got)
		}
	})

	t.Run("returns no events for no messages", func(t *testing.T) {
		if got := handle(t, db, "c", nil); len(got) != 0 {
			t.Errorf("got %v", got)
		}
	})

	t.Run("an event is fresh for one of several concurrent processes, in any order (invariant 1)", func(t *testing.T) {
		msgs := messages(200)
		var fresh atomic.Int64
		var racing sync.WaitGroup
		for range 8 {
			racing.Go(func() {
				mine := slices.Clone(msgs)
				rand.Shuffle(len(mine), func(i, j int) { mine[i], mine[j] = mine[j], mine[i] })
				for part := range slices.Chunk(mine, 50) {
					var got []bus.Message
					err := db.InTx(context.Background(), pg.AllCompanies(), func(ctx context.Context, tx *pg.Tx) (err error) {
						got, err = inbox.Once(ctx, tx, "racers", part)
						return err
					})
					if err != nil {
						t.Error(err)
						return
					}
					fresh.Add(int64(len(got)))
				}
			})
		}
		racing.Wait()
		if n := fresh.Load(); n != 200 {
			t.Errorf("%d fresh events, want 200", n)
		}
	})
}

func TestPrune(t *testing.T) {
	db := testkit.DB(t, pg.Migrations{Part: "sample"})
	old, recent := messages(12_000), messages(3)
	handle(t, db, "c", old)
	if _, err := db.Pool().Exec(t.Context(), `update inbox set processed_at = now() - interval '9 days'`); err != nil {
		t.Fatal(err)
	}
	handle(t, db, "c", recent)
	if err := inbox.Prune(t.Context(), db, time.Now().Add(-8*24*time.Hour)); err != nil {
		t.Fatal(err)
	}
	n, err := pg.One[int64](t.Context(), db, pg.AllCompanies(), `select count(*) from inbox`)
	if err != nil || n != 3 {
		t.Errorf("%d left, %v", n, err)
	}
	if got := handle(t, db, "c", recent); len(got) != 0 {
		t.Errorf("got %v", got)
	}
}
