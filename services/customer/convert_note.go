package customer

import (
	"context"
	"strings"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/check"
	"reservation.dev/platform/enum"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/page"
	"reservation.dev/platform/rpc"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
)

func noteMessage(n Note) *customerv1.Note {
	kind, _ := enum.Parse[customerv1.NoteKind](n.Kind)
	return &customerv1.Note{
		Id: n.ID.String(), CustomerId: n.CustomerID.String(), Body: n.Body, Kind: kind, Author: n.Author, Pinned: n.Pinned,
		CreatedAt: timestamppb.New(n.CreatedAt), UpdatedAt: timestamppb.New(n.UpdatedAt), Version: n.Version,
	}
}

// newNote checks a request and returns the note that it describes, without its identifiers and times.
func newNote(ctx context.Context, req *customerv1.CreateNoteRequest) (Note, error) {
	n := Note{Body: req.GetBody(), Kind: enum.Name(req.GetKind()), Author: req.GetAuthor(), Pinned: req.GetPinned(), Version: 1}
	if req.GetKind() == customerv1.NoteKind_NOTE_KIND_UNSPECIFIED {
		n.Kind = generalNote
	}
	if strings.TrimSpace(n.Author) == "" {
		n.Author = rpc.Caller(ctx)
	}
	var f check.Fields
	n.check(&f, enum.Names[customerv1.NoteKind]())
	return n, f.Err()
}

// newNoteChange reads and checks a request.
func newNoteChange(req *customerv1.UpdateNoteRequest) (noteChange, error) {
	c := noteChange{kind: enum.Name(req.GetKind()), pinned: req.Pinned}
	var f check.Fields
	if req.Body != nil {
		body := f.Prose("body", req.GetBody(), 1, maxBody)
		c.body = &body
	}
	if req.GetKind() != customerv1.NoteKind_NOTE_KIND_UNSPECIFIED {
		f.OneOf("kind", c.kind, enum.Names[customerv1.NoteKind]())
	}
	return c, f.Err()
}

// noteOf returns the company of a request and the note that it names.
func noteOf(ctx context.Context, req interface {
	GetId() string
	GetCustomerId() string
}) (id.Company, noteKey, error) {
	company, err := rpc.Tenant(ctx)
	if err != nil {
		return company, noteKey{}, err
	}
	note, err := check.ID[id.Note](req.GetId(), "note")
	return company, noteKey{note: note, customer: id.Filter[id.Customer](req.GetCustomerId())}, err
}

// The codes in page tokens for positions among the pinned notes, and among the others.
const (
	pinnedNotes = 6
	otherNotes  = 7
)

// noteFilter filters the notes of a customer.
type noteFilter struct {
	customer id.Customer
	kind     string // "": all
}

// notePageOf reads the filter and the page of a request.
func notePageOf(req *customerv1.ListNotesRequest) (f noteFilter, p page.Page, err error) {
	if f.customer, err = check.ID[id.Customer](req.GetCustomerId(), "customer"); err != nil {
		return f, p, err
	}
	if f.kind = enum.Name(req.GetKind()); f.kind == "" && req.GetKind() != customerv1.NoteKind_NOTE_KIND_UNSPECIFIED {
		return f, p, fault.InvalidParameter("kind", "enum", fault.OneOf(enum.Names[customerv1.NoteKind]()))
	}
	order := page.Order{Code: otherNotes, Within: f.customer.UUID()}
	if c, err := page.Decode(req.GetPageToken()); err == nil && c.Code == pinnedNotes {
		order.Code = pinnedNotes
	}
	p, err = page.Read(page.Of(req), order, page.Sizes{Default: 50, Max: 200})
	return f, p, err
}

// cutNotes returns the notes of a page and the token of the next page.
func cutNotes(p page.Page, notes []Note) ([]Note, string) {
	if p.Order.Code = otherNotes; len(notes) > p.Size && notes[p.Size-1].Pinned {
		p.Order.Code = pinnedNotes
	}
	return page.Cut(p, notes, func(n *Note) page.Cursor { return page.At(n.CreatedAt, n.ID.UUID()) })
}
