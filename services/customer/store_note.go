package customer

import (
	"context"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/page"
	"reservation.dev/platform/pg"
)

// A write of a note locks the customer before the note, so that it waits for deletions and erasures
// and they wait for it. To add a note, it locks the customer exclusively and then counts the notes.

const noteColumns = `n.id, n.customer_id, n.body, n.kind, n.author, n.pinned, n.version, n.created_at, n.updated_at`

const (
	noteSQL = `select ` + noteColumns + ` from notes n join customers c on c.company_id = n.company_id and c.id = n.customer_id
		where n.company_id = $1 and n.id = $2 and c.deleted_at is null`

	lockNoteCustomerSQL = `select true from customers where company_id = $1 and deleted_at is null
			and id = (select n.customer_id from notes n where n.company_id = $1 and n.id = $2) for key share`

	lockNoteSQL = `select ` + noteColumns + ` from notes n where n.company_id = $1 and n.id = $2 for update`

	lockNotesSQL = `select true from customers where company_id = $1 and id = $2 and deleted_at is null for no key update`

	countNotesSQL = `select count(*) from notes where company_id = $1 and customer_id = $2`

	hasCustomerSQL = `select true from customers where company_id = $1 and id = $2 and deleted_at is null`

	addNoteSQL = `insert into notes (company_id, id, customer_id, body, kind, author, pinned, version, created_at, updated_at)
		values (@company, @id, @customer, @body, @kind, @author, @pinned, @version, @created_at, @updated_at)`

	saveNoteSQL = `update notes set body = @body, kind = @kind, pinned = @pinned, version = @version, updated_at = @updated_at
		where company_id = @company and id = @id`

	deleteNoteSQL = `delete from notes where company_id = $1 and id = $2`
)

func missingNote() *fault.Error { return fault.Missing("note") }

// note returns one note of a customer who is not deleted.
func (s *store) note(ctx context.Context, company id.Company, key noteKey) (Note, error) {
	n, err := pg.Get[Note](ctx, s.Store, company, "note", noteSQL, company, key.note)
	if err == nil && !key.matches(n) {
		err = missingNote()
	}
	return n, err
}

// lockNote returns one note of a customer who is not deleted, and locks both until tx ends.
func (s *store) lockNote(ctx context.Context, tx *pg.Tx, company id.Company, key noteKey) (Note, error) {
	var notes []Note
	present := false
	err := tx.Pipeline(ctx,
		pg.Query{SQL: lockNoteCustomerSQL, Args: []any{company, key.note}, Scan: pg.First(&present)},
		pg.Query{SQL: lockNoteSQL, Args: []any{company, key.note}, Scan: pg.Collect(&notes)})
	switch {
	case err != nil:
		return Note{}, err
	case !present || len(notes) == 0 || !key.matches(notes[0]):
		return Note{}, missingNote()
	}
	return notes[0], nil
}

// requireRoomForNote refuses a customer who is deleted or has the maximum number of notes. Until tx
// ends, nobody else adds a note about the customer.
func (s *store) requireRoomForNote(ctx context.Context, tx *pg.Tx, company id.Company, customer id.Customer) error {
	present, count := false, int64(0)
	err := tx.Pipeline(ctx,
		pg.Query{SQL: lockNotesSQL, Args: []any{company, customer}, Scan: pg.First(&present)},
		pg.Query{SQL: countNotesSQL, Args: []any{company, customer}, Scan: pg.First(&count)})
	switch {
	case err != nil:
		return err
	case !present:
		return missing()
	case count >= maxNotes:
		return tooManyNotes()
	}
	return nil
}

// addNote stores a new note when tx commits.
func addNote(tx *pg.Tx, company id.Company, n Note) {
	tx.Queue(pg.Query{SQL: addNoteSQL, Args: rowOfNote(company, n)})
}

// saveNote stores a locked note when tx commits.
func saveNote(tx *pg.Tx, company id.Company, n Note) {
	tx.Queue(pg.Query{SQL: saveNoteSQL, Args: rowOfNote(company, n)})
}

// deleteNote deletes a locked note when tx commits.
func deleteNote(tx *pg.Tx, company id.Company, n Note) {
	tx.Queue(pg.Query{SQL: deleteNoteSQL, Args: []any{company, n.ID}})
}

// rowOfNote returns the column values of a note.
func rowOfNote(company id.Company, n Note) []any {
	return []any{pgx.NamedArgs{
		"company": company, "id": n.ID, "customer": n.CustomerID, "body": n.Body, "kind": n.Kind, "author": n.Author,
		"pinned": n.Pinned, "version": n.Version, "created_at": n.CreatedAt, "updated_at": n.UpdatedAt,
	}}
}

// notes returns a page of the notes of a customer and the number of matches, which is at most
// maxNotes. Pinned notes come first, and in each group the newest.
func (s *store) notes(ctx context.Context, company id.Company, f noteFilter, p page.Page) (notes []Note, total int64, err error) {
	present := false
	count := f.where(company)
	count.SQL = "select count(*) from notes n where " + count.SQL
	err = s.ReadOf(ctx, company,
		pg.Query{SQL: hasCustomerSQL, Args: []any{company, f.customer}, Scan: pg.First(&present)},
		count.Query(pg.First(&total)), f.page(company, p).Query(pg.Collect(&notes)))
	if err == nil && !present {
		err = missing()
	}
	return notes, total, err
}

func (f noteFilter) where(company id.Company) *pg.Statement {
	s := &pg.Statement{SQL: "n.company_id = $1 and n.customer_id = $2", Args: []any{company, f.customer}}
	if f.kind != "" {
		s.And("n.kind = %s", f.kind)
	}
	return s
}

// page returns the statement for a page and one note more. The order has no single time column, so
// page.Page.Add cannot write it.
func (f noteFilter) page(company id.Company, p page.Page) *pg.Statement {
	s := f.where(company)
	if p.After != nil {
		s.And("(n.pinned, n.created_at, n.id) < (%s, %s, %s)", p.After.Code == pinnedNotes, p.After.Time(), [16]byte(p.After.ID))
	}
	s.SQL = "select " + noteColumns + " from notes n where " + s.SQL +
		" order by n.pinned desc, n.created_at desc, n.id desc limit " + s.Arg(p.Size+1) + " offset " + s.Arg(p.Offset)
	return s
}
