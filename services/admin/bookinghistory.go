package admin

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"reservation.dev/platform/enum"
	"reservation.dev/platform/roles"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

// historyPage is the history of a booking: a sentence for each change, oldest first.
type historyPage struct {
	Registration registrationView
	Entries      []bookingHistoryLine
	Next         string
	// Partial says that the history lacks changes, because they were made before the platform kept it.
	Partial bool
}

func (historyPage) head() (*message, string) { return msg("changes.history.title"), "events" }

// Path is the path of the booking.
func (p historyPage) Path() string { return bookingPath(p.Registration.GetBooking().GetId()) }

// bookingHistoryLine is a change as the page shows it.
type bookingHistoryLine struct {
	*bookingv1.BookingHistoryEntry
	names    *auditNames
	clock    clock
	currency string
	// self is the signed-in administrator.
	self *authv1.Administrator
}

// historyShown is the number of changes on a page.
const historyShown = 50

// bookingHistory shows a page of the history. It makes at most one call for each kind of thing that the page names.
func (r *request) bookingHistory() error {
	res, err := r.services.bookings.GetRegistration(r.ctx, &bookingv1.GetRegistrationRequest{BookingId: r.path("id")})
	if err != nil {
		return err
	}
	page := historyPage{Registration: registrationView{res.GetRegistration()}}
	all, err := r.services.changes.ListBookingHistory(r.ctx, &bookingv1.ListBookingHistoryRequest{BookingId: r.path("id"), PageSize: historyShown, PageToken: r.query("page")})
	if err != nil {
		return err
	}
	page.Next = r.with("page", all.GetNextPageToken())
	page.Partial = r.query("page") == "" && page.Next == "" && page.Registration.lacksHistory(all.GetEntries())
	names := r.namesInHistory(all.GetEntries())
	currency := cmp.Or(page.Registration.GetBooking().GetCard().GetCurrency(), r.session.Company.GetCurrency())
	for _, e := range all.GetEntries() {
		page.Entries = append(page.Entries, bookingHistoryLine{e, names, r.session.Clock, currency, r.session.Administrator})
	}
	return r.render("history", page)
}

// lacksHistory reports whether no entry of a complete history explains the state of the booking.
func (r registrationView) lacksHistory(entries []*bookingv1.BookingHistoryEntry) bool {
	has := func(actions ...bookingv1.BookingAction) bool {
		return slices.ContainsFunc(entries, func(e *bookingv1.BookingHistoryEntry) bool { return slices.Contains(actions, e.GetAction()) })
	}
	const cancelled = bookingv1.BookingAction_BOOKING_ACTION_CANCELLED
	b := r.GetBooking()
	return b.GetIsCancelled() && !has(cancelled) ||
		b.GetIsRefunded() && !has(cancelled, bookingv1.BookingAction_BOOKING_ACTION_REFUNDED) ||
		(r.CheckedIn() || r.NoShow()) && !has(bookingv1.BookingAction_BOOKING_ACTION_ATTENDANCE_RECORDED)
}

// namesInHistory looks up the customers in the history and, for administrators who see the others,
// who made the changes.
func (r *request) namesInHistory(entries []*bookingv1.BookingHistoryEntry) *auditNames {
	n := &auditNames{things: map[string]auditThing{}, complete: map[string]bool{}}
	w := &wantedNames{ids: map[string][]string{}}
	for _, e := range entries {
		for _, facts := range []*bookingv1.BookingFacts{e.GetBefore(), e.GetAfter()} {
			w.add(facts.GetCustomerId())
			w.add(facts.GetManagedById())
		}
		w.add(e.GetActor())
		w.addOptions(e)
	}
	ctx, cancel := context.WithTimeout(r.ctx, namesTimeout)
	defer cancel()
	finders := map[string]nameFinder{"cust_": (*request).findCustomers, optionPrefix: (*request).findOptions}
	if r.session.Role.May(roles.Administrators) {
		finders["admin_"], finders["m2m_"], finders["key_"] = (*request).findAdministrators, (*request).findAPIClients, (*request).findAPIKeys
	}
	for prefix, find := range finders {
		if len(w.ids[prefix]) > 0 {
			r.find(ctx, n, prefix, find, w)
		}
	}
	return n
}

