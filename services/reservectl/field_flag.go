package reservectl

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/customerfile"
	"reservation.dev/platform/enum"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/webhookevent"
	webhookv1 "reservation.dev/proto/gen/reservation/webhook/v1"
)

// fieldFlag is a flag or an argument that sets a field of a request. It is a pflag.Value.
type fieldFlag struct {
	message func() protoreflect.Message // the message of the field
	field   protoreflect.FieldDescriptor
}

// String returns the default value, which help does not show because it is empty.
func (f *fieldFlag) String() string { return "" }

// Type returns the word for a value in help.
func (f *fieldFlag) Type() string {
	d := f.element()
	switch {
	case isTime(d):
		return "time"
	case d.Kind() == protoreflect.MessageKind:
		return "JSON"
	case d.Kind() == protoreflect.Int32Kind || d.Kind() == protoreflect.Int64Kind:
		return "int"
	case f.isBool():
		return "bool"
	}
	return "string"
}

// IsBoolFlag makes the value of a switch optional.
func (f *fieldFlag) IsBoolFlag() bool { return f.isBool() }

func (f *fieldFlag) isBool() bool { return f.field.Kind() == protoreflect.BoolKind }

// wrapped returns the list of a message that only has this list, such as EventIds, or nil. Updates
// use such messages to distinguish an empty list from one that does not change.
func (f *fieldFlag) wrapped() protoreflect.FieldDescriptor {
	m := f.field.Message()
	if f.field.IsList() || m == nil || m.Fields().Len() != 1 || !m.Fields().Get(0).IsList() {
		return nil
	}
	return m.Fields().Get(0)
}

// element returns the description of one value of the flag.
func (f *fieldFlag) element() protoreflect.FieldDescriptor {
	if list := f.wrapped(); list != nil {
		return list
	}
	return f.field
}

// name returns the flag of the field: "event-date-id", and "line" for each of the lines.
func (f *fieldFlag) name() string {
	name := strings.ReplaceAll(string(f.field.Name()), "_", "-")
	if f.element().IsList() {
		if name == "statuses" {
			return "status"
		}
		return strings.TrimSuffix(name, "s")
	}
	return name
}

// choices returns the possible values of an enum, or nil.
func (f *fieldFlag) choices() []string {
	if d := f.element(); d.Enum() != nil {
		return fieldChoices(d)
	}
	return nil
}

// refusedChoices are the values of enums that the services refuse in a field, by "Message.field".
var refusedChoices = map[string][]string{"MoveBookingRequest.payment_method": {"pass", "free"}}

// fieldChoices returns the names of an enum's values that a field can have.
func fieldChoices(d protoreflect.FieldDescriptor) []string {
	refused := refusedChoices[string(d.Parent().Name())+"."+string(d.Name())]
	return slices.DeleteFunc(slices.Clone(enumNames(d.Enum())), func(name string) bool { return slices.Contains(refused, name) })
}

// usage returns the help of the flag: what the field means, and how a value is written.
func (f *fieldFlag) usage() string {
	usage := fieldText(f.field)
	if usage == "" {
		return ""
	}
	d := f.element()
	switch {
	case isTime(d) && since(d):
		usage += "; a time (2026-03-29T09:30:00Z), a date, or how long ago (90m, 24h)"
	case isTime(d):
		usage += "; a time (2026-03-29T09:30:00Z), or a date for its start in UTC"
	case d.Kind() == protoreflect.MessageKind:
		usage += "; JSON with the members " + strings.Join(memberNames(d.Message()), ", ")
	case d.Enum() != nil:
		usage += ": " + strings.Join(f.choices(), ", ")
	}
	if d.IsList() {
		usage += "; can be repeated"
	}
	return usage
}

// Set parses a value and stores it in the message. Values of a list are added to it; "" leaves a
// list empty.
func (f *fieldFlag) Set(text string) error {
	if !f.element().IsList() {
		value, err := parseField(f.field, text)
		if err == nil {
			f.message().Set(f.field, value)
		}
		return err
	}
	list := f.list()
	for _, part := range f.parts(text) {
		value, err := parseField(f.element(), part)
		if err != nil {
			return err
		}
		list.Append(value)
	}
	return nil
}

// list returns the list of the field, which is then present in the message.
func (f *fieldFlag) list() protoreflect.List {
	if inner := f.wrapped(); inner != nil {
		return f.message().Mutable(f.field).Message().Mutable(inner).List()
	}
	return f.message().Mutable(f.field).List()
}

