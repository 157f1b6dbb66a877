package admin

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/webhookevent"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

// auditLine is an entry of the audit log as the page shows it: a sentence, and a line for each
// detail that is not in the sentence.
type auditLine struct {
	*authv1.AuditEntry
	names    *auditNames
	clock    clock
	currency string
}

// When returns the time of the change, to the second.
func (l auditLine) When() string { return l.clock.Seconds(l.GetAt()) }

// Hour returns the time of day of the change.
func (l auditLine) Hour() string { return l.clock.Hour(l.GetAt()) }

// Instant returns the time of the change for programs.
func (l auditLine) Instant() string { return l.GetAt().AsTime().UTC().Format(time.RFC3339Nano) }

// detail returns the value of a field after the change; "" if there is none.
func (l auditLine) detail(field string) string {
	for _, d := range l.GetDetails() {
		if d.GetField() == field {
			return d.GetAfter()
		}
	}
	return ""
}

// Sentence says who changed what. An action that is not in the catalogue, for example one of a
// later version, is shown by its stored name.
func (l auditLine) Sentence() *message {
	unknown := msg("audit.action.unknown", "actor", l.actor(), "action", l.GetAction(), "target", l.target())
	start := &authv1.AuditDetail{}
	if i := l.find("starts_at"); i >= 0 {
		start = l.GetDetails()[i]
	}
	return msg("audit.action."+l.GetAction()+l.variant(), "actor", l.actor(), "target", l.target(), "holder", bare(l.detail("administrator")),
		"before", l.value("starts_at", start.GetBefore()), "after", l.value("starts_at", start.GetAfter()),
		"count", l.count()).orElse(unknown)
}

// variant returns the end of the sentence's id for an action with several sentences.
func (l auditLine) variant() string {
	own := l.GetActor() == l.GetTarget()
	switch l.GetAction() {
	case "administrator.create", "administrator.update", "administrator.disable_totp":
		if own {
			return "_own"
		}
	case "session.end":
		// The entry has only the name of the session's administrator.
		if holder := l.detail("administrator"); holder == l.GetActorName() && l.names.namesakes[holder] == 1 {
			return "_own"
		}
	case "booking.attendance":
		if a := l.detail("attendance"); attendances[a].value != 0 || a == "unknown" {
			return "_" + strings.ReplaceAll(a, "-", "_")
		}
	case "company_data.export", "company_data.import":
		return "_" + l.GetTarget()
	case "event.price":
		if i := l.find("name"); i >= 0 && l.GetDetails()[i].GetBefore() == "" {
			return "_add"
		}
	case "booking.move", "appointment.move":
		if i := l.find("starts_at"); i >= 0 && isChange(l.GetDetails()[i]) {
			return "_time"
		}
	case "webhook_delivery.replay_failed":
		if kindPrefix(l.GetTarget()) != "whe_" {
			return "_all"
		}
	}
	return ""
}

// isChange reports whether a detail has two different values.
func isChange(d *authv1.AuditDetail) bool {
	return d.GetBefore() != "" && d.GetAfter() != "" && d.GetBefore() != d.GetAfter()
}

// count says how many things an import created.
func (l auditLine) count() *message {
	if n, err := strconv.Atoi(l.detail("imported")); err == nil {
		return linked(numberText(n), "")
	}
	return bare(l.detail("imported"))
}

// find returns the index of the detail with a field; -1 if there is none.
func (l auditLine) find(field string) int {
	return slices.IndexFunc(l.GetDetails(), func(d *authv1.AuditDetail) bool { return d.GetField() == field })
}

// actor names the actor.
func (l auditLine) actor() *message {
	id := l.GetActor()
	switch {
	case id == "bootstrap" || id == "restore":
		return msg("audit.thing.platform")
	case l.GetActorName() != "" && credentialWords[kindPrefix(id)] != "":
		return linked(msg("audit.thing."+credentialWords[kindPrefix(id)], "name", l.GetActorName()), pageOf(id))
	case l.GetActorName() != "":
		return linked(literal(l.GetActorName()), pageOf(id))
	case kindPrefix(id) == "svc_":
		return msg("audit.thing.service_credential", "id", id)
	}
	return l.thing(id, "")
}

// credentialWords are the words for credentials that act, by the prefixes of their identifiers.
var credentialWords = map[string]string{"key_": "acting_key", "m2m_": "acting_client", "svc_": "acting_service"}

