package admin

import (
	"cmp"
	"strings"

	"reservation.dev/platform/fault"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	mediav1 "reservation.dev/proto/gen/reservation/media/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
	subscriptionv1 "reservation.dev/proto/gen/reservation/subscription/v1"
)

// playable is an item or a collection that customers can play.
type playable struct {
	ID, Title  string
	Collection bool
}

// Path is the path of its page.
func (p playable) Path() string {
	if p.Collection {
		return "/collections/" + p.ID
	}
	return "/library/" + p.ID
}

// playable returns the item or collection in the path.
func (r *request) playable() (playable, error) {
	if strings.HasPrefix(r.http.URL.Path, "/collections/") {
		res, err := r.services.media.GetCollection(r.ctx, &mediav1.GetCollectionRequest{Id: r.path("id")})
		return playable{res.GetCollection().GetId(), res.GetCollection().GetTitle(), true}, err
	}
	res, err := r.services.media.GetMediaItem(r.ctx, &mediav1.GetMediaItemRequest{Id: r.path("id")})
	return playable{res.GetItem().GetId(), res.GetItem().GetTitle(), false}, err
}

// accessView says who can play an item or a collection.
type accessView struct {
	*mediav1.Entitlement
	names map[string]string // of customers, pass types, plans and events
}

// WhoID is the identifier of what entitles customers.
func (a accessView) WhoID() string {
	return cmp.Or(a.GetCustomerId(), a.GetPassTypeId(), a.GetPlanId(), a.GetEventId())
}

// Label says who is entitled.
func (a accessView) Label() *message {
	name := cmp.Or(a.names[a.WhoID()], a.WhoID())
	switch {
	case a.GetPassTypeId() != "":
		return msg("library.who.pass_type", "name", name)
	case a.GetPlanId() != "":
		return msg("library.who.plan", "name", name)
	case a.GetEventId() != "":
		return msg("library.who.event", "name", name)
	}
	return literal(name)
}

// WhoPath is the path of the page of what entitles customers.
func (a accessView) WhoPath() string {
	switch {
	case a.GetPassTypeId() != "":
		return "/pass-types/" + a.GetPassTypeId()
	case a.GetPlanId() != "":
		return "/plans/" + a.GetPlanId()
	case a.GetEventId() != "":
		return "/events/" + a.GetEventId()
	}
	return "/customers/" + a.GetCustomerId()
}

// Until says until when customers are entitled.
func (a accessView) Until() *message {
	if a.GetLastDay() == "" {
		return msg("library.access.without_end")
	}
	return msg("desk.valid.until", "to", wallDate(a.GetLastDay()))
}

// access returns a page of who can play an item or a collection, and the address of the next page. It
// makes at most one call for each kind of name.
func (r *request) access(p playable) ([]accessView, string, error) {
	req := &mediav1.ListEntitlementsRequest{PageSize: 50, PageToken: r.query("access"), Order: mediav1.MediaOrder_MEDIA_ORDER_CREATED_DESC, ItemId: p.ID}
	if p.Collection {
		req.ItemId, req.CollectionId = "", p.ID
	}
	res, err := r.services.media.ListEntitlements(r.ctx, req)
	if err != nil {
		return nil, "", err
	}
	names, err := r.namesOfAccess(res.GetEntitlements())
	return views(res.GetEntitlements(), func(e *mediav1.Entitlement) accessView { return accessView{e, names} }), r.with("access", res.GetNextPageToken()), err
}

// namesOfAccess returns the names of what the entitlements name, by id.
func (r *request) namesOfAccess(list []*mediav1.Entitlement) (map[string]string, error) {
	var customers []string
	var pass, plan, event bool
	for _, e := range list {
		if id := e.GetCustomerId(); id != "" {
			customers = append(customers, id)
		}
		pass, plan, event = pass || e.GetPassTypeId() != "", plan || e.GetPlanId() != "", event || e.GetEventId() != ""
	}
	names, err := r.customerNames(customers)
	add := func(needed bool, read func() ([]option, error)) {
		if err != nil || !needed {
			return
		}
		var options []option
		options, err = read()
		for _, o := range options {
			names[o.Value] = o.Text
		}
	}
	add(pass, r.passTypeOptions)
	add(plan, r.planTitles)
	add(event, r.eventOptions)
	return names, err
}

