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
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
	webhookv1 "reservation.dev/proto/gen/reservation/webhook/v1"
)

// auditThing is what the audit log names: an API client, a customer, a pass.
type auditThing struct {
	name     string
	path     string   // of its page; "": it has none, or was deleted
	text     *message // replaces name where the catalogue has the words
	customer string   // whose pass it is
}

// auditNames are the things that a page of the audit log names, by their identifiers.
type auditNames struct {
	mu     sync.Mutex
	things map[string]auditThing
	// whole holds the prefixes of the identifiers whose list was read to its end: a thing
	// that is not in things was deleted.
	whole map[string]bool
	// customers are those that other entries of the page name, by booking, pass or
	// waitlist entry.
	customers map[string]string
	// holders counts the administrators with a name.
	holders map[string]int
}

// kindPaths are the paths of the pages of things, by the prefixes of their identifiers.
var kindPaths = map[string]string{
	"admin_": "/settings/administrators/", "m2m_": "/settings/api-clients/", "key_": "/settings/api-keys/",
	"whe_": "/settings/webhooks/", "whd_": "/settings/webhooks/deliveries/", "cust_": "/customers/", "booking_": "/bookings/",
	"evt_": "/events/", "pass_": "/pass-types/", "cp_": "/passes/", "disc_": "/discounts/",
}

// kindPrefix returns the prefix of an identifier: "cust_".
func kindPrefix(id string) string { return id[:strings.Index(id, "_")+1] }

// pageOf returns the path of the page of an identifier; "": its kind has no page.
func pageOf(id string) string {
	if base := kindPaths[kindPrefix(id)]; base != "" {
		return base + url.PathEscape(id)
	}
	return ""
}

// add notes a thing that has a page.
func (n *auditNames) add(id, name string) { n.put(id, auditThing{name: name, path: pageOf(id)}) }

func (n *auditNames) put(id string, thing auditThing) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.things[id] = thing
}

// end notes whether a list was read to its end.
func (n *auditNames) end(prefix, next string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.whole[prefix] = next == ""
}

// namesTimeout bounds the calls that only find names: without them, the page shows
// identifiers.
const namesTimeout = 3 * time.Second

// namesOf looks up the names of everything that the entries are about, with at most one
// call for each kind. If a service does not answer, its things keep their identifiers.
func (r *request) namesOf(entries []*authv1.AuditEntry, people []*authv1.Administrator) *auditNames {
	n := &auditNames{things: map[string]auditThing{}, whole: map[string]bool{}, customers: map[string]string{}, holders: map[string]int{}}
	for _, a := range people {
		n.add(a.GetId(), a.GetName())
		n.holders[a.GetName()]++
	}
	wanted := n.wanted(entries)
	ctx, cancel := context.WithTimeout(r.ctx, namesTimeout)
	defer cancel()
	var calls sync.WaitGroup
	for prefix, find := range nameFinders {
		if ids := wanted[prefix]; len(ids) > 0 {
			calls.Go(func() { r.find(ctx, n, prefix, find, wanted) })
		}
	}
	calls.Wait()
	for _, thing := range n.things {
		if thing.customer != "" && !slices.Contains(wanted["cust_"], thing.customer) {
			wanted["cust_"] = append(wanted["cust_"], thing.customer)
		}
	}
	if len(wanted["cust_"]) > 0 {
		r.find(ctx, n, "cust_", (*request).findCustomers, wanted)
	}
	return n
}

// wanted returns the identifiers that the entries name, by their prefixes.
func (n *auditNames) wanted(entries []*authv1.AuditEntry) map[string][]string {
	wanted := map[string][]string{}
	for _, e := range entries {
		ids := []string{e.GetTarget()}
		for _, d := range e.GetDetails() {
			ids = append(ids, d.GetAfter())
			if d.GetField() == "customer" {
				n.customers[e.GetTarget()] = d.GetAfter()
			}
			if d.GetField() == "filter" {
				ids = append(ids, filterValues(d.GetAfter()).Get("endpoint"))
			}
		}
		for _, id := range ids {
			if prefix := kindPrefix(id); prefix != "" && !slices.Contains(wanted[prefix], id) {
				wanted[prefix] = append(wanted[prefix], id)
			}
		}
		// Dates are listed from the first start on: what is changed is mostly yet to come.
		if e.GetAt() != nil && strings.HasPrefix(e.GetAction(), "event_date.") {
			wanted["from"] = []string{e.GetAt().AsTime().AddDate(0, 0, -1).Format(time.RFC3339)}
		}
	}
	return wanted
}

// nameFinder looks up things of one kind.
type nameFinder = func(r *request, ctx context.Context, n *auditNames, wanted map[string][]string) error

// nameFinders are the lookups, by the prefixes of the identifiers. Customers come after
// them, because passes name customers.
var nameFinders = map[string]nameFinder{
	"m2m_": (*request).findAPIClients, "key_": (*request).findAPIKeys, "whe_": (*request).findEndpoints, "evt_": (*request).findEvents,
	"date_": (*request).findDates, "disc_": (*request).findDiscounts, "pass_": (*request).findPassTypes, "cp_": (*request).findPasses,
}

