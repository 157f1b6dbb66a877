package reservectl

import (
	"encoding/json"
	"fmt"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// rowOf returns a message for the output, with all its members.
func rowOf(m protoreflect.Message) row {
	r := row{}
	for i := range m.Descriptor().Fields().Len() {
		d := m.Descriptor().Fields().Get(i)
		r = append(r, member{string(d.Name()), valueOf(m, d)})
	}
	return r
}

// valueOf returns a field for the output, or nil if it is not set.
func valueOf(m protoreflect.Message, d protoreflect.FieldDescriptor) any {
	switch {
	case d.IsList():
		return listOf(d, m.Get(d).List())
	case d.HasPresence() && !m.Has(d):
		return nil
	}
	return outputOf(d, m.Get(d))
}

func listOf(d protoreflect.FieldDescriptor, list protoreflect.List) any {
	rows, texts, numbers := []row{}, []string{}, []int64{}
	for i := range list.Len() {
		switch value := outputOf(d, list.Get(i)).(type) {
		case row:
			rows = append(rows, value)
		case int32:
			numbers = append(numbers, int64(value))
		default:
			texts = append(texts, fmt.Sprint(value))
		}
	}
	switch d.Kind() {
	case protoreflect.MessageKind:
		return rows
	case protoreflect.Int32Kind:
		return numbers
	}
	return texts
}

// outputOf returns one value for the output. The bytes of our messages are JSON.
func outputOf(d protoreflect.FieldDescriptor, value protoreflect.Value) any {
	switch d.Kind() {
	case protoreflect.MessageKind:
		if t, ok := value.Message().Interface().(*timestamppb.Timestamp); ok {
			return timeOrNil(t)
		}
		return rowOf(value.Message())
	case protoreflect.EnumKind:
		names := enumNames(d.Enum())
		if n := int(value.Enum()); n >= 1 && n <= len(names) {
			return names[n-1]
		}
		return nil
	case protoreflect.BytesKind:
		if json.Valid(value.Bytes()) {
			return json.RawMessage(value.Bytes())
		}
	}
	return value.Interface()
}
