package gatewaya

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/scopes"
	"reservation.dev/platform/token"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
)

// fakeNotes has one note, and keeps the last request that it gets.
type fakeNotes struct {
	customerv1.UnimplementedNoteServiceServer
	note *customerv1.Note
	err  error

	mu   sync.Mutex
	last proto.Message
	key  string
}

func (f *fakeNotes) keep(ctx context.Context, req proto.Message) {
	f.mu.Lock()
	defer f.mu.Unlock()
	md, _ := metadata.FromIncomingContext(ctx)
	f.last, f.key = req, strings.Join(md.Get("idempotency-key"), ",")
}

func (f *fakeNotes) ListNotes(ctx context.Context, req *customerv1.ListNotesRequest) (*customerv1.ListNotesResponse, error) {
	f.keep(ctx, req)
	return &customerv1.ListNotesResponse{Notes: []*customerv1.Note{f.note}, Total: 41}, f.err
}

func (f *fakeNotes) GetNote(ctx context.Context, req *customerv1.GetNoteRequest) (*customerv1.GetNoteResponse, error) {
	f.keep(ctx, req)
	return &customerv1.GetNoteResponse{Note: f.note}, f.err
}

func (f *fakeNotes) CreateNote(ctx context.Context, req *customerv1.CreateNoteRequest) (*customerv1.CreateNoteResponse, error) {
	f.keep(ctx, req)
	return &customerv1.CreateNoteResponse{Note: f.note}, f.err
}

func (f *fakeNotes) UpdateNote(ctx context.Context, req *customerv1.UpdateNoteRequest) (*customerv1.UpdateNoteResponse, error) {
	f.keep(ctx, req)
	return &customerv1.UpdateNoteResponse{Note: f.note}, f.err
}

func (f *fakeNotes) DeleteNote(ctx context.Context, req *customerv1.DeleteNoteRequest) (*customerv1.DeleteNoteResponse, error) {
	f.keep(ctx, req)
	return &customerv1.DeleteNoteResponse{}, f.err
}

