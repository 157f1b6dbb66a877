package fault

import (
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// MaxFields is how many failed checks a fault lists at most; Error.More counts the
// others.
const MaxFields = 50

// MaxWire is the largest fault on the wire, in bytes: the trailers of its call with
// names, encodings and what HTTP/2 adds to each. Clients of every language take
// headers of this size unless they are configured otherwise.
const MaxWire = 8 << 10

// The limits in bytes that keep a fault within MaxWire. Its details travel in base64,
// and its message travels a second time, escaped.
const (
	maxSize  = 4300 // all texts, and what protobuf adds
	maxText  = 500  // a message, or a fact
	maxPath  = 200  // the path of a field
	maxName  = 64   // a reason, a rule, the name of a fact
	maxFacts = 16

	statusSize = 300 // a status without texts
	itemSize   = 20  // a field or a fact without texts
)

// limited returns a copy of e that is within the limits. A fault quotes its caller's
// request, which can be wrong in a hundred thousand places.
func (e *Error) limited() *Error {
	c := *e
	c.Reason, c.Message = cut(e.Reason, maxName), cut(e.Message, maxText)
	size := statusSize + len(c.Reason) + len(c.Message)
	c.Meta, size = limitMeta(e.Meta, size)
	c.Fields = nil
	for _, f := range e.Fields[:min(len(e.Fields), MaxFields)] {
		f = Field{Field: cut(f.Field, maxPath), Rule: cut(f.Rule, maxName), Message: cut(f.Message, maxText)}
		size += itemSize + len(f.Field) + len(f.Rule) + len(f.Message)
		if size > maxSize && len(c.Fields) > 0 {
			break
		}
		c.Fields = append(c.Fields, f)
	}
	c.More += len(e.Fields) - len(c.Fields)
	return &c
}

// limitMeta returns the facts that a fault of that size has room for, and its size
// with them. Facts take at most half of the room.
func limitMeta(meta map[string]string, size int) (map[string]string, int) {
	var kept map[string]string
	for _, key := range slices.Sorted(maps.Keys(meta)) {
		name, value := cut(key, maxName), cut(meta[key], maxText)
		cost := itemSize + len(name) + len(value)
		if len(kept) == maxFacts || size+cost > maxSize/2 {
			break
		}
		if kept == nil {
			kept = make(map[string]string, len(meta))
		}
		kept[name] = value
		size += cost
	}
	return kept, size
}

// cut returns s in at most so many bytes of valid UTF-8. Protobuf refuses other
// strings, and s may quote a caller's request. A text that was cut ends with "…".
func cut(s string, most int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= most {
		return s
	}
	most -= len("…")
	for !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most] + "…"
}

// Checks collects the failed checks of a request in the order in which they are
// found. It keeps as many as a fault lists and counts the others. The zero value is
// empty.
type Checks struct {
	list []Field
	more int
}

// Add notes a failed check; the parameters are those of a Field.
func (c *Checks) Add(field, rule, message string) {
	if len(c.list) == MaxFields {
		c.more++
		return
	}
	c.list = append(c.list, Field{Field: field, Rule: rule, Message: message})
}

// AddFirst notes a failed check before those that were found.
func (c *Checks) AddFirst(field, rule, message string) {
	found := *c
	*c = Checks{more: found.more}
	for _, f := range append([]Field{{Field: field, Rule: rule, Message: message}}, found.list...) {
		c.Add(f.Field, f.Rule, f.Message)
	}
}

// List returns the first failed checks, at most MaxFields.
func (c *Checks) List() []Field { return c.list }

// Len returns how many checks failed.
func (c *Checks) Len() int { return len(c.list) + c.more }

// Err returns a VALIDATION_ERROR with the failed checks; nil: there are none.
func (c *Checks) Err() error {
	if len(c.list) == 0 {
		return nil
	}
	e := InvalidFields(c.list...)
	e.More += c.more
	return e
}