// parts splits a value of a list at its commas, unless it is JSON.
func (f *fieldFlag) parts(text string) []string {
	switch {
	case text == "":
		return nil
	case f.element().Kind() == protoreflect.MessageKind:
		return []string{text}
	}
	return strings.Split(text, ",")
}

// parseField parses one value of a field.
func parseField(d protoreflect.FieldDescriptor, text string) (protoreflect.Value, error) {
	switch d.Kind() {
	case protoreflect.MessageKind:
		return parseMessage(d, text)
	case protoreflect.EnumKind:
		name, choices := strings.ToLower(text), fieldChoices(d)
		if !slices.Contains(choices, name) {
			return protoreflect.Value{}, errors.New(fault.OneOf(choices))
		}
		return protoreflect.ValueOfEnum(protoreflect.EnumNumber(slices.Index(enumNames(d.Enum()), name) + 1)), nil
	case protoreflect.BoolKind:
		value, err := strconv.ParseBool(text)
		if err != nil {
			return protoreflect.Value{}, errors.New("must be true or false")
		}
		return protoreflect.ValueOfBool(value), nil
	case protoreflect.Int32Kind:
		value, err := strconv.ParseInt(text, 10, 32)
		return protoreflect.ValueOfInt32(int32(value)), numberError(err)
	case protoreflect.Int64Kind:
		value, err := strconv.ParseInt(text, 10, 64)
		return protoreflect.ValueOfInt64(value), numberError(err)
	}
	return protoreflect.ValueOfString(internalIdentifier(string(d.Name()), text)), nil
}

func numberError(err error) error {
	if errors.Is(err, strconv.ErrRange) {
		return errors.New("is too large or too small")
	}
	if err != nil {
		return errors.New("must be a whole number")
	}
	return nil
}

// parseMessage parses a time, or the JSON of any other message.
func parseMessage(d protoreflect.FieldDescriptor, text string) (protoreflect.Value, error) {
	if isTime(d) {
		at, err := parseTime(d, text)
		return protoreflect.ValueOfMessage(timestamppb.New(at).ProtoReflect()), err
	}
	m := newMessage(d.Message())
	if err := protojson.Unmarshal([]byte(text), m.Interface()); err != nil {
		// The error starts with "proto:" and a space that differs from build to build.
		cause := strings.TrimLeft(strings.TrimPrefix(err.Error(), "proto:"), " \u00a0")
		return protoreflect.Value{}, fmt.Errorf("must be JSON with the members %s: %s", strings.Join(memberNames(d.Message()), ", "), cause)
	}
	return protoreflect.ValueOfMessage(m), nil
}

func parseTime(d protoreflect.FieldDescriptor, text string) (time.Time, error) {
	if since(d) {
		if at, err := instant(text, time.Now()); err == nil {
			return at, nil
		}
	}
	at, err := customerfile.Moment(text, time.UTC)
	if err != nil {
		return at, errors.New("must be a date or a time, for example 2026-03-29 or 2026-03-29T09:30:00Z")
	}
	return at, nil
}

// since reports whether a field is the start of a time until now, which can be given as a duration.
func since(d protoreflect.FieldDescriptor) bool { return strings.HasSuffix(string(d.Name()), "since") }

func isTime(d protoreflect.FieldDescriptor) bool {
	return d.Message() != nil && d.Message().FullName() == "google.protobuf.Timestamp"
}

// internalIdentifier returns the identifier by which the services know a resource that Interface B
// shows with another prefix.
func internalIdentifier(field, text string) string {
	for _, prefix := range []struct{ field, shown, internal string }{{"booking_id", "reg_", "booking_"}, {"booking_id", "appt_", "booking_"}, {"other_booking_id", "reg_", "booking_"}, {"hold_id", "hold_", "txn_"}} {
		if value, ok := strings.CutPrefix(text, prefix.shown); ok && field == prefix.field {
			return prefix.internal + value
		}
	}
	return text
}

// enumNames returns the names of an enum's values from 1 up, as flags and output have them.
func enumNames(d protoreflect.EnumDescriptor) []string {
	if d.FullName() == webhookv1.EventType(0).Descriptor().FullName() {
		return webhookevent.Names()
	}
	return enum.NamesOf(d)
}

func memberNames(d protoreflect.MessageDescriptor) []string {
	names := make([]string, d.Fields().Len())
	for i := range names {
		names[i] = string(d.Fields().Get(i).Name())
	}
	return names
}
