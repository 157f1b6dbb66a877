package clients

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"reservation.dev/platform/id"
)

// requests returns the requests of an RPC in all forms, with each identifier in the fields whose kind
// of identifier is not known.
func (m method) requests(identifiers []string) []proto.Message {
	var all []proto.Message
	for form, forms := 0, 1; form < forms; form++ {
		for _, identifier := range identifiers {
			f := &filler{identifier: identifier, known: identifiers, form: form}
			message := dynamicpb.NewMessage(m.Input())
			f.fill(message, 0)
			forms = max(forms, f.forms)
			all = append(all, message)
			if !f.usesIdentifier {
				break
			}
		}
	}
	return all
}

// filler fills a request with valid values.
type filler struct {
	identifier string   // for fields whose kind of identifier their name does not tell
	known      []string // one identifier of each kind
	// form chooses one form of a message with several: payment with or without a pass, and one of several
	// fields that cannot be combined. forms is their number.
	form, forms    int
	usesIdentifier bool
	holder         protoreflect.Name // the field that holds the message that is filled
}

// deepest is the depth of messages in a request.
const deepest = 4

func (f *filler) fill(m protoreflect.Message, depth int) {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		fd := fields.Get(i)
		if fd.IsMap() || f.isSkipped(fd) || f.isOfOtherForm(fd) || fd.Kind() == protoreflect.MessageKind && depth == deepest {
			continue
		}
		if fd.IsList() {
			list := m.Mutable(fd).List()
			list.Append(f.value(list.NewElement(), fd, depth))
			continue
		}
		m.Set(fd, f.value(m.NewField(fd), fd, depth))
	}
}

// isSkipped reports whether a field stays empty: it chooses a page, expects a version or an amount, cannot
// be combined with others, or is not the first choice of its oneof.
func (f *filler) isSkipped(fd protoreflect.FieldDescriptor) bool {
	one := fd.ContainingOneof()
	if one != nil && !one.IsSynthetic() && one.Fields().Get(0) != fd {
		return true
	}
	switch string(fd.ContainingMessage().Name()) + "." + string(fd.Name()) {
	case "CreateTimeOffRequest.ends_at":
		return false
	case "EventDateChange.staff_and_rooms":
		return f.holder == "dates" // it cannot be changed with the event
	case "PricingOptionChange.id":
		return f.holder == "option" // the price of an appointment type, which is added
	case "InviteAdministratorRequest.staff_id", "UpdateAdministratorRequest.staff_id":
		return true // only a teacher has a staff member
	case "TransactionLine.payment":
		return true // a hold has no payment
	case "BookAppointmentRequest.pricing_option_id", "HoldAppointmentRequest.pricing_option_id":
		return true // the known price is that of an event
	case "NewAppointmentPrice.length_minutes", "AppointmentPriceChange.length_minutes":
		return true // the price applies to all lengths
	}
	return slices.Contains([]string{"page_token", "page_size", "expected_version", "local_start", "local_end", "ends_at", "discount_code", "only_date", "recurrence", "booking_rules", "device_tokens", "waive_hours", "offer_minutes", "amount", "trial_days"}, string(fd.Name()))
}

// isOfOtherForm reports whether a field belongs to a form of its message that is not chosen.
func (f *filler) isOfOtherForm(fd protoreflect.FieldDescriptor) bool {
	with := func(name protoreflect.Name) bool { return fd.ContainingMessage().Fields().ByName(name) != nil }
	if with("payment_method") && fd.Name() == "customer_pass_id" {
		f.forms = max(f.forms, 2)
		return !f.paysByPass()
	}
	for _, names := range exclusiveFields() {
		if i := slices.Index(names, fd.Name()); i >= 0 && !slices.ContainsFunc(names, func(name protoreflect.Name) bool { return !with(name) }) {
			f.forms = max(f.forms, len(names))
			return f.form%len(names) != i
		}
	}
	return false
}

// paysByPass reports whether the form pays by pass.
func (f *filler) paysByPass() bool { return f.form%2 == 1 }

// exclusiveFields returns the fields of which a message that has all of them accepts one.
func exclusiveFields() [][]protoreflect.Name {
	return [][]protoreflect.Name{
		{"staff_id", "room_id"}, {"ids", "filter"}, {"collection_id", "item_id"}, {"pass_type_id", "plan_id", "event_id", "customer_id"},
	}
}

func (f *filler) value(empty protoreflect.Value, fd protoreflect.FieldDescriptor, depth int) protoreflect.Value {
	switch fd.Kind() {
	case protoreflect.MessageKind:
		m := empty.Message()
		if fd.Message().FullName() == "google.protobuf.Timestamp" {
			m.Set(fd.Message().Fields().ByName("seconds"), protoreflect.ValueOfInt64(instant(fd).Unix()))
			return empty
		}
		holder := f.holder
		f.holder = fd.Name()
		f.fill(m, depth+1)
		f.holder = holder
		return empty
	case protoreflect.EnumKind:
		return protoreflect.ValueOfEnum(f.choice(fd.Enum().Values()))
	case protoreflect.StringKind:
		return protoreflect.ValueOfString(f.text(fd))
	case protoreflect.BytesKind:
		return protoreflect.ValueOfBytes([]byte("{}"))
	case protoreflect.Int32Kind:
		return protoreflect.ValueOfInt32(max(1, map[protoreflect.Name]int32{"bucket_seconds": 3600, "capacity": 50, "length_minutes": 60, "lengths": 60, "slot_minutes": 30, "min_status": 200, "max_status": 599}[fd.Name()]))
	case protoreflect.Int64Kind:
		return protoreflect.ValueOfInt64(1)
	}
	return empty
}