// optionPrefix is the key of pricing options among names.
const optionPrefix = "po-"

// addOptions adds the pricing options of a change of the option.
func (w *wantedNames) addOptions(e *bookingv1.BookingHistoryEntry) {
	if changesOption(e) {
		w.ids[optionPrefix] = append(w.ids[optionPrefix], e.GetBefore().GetPricingOptionId(), e.GetAfter().GetPricingOptionId())
	}
}

// changesOption reports whether a change is to another pricing option.
func changesOption(e *bookingv1.BookingHistoryEntry) bool {
	return e.GetAction() == bookingv1.BookingAction_BOOKING_ACTION_MOVED && e.GetBefore().GetPricingOptionId() != e.GetAfter().GetPricingOptionId()
}

// findOptions looks up the pricing options of the newest 200 events, except those that have ended.
func (r *request) findOptions(ctx context.Context, n *auditNames, _ *wantedNames) error {
	res, err := r.services.events.ListEvents(ctx, &bookingv1.ListEventsRequest{PageSize: 200, Order: bookingv1.EventOrder_EVENT_ORDER_CREATED_DESC})
	for _, e := range res.GetEvents() {
		for _, o := range e.GetPricingOptions() {
			n.put(o.GetId(), auditThing{name: o.GetName()})
		}
	}
	return err
}

// findAdministrators looks up administrators, who are in live mode.
func (r *request) findAdministrators(ctx context.Context, n *auditNames, _ *wantedNames) error {
	live, err := r.liveContext()
	if err != nil {
		return err
	}
	deadline, _ := ctx.Deadline()
	live, cancel := context.WithDeadline(live, deadline)
	defer cancel()
	res, err := r.services.admins.ListAdministrators(live, &authv1.ListAdministratorsRequest{PageSize: 100})
	for _, a := range res.GetAdministrators() {
		n.add(a.GetId(), a.GetName())
	}
	return err
}

// When returns the time of the change, to the second.
func (l bookingHistoryLine) When() string { return l.clock.Seconds(l.GetAt()) }

// thing names a customer or an actor.
func (l bookingHistoryLine) thing(id string) *message {
	return auditLine{names: l.names, AuditEntry: &authv1.AuditEntry{}}.thing(id, "")
}

// actor names who made the change. Only owners see the names of others.
func (l bookingHistoryLine) actor() *message {
	id := l.GetActor()
	switch {
	case id == "":
		return msg("changes.actor.unknown")
	case id == "booking":
		return msg("audit.thing.platform")
	case id == l.self.GetId():
		return bare(l.self.GetName())
	case l.names.things[id].name != "":
		return l.thing(id)
	}
	return msg("changes.actor." + strings.TrimSuffix(kindPrefix(id), "_")).or(id)
}

// date names the date of the booking, with a link.
func (l bookingHistoryLine) date(f *bookingv1.BookingFacts) *message {
	return linked(msg("audit.thing.event_date", "event", f.GetEventTitle(), "time", l.clock.Time(f.GetStartsAt())), datePath(f.GetEventId(), f.GetEventDateId()))
}

// Sentence says who changed what, and from where.
func (l bookingHistoryLine) Sentence() *message {
	change := l.change()
	return msg("changes.source."+strings.TrimSuffix(kindPrefix(l.GetActor()), "_"), "change", change).orElse(change)
}