func (r *request) find(ctx context.Context, n *auditNames, prefix string, find nameFinder, wanted map[string][]string) {
	if err := find(r, ctx, n, wanted); err != nil {
		r.web.log.LogAttrs(ctx, slog.LevelWarn, "names for the audit log not found",
			slog.String("request_id", rpc.RequestID(ctx)), slog.String("kind", prefix), slog.String("error", err.Error()))
	}
}

func (r *request) findAPIClients(ctx context.Context, n *auditNames, _ map[string][]string) error {
	res, err := r.services.clients.ListApiClients(ctx, &authv1.ListApiClientsRequest{PageSize: 1000})
	for _, c := range res.GetApiClients() {
		n.add(c.GetId(), c.GetName())
	}
	if err == nil {
		n.end("m2m_", res.GetNextPageToken())
	}
	return err
}

func (r *request) findAPIKeys(ctx context.Context, n *auditNames, _ map[string][]string) error {
	res, err := r.services.keys.ListApiKeys(ctx, &authv1.ListApiKeysRequest{PageSize: 1000})
	for _, c := range res.GetApiKeys() {
		n.add(c.GetId(), c.GetName())
	}
	if err == nil {
		n.end("key_", res.GetNextPageToken())
	}
	return err
}

func (r *request) findEndpoints(ctx context.Context, n *auditNames, _ map[string][]string) error {
	res, err := r.services.webhooks.ListEndpoints(ctx, &webhookv1.ListEndpointsRequest{})
	for _, e := range res.GetEndpoints() {
		n.add(e.GetId(), e.GetUrl())
	}
	if err == nil {
		n.end("whe_", "")
	}
	return err
}

func (r *request) findEvents(ctx context.Context, n *auditNames, _ map[string][]string) error {
	res, err := r.services.events.ListEvents(ctx, &bookingv1.ListEventsRequest{PageSize: 200, Order: bookingv1.EventOrder_EVENT_ORDER_CREATED_DESC})
	for _, e := range res.GetEvents() {
		n.add(e.GetId(), e.GetTitle())
	}
	if err == nil {
		n.end("evt_", res.GetNextPageToken())
	}
	return err
}

// findDates looks up the first 200 dates from the oldest entry on.
func (r *request) findDates(ctx context.Context, n *auditNames, wanted map[string][]string) error {
	from := r.web.now()
	if at, err := time.Parse(time.RFC3339, strings.Join(wanted["from"], "")); err == nil {
		from = at
	}
	res, err := r.services.events.ListEventDates(ctx, &bookingv1.ListEventDatesRequest{StartsFrom: timestamppb.New(from), PageSize: 200})
	for _, d := range res.GetDates() {
		n.put(d.GetDate().GetId(), auditThing{
			text: msg("audit.thing.event_date", "event", d.GetEventTitle(), "time", r.session.Clock.Time(d.GetDate().GetStartsAt())),
			path: datePath(d.GetEventId(), d.GetDate().GetId()),
		})
	}
	return err
}

func (r *request) findDiscounts(ctx context.Context, n *auditNames, _ map[string][]string) error {
	res, err := r.services.discounts.ListDiscountCodes(ctx, &bookingv1.ListDiscountCodesRequest{PageSize: 200})
	for _, d := range res.GetDiscountCodes() {
		n.add(d.GetId(), d.GetCode())
	}
	if err == nil {
		n.end("disc_", res.GetNextPageToken())
	}
	return err
}

func (r *request) findPassTypes(ctx context.Context, n *auditNames, _ map[string][]string) error {
	res, err := r.services.passes.ListPassTypes(ctx, &passv1.ListPassTypesRequest{PageSize: 200, Order: passv1.PassOrder_PASS_ORDER_CREATED_DESC})
	for _, t := range res.GetPassTypes() {
		n.add(t.GetId(), t.GetTitle())
	}
	if err == nil {
		n.end("pass_", res.GetNextPageToken())
	}
	return err
}

// findPasses looks up whose the newest 200 passes are.
func (r *request) findPasses(ctx context.Context, n *auditNames, _ map[string][]string) error {
	res, err := r.services.passes.ListCustomerPasses(ctx, &passv1.ListCustomerPassesRequest{PageSize: 200, Order: passv1.PassOrder_PASS_ORDER_CREATED_DESC})
	for _, p := range res.GetCustomerPasses() {
		n.put(p.GetId(), auditThing{path: pageOf(p.GetId()), customer: p.GetCustomerId()})
	}
	return err
}

// findCustomers looks up customers, deleted ones too: they have a name and no page.
func (r *request) findCustomers(ctx context.Context, n *auditNames, wanted map[string][]string) error {
	res, err := r.services.customers.BatchGetCustomers(ctx, &customerv1.BatchGetCustomersRequest{Ids: wanted["cust_"], IncludeDeleted: true})
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