// choice returns one of the values of an enum: the payment that the form needs, a value that permits the
// other fields, or the first.
func (f *filler) choice(values protoreflect.EnumValueDescriptors) protoreflect.EnumNumber {
	wanted := []string{"_CASH", "WAITLIST_MODE_BOOK", "PLAN_BOOKINGS_CREDITS", "CHANGE_TIME_NOW", "MEDIA_STATUS_PUBLISHED"}
	if f.paysByPass() {
		wanted[0] = "METHOD_PASS"
	}
	for i := range values.Len() {
		if slices.ContainsFunc(wanted, func(suffix string) bool { return strings.HasSuffix(string(values.Get(i).Name()), suffix) }) {
			return values.Get(i).Number()
		}
	}
	return 1
}

// instant returns a value for a time, in whole minutes.
func instant(fd protoreflect.FieldDescriptor) time.Time {
	now := time.Now().Truncate(time.Minute)
	if fd.Name() == "since" || fd.Name() == "as_of" {
		return now.Add(-30 * time.Minute)
	}
	if slices.Contains([]protoreflect.Name{"ends_at", "starts_before", "valid_until"}, fd.Name()) || fd.ContainingMessage().Name() == "EventDateChange" {
		return now.AddDate(0, 0, 21)
	}
	return now.AddDate(0, 0, 20)
}

// text returns a value for a text.
func (f *filler) text(fd protoreflect.FieldDescriptor) string {
	name := string(fd.Name())
	if name == "values" { // the only field of a message that is a list
		name = string(f.holder)
	}
	qualified := string(fd.ContainingMessage().Name()) + "." + name
	prefix := cmp.Or(kindsOfFields()[qualified], kindsOfFields()[name])
	if i := slices.IndexFunc(f.known, func(known string) bool { return strings.HasPrefix(known, prefix) }); i >= 0 && prefix != "" {
		return strings.Replace(f.known[i], "hold_", "txn_", 1) // on gRPC, a hold is a transaction
	}
	if name == "change_id" { // chosen by the caller
		return strings.TrimPrefix(id.New[id.Booking]().String(), "booking_")
	}
	if name == "id" || strings.HasSuffix(name, "_id") || strings.HasSuffix(name, "ids") || name == "target" || name == "actor" {
		f.usesIdentifier = true
		return f.identifier
	}
	return cmp.Or(validTexts()[qualified], validTexts()[name], "text")
}

// kindsOfFields returns the prefixes of the identifiers in fields, by their names.
func kindsOfFields() map[string]string {
	return map[string]string{
		"administrator_id": "admin_", "booking_id": "booking_", "bought_for_id": "cust_", "company_id": "comp_", "customer_id": "cust_",
		"customer_pass_id": "cp_", "endpoint_id": "whe_", "event_date_id": "date_", "event_id": "evt_", "event_ids": "evt_", "hold_id": "hold_",
		"pass_type_id": "pass_", "pricing_option_id": "po-", "purchaser_id": "cust_", "redemption_id": "txn_", "transaction_id": "txn_",
		"plan_id": "plan_", "subscription_id": "sub_", "item_id": "media_", "collection_id": "col_", "collection_ids": "col_", "media_collection_ids": "col_",
		"staff_id": "staff_", "staff_ids": "staff_", "room_id": "room_", "room_ids": "room_", "any_of": "room_", "appointment_type_id": "apt_", "moving_id": "appt_",
		"upload_id": "upl_", "RedemptionItem.item_id": "booking_", "CancelRedemptionChangeRequest.item_id": "booking_", "EventIds.ids": "evt_", "EventDateChange.id": "date_", "PricingOptionChange.id": "po-",
	}
}

// validTexts returns valid values, by the names of fields.
func validTexts() map[string]string {
	today, first, last, unique := soon(0)[:10], soon(20)[:10], soon(21)[:10], id.NewUUID().String()
	return map[string]string{
		"action": "export.create", "address": "192.0.2.1", "allowed_networks": "192.0.2.0/24", "content_type": "image/png", "currency": "GBP", "day": "2099-03-29", "days": "2099-03-29",
		"eligible_event_types": "class", "email": "eve@example.com", "end_date": "2099-03-29", "event_type": "class", "event_types": "class", "expiry_date": "2099-03-29", "first_day": first,
		"last_day": last, "method": "CASH", "new_password": "correct horse battery staple", "on": first, "origins": "https://studio.example", "percent": "10", "period_first_day": today,
		"permissions": "customers:read", "resumes_on": last, "scopes": "profile:read", "sha256": strings.Repeat("0", 64), "start_date": today,
		"timezone": "Europe/London", "photo_url": "https://studio.example/zoe.jpg", "color": "#a1b2c3",
		"from": first, "to": last, "date": first, "starts": "10:00", "ends": "12:00", "EventTypes.types": "class", "CreateStaffMemberRequest.reference": unique, "CreateRoomRequest.reference": unique, "CreateAppointmentTypeRequest.reference": unique, "url": "https://receiver.invalid/webhooks",
	}
}
