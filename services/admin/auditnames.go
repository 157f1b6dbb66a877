package admin

import (
	"context"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/rpc"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	mediav1 "reservation.dev/proto/gen/reservation/media/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
	subscriptionv1 "reservation.dev/proto/gen/reservation/subscription/v1"
	webhookv1 "reservation.dev/proto/gen/reservation/webhook/v1"
)

// auditThing is a thing that audit entries refer to, for example an API client or a customer.
type auditThing struct {
	name     string
	path     string   // of its page; "" if it has none or was deleted
	text     *message // replaces name for a thing without a name of its own
	customer string   // the identifier of the customer of a pass or a subscription
}

// auditNames are the things that a page of the audit log refers to.
type auditNames struct {
	mu     sync.Mutex
	things map[string]auditThing // by identifier
	// complete has the prefixes of identifiers for which all things were read. Such a thing that
	// is not in things was deleted.
	complete map[string]bool
	// customers are the customers that entries of the page give for a booking, a customer pass or
	// a waitlist entry, by the identifier of that thing.
	customers map[string]string
	// namesakes counts the administrators with a name.
	namesakes map[string]int
}

// kindPaths are the paths of the pages of things, by the prefixes of their identifiers.
var kindPaths = map[string]string{
	"admin_": "/settings/administrators/", "m2m_": "/settings/api-clients/", "key_": "/settings/api-keys/", "pub_": publishablePath + "/",
	"whe_": "/settings/webhooks/", "whd_": "/settings/webhooks/deliveries/", "cust_": "/customers/", "booking_": "/bookings/",
	"evt_": "/events/", "pass_": "/pass-types/", "cp_": "/passes/", "disc_": "/discounts/",
	"plan_": "/plans/", "sub_": "/subscriptions/", "media_": "/library/", "col_": "/collections/",
	"staff_": "/staff/", "room_": "/rooms/", "apt_": "/appointment-types/", "appt_": "/appointments/",
}

// kindPrefix returns the prefix of an identifier: "cust_".
func kindPrefix(id string) string { return id[:strings.Index(id, "_")+1] }

// pageOf returns the path of the page of a thing; "" if things of its kind have no page.
func pageOf(id string) string {
	if base := kindPaths[kindPrefix(id)]; base != "" {
		return base + url.PathEscape(id)
	}
	return ""
}

// add stores the name of a thing that has a page.
func (n *auditNames) add(id, name string) { n.put(id, auditThing{name: name, path: pageOf(id)}) }

func (n *auditNames) put(id string, thing auditThing) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.things[id] = thing
}

// end notes that a list was read; next is the token of its next page.
func (n *auditNames) end(prefix, next string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.complete[prefix] = next == ""
}

// namesTimeout bounds the calls that look up names. Without a name, the page shows the identifier.
const namesTimeout = 3 * time.Second

// namesOf looks up the names of the things that the entries refer to, with at most one call for
// each kind. If a service does not respond, the page shows the identifiers of its things.
func (r *request) namesOf(entries []*authv1.AuditEntry, people []*authv1.Administrator) *auditNames {
	n := &auditNames{things: map[string]auditThing{}, complete: map[string]bool{}, customers: map[string]string{}, namesakes: map[string]int{}}
	for _, a := range people {
		n.add(a.GetId(), a.GetName())
		n.namesakes[a.GetName()]++
	}
	wanted := n.wanted(entries)
	ctx, cancel := context.WithTimeout(r.ctx, namesTimeout)
	defer cancel()
	var calls sync.WaitGroup
	for prefix, find := range nameFinders {
		if len(wanted.ids[prefix]) > 0 {
			calls.Go(func() { r.find(ctx, n, prefix, find, wanted) })
		}
	}
	calls.Wait()
	for _, id := range slices.Concat(wanted.ids["cp_"], wanted.ids["sub_"]) {
		wanted.add(n.things[id].customer)
	}
	if len(wanted.ids["cust_"]) > 0 {
		r.find(ctx, n, "cust_", (*request).findCustomers, wanted)
	}
	return n
}

// wantedNames are the things to look up.
type wantedNames struct {
	ids map[string][]string // identifiers, by their prefixes
	// from is before the oldest entry about an event date. Changes are mostly to later dates.
	from time.Time
}

func (w *wantedNames) add(id string) {
	if prefix := kindPrefix(id); prefix != "" && !slices.Contains(w.ids[prefix], id) {
		w.ids[prefix] = append(w.ids[prefix], id)
	}
}