// change says who changed what.
func (l bookingHistoryLine) change() *message {
	before, after := l.GetBefore(), l.GetAfter()
	switch l.GetAction() {
	case bookingv1.BookingAction_BOOKING_ACTION_BOOKED:
		return msg("changes.history.booked", "actor", l.actor(), "customer", l.thing(after.GetCustomerId()), "spaces", spacesText(after.GetSpaces()), "date", l.date(after))
	case bookingv1.BookingAction_BOOKING_ACTION_MOVED:
		if before.GetEventDateId() == after.GetEventDateId() {
			return msg("changes.history.changed", "actor", l.actor())
		}
		return msg("changes.history.moved", "actor", l.actor(), "from", l.date(before), "to", l.date(after))
	case bookingv1.BookingAction_BOOKING_ACTION_TRANSFERRED:
		if l.onlyChangesManager() {
			return msg("changes.history.manager", "actor", l.actor(), "from", l.thing(before.GetManagedById()), "to", l.thing(after.GetManagedById()))
		}
		return msg("changes.history.transferred", "actor", l.actor(), "from", l.thing(before.GetCustomerId()), "to", l.thing(after.GetCustomerId()))
	case bookingv1.BookingAction_BOOKING_ACTION_CANCELLED:
		return msg("changes.history.cancelled", "actor", l.actor())
	case bookingv1.BookingAction_BOOKING_ACTION_REFUNDED:
		return msg("changes.history.refunded", "actor", l.actor())
	case bookingv1.BookingAction_BOOKING_ACTION_ATTENDANCE_RECORDED:
		return msg("changes.attendance."+enum.Name(after.GetAttendance()), "actor", l.actor()).orElse(msg("changes.history.changed", "actor", l.actor()))
	}
	return msg("changes.history.changed", "actor", l.actor())
}

// Changes returns a line for each fact that is not in the sentence.
func (l bookingHistoryLine) Changes() []*message {
	before, after := l.GetBefore(), l.GetAfter()
	var lines []*message
	add := func(field, was, is *message) {
		if was == nil {
			lines = append(lines, msg("audit.change.set", "field", field, "after", is))
			return
		}
		lines = append(lines, msg("audit.change.changed", "field", field, "before", was, "after", is))
	}
	if l.GetAction() == bookingv1.BookingAction_BOOKING_ACTION_MOVED {
		if before.GetSpaces() != after.GetSpaces() {
			add(msg("desk.column.spaces"), spacesText(before.GetSpaces()), spacesText(after.GetSpaces()))
		}
		if line := l.optionChange(); line != nil {
			lines = append(lines, line)
		}
		if before.GetPrice() != after.GetPrice() {
			add(msg("desk.column.price"), linked(priceText(before.GetPrice(), l.currency), ""), linked(priceText(after.GetPrice(), l.currency), ""))
		}
		if before.GetCredits() != after.GetCredits() {
			add(msg("desk.column.credits"), creditsText(before.GetCredits()), creditsText(after.GetCredits()))
		}
	}
	if was, is := before.GetManagedById(), after.GetManagedById(); was != is && before != nil && is != "" && !l.onlyChangesManager() {
		add(msg("changes.field.managed_by"), l.thing(was), l.thing(is))
	}
	if l.GetAmount() != 0 {
		how := byMethod(linked(priceText(l.GetAmount(), l.currency), ""), strings.ToUpper(enum.Name(l.GetPaymentMethod())))
		add(msg("changes.field.amount"), nil, how)
	}
	if why := l.GetReason(); why != "" {
		add(msg("audit.field.reason"), nil, bare(why))
	}
	if other := l.GetSwappedWith(); other != "" {
		add(msg("changes.field.swapped_with"), nil, linked(msg("changes.field.other_booking"), bookingPath(other)))
	}
	if l.GetPolicyWaived() {
		lines = append(lines, msg("changes.field.waived"))
	}
	return lines
}

// optionChange returns the line of a change of the pricing option; nil if there is none, or if both options have
// the same name, which those of two events can.
func (l bookingHistoryLine) optionChange() *message {
	if !changesOption(l.BookingHistoryEntry) {
		return nil
	}
	was, is := l.names.things[l.GetBefore().GetPricingOptionId()].name, l.names.things[l.GetAfter().GetPricingOptionId()].name
	switch {
	case was == "" || is == "":
		return msg("changes.field.other_option")
	case was == is:
		return nil
	}
	return msg("audit.change.changed", "field", msg("changes.move.option"), "before", bare(was), "after", bare(is))
}

// onlyChangesManager reports whether a transfer changed who manages the booking, and not who attends.
func (l bookingHistoryLine) onlyChangesManager() bool {
	before, after := l.GetBefore(), l.GetAfter()
	return l.GetAction() == bookingv1.BookingAction_BOOKING_ACTION_TRANSFERRED && before.GetCustomerId() == after.GetCustomerId() &&
		before.GetManagedById() != after.GetManagedById()
}
