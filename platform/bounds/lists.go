package bounds

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	"reservation.dev/platform/fault"
)

// unscanned is the size, in bytes, up to which CheckLists skips an encoded message:
// its lists cannot be long.
const unscanned = 4 << 10

// mostItems is how many items all lists of a message may have together, because lists
// in the items of a list multiply. A batch of an import, the largest message, is too
// small to have as many.
const mostItems = 100_000

// CheckLists returns a VALIDATION_ERROR if a list of an encoded message has more
// items than its bound. It counts the items before they are decoded: an item can take
// two bytes when it is encoded and a hundred when it is decoded. CheckLists ignores
// malformed data, which the decoder refuses.
func (c *Checker) CheckLists(encoded []byte, message protoreflect.MessageDescriptor) error {
	if len(encoded) <= unscanned {
		return nil
	}
	all := 0
	path, phrase := c.plan(message).scan(encoded, &all)
	if path == "" {
		return nil
	}
	return fault.InvalidFields(fault.Field{Field: path, Rule: RuleItems, Message: phrase})
}

// plan says which fields CheckLists counts in the encoding of a message.
type plan struct {
	fields map[protowire.Number]*field
	lists  int
}

// field is a list, or a field whose message has one.
type field struct {
	name   string
	list   int // its place among the lists of the message; -1: it is not a list
	most   int
	packed bool // the items can stand together
	inner  *plan
}

// plan returns the plan of a message, which it makes once for each type.
func (c *Checker) plan(message protoreflect.MessageDescriptor) *plan {
	if known, ok := c.plans.Load(message.FullName()); ok {
		return known.(*plan)
	}
	p := newPlan(message, map[protoreflect.FullName]*plan{})
	c.plans.Store(message.FullName(), p)
	return p
}

// newPlan makes a plan; begun are those of the messages around it.
func newPlan(message protoreflect.MessageDescriptor, begun map[protoreflect.FullName]*plan) *plan {
	if p, ok := begun[message.FullName()]; ok {
		return p
	}
	p := &plan{fields: map[protowire.Number]*field{}}
	begun[message.FullName()] = p
	for i := range message.Fields().Len() {
		fd := message.Fields().Get(i)
		f := &field{name: string(fd.Name()), list: -1}
		if fd.Cardinality() == protoreflect.Repeated {
			f.list, f.most = p.lists, Of(fd).Items
			f.packed = fd.Kind() == protoreflect.EnumKind || fd.Kind() == protoreflect.BoolKind
			p.lists++
		}
		if fd.Kind() == protoreflect.MessageKind && !fd.IsMap() {
			f.inner = newPlan(fd.Message(), begun)
		}
		if f.list >= 0 || f.inner != nil && f.inner.lists+len(f.inner.fields) > 0 {
			p.fields[fd.Number()] = f
		}
	}
	return p
}

// scan returns the path to the first list with too many items, and a phrase about it;
// "": every list is within its bound. It adds the items that it counts to all.
func (p *plan) scan(encoded []byte, all *int) (path, phrase string) {
	var room [4]int
	counts := room[:]
	if p.lists > len(room) {
		counts = make([]int, p.lists)
	}
	for len(encoded) > 0 {
		number, kind, n := protowire.ConsumeTag(encoded)
		if n < 0 {
			return "", ""
		}
		size := protowire.ConsumeFieldValue(number, kind, encoded[n:])
		if size < 0 {
			return "", ""
		}
		value := encoded[n : n+size]
		encoded = encoded[n+size:]
		f := p.fields[number]
		if f == nil {
			continue
		}
		at := -1
		if f.list >= 0 {
			at = counts[f.list]
			items := f.items(kind, value)
			counts[f.list] += items
			*all += items
			if f.most > 0 && counts[f.list] > f.most {
				return f.name, Bound{Items: f.most}.TooMany()
			}
			if *all > mostItems {
				return f.name, fmt.Sprintf("must have, with all other lists of the request, at most %d items", mostItems)
			}
		}
		if f.inner == nil || kind != protowire.BytesType {
			continue
		}
		content, _ := protowire.ConsumeBytes(value)
		if path, phrase := f.inner.scan(content, all); path != "" {
			return f.at(at) + "." + path, phrase
		}
	}
	return "", ""
}

// items returns how many items of a list an encoded value has.
func (f *field) items(kind protowire.Type, value []byte) int {
	if !f.packed || kind != protowire.BytesType {
		return 1
	}
	content, _ := protowire.ConsumeBytes(value)
	n := 0
	for _, b := range content {
		if b < 0x80 { // the last byte of an item
			n++
		}
	}
	return n
}

// at returns the name of the field, or of an item of it.
func (f *field) at(item int) string {
	if item < 0 {
		return f.name
	}
	return fmt.Sprintf("%s[%d]", f.name, item)
}
