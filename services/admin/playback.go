package admin

import (
	"cmp"
	"net/url"
	"strings"

	"reservation.dev/platform/fault"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	mediav1 "reservation.dev/proto/gen/reservation/media/v1"
)

// pickPage finds a customer: the one for whom an item is played, or to whom something is given.
type pickPage struct {
	// Back is the path of the page before this one, Of its title.
	Back, Of string
	Section  string
	Title    *message
	// Label is the question of the search field.
	Label *message
	Query string
	// Action is the path of the page.
	Action string
	Found  []*customerv1.Customer
	// path returns the path of the page of a customer.
	path func(customer string) string
}

func (p pickPage) head() (*message, string) { return p.Title, p.Section }

// PathOf is the path to go to with a customer.
func (p pickPage) PathOf(c *customerv1.Customer) string { return p.path(c.GetId()) }

// pick shows the customers that a search finds.
func (r *request) pick(page pickPage) error {
	page.Query, page.Action = r.query("q"), r.http.URL.Path
	res, err := r.services.customers.ListCustomers(r.ctx, &customerv1.ListCustomersRequest{Query: page.Query, PageSize: 20, TotalLimit: 1, Archived: new(bool)})
	if err != nil && r.live() {
		return err // a search while typing must not leave the page
	}
	if err != nil {
		return r.refused(page.Back, err)
	}
	page.Found = res.GetCustomers()
	if r.live() {
		return r.fragment("pick", "found", page)
	}
	return r.render("pick", page)
}

// giveTo finds the customer to whom an item or a collection is given.
func (r *request) giveTo() error {
	on, err := r.playable()
	if err != nil {
		return err
	}
	return r.pick(pickPage{Back: on.Path(), Of: on.Title, Section: "library", Title: msg("library.give.title"), Label: msg("library.pick.who"), path: func(customer string) string {
		return "/customers/" + customer + "/give?media=" + url.QueryEscape(on.ID)
	}})
}

// playPage plays an item as a customer.
type playPage struct {
	Item     mediaView
	Customer *customerv1.Customer
	// Link is nil if the customer cannot play the item; Refused says why.
	Link    *mediav1.CreatePlaybackLinkResponse
	Refused *message
	Reason  reasonView
}

func (playPage) head() (*message, string) { return msg("library.play.title"), "library" }

// Player says which element plays the file: video, audio, img or link.
func (p playPage) Player() string {
	switch kind, _, _ := strings.Cut(p.Link.GetContentType(), "/"); kind {
	case "video", "audio", "image":
		return kind
	}
	return "link"
}

// play plays an item as a customer. Without a customer, it finds one.
func (r *request) play() error {
	item, err := r.findMedia()
	if err != nil {
		return err
	}
	customer := r.query("customer")
	if customer == "" {
		on := playable{ID: item.GetId(), Title: item.GetTitle()}
		return r.pick(pickPage{Back: on.Path(), Of: on.Title, Section: "library", Title: msg("library.play.title"), Label: msg("library.pick.who"), path: func(customer string) string {
			return on.Path() + "/play?customer=" + url.QueryEscape(customer)
		}})
	}
	res, err := r.services.customers.GetCustomer(r.ctx, &customerv1.GetCustomerRequest{Id: customer})
	if err != nil {
		return err
	}
	page := playPage{Item: item, Customer: res.GetCustomer()}
	page.Link, err = r.services.media.CreatePlaybackLink(r.ctx, &mediav1.CreatePlaybackLinkRequest{ItemId: item.GetId(), CustomerId: customer})
	if err != nil {
		f := fault.From(err)
		if !isRefusal(f) {
			return err
		}
		page.Link, page.Refused = nil, sentence(f)
	}
	page.Reason = reasonView{page.Link.GetReason(), nil}
	return r.render("play", page)
}

// reasonView says why a customer can play an item.
type reasonView struct {
	*mediav1.MediaReason
	titles map[string]string // of the customer's passes and subscriptions
}

// Text says why.
func (v reasonView) Text() *message {
	if v.MediaReason == nil {
		return nil
	}
	name := cmp.Or(v.titles[v.GetCustomerPassId()], v.titles[v.GetSubscriptionId()])
	switch {
	case v.GetGiven():
		return msg("library.reason.given")
	case v.GetSubscriptionId() != "" && name != "":
		return msg("library.reason.subscription_of", "plan", name)
	case v.GetSubscriptionId() != "":
		return msg("library.reason.subscription")
	case v.GetCustomerPassId() != "" && name != "":
		return msg("library.reason.pass_of", "pass", name)
	case v.GetCustomerPassId() != "":
		return msg("library.reason.pass")
	}
	return msg("library.reason.booking")
}

// Path is the path of the page of the reason; "" if there is none.
func (v reasonView) Path() string {
	switch {
	case v.GetSubscriptionId() != "":
		return "/subscriptions/" + v.GetSubscriptionId()
	case v.GetCustomerPassId() != "":
		return "/passes/" + v.GetCustomerPassId()
	case v.GetBookingId() != "":
		return "/bookings/" + v.GetBookingId()
	}
	return ""
}

// Until says until when, as known now; nil if there is no end.
func (v reasonView) Until() *message {
	if v.GetLastDay() == "" {
		return nil
	}
	return msg("desk.valid.until", "to", wallDate(v.GetLastDay()))
}

// customerMediaView is an item that a customer can play.
type customerMediaView struct {
	Item     mediaView
	Reason   reasonView
	progress *mediav1.MediaProgress
}

// Progress says how far the customer has watched the item.
func (v customerMediaView) Progress() *message {
	position, length := lengthText(v.progress.GetPositionSeconds()), v.Item.Length()
	switch {
	case v.progress == nil:
		return msg("library.progress.not_started")
	case v.progress.GetCompleted():
		return msg("library.progress.completed")
	case position != "" && length != "":
		return msg("library.progress.position_of", "position", position, "length", length)
	case position != "":
		return msg("library.progress.position", "position", position)
	}
	return msg("library.progress.started")
}

// memberships reads a customer's subscriptions, and what the customer can play. A service that does not
// respond leaves its section empty, so that the rest of the page can be used.
func (r *request) memberships(page *customerPage) error {
	if err := r.customerSubscriptions(page); err != nil && !absent(err) {
		return err
	} else if err != nil {
		page.SubscriptionsAway = true
	}
	err := r.customerMedia(page)
	if absent(err) {
		page.MediaAway = true
		return nil
	}
	return err
}

// absent reports whether a service did not respond.
func absent(err error) bool { return fault.Is(err, fault.Unavailable) }

func (r *request) customerMedia(page *customerPage) error {
	res, err := r.services.media.ListCustomerMedia(r.ctx, &mediav1.ListCustomerMediaRequest{
		CustomerId: page.Customer.GetId(), PageSize: 20, PageToken: r.query("media"),
	})
	if err != nil {
		return err
	}
	titles := map[string]string{}
	for _, p := range page.Passes {
		titles[p.GetId()] = p.Title
	}
	for _, s := range page.Subscriptions {
		titles[s.GetId()] = s.GetPlanTitle()
	}
	for _, m := range res.GetMedia() {
		page.Media = append(page.Media, customerMediaView{mediaView{MediaItem: m.GetItem()}, reasonView{m.GetReason(), titles}, m.GetProgress()})
	}
	page.MediaTotal, page.MoreMedia = res.GetTotal(), r.with("media", res.GetNextPageToken())
	return nil
}
