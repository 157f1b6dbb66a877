package admin

import (
	"net/http"
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
)

// withNote adds a pinned note about Ann, whose text contains markup.
func withNote(w *world) *customerv1.Note {
	n := &customerv1.Note{
		Id: "note_1", CustomerId: "cust_1", Body: "Left knee <b>operated</b>", Kind: customerv1.NoteKind_NOTE_KIND_HEALTH, Author: "Ben",
		Pinned: true, CreatedAt: timestamppb.Now(), Version: 3,
	}
	on(w.backend, "ListNotes", func(*customerv1.ListNotesRequest) (*customerv1.ListNotesResponse, error) {
		return &customerv1.ListNotesResponse{Notes: []*customerv1.Note{n}, Total: 30, NextPageToken: "more"}, nil
	})
	on(w.backend, "GetNote", func(req *customerv1.GetNoteRequest) (*customerv1.GetNoteResponse, error) {
		if req.GetId() != n.GetId() || req.GetCustomerId() != n.GetCustomerId() {
			return nil, fault.Missing("note")
		}
		return &customerv1.GetNoteResponse{Note: n}, nil
	})
	on(w.backend, "DeleteNote", func(*customerv1.DeleteNoteRequest) (*customerv1.DeleteNoteResponse, error) {
		return &customerv1.DeleteNoteResponse{}, nil
	})
	return n
}

func TestNotes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.signIn()
	withEvent(w, "Yoga", "Ann")
	const page = "/customers/cust_1"
	t.Run("says that there are no notes", func(t *testing.T) {
		w.get(page).must(t, "No notes.", page+"/notes/new")
	})
	note := withNote(w)
	on(w.backend, "CreateNote", func(req *customerv1.CreateNoteRequest) (*customerv1.CreateNoteResponse, error) {
		if strings.Contains(req.GetBody(), "\x01") {
			return nil, fault.InvalidFields(fault.Field{Field: "body", Rule: "characters", Message: "must not contain control characters"})
		}
		return &customerv1.CreateNoteResponse{Note: note}, nil
	})
	on(w.backend, "UpdateNote", func(req *customerv1.UpdateNoteRequest) (*customerv1.UpdateNoteResponse, error) {
		if req.ExpectedVersion != nil && req.GetExpectedVersion() != note.GetVersion() {
			return nil, fault.Stale("note", note.GetVersion())
		}
		return &customerv1.UpdateNoteResponse{Note: note}, nil
	})
	t.Run("lists the notes of a customer with one more call", func(t *testing.T) {
		w.backend.count()
		w.get(page).must(t, "Left knee &lt;b&gt;operated&lt;/b&gt;", "Health", "Pinned", "by Ben", "notes=more", page+"/notes/note_1/unpin")
		if n := w.backend.count(); n != 12 {
			t.Errorf("%d calls", n)
		}
	})
	t.Run("adds a note in the name of the administrator", func(t *testing.T) {
		w.get(page+"/notes/new").must(t, `name="body"`, "Preference")
		if a := w.post(page+"/notes", "body", "Owes £5\r\nsince May ", "kind", "payment", "pinned", "on"); a.to() != page+"#notes" {
			t.Fatal(describe(a))
		}
		req := w.backend.called("CreateNote")[0].req.(*customerv1.CreateNoteRequest)
		if req.GetCustomerId() != "cust_1" || req.GetBody() != "Owes £5\nsince May" || req.GetKind() != customerv1.NoteKind_NOTE_KIND_PAYMENT || req.GetAuthor() != "Ada" || !req.GetPinned() {
			t.Errorf("%v", req)
		}
		got := last[*authv1.RecordAuditEntryRequest](w, "RecordAuditEntry")
		if got.GetAction() != "customer.note_add" || got.GetTarget() != "cust_1" || strings.Contains(got.String(), "Owes") {
			t.Errorf("%v", got)
		}
	})
	t.Run("refuses an empty note without a call, and shows a refusal at the field", func(t *testing.T) {
		w.backend.count()
		a := w.post(page+"/notes", "body", " ", "kind", "health")
		if a.StatusCode != http.StatusUnprocessableEntity || len(w.backend.called("CreateNote")) > 0 {
			t.Fatal(describe(a))
		}
		a.must(t, "Enter the note.", `value="health" selected`)
		w.post(page+"/notes", "body", "a\x01b").must(t, "The note must not contain control characters.")
	})
	t.Run("does not overwrite a note that someone else has changed", func(t *testing.T) {
		w.get(page+"/notes/note_1").must(t, `name="version" value="3"`, `value="health" selected`, `value="on" checked`)
		w.post(page+"/notes/note_1", "body", "Better", "kind", "health", "version", "2").must(t, "Someone else has changed this", "Better")
		if a := w.post(page+"/notes/note_1", "body", "Better", "kind", "general", "version", "3"); a.to() != page+"#notes" {
			t.Fatal(describe(a))
		}
		req := w.backend.called("UpdateNote")[1].req.(*customerv1.UpdateNoteRequest)
		if req.GetBody() != "Better" || req.Pinned == nil || req.GetPinned() || req.GetKind() != customerv1.NoteKind_NOTE_KIND_GENERAL {
			t.Errorf("%v", req)
		}
	})
	t.Run("unpins a note and changes nothing else", func(t *testing.T) {
		w.backend.count()
		w.post(page + "/notes/note_1/unpin")
		req := w.backend.called("UpdateNote")[0].req.(*customerv1.UpdateNoteRequest)
		if req.Body != nil || req.Pinned == nil || req.GetPinned() || req.GetCustomerId() != "cust_1" {
			t.Errorf("%v", req)
		}
	})
	t.Run("shows a note before it is deleted", func(t *testing.T) {
		w.get(page+"/notes/note_1/delete").must(t, "Left knee", "You cannot undo this.", `class="primary danger"`)
		if a := w.post(page + "/notes/note_1/delete"); a.to() != page+"#notes" {
			t.Fatal(describe(a))
		}
		if got := last[*authv1.RecordAuditEntryRequest](w, "RecordAuditEntry"); got.GetAction() != "customer.note_delete" || got.GetDetails()[0].GetAfter() != "note_1" {
			t.Errorf("%v", got)
		}
	})
	t.Run("does not find a note about someone else", func(t *testing.T) {
		for _, a := range []answer{w.get(page + "/notes/note_2"), w.post(page+"/notes/note_2", "body", "x"), w.post(page + "/notes/note_1/explode")} {
			if a.StatusCode != http.StatusNotFound {
				t.Error(describe(a))
			}
		}
	})
}