// nameFields are the details that hold the name of the target.
var nameFields = map[string]string{
	"administrator": "name", "api_client": "name", "api_key": "name", "publishable_key": "name", "service_credential": "name", "company": "name",
	"webhook_endpoint": "url", "event": "title", "pass_type": "title", "discount": "code", "invitation": "email", "plan": "title", "media": "title", "collection": "title",
	"staff": "name", "room": "name", "holiday": "name", "appointment_type": "title",
}

// target names the target.
func (l auditLine) target() *message {
	id := l.GetTarget()
	kind, _, _ := strings.Cut(l.GetAction(), ".")
	switch kind {
	case "booking":
		return l.ofCustomer("booking", id)
	case "appointment":
		return l.ofCustomer("appointment", id)
	case "customer_pass":
		return l.ofCustomer("pass", id)
	case "subscription":
		return l.ofCustomer("subscription", id)
	case "waitlist":
		if customer := l.names.customers[id]; customer != "" {
			return l.thing(customer, "")
		}
		return linked(msg("audit.thing.waitlist", "id", id), "")
	case "webhook_delivery":
		if l.GetAt().AsTime().Before(l.clock.real.AddDate(0, 0, -deliveriesKeptDays)) {
			return bare(id)
		}
	}
	return l.thing(id, l.detail(nameFields[kind]))
}

// deliveriesKeptDays is for how many days the platform keeps a delivery.
const deliveriesKeptDays = 30

// ofCustomer names a thing by its customer; by its identifier if the customer is not known.
func (l auditLine) ofCustomer(kind, id string) *message {
	customer := l.names.customers[id]
	if customer == "" {
		customer = l.names.things[id].customer
	}
	if name := l.names.things[customer].name; name != "" {
		if i := l.find("event"); i >= 0 && l.isInTarget(l.GetDetails()[i]) {
			return linked(msg("audit.thing."+kind+"_of_event", "customer", name, "event", l.GetDetails()[i].GetAfter()), pageOf(id))
		}
		return linked(msg("audit.thing."+kind+"_of", "customer", name), pageOf(id))
	}
	return linked(msg("audit.thing."+kind, "id", id), pageOf(id))
}

// isInTarget reports whether the name of the target has the detail: the event of a booking or an appointment.
func (l auditLine) isInTarget(d *authv1.AuditDetail) bool {
	kind, _, _ := strings.Cut(l.GetAction(), ".")
	return d.GetField() == "event" && (kind == "booking" || kind == "appointment") && !isChange(d) && d.GetAfter() != "" &&
		l.names.things[l.names.customers[l.GetTarget()]].name != ""
}

// thing names the thing with an identifier, with a link to its page unless it was deleted. If
// the thing was not found, it has the name that the entry gives.
func (l auditLine) thing(id, name string) *message {
	t, known := l.names.things[id]
	if name == "" {
		name = id
	}
	switch {
	case t.text != nil:
		return linked(t.text, t.path)
	case t.name != "":
		return linked(literal(t.name), t.path)
	case known || l.names.complete[kindPrefix(id)]:
		return bare(name)
	}
	return linked(literal(name), pageOf(id))
}

// linked returns a text with a link to a page. Without a path, the text is not a link.
func linked(text *message, path string) *message {
	if path == "" {
		return msg("audit.thing.text", "text", text)
	}
	return msg("audit.thing.link", "url", path, "text", text)
}

// bare returns a text without a link, isolated from the direction of the surrounding text.
func bare(text string) *message { return linked(literal(text), "") }

// Changes returns a line for each detail that is not in the sentence. Unchanged fields have no
// line.
func (l auditLine) Changes() []*message {
	var lines []*message
	for _, d := range l.GetDetails() {
		before, after := d.GetBefore(), d.GetAfter()
		if before == after || l.inSentence(d) {
			continue
		}
		if l.GetAction()+l.variant() == "event.price_add" {
			before = ""
		}
		field := msg("audit.field." + d.GetField()).or(upperFirst(strings.ReplaceAll(d.GetField(), "_", " ")))
		switch {
		case before == "":
			lines = append(lines, msg("audit.change.set", "field", field, "after", l.value(d.GetField(), after)))
		case after == "":
			lines = append(lines, msg("audit.change.removed", "field", field, "before", l.value(d.GetField(), before)))
		default:
			lines = append(lines, msg("audit.change.changed", "field", field,
				"before", l.value(d.GetField(), before), "after", l.value(d.GetField(), after)))
		}
	}
	return lines
}

