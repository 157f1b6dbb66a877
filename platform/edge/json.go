package edge

import (
	"math"
	"strconv"
	"sync"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"reservation.dev/platform/jsontext"
)

// AppendJSON appends m to b as the JSON of a public interface. Members have the names of json_name
// and the order of the fields. Unset optional fields and messages are absent, and all other fields
// are present. Every number is a JSON number, and the messages of reservation.edge.v1 become single
// values. It costs a fraction of protojson, which also writes int64 as strings.
func AppendJSON(b []byte, m proto.Message) []byte {
	r := m.ProtoReflect()
	return appendMessage(b, r, planOf(r.Descriptor()))
}

// Member is a member of a JSON object. Its value is JSON.
type Member struct {
	Name  string
	Value []byte
}

// Members returns the members of m's JSON, as AppendJSON writes them and in the same order.
func Members(m proto.Message) []Member {
	r := m.ProtoReflect()
	p := planOf(r.Descriptor())
	members := make([]Member, 0, len(p.fields))
	for i := range p.fields {
		if f := &p.fields[i]; !f.presence || r.Has(f.fd) {
			members = append(members, Member{Name: f.fd.JSONName(), Value: appendField(nil, r.Get(f.fd), f)})
		}
	}
	return members
}

// plan is how to write the messages of one type.
type plan struct {
	fields []fieldPlan
	value  *value // for a message that is a single value; then there are no fields
}

type fieldPlan struct {
	fd       protoreflect.FieldDescriptor
	key      string // `"name":`
	presence bool
	list     bool
	kind     protoreflect.Kind
	message  *plan
}

// plans caches the plans by message name. It does not grow beyond the messages of the edge protos.
var plans sync.Map

func planOf(md protoreflect.MessageDescriptor) *plan {
	if p, ok := plans.Load(md.FullName()); ok {
		return p.(*plan)
	}
	p := &plan{value: valueFor(md.FullName())}
	if p.value != nil {
		plans.Store(md.FullName(), p)
		return p
	}
	for i := range md.Fields().Len() {
		fd := md.Fields().Get(i)
		f := fieldPlan{
			fd: fd, key: string(jsontext.AppendString(nil, fd.JSONName())) + ":",
			presence: fd.HasPresence(), list: fd.IsList(), kind: fd.Kind(),
		}
		if f.kind == protoreflect.MessageKind {
			f.message = planOf(fd.Message())
		}
		p.fields = append(p.fields, f)
	}
	plans.Store(md.FullName(), p)
	return p
}

func appendMessage(b []byte, m protoreflect.Message, p *plan) []byte {
	if p.value != nil {
		return p.value.append(b, m.Interface())
	}
	b = append(b, '{')
	first := true
	for i := range p.fields {
		f := &p.fields[i]
		if f.presence && !m.Has(f.fd) {
			continue
		}
		if !first {
			b = append(b, ',')
		}
		first = false
		b = appendField(append(b, f.key...), m.Get(f.fd), f)
	}
	return append(b, '}')
}

// appendField appends the value of a field, which can be a list.
func appendField(b []byte, v protoreflect.Value, f *fieldPlan) []byte {
	if !f.list {
		return appendValue(b, v, f)
	}
	b = append(b, '[')
	list := v.List()
	for i := range list.Len() {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendValue(b, list.Get(i), f)
	}
	return append(b, ']')
}

func appendValue(b []byte, v protoreflect.Value, f *fieldPlan) []byte {
	switch f.kind {
	case protoreflect.MessageKind:
		return appendMessage(b, v.Message(), f.message)
	case protoreflect.StringKind:
		return jsontext.AppendString(b, v.String())
	case protoreflect.BoolKind:
		return strconv.AppendBool(b, v.Bool())
	case protoreflect.Int32Kind, protoreflect.Int64Kind, protoreflect.Sint32Kind, protoreflect.Sint64Kind,
		protoreflect.Sfixed32Kind, protoreflect.Sfixed64Kind:
		return strconv.AppendInt(b, v.Int(), 10)
	case protoreflect.Uint32Kind, protoreflect.Uint64Kind, protoreflect.Fixed32Kind, protoreflect.Fixed64Kind:
		return strconv.AppendUint(b, v.Uint(), 10)
	case protoreflect.DoubleKind, protoreflect.FloatKind:
		if x := v.Float(); !math.IsNaN(x) && !math.IsInf(x, 0) {
			return strconv.AppendFloat(b, x, 'f', -1, 64)
		}
	}
	return append(b, "null"...)
}
