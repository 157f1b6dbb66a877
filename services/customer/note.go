package customer

import (
	"time"

	"reservation.dev/platform/check"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
)

// Note is a text that the company has written about a customer. Its body and its author are personal
// data: they are in no event and in no log.
type Note struct {
	ID         id.Note     `db:"id"`
	CustomerID id.Customer `db:"customer_id"`
	Body       string      `db:"body"`
	Kind       string      `db:"kind"`
	Author     string      `db:"author"`
	Pinned     bool        `db:"pinned"`
	Version    int64       `db:"version"`
	CreatedAt  time.Time   `db:"created_at"`
	UpdatedAt  time.Time   `db:"updated_at"`
}

const (
	maxNotes  = 1000 // of one customer
	maxBody   = 5000
	maxAuthor = 200
)

// generalNote is the kind of a note if the caller gives none.
const generalNote = "general"

// ReasonTooManyNotes is the reason of a fault about a customer who has the maximum number of notes.
const ReasonTooManyNotes = "TOO_MANY_NOTES"

func tooManyNotes() error {
	return fault.Refuse(ReasonTooManyNotes, "the customer already has 1000 notes; delete one first")
}

// check trims the texts of a note and checks every field. kinds are the names of the kinds.
func (n *Note) check(f *check.Fields, kinds []string) {
	n.Body = f.Prose("body", n.Body, 1, maxBody)
	f.OneOf("kind", n.Kind, kinds)
	n.Author = f.Line("author", n.Author, 0, maxAuthor)
}

// noteChange is the change in an update of a note; nil and "" do not change.
type noteChange struct {
	body   *string
	kind   string
	pinned *bool
}

// apply makes a change at an instant and reports whether anything changed.
func (n *Note) apply(c noteChange, now time.Time) bool {
	before := *n
	if c.body != nil {
		n.Body = *c.body
	}
	if c.kind != "" {
		n.Kind = c.kind
	}
	if c.pinned != nil {
		n.Pinned = *c.pinned
	}
	if *n == before {
		return false
	}
	n.Version++
	n.UpdatedAt = now
	return true
}

// noteKey identifies a note in a request.
type noteKey struct {
	note id.Note
	// customer is the customer whom the note must be about; nil: any.
	customer *id.Customer
}

// matches reports whether a note is the one that the request means.
func (k noteKey) matches(n Note) bool { return k.customer == nil || *k.customer == n.CustomerID }
