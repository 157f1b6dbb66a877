package directory

import (
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reservation.dev/platform/id"
)

// answers are what cells say about a company, in order.
type answers []struct {
	cell string
	s    state
}

func TestCompanyAnswers(t *testing.T) { // invariants 1, 2
	t.Parallel()
	for name, tt := range map[string]struct {
		answers  answers
		cell     string
		watched  bool
		conflict bool
	}{
		"stays while its cell says that it leaves":                     {answers{{"west", open}, {"west", leaving}, {"east", arriving}}, "west", true, false},
		"stays after it has left until another cell has it open":       {answers{{"west", leaving}, {"west", left}, {"east", arriving}}, "west", true, false},
		"moves when its cell has it no more and another has it open":   {answers{{"west", leaving}, {"west", left}, {"east", open}}, "east", false, false},
		"moves if the other cell says that it is open before":          {answers{{"west", leaving}, {"east", open}, {"west", left}}, "east", false, false},
		"stays after a move when the old cell says again that it left": {answers{{"west", left}, {"east", open}, {"west", left}}, "east", false, false},
		"stays if an aborted move has opened it again":                 {answers{{"west", leaving}, {"east", arriving}, {"west", open}, {"east", left}}, "west", false, false},
		"stays and is in conflict if both cells have it open":          {answers{{"west", open}, {"east", open}, {"west", open}}, "west", true, true},
		"the conflict ends when the other cell has it no more":         {answers{{"west", open}, {"east", open}, {"west", open}, {"east", left}}, "west", false, false},
		"the conflict ends when its own cell has it no more":           {answers{{"west", open}, {"east", open}, {"west", open}, {"west", left}}, "east", false, false},
		"a move and a move back":                                       {answers{{"west", left}, {"east", open}, {"east", left}, {"west", open}}, "west", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			now := time.Now()
			c := &company{cell: "west", state: open, since: now}
			for _, a := range tt.answers {
				now = now.Add(time.Second)
				c.answer(a.cell, a.s, now.Add(-time.Millisecond), now)
			}
			if c.cell != tt.cell || c.isWatched() != tt.watched || c.conflict != tt.conflict {
				t.Errorf("got %+v", *c)
			}
		})
	}
	t.Run("an answer that was on its way before the other cell's is no conflict", func(t *testing.T) {
		t.Parallel()
		now := time.Now()
		c := &company{cell: "west", state: open, since: now}
		c.answer("east", open, now, now.Add(time.Second))
		if got := c.answer("west", open, now, now.Add(2*time.Second)); got != nothing || c.conflict {
			t.Errorf("got %v %+v", got, *c)
		}
	})
}

// tabled is a table with a clock.
type tabled struct {
	*table
	clock time.Time
}

func newTabled() *tabled {
	t := &tabled{table: newTable([]string{"west", "east"}, slog.New(slog.DiscardHandler)), clock: time.Now()}
	t.now = func() time.Time { return t.clock }
	t.takeOps()
	return t
}

// tell records the state of one company, and returns the changes for HAProxy.
func (t *tabled) tell(cell string, live id.Company, s state) []op {
	t.clock = t.clock.Add(time.Second)
	t.answer(cell, map[id.Company]state{live: s}, nil, t.clock, 0)
	ops, _ := t.takeOps()
	return ops
}

func lines(verb string, live id.Company, cell string) (ops []op) {
	for _, key := range spellings(live) {
		ops = append(ops, op{verb: verb, in: companiesMap, key: key, value: cell})
	}
	return ops
}

func same(t *testing.T, what string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(op{})); diff != "" {
		t.Errorf("%s: %s", what, diff)
	}
}

func TestTable(t *testing.T) {
	t.Parallel()
	t.Run("a company is added, moved and, when no cell has had it for a minute, removed", func(t *testing.T) {
		t.Parallel()
		w, live := newTabled(), id.New[id.Company]()
		same(t, "arriving", []op(nil), w.tell("west", live, arriving))
		same(t, "open", lines("add", live, "west"), w.tell("west", live, open))
		same(t, "leaving", []op(nil), w.tell("west", live, leaving))
		same(t, "left", []op(nil), w.tell("west", live, left))
		same(t, "open elsewhere", lines("set", live, "east"), w.tell("east", live, open))
		for range 2 {
			w.clock = w.clock.Add(2 * missingFor)
			w.endPass("east", w.beginPass(), w.clock)
		}
		ops, _ := w.takeOps()
		same(t, "in no cell", lines("del", live, ""), ops)
	})
	t.Run("a watched company that its cell does not mention has left", func(t *testing.T) {
		t.Parallel()
		w, live := newTabled(), id.New[id.Company]()
		w.tell("west", live, leaving)
		w.answer("west", nil, []id.Company{live}, w.clock, 0)
		same(t, "open elsewhere", lines("set", live, "east"), w.tell("east", live, open))
	})
	t.Run("credentials are removed by a reading of their company's cell only", func(t *testing.T) {
		t.Parallel()
		w, live := newTabled(), id.New[id.Company]()
		w.tell("west", live, open)
		key, deleted := id.New[id.APIKey]().String(), id.New[id.APIKey]().String()
		w.belong("west", map[string]string{key: live.String(), deleted: live.Test().String()}, 0)
		w.takeOps()
		read := func(cell string) []op {
			w.clock = w.clock.Add(time.Second)
			pass, began := w.beginPass(), w.clock
			if cell == "west" {
				w.answer(cell, map[id.Company]state{live: open}, nil, began, pass)
				w.belong(cell, map[string]string{key: live.String()}, pass)
			}
			w.endPass(cell, pass, began)
			ops, _ := w.takeOps()
			return ops
		}
		same(t, "another cell", []op(nil), read("east"))
		same(t, "its cell", []op{{verb: "del", in: credentialsMap, key: deleted}}, read("west"))
	})
	t.Run("credentials of a company that came during the reading are kept", func(t *testing.T) {
		t.Parallel()
		w, live := newTabled(), id.New[id.Company]()
		w.tell("west", live, open)
		w.belong("west", map[string]string{"key_1": live.String()}, 0)
		pass, began := w.beginPass(), w.clock
		w.tell("west", live, left)
		w.tell("east", live, open)
		w.answer("east", map[id.Company]state{live: open}, nil, w.clock, pass)
		w.endPass("east", pass, began)
		if len(w.credentials) != 1 {
			t.Error("the credential was removed")
		}
	})
	t.Run("the lines of the files of an earlier process stay until their cell answers, without those of unknown cells", func(t *testing.T) {
		t.Parallel()
		w, live, other := newTabled(), id.New[id.Company](), id.New[id.Company]()
		w.load(map[string]string{live.String(): "west", live.Test().String(): "west", other.String(): "gone"}, map[string]string{"key_1": live.String()})
		same(t, "open elsewhere", []op(nil), w.tell("east", live, open))
		same(t, "left", lines("set", live, "east"), w.tell("west", live, left))
		same(t, "of a cell that is gone", lines("add", other, "east"), w.tell("east", other, open))
		if got := string(w.lines(credentialsMap)); got != "key_1 "+live.String()+"\n" {
			t.Errorf("got %q", got)
		}
	})
	t.Run("more changes than HAProxy can get one by one replace the maps", func(t *testing.T) {
		t.Parallel()
		w := newTabled()
		for range maxOps/4 + 1 {
			w.record(id.New[id.Company](), "west", open, w.clock)
		}
		if ops, whole := w.takeOps(); !whole || len(ops) != 0 {
			t.Errorf("got %d changes, %v", len(ops), whole)
		}
	})
}