// passTypeOptions returns the titles of the pass types that are sold on their own.
func (r *request) passTypeOptions() ([]option, error) {
	res, err := r.services.passes.ListPassTypes(r.ctx, &passv1.ListPassTypesRequest{PageSize: 200, Order: passv1.PassOrder_PASS_ORDER_CREATED_DESC})
	return views(res.GetPassTypes(), func(t *passv1.PassType) option { return option{t.GetId(), t.GetTitle()} }), err
}

// planTitles returns the titles of all plans.
func (r *request) planTitles() ([]option, error) {
	plans, err := r.plansOf(subscriptionv1.PlanStatus_PLAN_STATUS_UNSPECIFIED)
	return views(plans, func(p planView) option { return option{p.GetId(), p.GetTitle()} }), err
}

// eventOptions returns the titles of the newest 200 events.
func (r *request) eventOptions() ([]option, error) {
	res, err := r.services.events.ListEvents(r.ctx, &bookingv1.ListEventsRequest{PageSize: 200, Order: bookingv1.EventOrder_EVENT_ORDER_CREATED_DESC})
	return views(res.GetEvents(), func(e *bookingv1.Event) option { return option{e.GetId(), e.GetTitle()} }), err
}

// accessPage lets customers play an item or a collection.
type accessPage struct {
	On                    playable
	Form                  *form
	Passes, Plans, Events []option
}

func (accessPage) head() (*message, string) { return msg("library.access.add"), "library" }

func (r *request) accessPage(f *form) (accessPage, error) {
	on, err := r.playable()
	if err != nil {
		return accessPage{}, err
	}
	page := accessPage{On: on, Form: f}
	for _, read := range []struct {
		to   *[]option
		from func() ([]option, error)
	}{{&page.Passes, r.passTypeOptions}, {&page.Plans, r.planTitles}, {&page.Events, r.eventOptions}} {
		if *read.to, err = read.from(); err != nil {
			return page, err
		}
	}
	return page, nil
}

func (r *request) accessForm() error {
	page, err := r.accessPage(newForm("who", "pass"))
	if err != nil {
		return err
	}
	return r.render("access", page)
}

// accessFields are the form's names of the service's fields.
var accessFields = map[string]string{"pass_type_id": "pass", "plan_id": "plan", "event_id": "event", "customer_id": "customer", "last_day": "until"}

func (r *request) addAccess() error {
	page, err := r.accessPage(r.sent(accessFields))
	if err != nil {
		return err
	}
	f := page.Form
	req := page.On.entitlement(f.text("until"))
	switch f.text("who") {
	case "pass":
		req.PassTypeId = f.required("pass", msg("desk.field.pass_type"))
	case "plan":
		req.PlanId = f.required("plan", msg("plans.field.plan"))
	case "event":
		req.EventId = f.required("event", msg("library.field.event"))
	default:
		f.add("who", msg("library.access.choose"))
	}
	if _, err := submit(r, f, r.services.media.CreateEntitlement, req); err != nil {
		return r.again(err, "access", page)
	}
	r.detail("who", "", cmp.Or(req.GetPassTypeId(), req.GetPlanId(), req.GetEventId()))
	r.detail("last_day", "", req.GetLastDay())
	return r.back(page.On.Path()+"#access", r.text("library.access.added"))
}

// entitlement returns the request to let customers play p until a day.
func (p playable) entitlement(until string) *mediav1.CreateEntitlementRequest {
	if p.Collection {
		return &mediav1.CreateEntitlementRequest{CollectionId: p.ID, LastDay: until}
	}
	return &mediav1.CreateEntitlementRequest{ItemId: p.ID, LastDay: until}
}

