package directory

import (
	"testing"

	"reservation.dev/platform/id"
)

func TestCredentials(t *testing.T) { // invariant 6
	t.Parallel()
	west, east := id.New[id.Company](), id.New[id.Company]()
	start := func(t *testing.T) *tabled {
		t.Helper()
		w := newTabled()
		w.tell("west", west, open)
		w.tell("east", east, open)
		w.belong("west", map[string]string{"key_w": west.String()}, 0)
		w.takeOps()
		return w
	}
	// claimed records what a cell says, and returns the changes for HAProxy.
	claimed := func(w *tabled, cell string, companies map[string]string) []op {
		w.belong(cell, companies, 0)
		ops, _ := w.takeOps()
		return ops
	}
	add := func(key string, company id.Company) []op {
		return []op{{verb: "add", in: credentialsMap, key: key, value: company.String()}}
	}
	conflicts := func(t *testing.T, w *tabled, want int) {
		t.Helper()
		if got := w.counts().conflicts; got != want {
			t.Errorf("%d conflicts, want %d", got, want)
		}
	}
	// everything is a reading of everything that a cell has.
	everything := func(w *tabled, cell string, live id.Company, companies map[string]string) []op {
		pass, began := w.beginPass(), w.clock
		w.answer(cell, map[id.Company]state{live: open}, nil, began, pass)
		w.belong(cell, companies, pass)
		w.endPass(cell, pass, began)
		ops, _ := w.takeOps()
		return ops
	}

	t.Run("a cell cannot claim a credential of another cell's company, and the conflict ends with the claim", func(t *testing.T) {
		t.Parallel()
		w := start(t)
		for range 2 {
			same(t, "claimed", []op(nil), claimed(w, "east", map[string]string{"key_w": east.String()}))
			conflicts(t, w, 1)
		}
		same(t, "claimed in a reading of everything", []op(nil), everything(w, "east", east, map[string]string{"key_w": east.String()}))
		conflicts(t, w, 1)
		same(t, "the other cell", []op(nil), everything(w, "west", west, map[string]string{"key_w": west.String()}))
		conflicts(t, w, 1)
		same(t, "no longer claimed", []op(nil), everything(w, "east", east, nil))
		conflicts(t, w, 0)
		same(t, "its company", "key_w "+west.String()+"\n", string(w.lines(credentialsMap)))
	})
	t.Run("a claim for a company of a third cell or of none is refused too", func(t *testing.T) {
		t.Parallel()
		w := start(t)
		same(t, "its own", []op(nil), claimed(w, "east", map[string]string{"key_w": id.New[id.Company]().String()}))
		conflicts(t, w, 1)
	})
	t.Run("a cell cannot add credentials to a company of another cell", func(t *testing.T) {
		t.Parallel()
		w := start(t)
		same(t, "added", []op(nil), claimed(w, "east", map[string]string{"key_new": west.Test().String()}))
		same(t, "by its cell", add("key_new", west.Test()), claimed(w, "west", map[string]string{"key_new": west.Test().String()}))
		conflicts(t, w, 0)
	})
	t.Run("the cell of the company corrects a wrong line, also to another of its companies", func(t *testing.T) {
		t.Parallel()
		w, other := start(t), id.New[id.Company]()
		w.tell("west", other, open)
		same(t, "corrected", []op{{verb: "set", in: credentialsMap, key: "key_w", value: other.String()}}, claimed(w, "west", map[string]string{"key_w": other.String()}))
		conflicts(t, w, 0)
	})
	t.Run("a line of a company that no cell has is corrected by the cell of the right company", func(t *testing.T) {
		t.Parallel()
		w := start(t)
		w.load(nil, map[string]string{"key_e": id.New[id.Company]().String()})
		same(t, "corrected", []op{{verb: "set", in: credentialsMap, key: "key_e", value: east.String()}}, claimed(w, "east", map[string]string{"key_e": east.String()}))
	})
	t.Run("credentials move with their company", func(t *testing.T) {
		t.Parallel()
		w := start(t)
		w.tell("west", west, leaving)
		w.tell("east", west, arriving)
		same(t, "arriving", []op(nil), claimed(w, "east", map[string]string{"key_w": west.String(), "key_early": west.String()}))
		w.tell("east", west, open)
		same(t, "opened before its cell says that it has left", add("key_new", west), claimed(w, "east", map[string]string{"key_new": west.String()}))
		same(t, "moved", lines("set", west, "east"), w.tell("west", west, left))
		both := map[string]string{"key_w": west.String(), "key_new": west.String()}
		same(t, "all of them", []op(nil), everything(w, "east", west, both))
		same(t, "deleted after the move", []op{{verb: "del", in: credentialsMap, key: "key_w"}}, everything(w, "east", west, map[string]string{"key_new": west.String()}))
		same(t, "the rows that are left at the source", []op(nil), claimed(w, "west", map[string]string{"key_w": west.String()}))
		conflicts(t, w, 0)
		w.tell("west", east, open) // a claim of the company itself
		same(t, "claimed by the source", []op(nil), claimed(w, "west", map[string]string{"key_new": east.String()}))
		conflicts(t, w, 1)
	})
}
