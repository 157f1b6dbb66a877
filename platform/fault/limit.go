package fault

import (
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// MaxFields is the largest number of failed checks that a fault lists. Error.More counts the others.
const MaxFields = 50

// MaxWire is the largest size of a fault on the wire, in bytes. It counts the names and encoded
// values of the call's trailers, and the overhead of HTTP/2. By default, gRPC clients in every
// language accept headers of this size.
const MaxWire = 8 << 10

// The limits, in bytes, that keep a fault within MaxWire. The details travel in base64, and the
// message travels a second time, escaped.
const (
	maxSize  = 4300 // all texts with the overhead of protobuf
	maxText  = 500  // a message or a fact
	maxPath  = 200  // the path of a field
	maxName  = 64   // a reason, a rule, the name of a fact
	maxFacts = 16

	statusSize = 300 // a status without texts
	itemSize   = 20  // a field or a fact without texts
)

// limited returns a copy of e that is within the limits. Without them, the size of a fault would
// depend on the caller's request, which can break rules in a hundred thousand places.
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

// limitMeta returns the facts that fit a fault that has the given size so far, and the new size.
// Facts take at most half of maxSize.
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

// cut returns s as valid UTF-8, shortened to the given number of bytes. A text that was cut ends with
// "…". s can quote a caller's request, and protobuf refuses strings that are not UTF-8.
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

// Checks collects the failed checks of a request, in the order in which they are added. It keeps as
// many as a fault lists, and counts the others. The zero value is empty.
type Checks struct {
	list []Field
	more int
}

// Add adds a failed check. The parameters are those of a Field.
func (c *Checks) Add(field, rule, message string) {
	if len(c.list) == MaxFields {
		c.more++
		return
	}
	c.list = append(c.list, Field{Field: field, Rule: rule, Message: message})
}

// AddFirst adds a failed check before all others.
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

// Err returns a VALIDATION_ERROR with the failed checks, or nil if there are none.
func (c *Checks) Err() error {
	if len(c.list) == 0 {
		return nil
	}
	e := InvalidFields(c.list...)
	e.More += c.more
	return e
}