// findAccess returns the entitlement in the path, if it is one of the item or collection in the path.
func (r *request) findAccess() (playable, accessView, error) {
	on, err := r.playable()
	if err != nil {
		return on, accessView{}, err
	}
	res, err := r.services.media.GetEntitlement(r.ctx, &mediav1.GetEntitlementRequest{Id: r.path("entitlement")})
	if err != nil {
		return on, accessView{}, err
	}
	e := res.GetEntitlement()
	if cmp.Or(e.GetCollectionId(), e.GetItemId()) != on.ID {
		return on, accessView{}, fault.Missing("entitlement")
	}
	names, err := r.namesOfAccess([]*mediav1.Entitlement{e})
	return on, accessView{e, names}, err
}

func (r *request) confirmAccess() error {
	on, a, err := r.findAccess()
	if err != nil {
		return err
	}
	return r.confirm(confirmPage{
		Title: r.text("library.access.remove_title"), Button: r.text("library.access.remove_button"), Danger: true,
		Effects: []string{r.text("library.access.remove_effect", "who", a.Label(), "title", on.Title), r.text("library.access.remove_others")},
	}, "library", on.Title, on.Path()+"#access")
}

func (r *request) removeAccess() error {
	on, a, err := r.findAccess()
	if err != nil {
		return err
	}
	if _, err := perform(r, r.services.media.DeleteEntitlement, &mediav1.DeleteEntitlementRequest{Id: a.GetId()}); err != nil {
		return r.refused(on.Path()+"#access", err)
	}
	r.detail("who", a.WhoID(), "")
	return r.back(on.Path()+"#access", r.text("library.access.removed"))
}

// givePage gives an item or a collection to a customer.
type givePage struct {
	Customer *customerv1.Customer
	Form     *form
	Media    []option
}

func (givePage) head() (*message, string) { return msg("library.give.title"), "customers" }

// givePage offers the collections, and the newest 200 items.
func (r *request) givePage(f *form) (givePage, error) {
	c, err := r.findCustomer()
	if err != nil {
		return givePage{}, err
	}
	page := givePage{Customer: c.Customer, Form: f}
	collections, err := r.collections()
	if err != nil {
		return page, err
	}
	for _, c := range collections {
		page.Media = append(page.Media, option{c.GetId(), r.text("library.give.collection", "title", c.GetTitle())})
	}
	items, err := r.services.media.ListMediaItems(r.ctx, &mediav1.ListMediaItemsRequest{PageSize: 200, Order: mediav1.MediaOrder_MEDIA_ORDER_CREATED_DESC})
	for _, i := range items.GetItems() {
		page.Media = append(page.Media, option{i.GetId(), r.text("library.give.item", "title", i.GetTitle(), "kind", mediaView{MediaItem: i}.KindName())})
	}
	return page, err
}

func (r *request) giveForm() error {
	page, err := r.givePage(newForm("media", r.query("media")))
	if err != nil {
		return err
	}
	return r.render("give", page)
}

func (r *request) give() error {
	page, err := r.givePage(r.sent(map[string]string{"item_id": "media", "collection_id": "media", "last_day": "until", "customer_id": "media"}))
	if err != nil {
		return err
	}
	f := page.Form
	on := playable{ID: f.required("media", msg("library.field.media"))}
	on.Collection = kindPrefix(on.ID) == "col_"
	req := on.entitlement(f.text("until"))
	req.CustomerId = page.Customer.GetId()
	if _, err := submit(r, f, r.services.media.CreateEntitlement, req); err != nil {
		return r.again(err, "give", page)
	}
	if on.Collection {
		r.action("collection.access_add")
	}
	r.target(on.ID)
	r.detail("who", "", page.Customer.GetId())
	r.detail("last_day", "", req.GetLastDay())
	return r.back("/customers/"+page.Customer.GetId()+"#media", r.text("library.give.done"))
}
