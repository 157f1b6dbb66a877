package customer

import (
	"context"

	"reservation.dev/platform/check"
	"reservation.dev/platform/id"
	"reservation.dev/platform/idem"
	"reservation.dev/platform/pg"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
)

// Notes implements NoteService.
type Notes struct {
	customerv1.UnimplementedNoteServiceServer
	*Server
}

// CreateNote implements NoteService.
func (s Notes) CreateNote(ctx context.Context, req *customerv1.CreateNoteRequest) (*customerv1.CreateNoteResponse, error) {
	company, customer, err := s.clockedCustomer(ctx, req.GetCustomerId())
	if err != nil {
		return nil, err
	}
	n, err := newNote(ctx, req)
	if err != nil {
		// A missing customer is reported before invalid fields.
		if _, missing := s.store.get(ctx, company.ID, customer); missing != nil {
			return nil, missing
		}
		return nil, err
	}
	n.ID, n.CustomerID, n.CreatedAt = id.Note(s.newID()), customer, s.clock(company)
	n.UpdatedAt = n.CreatedAt
	resp := &customerv1.CreateNoteResponse{}
	return idem.Write(ctx, s.store, company.ID, req, resp, func(ctx context.Context, tx *pg.Tx) error {
		resp.Note = noteMessage(n)
		if err := s.store.requireRoomForNote(ctx, tx, company.ID, customer); err != nil {
			return err
		}
		addNote(tx, company.ID, n)
		return s.outbox.AppendChange(ctx, tx, company.ID, customer)
	})
}

// GetNote implements NoteService.
func (s Notes) GetNote(ctx context.Context, req *customerv1.GetNoteRequest) (*customerv1.GetNoteResponse, error) {
	company, key, err := noteOf(ctx, req)
	if err != nil {
		return nil, err
	}
	n, err := s.store.note(ctx, company, key)
	if err != nil {
		return nil, err
	}
	return &customerv1.GetNoteResponse{Note: noteMessage(n)}, nil
}

// ListNotes implements NoteService.
func (s Notes) ListNotes(ctx context.Context, req *customerv1.ListNotesRequest) (*customerv1.ListNotesResponse, error) {
	company, _, err := customerOf(ctx, req.GetCustomerId())
	if err != nil {
		return nil, err
	}
	f, p, err := notePageOf(req)
	if err != nil {
		return nil, err
	}
	notes, total, err := s.store.notes(ctx, company, f, p)
	if err != nil {
		return nil, err
	}
	resp := &customerv1.ListNotesResponse{Total: total}
	notes, resp.NextPageToken = cutNotes(p, notes)
	for _, n := range notes {
		resp.Notes = append(resp.Notes, noteMessage(n))
	}
	return resp, nil
}

// UpdateNote implements NoteService.
func (s Notes) UpdateNote(ctx context.Context, req *customerv1.UpdateNoteRequest) (*customerv1.UpdateNoteResponse, error) {
	company, err := s.companies.Clocked(ctx)
	if err != nil {
		return nil, err
	}
	_, key, err := noteOf(ctx, req)
	if err != nil {
		return nil, err
	}
	change, err := newNoteChange(req)
	if err != nil {
		// A missing note is reported before invalid fields.
		if _, missing := s.store.note(ctx, company.ID, key); missing != nil {
			return nil, missing
		}
		return nil, err
	}
	resp := &customerv1.UpdateNoteResponse{}
	return idem.Write(ctx, s.store, company.ID, req, resp, func(ctx context.Context, tx *pg.Tx) error {
		n, err := s.lockNote(ctx, tx, company.ID, key, req.ExpectedVersion)
		if err != nil {
			return err
		}
		changed := n.apply(change, s.clock(company))
		resp.Note = noteMessage(n)
		if !changed {
			return nil
		}
		saveNote(tx, company.ID, n)
		return s.outbox.AppendChange(ctx, tx, company.ID, n.CustomerID)
	})
}

// DeleteNote implements NoteService.
func (s Notes) DeleteNote(ctx context.Context, req *customerv1.DeleteNoteRequest) (*customerv1.DeleteNoteResponse, error) {
	company, key, err := noteOf(ctx, req)
	if err != nil {
		return nil, err
	}
	return idem.Write(ctx, s.store, company, req, &customerv1.DeleteNoteResponse{}, func(ctx context.Context, tx *pg.Tx) error {
		n, err := s.lockNote(ctx, tx, company, key, req.ExpectedVersion)
		if err != nil {
			return err
		}
		deleteNote(tx, company, n)
		return s.outbox.AppendChange(ctx, tx, company, n.CustomerID)
	})
}

// lockNote locks a note and checks the version that the caller expects.
func (s Notes) lockNote(ctx context.Context, tx *pg.Tx, company id.Company, key noteKey, expected *int64) (Note, error) {
	n, err := s.store.lockNote(ctx, tx, company, key)
	if err != nil {
		return n, err
	}
	return n, check.Version(n.Version, expected, "note")
}