func TestNotes(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	g.notes.note = &customerv1.Note{
		Id: id.New[id.Note]().String(), CustomerId: id.New[id.Customer]().String(), Body: "No jumps <until> May.",
		Kind: customerv1.NoteKind_NOTE_KIND_HEALTH, Author: "Front desk", Pinned: true,
		CreatedAt: at(t, "2026-03-29T00:59:59Z"), UpdatedAt: at(t, "2026-03-29T01:00:00Z"), Version: 7,
	}
	customer, note := g.notes.note.GetCustomerId(), g.notes.note.GetId()
	list, one := "/customer/"+customer+"/notes", "/customer/"+customer+"/note/"+note
	want := `{"id":"` + note + `","type":"note","body":"No jumps <until> May.","kind":"health","author":"Front desk","pinned":true,` +
		`"created_at":"2026-03-29T00:59:59","updated_at":"2026-03-29T02:00:00","tz":"Europe/London"}`
	inLondon := g.issuer.Sign(token.Claims{Company: g.company, Zone: "Europe/London", Scopes: scopes.InterfaceA()})
	kept := http.Header{"Idempotency-Key": {"k1"}}
	current := http.Header{"Idempotency-Key": {"k1"}, "If-Match": {`"7"`}}
	version, body := int64(7), "b"
	pinned := false

	for name, tt := range map[string]struct {
		request
		code     int
		body     string
		location string
		etag     bool
		sent     proto.Message
	}{
		"lists notes": {
			request{Method: http.MethodGet, Path: list}, 200, `{"data":[` + want + `],"total":41,"page":0,"pageSize":30}`, "", false,
			&customerv1.ListNotesRequest{CustomerId: customer, PageSize: 30},
		},
		"lists a page of notes of a kind": {
			request{Method: http.MethodGet, Path: list + "?page=2&pageSize=1000&kind=health"}, 200, `{"data":[` + want + `],"total":41,"page":2,"pageSize":100}`, "", false,
			&customerv1.ListNotesRequest{CustomerId: customer, PageSize: 100, Offset: 200, Kind: customerv1.NoteKind_NOTE_KIND_HEALTH},
		},
		"reads a note": {
			request{Method: http.MethodGet, Path: one}, 200, `{"data":` + want + `}`, "", true,
			&customerv1.GetNoteRequest{Id: note, CustomerId: customer},
		},
		"creates a note": {
			request{Method: http.MethodPost, Path: list, Body: `{"body":"b","kind":"payment","author":"Zoë","pinned":true}`, Header: kept}, 201, `{"data":` + want + `}`, one, true,
			&customerv1.CreateNoteRequest{CustomerId: customer, Body: "b", Kind: customerv1.NoteKind_NOTE_KIND_PAYMENT, Author: "Zoë", Pinned: true},
		},
		"creates a note of the default kind": {
			request{Method: http.MethodPost, Path: list, Body: `{"body":"b","kind":null}`, Header: kept}, 201, `{"data":` + want + `}`, one, true,
			&customerv1.CreateNoteRequest{CustomerId: customer, Body: "b"},
		},
		"updates the members that are given": {
			request{Method: http.MethodPut, Path: one, Body: `{"body":"b","pinned":false}`, Header: current}, 200, `{"data":` + want + `}`, "", true,
			&customerv1.UpdateNoteRequest{Id: note, CustomerId: customer, Body: &body, Pinned: &pinned, ExpectedVersion: &version},
		},
		"accepts the note that it returned, and ignores its author": {
			request{Method: http.MethodPut, Path: one, Body: want, Header: current}, 200, `{"data":` + want + `}`, "", true,
			&customerv1.UpdateNoteRequest{
				Id: note, CustomerId: customer, Body: &g.notes.note.Body, Kind: g.notes.note.GetKind(), Pinned: &g.notes.note.Pinned, ExpectedVersion: &version,
			},
		},
		"deletes a note": {
			request{Method: http.MethodDelete, Path: one, Header: current}, 200, `{"message":"the note was deleted"}`, "", false,
			&customerv1.DeleteNoteRequest{Id: note, CustomerId: customer, ExpectedVersion: &version},
		},
	} {
		t.Run(name, func(t *testing.T) {
			tt.Token = inLondon
			a := g.do(tt.request)
			if a.Code != tt.code || a.Body != tt.body || a.Header.Get("Location") != tt.location {
				t.Errorf("got %d %s %v", a.Code, a.Body, a.Header)
			}
			if tag := a.Header.Get("ETag"); tt.etag && !strings.HasPrefix(tag, `"7`) {
				t.Errorf("ETag %s", tag)
			}
			if !proto.Equal(g.notes.last, tt.sent) {
				t.Errorf("sent %v, want %v", g.notes.last, tt.sent)
			}
			if want := tt.Header.Get("Idempotency-Key"); g.notes.key != want {
				t.Errorf("sent the Idempotency-Key %q, want %q", g.notes.key, want)
			}
		})
	}
	t.Run("refuses an invalid kind or member, and sends nothing", func(t *testing.T) {
		g.notes.last = nil
		for _, tt := range []struct {
			request
			field string
		}{
			{request{Method: http.MethodPost, Path: list, Body: `{"body":"b","kind":"Health"}`}, "kind"},
			{request{Method: http.MethodPut, Path: one, Body: `{"kind":""}`}, "kind"},
			{request{Method: http.MethodPost, Path: list, Body: `{"body":"` + strings.Repeat("é", 5001) + `"}`}, "body"},
			{request{Method: http.MethodPut, Path: one, Body: `{"pinned":"yes"}`}, "pinned"},
			{request{Method: http.MethodGet, Path: list + "?kind=all"}, "kind"},
		} {
			tt.Token = inLondon
			if a := g.do(tt.request); a.Code != 400 || !strings.Contains(a.Body, `"field":"`+tt.field+`"`) {
				t.Errorf("%s %s: got %d %s", tt.Method, tt.Path, a.Code, a.Body)
			}
		}
		if g.notes.last != nil {
			t.Errorf("sent %v", g.notes.last)
		}
	})
	t.Run("responds with the status of each fault", func(t *testing.T) {
		defer func() { g.notes.err = nil }()
		for _, tt := range []struct {
			err  error
			code int
		}{
			{fault.Missing("customer"), 404},
			{fault.Refuse("TOO_MANY_NOTES", "the customer has too many notes"), 400},
			{fault.InvalidFields(fault.Field{Field: "body", Rule: "required", Message: "is required"}), 400},
		} {
			g.notes.err = tt.err
			if a := g.do(request{Method: http.MethodPost, Path: list, Token: inLondon, Body: `{}`}); a.Code != tt.code || a.Header.Get("Location") != "" {
				t.Errorf("%v: got %d %s", tt.err, a.Code, a.Body)
			}
		}
	})
}
