package customer

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/rpc"
	auditv1 "reservation.dev/proto/gen/reservation/audit/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
)

const health = customerv1.NoteKind_NOTE_KIND_HEALTH

func (w *world) note(customer, body string) *customerv1.Note {
	w.t.Helper()
	res, err := w.notes.CreateNote(w.ctx(), &customerv1.CreateNoteRequest{CustomerId: customer, Body: body})
	if err != nil {
		w.t.Fatal(err)
	}
	return res.GetNote()
}

// noteCount returns the number of stored notes about a customer, deleted or not.
func (w *world) noteCount(customer string) int64 {
	w.t.Helper()
	key, err := id.Parse[id.Customer](customer)
	if err != nil {
		w.t.Fatal(err)
	}
	n, err := pg.One[int64](w.t.Context(), w.db, pg.For(w.company), `select count(*) from notes where customer_id = $1`, key)
	if err != nil {
		w.t.Fatal(err)
	}
	return n
}

func (w *world) sql(statement string, args ...any) {
	w.t.Helper()
	err := w.db.InTx(w.t.Context(), pg.For(w.company), func(ctx context.Context, tx *pg.Tx) error {
		_, err := tx.Exec(ctx, statement, args...)
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// fieldFaults returns the field and the rule of each fault.
func fieldFaults(err error) string {
	if err == nil {
		return ""
	}
	var list []string
	for _, f := range fault.From(err).Fields {
		list = append(list, f.Field+":"+f.Rule)
	}
	return strings.Join(list, " ")
}

func TestNotes(t *testing.T) { // invariants 1, 2 and 15
	w := open(t)
	c := w.create("Zoë")
	t.Run("a new note has trimmed text, a kind, an author and version 1", func(t *testing.T) {
		made := w.note(c.GetId(), "  Prefers mornings.\nNo dogs. ")
		if made.GetBody() != "Prefers mornings.\nNo dogs." || made.GetKind() != customerv1.NoteKind_NOTE_KIND_GENERAL ||
			!strings.HasPrefix(made.GetAuthor(), "m2m_") || made.GetVersion() != 1 || made.GetPinned() || !strings.HasPrefix(made.GetId(), "note_") {
			t.Errorf("got %v", made)
		}
		got, err := w.notes.GetNote(w.as(w.company, "notes:read"), &customerv1.GetNoteRequest{Id: made.GetId(), CustomerId: c.GetId()})
		if err != nil || !proto.Equal(got.GetNote(), made) {
			t.Errorf("got %v, %v, want %v", got, err, made)
		}
	})
	t.Run("the caller can name the author, the kind and the pin", func(t *testing.T) {
		res, err := w.notes.CreateNote(w.ctx(), &customerv1.CreateNoteRequest{CustomerId: c.GetId(), Body: "Asthma", Kind: health, Author: " Ana ", Pinned: true})
		if n := res.GetNote(); err != nil || n.GetKind() != health || n.GetAuthor() != "Ana" || !n.GetPinned() {
			t.Errorf("got %v, %v", n, err)
		}
	})
	t.Run("reports every invalid field in one response", func(t *testing.T) {
		_, err := w.notes.CreateNote(w.ctx(), &customerv1.CreateNoteRequest{CustomerId: c.GetId(), Body: " ", Kind: 99, Author: "a\nb"})
		if got, want := fieldFaults(err), "body:required kind:enum author:characters"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		made := w.note(c.GetId(), "x")
		_, err = w.notes.UpdateNote(w.ctx(), &customerv1.UpdateNoteRequest{Id: made.GetId(), Body: ptr("\x00"), Kind: 99})
		if got, want := fieldFaults(err), "body:characters kind:enum"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		_, err = w.notes.CreateNote(w.ctx(), &customerv1.CreateNoteRequest{CustomerId: c.GetId(), Body: strings.Repeat("é", maxBody+1)})
		if got := fieldFaults(err); got != "body:max_length" {
			t.Errorf("got %s, %v", got, err)
		}
	})
	t.Run("the longest texts are stored", func(t *testing.T) {
		res, err := w.notes.CreateNote(w.ctx(), &customerv1.CreateNoteRequest{CustomerId: c.GetId(), Body: strings.Repeat("é", maxBody), Author: strings.Repeat("é", maxAuthor)})
		if err != nil || len([]rune(res.GetNote().GetBody())) != maxBody {
			t.Errorf("got %v", err)
		}
	})
	t.Run("an update changes the fields that are set", func(t *testing.T) {
		made := w.note(c.GetId(), "x")
		res, err := w.notes.UpdateNote(w.ctx(), &customerv1.UpdateNoteRequest{Id: made.GetId(), CustomerId: c.GetId(), Pinned: ptr(true), Kind: health})
		got := res.GetNote()
		if err != nil || got.GetBody() != "x" || !got.GetPinned() || got.GetKind() != health || got.GetVersion() != 2 || got.GetAuthor() != made.GetAuthor() {
			t.Errorf("got %v, %v", got, err)
		}
		same, err := w.notes.UpdateNote(w.ctx(), &customerv1.UpdateNoteRequest{Id: made.GetId(), Body: ptr(" x "), Pinned: ptr(true)})
		if err != nil || !proto.Equal(same.GetNote(), got) {
			t.Errorf("an update without a change made %v, %v", same, err)
		}
	})
	t.Run("a stale version changes and deletes nothing", func(t *testing.T) {
		made := w.note(c.GetId(), "x")
		if _, err := w.notes.UpdateNote(w.ctx(), &customerv1.UpdateNoteRequest{Id: made.GetId(), Body: ptr("y"), ExpectedVersion: ptr(int64(1))}); err != nil {
			t.Fatal(err)
		}
		_, err := w.notes.UpdateNote(w.ctx(), &customerv1.UpdateNoteRequest{Id: made.GetId(), Body: ptr("z"), ExpectedVersion: ptr(int64(1))})
		if !fault.Is(err, fault.VersionMismatch) {
			t.Errorf("got %v", err)
		}
		if _, err := w.notes.DeleteNote(w.ctx(), &customerv1.DeleteNoteRequest{Id: made.GetId(), ExpectedVersion: ptr(int64(1))}); !fault.Is(err, fault.VersionMismatch) {
			t.Errorf("got %v", err)
		}
		got, err := w.notes.GetNote(w.ctx(), &customerv1.GetNoteRequest{Id: made.GetId()})
		if err != nil || got.GetNote().GetBody() != "y" {
			t.Errorf("got %v, %v", got, err)
		}
	})
	t.Run("a deleted note does not exist", func(t *testing.T) {
		made := w.note(c.GetId(), "x")
		for n := range 2 {
			_, err := w.notes.DeleteNote(w.ctx(), &customerv1.DeleteNoteRequest{Id: made.GetId(), ExpectedVersion: ptr(int64(1))})
			if n == 0 && err != nil || n == 1 && !fault.Is(err, fault.NotFound) {
				t.Errorf("call %d: got %v", n+1, err)
			}
		}
		if _, err := w.notes.GetNote(w.ctx(), &customerv1.GetNoteRequest{Id: made.GetId()}); !fault.Is(err, fault.NotFound) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("notes are in no event, except that a credential changed one, and do not change the customer", func(t *testing.T) {
		changes, err := pg.Rows[[]byte](t.Context(), w.db, pg.AllCompanies(), `select payload from outbox where subject = 'customer.v1.change_recorded'`)
		if err != nil || len(changes) == 0 {
			t.Errorf("%d changes, %v", len(changes), err)
		}
		for _, payload := range changes {
			var change auditv1.ChangeRecorded
			if err := proto.Unmarshal(payload, &change); err != nil || change.GetTarget() != c.GetId() || len(change.GetDetails()) != 0 {
				t.Errorf("got %v, %v", &change, err)
			}
		}
		n, err := pg.One[int64](t.Context(), w.db, pg.AllCompanies(), `select count(*) from outbox where subject <> 'customer.v1.change_recorded'`)
		got, read := w.client.GetCustomer(w.ctx(), &customerv1.GetCustomerRequest{Id: c.GetId()})
		if err != nil || n != 1 || read != nil || !proto.Equal(got.GetCustomer(), c) {
			t.Errorf("%d events (%v), customer %v (%v)", n, err, got, read)
		}
	})
}

func TestNotesOncePerKey(t *testing.T) {
	w := open(t)
	c := w.create("Zoë")
	ctx := rpc.WithIdempotencyKey(w.ctx(), "k1")
	create := &customerv1.CreateNoteRequest{CustomerId: c.GetId(), Body: "x"}
	one, err := w.notes.CreateNote(ctx, create)
	if err != nil {
		t.Fatal(err)
	}
	two, err := w.notes.CreateNote(ctx, create)
	if err != nil || !proto.Equal(one, two) || w.noteCount(c.GetId()) != 1 {
		t.Errorf("got %v, %v, want %v", two, err, one)
	}
	create.Body = "y"
	if _, err := w.notes.CreateNote(ctx, create); fault.From(err).Reason != fault.ReasonIdempotencyKeyReused {
		t.Errorf("got %v", err)
	}
	ctx = rpc.WithIdempotencyKey(w.ctx(), "k2")
	update := &customerv1.UpdateNoteRequest{Id: one.GetNote().GetId(), Body: ptr("z"), ExpectedVersion: ptr(int64(1))}
	for range 2 {
		if res, err := w.notes.UpdateNote(ctx, update); err != nil || res.GetNote().GetVersion() != 2 {
			t.Errorf("got %v, %v", res, err)
		}
	}
	ctx = rpc.WithIdempotencyKey(w.ctx(), "k3")
	for range 2 {
		if _, err := w.notes.DeleteNote(ctx, &customerv1.DeleteNoteRequest{Id: one.GetNote().GetId()}); err != nil {
			t.Error(err)
		}
	}
}

func TestListNotes(t *testing.T) {
	w := open(t)
	c := w.create("Zoë")
	at := time.Date(2026, 5, 1, 9, 0, 0, 0, time.UTC)
	w.server.now = func() time.Time { return at }
	var pinned, others, healthy []string // the newest first
	for n := range 9 {
		at = at.Add(time.Duration(n%2) * time.Second) // pairs at the same time
		req := &customerv1.CreateNoteRequest{CustomerId: c.GetId(), Body: fmt.Sprint(n), Pinned: n%4 == 1}
		if n%3 == 0 {
			req.Kind = health
		}
		res, err := w.notes.CreateNote(w.ctx(), req)
		if err != nil {
			t.Fatal(err)
		}
		if req.GetPinned() {
			pinned = append(pinned, res.GetNote().GetId())
		} else {
			others = append(others, res.GetNote().GetId())
		}
	}
	w.note(w.create("Ana").GetId(), "about somebody else")
	slices.Reverse(pinned)
	slices.Reverse(others)
	all := slices.Concat(pinned, others)
	list := func(t *testing.T, req *customerv1.ListNotesRequest) (ids []string, res *customerv1.ListNotesResponse) {
		t.Helper()
		req.CustomerId = c.GetId()
		res, err := w.notes.ListNotes(w.as(w.company, "notes:read"), req)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range res.GetNotes() {
			ids = append(ids, n.GetId())
		}
		return ids, res
	}
	t.Run("pinned notes come first, and then the newest", func(t *testing.T) {
		if got, res := list(t, &customerv1.ListNotesRequest{}); !slices.Equal(got, all) || res.GetTotal() != 9 || res.GetNextPageToken() != "" {
			t.Errorf("got %v, want %v", got, all)
		}
	})
	t.Run("filters by kind", func(t *testing.T) {
		got, res := list(t, &customerv1.ListNotesRequest{Kind: health})
		for _, n := range res.GetNotes() {
			if n.GetKind() == health {
				healthy = append(healthy, n.GetId())
			}
		}
		if len(healthy) != 3 || !slices.Equal(got, healthy) || res.GetTotal() != 3 {
			t.Errorf("got %v", res)
		}
	})
	t.Run("skips an offset", func(t *testing.T) {
		if got, res := list(t, &customerv1.ListNotesRequest{Offset: 2, PageSize: 3}); !slices.Equal(got, all[2:5]) || res.GetTotal() != 9 {
			t.Errorf("got %v, want %v", got, all[2:5])
		}
	})
	for size := range int32(4) {
		t.Run(fmt.Sprintf("pages of %d have every note once, also after the last note of a page is deleted", size+1), func(t *testing.T) {
			var got []string
			for req := (&customerv1.ListNotesRequest{PageSize: size + 1}); ; {
				ids, res := list(t, req)
				got = append(got, ids...)
				if req.PageToken = res.GetNextPageToken(); req.GetPageToken() == "" {
					break
				}
			}
			if !slices.Equal(got, all) {
				t.Errorf("got %v, want %v", got, all)
			}
			ids, res := list(t, &customerv1.ListNotesRequest{PageSize: size + 1})
			last := ids[len(ids)-1]
			if _, err := w.notes.DeleteNote(w.ctx(), &customerv1.DeleteNoteRequest{Id: last}); err != nil {
				t.Fatal(err)
			}
			if next, _ := list(t, &customerv1.ListNotesRequest{PageToken: res.GetNextPageToken()}); !slices.Equal(next, all[size+1:]) {
				t.Errorf("after %s: got %v, want %v", last, next, all[size+1:])
			}
			all = slices.DeleteFunc(all, func(s string) bool { return s == last })
		})
	}
	t.Run("refuses tokens of other lists and unknown kinds", func(t *testing.T) {
		_, res := list(t, &customerv1.ListNotesRequest{PageSize: 1})
		customers := w.create("Bob")
		for want, req := range map[string]*customerv1.ListNotesRequest{
			"page_token:order":  {CustomerId: customers.GetId(), PageToken: res.GetNextPageToken()},
			"page_token:format": {CustomerId: c.GetId(), PageToken: "x"},
			"page_size:range":   {CustomerId: c.GetId(), PageSize: 201},
			"offset:range":      {CustomerId: c.GetId(), Offset: -1},
			"kind:enum":         {CustomerId: c.GetId(), Kind: 99},
		} {
			if _, err := w.notes.ListNotes(w.ctx(), req); fieldFaults(err) != want {
				t.Errorf("got %v, want %s", err, want)
			}
		}
	})
}

func TestNotesOfOthers(t *testing.T) { // invariant 6
	w := open(t)
	c, other := w.create("Zoë"), w.create("Ana")
	n := w.note(c.GetId(), "x")
	stranger := w.as(id.New[id.Company]())
	type target struct {
		ctx            context.Context
		note, customer string
	}
	for name, in := range map[string]target{
		"another company":                    {stranger, n.GetId(), c.GetId()},
		"another company, only the note":     {stranger, n.GetId(), ""},
		"another customer's note":            {w.ctx(), n.GetId(), other.GetId()},
		"a customer that does not exist":     {w.ctx(), n.GetId(), id.New[id.Customer]().String()},
		"a malformed customer":               {w.ctx(), n.GetId(), "cust_'"},
		"a note that does not exist":         {w.ctx(), id.New[id.Note]().String(), c.GetId()},
		"a malformed note":                   {w.ctx(), "note_'", c.GetId()},
		"an invalid change of another's one": {stranger, n.GetId(), ""},
	} {
		t.Run(name+" is NOT_FOUND", func(t *testing.T) {
			_, get := w.notes.GetNote(in.ctx, &customerv1.GetNoteRequest{Id: in.note, CustomerId: in.customer})
			_, update := w.notes.UpdateNote(in.ctx, &customerv1.UpdateNoteRequest{Id: in.note, CustomerId: in.customer, Body: ptr("y")})
			_, invalid := w.notes.UpdateNote(in.ctx, &customerv1.UpdateNoteRequest{Id: in.note, CustomerId: in.customer, Body: ptr("")})
			_, remove := w.notes.DeleteNote(in.ctx, &customerv1.DeleteNoteRequest{Id: in.note, CustomerId: in.customer})
			for _, err := range []error{get, update, invalid, remove} {
				if !fault.Is(err, fault.NotFound) {
					t.Errorf("got %v", err)
				}
			}
		})
	}
	for _, in := range []target{{stranger, "", c.GetId()}, {w.ctx(), "", "cust_x"}, {w.ctx(), "", ""}, {w.ctx(), "", id.New[id.Customer]().String()}} {
		_, list := w.notes.ListNotes(in.ctx, &customerv1.ListNotesRequest{CustomerId: in.customer})
		_, create := w.notes.CreateNote(in.ctx, &customerv1.CreateNoteRequest{CustomerId: in.customer, Body: "x"})
		_, invalid := w.notes.CreateNote(in.ctx, &customerv1.CreateNoteRequest{CustomerId: in.customer})
		for _, err := range []error{list, create, invalid} {
			if !fault.Is(err, fault.NotFound) {
				t.Errorf("customer %q: got %v", in.customer, err)
			}
		}
	}
	for scope, call := range map[string]func(ctx context.Context) error{
		"notes:read": func(ctx context.Context) error {
			_, err := w.notes.CreateNote(ctx, &customerv1.CreateNoteRequest{CustomerId: c.GetId(), Body: "x"})
			return err
		},
		"customers:read": func(ctx context.Context) error {
			_, err := w.notes.ListNotes(ctx, &customerv1.ListNotesRequest{CustomerId: c.GetId()})
			return err
		},
	} {
		if err := call(w.as(w.company, scope)); !fault.Is(err, fault.Forbidden) {
			t.Errorf("with %s: got %v", scope, err)
		}
	}
	if got, err := w.notes.GetNote(w.ctx(), &customerv1.GetNoteRequest{Id: n.GetId()}); err != nil || !proto.Equal(got.GetNote(), n) {
		t.Errorf("got %v, %v, want %v", got, err, n)
	}
}

func TestNoteWriters(t *testing.T) { // invariants 2 and 15
	w := open(t)
	c := w.create("Zoë")
	t.Run("one of many updates of the same version succeeds", func(t *testing.T) {
		n := w.note(c.GetId(), "x")
		var wg sync.WaitGroup
		var changed atomic.Int32
		for i := range 20 {
			wg.Go(func() {
				_, err := w.notes.UpdateNote(w.ctx(), &customerv1.UpdateNoteRequest{Id: n.GetId(), Body: ptr(fmt.Sprint(i)), ExpectedVersion: ptr(int64(1))})
				if err == nil {
					changed.Add(1)
				} else if !fault.Is(err, fault.VersionMismatch) {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if got, err := w.notes.GetNote(w.ctx(), &customerv1.GetNoteRequest{Id: n.GetId()}); changed.Load() != 1 || err != nil || got.GetNote().GetVersion() != 2 {
			t.Errorf("%d updates succeeded, and made %v, %v", changed.Load(), got, err)
		}
	})
	t.Run("a customer never has more than 1000 notes", func(t *testing.T) {
		w.sql(`insert into notes select n.company_id, gen_random_uuid(), n.customer_id, n.body, n.kind, n.author, n.pinned, 1, n.created_at, n.updated_at
			from (select * from notes limit 1) n, generate_series(1, $1::integer)`, maxNotes-w.noteCount(c.GetId())-5)
		var wg sync.WaitGroup
		var added atomic.Int32
		for range 20 {
			wg.Go(func() {
				_, err := w.notes.CreateNote(w.ctx(), &customerv1.CreateNoteRequest{CustomerId: c.GetId(), Body: "x"})
				if err == nil {
					added.Add(1)
				} else if fault.From(err).Reason != ReasonTooManyNotes {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if added.Load() != 5 || w.noteCount(c.GetId()) != maxNotes {
			t.Errorf("%d notes were added, there are %d", added.Load(), w.noteCount(c.GetId()))
		}
		w.note(w.create("Ana").GetId(), "about somebody else")
	})
}