// inSentence reports whether the sentence has the detail.
func (l auditLine) inSentence(d *authv1.AuditDetail) bool {
	kind, _, _ := strings.Cut(l.GetAction(), ".")
	switch d.GetField() {
	case "administrator":
		return true
	case "attendance", "starts_at":
		return l.variant() != ""
	case "imported":
		return true
	case "event":
		return l.isInTarget(d)
	case "customer":
		return l.names.things[d.GetAfter()].name != ""
	case nameFields[kind]:
		name := l.names.things[l.GetTarget()].name
		return d.GetBefore() == "" && kind != "company" && (name == "" || name == d.GetAfter())
	}
	return false
}

// value formats the value of a field. A value in an unexpected format is shown as it is stored.
func (l auditLine) value(field, value string) *message {
	switch field {
	case "price":
		if minor, err := strconv.ParseInt(strings.Replace(value, ".", "", 1), 10, 64); err == nil && strings.Contains(value, ".") {
			return linked(priceText(minor, l.currency), "")
		}
	case "expires_at", "previous_secret_expires_at", "since", "starts_at":
		if at, err := time.Parse(time.RFC3339, value); err == nil {
			return bare(l.clock.Time(timestamppb.New(at)))
		}
	case "expiry_date", "last_day", "first_day", "resumes_on", "day":
		if value == neverDate {
			return msg("desk.pass.no_expiry")
		}
		return linked(wallDate(value), "")
	case "timezone":
		return bare(strings.ReplaceAll(value, "_", " "))
	case "currency":
		return linked(currencyName(value), "")
	case "unique_customer_emails", "optional_customer_emails", "enabled", "active", "policy_waived", "price_kept", "incomplete",
		"buyer_keeps_control":
		return flag(value)
	case "role":
		return msg("settings.role." + value).orElse(bare(upperFirst(value)))
	case "kind", "status":
		return bare(upperFirst(value))
	case "staff_member":
		return l.thing(value, "")
	case "rate_limit":
		if n, err := strconv.Atoi(value); err == nil {
			return msg("audit.value.rate_limit", "count", n)
		}
	case "clock_offset_seconds":
		if n, err := strconv.ParseInt(value, 10, 64); err == nil {
			return clockOffset(n)
		}
	case "count", "sessions_ended", "dates", "credits", "rows", "created", "existed", "refused":
		if n, err := strconv.Atoi(value); err == nil {
			return linked(numberText(n), "")
		}
	case "scopes":
		return titles(value, clientScopes)
	case "permissions":
		return titles(value, keyPermissions)
	case "events", "event":
		if webhookevent.Type(strings.Fields(value + " x")[0]) != 0 {
			return titles(value, webhookEvents())
		}
	case "by", "paid", "reason":
		if field != "reason" || l.GetAction() == "session.refuse" {
			return msg("audit.value." + field + "_" + strings.ReplaceAll(value, " ", "_")).or(value)
		}
	case "method":
		return l.value("paid", value)
	case "customer", "earlier_customer", "made_by", "first", "plan", "who":
		return l.thing(value, "")
	case "filter":
		return filterWords(filterValues(value), func(id string) *message { return l.thing(id, "") })
	}
	return bare(value)
}

// clockOffset says by how much a test clock is ahead: "2 days, 3 h".
func clockOffset(seconds int64) *message {
	const day = 24 * 60 * 60
	rest := duration(int32(seconds % day / 60))
	if days := seconds / day; days > 0 {
		return msg("audit.value.clock_offset", "count", days, "rest", rest)
	}
	return rest
}

// flag says yes or no.
func flag(value string) *message {
	switch value {
	case "true":
		return msg("audit.value.yes")
	case "false":
		return msg("audit.value.no")
	}
	return bare(value)
}

// titles lists scopes, permissions or events by their titles.
func titles(value string, known []grant) *message {
	var all *message
	for name := range strings.FieldsSeq(value) {
		title := literal(name)
		if at := slices.IndexFunc(known, func(g grant) bool { return g.Name == name }); at >= 0 {
			title = known[at].Title
		}
		all = listed(all, title)
	}
	return linked(all, "")
}

// listed adds an item to a list; nil is the empty list.
func listed(all, item *message) *message {
	if all == nil {
		return item
	}
	return msg("settings.list", "first", all, "second", item)
}