// wanted returns the things that the entries refer to, newest entry first.
func (n *auditNames) wanted(entries []*authv1.AuditEntry) *wantedNames {
	w := &wantedNames{ids: map[string][]string{}}
	for _, e := range entries {
		w.add(e.GetTarget())
		for _, d := range e.GetDetails() {
			switch d.GetField() {
			case "customer":
				w.add(d.GetAfter())
				n.customers[e.GetTarget()] = d.GetAfter()
			case "plan", "who", "earlier_customer", "staff_member":
				w.add(d.GetBefore())
				w.add(d.GetAfter())
			case "filter":
				w.add(filterValues(d.GetAfter()).Get("endpoint"))
			}
		}
		if kindPrefix(e.GetTarget()) == "date_" {
			w.from = e.GetAt().AsTime().AddDate(0, 0, -1)
		}
	}
	return w
}

// nameFinder looks up the names of one kind of thing.
type nameFinder = func(r *request, ctx context.Context, n *auditNames, w *wantedNames) error

// nameFinders are the lookups, by the prefixes of the identifiers. Customers are looked up after
// them, because customer passes and subscriptions refer to customers.
var nameFinders = map[string]nameFinder{
	"m2m_": (*request).findAPIClients, "key_": (*request).findAPIKeys, "pub_": (*request).findPublishables, "whe_": (*request).findEndpoints, "evt_": (*request).findEvents,
	"date_": (*request).findDates, "disc_": (*request).findDiscounts, "pass_": (*request).findPassTypes, "cp_": (*request).findPasses,
	"plan_": (*request).findPlans, "sub_": (*request).findSubscriptions, "media_": (*request).findItems, "col_": (*request).findCollections,
	"staff_": (*request).findStaff, "room_": (*request).findRooms, "apt_": (*request).findSlotTypes,
}

// find runs a lookup and logs its error.
func (r *request) find(ctx context.Context, n *auditNames, prefix string, find nameFinder, wanted *wantedNames) {
	if err := find(r, ctx, n, wanted); err != nil {
		r.web.log.LogAttrs(ctx, slog.LevelWarn, "cannot look up names for the audit log",
			slog.String("request_id", rpc.RequestID(ctx)), slog.String("kind", prefix), slog.String("error", err.Error()))
	}
}

func (r *request) findAPIClients(ctx context.Context, n *auditNames, _ *wantedNames) error {
	res, err := r.services.clients.ListApiClients(ctx, &authv1.ListApiClientsRequest{PageSize: 1000})
	for _, c := range res.GetApiClients() {
		n.add(c.GetId(), c.GetName())
	}
	if err == nil {
		n.end("m2m_", res.GetNextPageToken())
	}
	return err
}

func (r *request) findAPIKeys(ctx context.Context, n *auditNames, _ *wantedNames) error {
	res, err := r.services.keys.ListApiKeys(ctx, &authv1.ListApiKeysRequest{PageSize: 1000})
	for _, c := range res.GetApiKeys() {
		n.add(c.GetId(), c.GetName())
	}
	if err == nil {
		n.end("key_", res.GetNextPageToken())
	}
	return err
}

func (r *request) findPublishables(ctx context.Context, n *auditNames, _ *wantedNames) error {
	res, err := r.services.publishable.ListPublishableKeys(ctx, &authv1.ListPublishableKeysRequest{})
	for _, k := range res.GetPublishableKeys() {
		n.add(k.GetId(), k.GetName())
	}
	if err == nil {
		n.end("pub_", "")
	}
	return err
}

func (r *request) findEndpoints(ctx context.Context, n *auditNames, _ *wantedNames) error {
	res, err := r.services.webhooks.ListEndpoints(ctx, &webhookv1.ListEndpointsRequest{})
	for _, e := range res.GetEndpoints() {
		n.add(e.GetId(), e.GetUrl())
	}
	if err == nil {
		n.end("whe_", "")
	}
	return err
}

func (r *request) findEvents(ctx context.Context, n *auditNames, _ *wantedNames) error {
	res, err := r.services.events.ListEvents(ctx, &bookingv1.ListEventsRequest{PageSize: 200, Order: bookingv1.EventOrder_EVENT_ORDER_CREATED_DESC})
	for _, e := range res.GetEvents() {
		n.add(e.GetId(), e.GetTitle())
	}
	if err == nil {
		n.end("evt_", res.GetNextPageToken())
	}
	return err
}

// findDates looks up the first 200 dates after the oldest entry about a date.
func (r *request) findDates(ctx context.Context, n *auditNames, w *wantedNames) error {
	res, err := r.services.events.ListEventDates(ctx, &bookingv1.ListEventDatesRequest{StartsFrom: timestamppb.New(w.from), PageSize: 200})
	for _, d := range res.GetDates() {
		n.put(d.GetDate().GetId(), auditThing{
			text: msg("audit.thing.event_date", "event", d.GetEventTitle(), "time", r.session.Clock.Time(d.GetDate().GetStartsAt())),
			path: datePath(d.GetEventId(), d.GetDate().GetId()),
		})
	}
	return err
}

