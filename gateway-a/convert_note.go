package gatewaya

import (
	"reservation.dev/platform/check"
	"reservation.dev/platform/edge"
	"reservation.dev/platform/enum"
	"reservation.dev/platform/fault"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	edgeav1 "reservation.dev/proto/gen/reservation/edge/a/v1"
)

// typeNote is the value of type for notes on Interface A.
const typeNote = "note"

func note(n *customerv1.Note, c clock) *edgeav1.Note {
	return &edgeav1.Note{
		Id: n.GetId(), Type: typeNote, Body: n.GetBody(), Kind: enum.Name(n.GetKind()), Author: n.GetAuthor(), Pinned: n.GetPinned(),
		CreatedAt: c.local(n.GetCreatedAt()), UpdatedAt: c.local(n.GetUpdatedAt()), Tz: c.name,
	}
}

// newNote converts the body of POST /customer/{id}/notes.
func newNote(in *edgeav1.NoteCreate) (*customerv1.CreateNoteRequest, error) {
	in = edge.OrEmpty(in)
	kind, err := noteKind(in.Kind)
	return &customerv1.CreateNoteRequest{Body: in.GetBody(), Kind: kind, Author: in.GetAuthor(), Pinned: in.GetPinned()}, err
}

// noteUpdate converts the body of PUT /customer/{id}/note/{noteId}. Absent members do not change.
func noteUpdate(in *edgeav1.NoteUpdate) (*customerv1.UpdateNoteRequest, error) {
	in = edge.OrEmpty(in)
	kind, err := noteKind(in.Kind)
	return &customerv1.UpdateNoteRequest{Body: in.Body, Kind: kind, Pinned: in.Pinned}, err
}

// noteKind reads the kind of a note. An absent kind is unspecified.
func noteKind(name *string) (customerv1.NoteKind, error) {
	if name == nil {
		return customerv1.NoteKind_NOTE_KIND_UNSPECIFIED, nil
	}
	var fields check.Fields
	kind, ok := enum.Parse[customerv1.NoteKind](*name)
	if !ok {
		fields.Add("kind", "enum", fault.OneOf(enum.Names[customerv1.NoteKind]()))
	}
	return kind, fields.Err()
}
