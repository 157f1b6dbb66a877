package customer

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/rpc"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	privacyv1 "reservation.dev/proto/gen/reservation/privacy/v1"
)

// noteCalls returns the errors of all RPCs for a note and its customer.
func (w *world) noteCalls(n *customerv1.Note) []error {
	_, get := w.notes.GetNote(w.ctx(), &customerv1.GetNoteRequest{Id: n.GetId()})
	_, list := w.notes.ListNotes(w.ctx(), &customerv1.ListNotesRequest{CustomerId: n.GetCustomerId()})
	_, create := w.notes.CreateNote(w.ctx(), &customerv1.CreateNoteRequest{CustomerId: n.GetCustomerId(), Body: "x"})
	_, update := w.notes.UpdateNote(w.ctx(), &customerv1.UpdateNoteRequest{Id: n.GetId(), Body: ptr("y")})
	_, remove := w.notes.DeleteNote(w.ctx(), &customerv1.DeleteNoteRequest{Id: n.GetId()})
	return []error{get, list, create, update, remove}
}

func TestNotesOfDeletedCustomer(t *testing.T) { // invariants 10 and 15
	w := open(t)
	c := w.create("Zoë")
	n := w.note(c.GetId(), "Asthma")
	key := rpc.WithIdempotencyKey(w.ctx(), "k1")
	if _, err := w.notes.UpdateNote(key, &customerv1.UpdateNoteRequest{Id: n.GetId(), Body: ptr("Severe asthma")}); err != nil {
		t.Fatal(err)
	}
	t.Run("an archived customer's notes are served", func(t *testing.T) {
		if _, err := w.client.ArchiveCustomer(w.ctx(), &customerv1.ArchiveCustomerRequest{Id: c.GetId(), Archived: true}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.notes.GetNote(w.ctx(), &customerv1.GetNoteRequest{Id: n.GetId()}); err != nil {
			t.Error(err)
		}
	})
	t.Run("the notes are exported with the customer", func(t *testing.T) {
		stream := &recordStream{ctx: w.ctx()}
		if err := NewExporter(w.db).ExportPersonalData(&privacyv1.ExportPersonalDataRequest{CustomerId: c.GetId()}, stream); err != nil {
			t.Fatal(err)
		}
		at := slices.IndexFunc(stream.records, func(r *privacyv1.PersonalRecord) bool { return r.GetKind() == "note" })
		if at < 0 || stream.records[at].GetId() != n.GetId() || !strings.Contains(stream.records[at].GetJson(), `"body":"Severe asthma"`) ||
			!strings.Contains(stream.records[at].GetJson(), `"customer_id":"`+c.GetId()+`"`) || strings.Contains(stream.records[at].GetJson(), "company_id") {
			t.Errorf("got %v", stream.records)
		}
	})
	t.Run("a deleted customer's notes are stored, but not found", func(t *testing.T) {
		if _, err := w.client.DeleteCustomer(w.ctx(), &customerv1.DeleteCustomerRequest{Id: c.GetId()}); err != nil {
			t.Fatal(err)
		}
		for _, err := range w.noteCalls(n) {
			if !fault.Is(err, fault.NotFound) {
				t.Errorf("got %v", err)
			}
		}
		if w.noteCount(c.GetId()) != 1 {
			t.Errorf("%d notes are left", w.noteCount(c.GetId()))
		}
	})
	t.Run("an erasure removes the notes and the stored responses about them", func(t *testing.T) {
		kept := w.note(w.create("Ana").GetId(), "about somebody else")
		if _, err := (Erasures{Server: w.server}).EraseCustomer(w.ctx(), &privacyv1.EraseCustomerRequest{CustomerId: c.GetId()}); err != nil {
			t.Fatal(err)
		}
		if w.noteCount(c.GetId()) != 0 || w.noteCount(kept.GetCustomerId()) != 1 {
			t.Errorf("%d notes are left, and %d of another customer", w.noteCount(c.GetId()), w.noteCount(kept.GetCustomerId()))
		}
		if _, err := w.notes.UpdateNote(key, &customerv1.UpdateNoteRequest{Id: n.GetId(), Body: ptr("Severe asthma")}); !fault.Is(err, fault.NotFound) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("a repeated erasure, after a restore, removes restored notes", func(t *testing.T) {
		w.sql(`insert into notes select company_id, gen_random_uuid(), customer_id, 'restored', 'health', 'x', false, 1, now(), now() from customer_erasures`)
		if _, err := (Erasures{Server: w.server}).EraseCustomer(w.ctx(), &privacyv1.EraseCustomerRequest{CustomerId: c.GetId(), Repeat: true}); err != nil {
			t.Fatal(err)
		}
		if w.noteCount(c.GetId()) != 0 {
			t.Errorf("%d notes are left", w.noteCount(c.GetId()))
		}
	})
}

// TestNotesDuringErasures adds and changes notes while their customers are erased. Nothing about an
// erased customer may be left, and nobody waits in a circle.
func TestNotesDuringErasures(t *testing.T) { // invariants 10 and 15
	w := open(t)
	erasures := Erasures{Server: w.server}
	var wg sync.WaitGroup
	var customers []string
	for range 10 {
		c := w.create("Zoë")
		customers = append(customers, c.GetId())
		n := w.note(c.GetId(), "x")
		call := func(err error) {
			if err != nil && !fault.Is(err, fault.NotFound) {
				t.Error(err)
			}
		}
		for range 3 {
			wg.Go(func() {
				_, err := w.notes.CreateNote(w.ctx(), &customerv1.CreateNoteRequest{CustomerId: c.GetId(), Body: "y"})
				call(err)
			})
			wg.Go(func() {
				_, err := w.notes.UpdateNote(w.ctx(), &customerv1.UpdateNoteRequest{Id: n.GetId(), Pinned: ptr(true), Body: ptr(w.server.newID().String())})
				call(err)
			})
		}
		wg.Go(func() {
			_, err := erasures.EraseCustomer(w.ctx(), &privacyv1.EraseCustomerRequest{CustomerId: c.GetId()})
			call(err)
		})
	}
	wg.Wait()
	for _, c := range customers {
		if n := w.noteCount(c); n != 0 {
			t.Errorf("%d notes about an erased customer", n)
		}
	}
}
