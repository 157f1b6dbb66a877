package bounds

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	"reservation.dev/platform/fault"
)

// unscanned is the size in bytes of the largest encoded message that CheckLists skips,
// because the lists of such a message cannot be long.
const unscanned = 4 << 10

// mostItems is the largest number of items in all lists of a message together. Without it,
// lists within the items of a list could multiply. Even a batch of an import, the largest
// message, has fewer items.
const mostItems = 100_000

// CheckLists returns a VALIDATION_ERROR if a list of an encoded message exceeds its bound.
// It counts the items before they are decoded, because an item of two bytes can take a
// hundred bytes after decoding. CheckLists ignores malformed data, which the decoder
// refuses.
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

// plan lists the fields of a message whose items CheckLists counts.
type plan struct {
	fields map[protowire.Number]*field
	lists  int // how many of the fields are lists
}

// field is a list, or a field whose message contains a list.
type field struct {
	name   string
	list   int  // index among the lists of the message; -1 if the field is not a list
	most   int  // the largest number of items
	packed bool // one value can hold several items
	inner  *plan
}

// plan returns the plan of a message from the cache, or creates it.
func (c *Checker) plan(message protoreflect.MessageDescriptor) *plan {
	if known, ok := c.plans.Load(message.FullName()); ok {
		return known.(*plan)
	}
	p := newPlan(message, map[protoreflect.FullName]*plan{})
	c.plans.Store(message.FullName(), p)
	return p
}

// newPlan creates the plan of a message. begun holds the plans already begun, which ends
// the recursion of a message that contains itself.
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

// scan returns the path of the first list with too many items and a phrase about it. Both
// are "" if every list is within its bound. scan adds the items that it counts to all.
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
				return f.name, fmt.Sprintf("must have at most %d items, counted together with all other lists of the request", mostItems)
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

// items returns the number of items in an encoded value of a list.
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

// at returns the name of an item of the field, or of the field itself if item is negative.
func (f *field) at(item int) string {
	if item < 0 {
		return f.name
	}
	return fmt.Sprintf("%s[%d]", f.name, item)
}