func (r *request) findDiscounts(ctx context.Context, n *auditNames, _ *wantedNames) error {
	res, err := r.services.discounts.ListDiscountCodes(ctx, &bookingv1.ListDiscountCodesRequest{PageSize: 200})
	for _, d := range res.GetDiscountCodes() {
		n.add(d.GetId(), d.GetCode())
	}
	if err == nil {
		n.end("disc_", res.GetNextPageToken())
	}
	return err
}

func (r *request) findPassTypes(ctx context.Context, n *auditNames, _ *wantedNames) error {
	res, err := r.services.passes.ListPassTypes(ctx, &passv1.ListPassTypesRequest{PageSize: 200, Order: passv1.PassOrder_PASS_ORDER_CREATED_DESC, OfPlans: true})
	for _, t := range res.GetPassTypes() {
		n.add(t.GetId(), t.GetTitle())
	}
	if err == nil {
		n.end("pass_", res.GetNextPageToken())
	}
	return err
}

// findPasses looks up the customers of the newest 200 customer passes.
func (r *request) findPasses(ctx context.Context, n *auditNames, _ *wantedNames) error {
	res, err := r.services.passes.ListCustomerPasses(ctx, &passv1.ListCustomerPassesRequest{PageSize: 200, Order: passv1.PassOrder_PASS_ORDER_CREATED_DESC})
	for _, p := range res.GetCustomerPasses() {
		n.put(p.GetId(), auditThing{path: pageOf(p.GetId()), customer: p.GetCustomerId()})
	}
	return err
}

func (r *request) findPlans(ctx context.Context, n *auditNames, _ *wantedNames) error {
	res, err := r.services.plans.ListPlans(ctx, &subscriptionv1.ListPlansRequest{PageSize: 200, Order: subscriptionv1.PlanOrder_PLAN_ORDER_CREATED_DESC})
	for _, p := range res.GetPlans() {
		n.add(p.GetId(), p.GetTitle())
	}
	if err == nil {
		n.end("plan_", res.GetNextPageToken())
	}
	return err
}

// findSubscriptions looks up the customers of the newest 200 subscriptions.
func (r *request) findSubscriptions(ctx context.Context, n *auditNames, _ *wantedNames) error {
	res, err := r.services.subscriptions.ListSubscriptions(ctx, &subscriptionv1.ListSubscriptionsRequest{
		PageSize: 200, Order: subscriptionv1.SubscriptionOrder_SUBSCRIPTION_ORDER_CREATED_DESC,
	})
	for _, s := range res.GetSubscriptions() {
		n.put(s.GetId(), auditThing{path: pageOf(s.GetId()), customer: s.GetCustomerId()})
	}
	return err
}

func (r *request) findItems(ctx context.Context, n *auditNames, _ *wantedNames) error {
	res, err := r.services.media.ListMediaItems(ctx, &mediav1.ListMediaItemsRequest{PageSize: 200, Order: mediav1.MediaOrder_MEDIA_ORDER_CREATED_DESC})
	for _, i := range res.GetItems() {
		n.add(i.GetId(), i.GetTitle())
	}
	if err == nil {
		n.end("media_", res.GetNextPageToken())
	}
	return err
}

func (r *request) findCollections(ctx context.Context, n *auditNames, _ *wantedNames) error {
	res, err := r.services.media.ListCollections(ctx, &mediav1.ListCollectionsRequest{PageSize: 200, Order: mediav1.MediaOrder_MEDIA_ORDER_CREATED_DESC})
	for _, c := range res.GetCollections() {
		n.add(c.GetId(), c.GetTitle())
	}
	if err == nil {
		n.end("col_", res.GetNextPageToken())
	}
	return err
}

// findCustomers looks up customers. Deleted customers have a name and no page.
func (r *request) findCustomers(ctx context.Context, n *auditNames, w *wantedNames) error {
	res, err := r.services.customers.BatchGetCustomers(ctx, &customerv1.BatchGetCustomersRequest{Ids: w.ids["cust_"], IncludeDeleted: true})
	for _, c := range res.GetCustomers() {
		thing := auditThing{name: fullName(c), path: pageOf(c.GetId())}
		if c.GetDeletedAt() != nil {
			thing.path = ""
		}
		n.put(c.GetId(), thing)
	}
	if err == nil {
		n.end("cust_", "")
	}
	return err
}
