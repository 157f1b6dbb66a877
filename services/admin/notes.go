package admin

import (
	"reservation.dev/platform/enum"
	"reservation.dev/platform/fault"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
)

// notesShown is the number of notes on a customer's page.
const notesShown = 20

// noteView is a note about a customer as a page shows it.
type noteView struct{ *customerv1.Note }

// KindName says what the note is about.
func (n noteView) KindName() *message { return noteKindName(enum.Name(n.GetKind())) }

// noteKindName returns a kind of note as people call it.
func noteKindName(kind string) *message { return msg("desk.note_kind." + kind).or(upperFirst(kind)) }

// Path returns the path of the note's page.
func (n noteView) Path() string { return "/customers/" + n.GetCustomerId() + "/notes/" + n.GetId() }

// notes reads a page of the notes about a customer, in one call.
func (r *request) notes(page *customerPage) error {
	res, err := r.services.notes.ListNotes(r.ctx, &customerv1.ListNotesRequest{
		CustomerId: page.Customer.GetId(), PageSize: notesShown, PageToken: r.query("notes"),
	})
	if err != nil {
		return err
	}
	for _, n := range res.GetNotes() {
		page.Notes = append(page.Notes, noteView{n})
	}
	page.MoreNotes = r.with("notes", res.GetNextPageToken())
	return nil
}

// notePage adds or changes a note about a customer.
type notePage struct {
	Customer *customerv1.Customer
	Note     *noteView // nil for a new one
	Form     *form
	Kinds    []option
}

func (p notePage) head() (*message, string) {
	if p.Note == nil {
		return msg("desk.note.add"), "customers"
	}
	return msg("desk.note.edit"), "customers"
}

// Back is the path of the customer's notes.
func (p notePage) Back() string { return "/customers/" + p.Customer.GetId() + "#notes" }

// Action is the path that the form is sent to.
func (p notePage) Action() string {
	if p.Note == nil {
		return "/customers/" + p.Customer.GetId() + "/notes"
	}
	return p.Note.Path()
}

// findNote returns the page of the note in the path; that of a new one if the path has none.
func (r *request) findNote() (notePage, error) {
	c, err := r.findCustomer()
	if err != nil {
		return notePage{}, err
	}
	p := notePage{Customer: c.Customer, Form: newForm("kind", "general")}
	p.Kinds = optionsOf(enum.Names[customerv1.NoteKind](), func(kind string) string { return r.text(noteKindName(kind)) })
	if r.path("note") == "" {
		return p, nil
	}
	res, err := r.services.notes.GetNote(r.ctx, &customerv1.GetNoteRequest{Id: r.path("note"), CustomerId: c.Customer.GetId()})
	if err != nil {
		return p, err
	}
	n := res.GetNote()
	p.Note = &noteView{n}
	p.Form = newForm("body", n.GetBody(), "kind", enum.Name(n.GetKind()))
	if n.GetPinned() {
		p.Form.values.Set("pinned", "on")
	}
	p.Form.setVersion(n.GetVersion())
	return p, nil
}

// noteFields are the fields of a note's form.
type noteFields struct {
	body   string
	kind   customerv1.NoteKind
	pinned bool
}

func readNote(f *form) noteFields {
	n := noteFields{body: f.required("body", msg("desk.field.note")), pinned: f.Get("pinned") != ""}
	n.kind, _ = enum.Parse[customerv1.NoteKind](f.text("kind"))
	return n
}

func (r *request) addNote() error {
	p, err := r.findNote()
	if err != nil {
		return err
	}
	p.Form = r.sent(nil)
	n := readNote(p.Form)
	res, err := submit(r, p.Form, r.services.notes.CreateNote, &customerv1.CreateNoteRequest{
		CustomerId: p.Customer.GetId(), Body: n.body, Kind: n.kind, Pinned: n.pinned, Author: r.session.Administrator.GetName(),
	})
	if err != nil {
		return r.again(err, "note", p)
	}
	r.detail("note", "", res.GetNote().GetId())
	return r.back(p.Back(), r.text("desk.note.added"))
}

func (r *request) updateNote() error {
	p, err := r.findNote()
	if err != nil {
		return err
	}
	p.Form = r.sent(nil)
	n := readNote(p.Form)
	_, err = submit(r, p.Form, r.services.notes.UpdateNote, &customerv1.UpdateNoteRequest{
		Id: p.Note.GetId(), CustomerId: p.Customer.GetId(), Body: &n.body, Kind: n.kind, Pinned: &n.pinned,
		ExpectedVersion: p.Form.expectedVersion(p.Note.GetVersion()),
	})
	if err != nil {
		return r.again(err, "note", p)
	}
	r.detail("note", "", p.Note.GetId())
	return r.back(p.Back(), r.text("desk.note.changed"))
}

// confirmNote shows the note that is to be deleted.
func (r *request) confirmNote() error {
	p, err := r.findNote()
	if err != nil {
		return err
	}
	return r.confirm(confirmPage{
		Title: r.text("desk.note.delete_title"), Button: r.text("desk.note.delete_button"), Danger: true,
		Effects: []string{r.text("desk.note.delete_effect")},
	}, "customers", p.Note.GetBody(), p.Back())
}

func (r *request) changeNote() error {
	s, customer, note := r.services.notes, r.path("id"), r.path("note")
	var err error
	done := ""
	switch r.path("action") {
	case "pin":
		done = "desk.note.pinned"
		_, err = perform(r, s.UpdateNote, &customerv1.UpdateNoteRequest{Id: note, CustomerId: customer, Pinned: new(true)})
	case "unpin":
		done = "desk.note.unpinned"
		_, err = perform(r, s.UpdateNote, &customerv1.UpdateNoteRequest{Id: note, CustomerId: customer, Pinned: new(false)})
	case "delete":
		done = "desk.note.deleted"
		_, err = perform(r, s.DeleteNote, &customerv1.DeleteNoteRequest{Id: note, CustomerId: customer})
	default:
		return fault.Missing("page")
	}
	path := "/customers/" + customer + "#notes"
	if err != nil {
		return r.refused(path, err)
	}
	r.detail("note", "", note)
	return r.back(path, r.text(done))
}
