package gatewaya

import (
	"context"

	"reservation.dev/platform/edge"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	edgeav1 "reservation.dev/proto/gen/reservation/edge/a/v1"
)

// ListNotes is GET /customer/{id}/notes.
func (f *facade) ListNotes(ctx context.Context, req *edgeav1.ListNotesRequest) (*edgeav1.ListNotesResponse, error) {
	var q edge.Query
	p := newPage(&q, req.Page, req.PageSize)
	list := &customerv1.ListNotesRequest{
		CustomerId: req.GetId(), PageSize: p.size, Offset: p.offset(),
		Kind: edge.QueryEnum[customerv1.NoteKind](&q, "kind", req.Kind),
	}
	if err := q.Err(); err != nil {
		return nil, err
	}
	res, err := f.notes.ListNotes(ctx, list)
	if err != nil {
		return nil, err
	}
	clock := companyClock(ctx)
	return &edgeav1.ListNotesResponse{
		Data:  edge.Convert(res.GetNotes(), func(n *customerv1.Note) *edgeav1.Note { return note(n, clock) }),
		Total: res.GetTotal(), Page: p.number, PageSize: p.size,
	}, nil
}

// CreateNote is POST /customer/{id}/notes.
func (f *facade) CreateNote(ctx context.Context, req *edgeav1.CreateNoteRequest) (*edgeav1.CreateNoteResponse, error) {
	create, err := newNote(req.GetNote())
	if err != nil {
		return nil, err
	}
	create.CustomerId = req.GetId()
	res, err := f.notes.CreateNote(ctx, create)
	if err != nil {
		return nil, err
	}
	created := edge.Tag(ctx, res.GetNote())
	edge.Created(ctx, "/customer/"+req.GetId()+"/note/"+created.GetId())
	return &edgeav1.CreateNoteResponse{Data: note(created, companyClock(ctx))}, nil
}

// GetNote is GET /customer/{id}/note/{noteId}.
func (f *facade) GetNote(ctx context.Context, req *edgeav1.GetNoteRequest) (*edgeav1.GetNoteResponse, error) {
	res, err := f.notes.GetNote(ctx, &customerv1.GetNoteRequest{Id: req.GetNoteId(), CustomerId: req.GetId()})
	if err != nil {
		return nil, err
	}
	return &edgeav1.GetNoteResponse{Data: note(edge.Tag(ctx, res.GetNote()), companyClock(ctx))}, nil
}

// UpdateNote is PUT /customer/{id}/note/{noteId}.
func (f *facade) UpdateNote(ctx context.Context, req *edgeav1.UpdateNoteRequest) (*edgeav1.UpdateNoteResponse, error) {
	update, err := noteUpdate(req.GetNote())
	if err != nil {
		return nil, err
	}
	update.Id, update.CustomerId, update.ExpectedVersion = req.GetNoteId(), req.GetId(), edge.ExpectedVersion(ctx)
	res, err := f.notes.UpdateNote(ctx, update)
	if err != nil {
		return nil, err
	}
	return &edgeav1.UpdateNoteResponse{Data: note(edge.Tag(ctx, res.GetNote()), companyClock(ctx))}, nil
}

// DeleteNote is DELETE /customer/{id}/note/{noteId}.
func (f *facade) DeleteNote(ctx context.Context, req *edgeav1.DeleteNoteRequest) (*edgeav1.DeleteNoteResponse, error) {
	_, err := f.notes.DeleteNote(ctx, &customerv1.DeleteNoteRequest{
		Id: req.GetNoteId(), CustomerId: req.GetId(), ExpectedVersion: edge.ExpectedVersion(ctx),
	})
	if err != nil {
		return nil, err
	}
	return &edgeav1.DeleteNoteResponse{Message: "the note was deleted"}, nil
}
