package admin

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/enum"
	"reservation.dev/platform/webhookevent"
	webhookv1 "reservation.dev/proto/gen/reservation/webhook/v1"
)

// filterFields are what the list of deliveries is filtered by.
var filterFields = []string{"endpoint", "event", "state", "since", "until"}

// filters tells whether a value narrows the list: what is no state, event or day
// does not, and is not said to.
func filters(name, value string) bool {
	known := value != ""
	switch name {
	case "event":
		known = webhookevent.Type(value) != webhookv1.EventType_EVENT_TYPE_UNSPECIFIED
	case "state":
		_, known = enum.Parse[webhookv1.DeliveryState](value)
	case "since", "until":
		_, err := time.Parse(time.DateOnly, value)
		known = err == nil
	}
	return known
}

// filterQuery is the filter that get knows, as a query of an address.
func filterQuery(get func(string) string) url.Values {
	query := url.Values{}
	for _, name := range filterFields {
		if value := get(name); filters(name, value) {
			query.Set(name, value)
		}
	}
	return query
}

// filtered is an address with a filter.
func filtered(path string, query url.Values) string {
	if len(query) == 0 {
		return path
	}
	return path + "?" + query.Encode()
}

// deliveryFilter reads the filter of a page, of its address or of its form.
func (r *request) deliveryFilter(get func(string) string) *webhookv1.DeliveryFilter {
	state, _ := enum.Parse[webhookv1.DeliveryState](get("state"))
	return &webhookv1.DeliveryFilter{
		EndpointId: get("endpoint"), Event: webhookevent.Type(get("event")), State: state,
		Since: r.dayOf(get("since"), 0), Until: r.dayOf(get("until"), 1),
	}
}

func (r *request) replayDelivery() error {
	path := "/settings/webhooks/deliveries/" + r.path("id")
	if _, err := perform(r, r.services.webhooks.ReplayDelivery, &webhookv1.ReplayDeliveryRequest{Id: r.path("id")}); err != nil {
		return r.refused(path, err)
	}
	return r.back(path, "It is being sent again, with a new set of retries.")
}

// replayPage sends again what has failed since a moment.
type replayPage struct {
	Form      *form
	Endpoints []option
}

func (replayPage) head() (*message, string) { return literal("Replay what failed"), "webhooks" }

func (r *request) replayForm() error {
	_, options, err := r.endpointURLs()
	if err != nil {
		return err
	}
	f := newForm("endpoint", r.query("endpoint"), "since", r.web.now().In(r.session.Clock.Zone).AddDate(0, 0, -1).Format(wallLayout))
	return r.render("replay", replayPage{f, options})
}

func (r *request) replayFailed() error {
	f := r.sent(map[string]string{"endpoint_id": "endpoint"})
	since, err := time.ParseInLocation(wallLayout, f.text("since"), r.session.Clock.Zone)
	if err != nil {
		f.add("since", literal("Give a date and a time."))
	}
	req := &webhookv1.ReplayFailedRequest{EndpointId: f.text("endpoint"), Since: timestamppb.New(since)}
	res, err := submit(r, f, r.services.webhooks.ReplayFailed, req)
	if f.Failed() {
		_, options, err := r.endpointURLs()
		if err != nil {
			return err
		}
		return r.notAccepted("replay", replayPage{f, options})
	}
	if err != nil {
		return err
	}
	r.target(cmp.Or(req.GetEndpointId(), "all endpoints"))
	r.detail("since", "", since.UTC().Format(time.RFC3339))
	r.detail("count", "", fmt.Sprint(res.GetReplayed()))
	if res.GetReplayed() == 0 {
		return r.sayFailed("/settings/webhooks/deliveries", nothingToReplay(res.GetTests()))
	}
	return r.back("/settings/webhooks/deliveries", plural(res.GetReplayed(), "delivery is", "deliveries are")+" being sent again.")
}

// nothingToReplay says why nothing is sent again, of so many test deliveries.
func nothingToReplay(tests int64) string {
	said := "Nothing was sent again: no delivery of an enabled endpoint fits."
	if tests > 0 {
		said = "Nothing was sent again: only " + plural(tests, "test delivery fits", "test deliveries fit") +
			", and tests are not replayed this way. Open one to replay it, or send a new test."
	}
	return said
}

// replaySelected sends those again that were ticked.
func (r *request) replaySelected() error {
	back := local(r.value("back"), "/settings/webhooks/deliveries")
	ids := r.sent(nil).All("ids")
	if len(ids) == 0 {
		return r.sayFailed(back, "Tick the deliveries first that are to be sent again.")
	}
	res, err := perform(r, r.services.webhooks.ReplayDeliveries, &webhookv1.ReplayDeliveriesRequest{Ids: ids})
	if err != nil {
		return r.refused(back, err)
	}
	r.target("selection")
	r.detail("count", "", fmt.Sprint(res.GetReplayed()))
	r.detail("first", "", ids[0])
	said := plural(res.GetReplayed(), "delivery is", "deliveries are") + " being sent again."
	if n := res.GetSkipped(); n > 0 {
		said += " " + plural(n, "was", "were") + " left out: being sent just now, or of an endpoint that is disabled or deleted."
	}
	return r.back(back, said)
}

// confirmReplay says how many deliveries a filter holds, before they are replayed.
func (r *request) confirmReplay() error {
	query := filterQuery(r.query)
	back := filtered("/settings/webhooks/deliveries", query)
	filter := r.deliveryFilter(r.query)
	res, err := r.services.webhooks.CountDeliveries(r.ctx, &webhookv1.CountDeliveriesRequest{Filter: filter})
	if err != nil {
		return err
	}
	switch {
	case res.GetMore():
		return r.sayFailed(back, "More than "+thousands(res.GetCount())+" deliveries fit these filters, which is too many to replay at once. Narrow them, by time or by endpoint.")
	case res.GetCount() == 0:
		return r.sayFailed(back, nothingToReplay(res.GetTests()))
	}
	number := plural(res.GetCount(), "delivery", "deliveries")
	p := confirmPage{
		Title: "Replay what the filters show", Section: "webhooks", Subject: filterText(query), Button: "Send " + number + " again", Danger: true, Back: back,
		Action: "/settings/webhooks/deliveries/replay",
		Effects: []string{
			number + " will be sent again, under the same ids and with a new set of retries. Receivers that keep to the guide know by the id what they have taken already.",
			"What has come after this page was opened is left out. Tests, and endpoints that are disabled or deleted, get nothing.",
		},
		Hidden: map[string]string{"as_of": res.GetAsOf().AsTime().Format(time.RFC3339Nano)},
	}
	for name, values := range query {
		p.Hidden[name] = values[0]
	}
	return r.render("confirm", p)
}

// filterText says to a person what is filtered.
func filterText(query url.Values) string {
	if len(query) == 0 {
		return "All deliveries of the last 30 days"
	}
	text := ""
	for _, name := range filterFields {
		if value := query.Get(name); value != "" {
			if text != "" {
				text += ", "
			}
			text += name + ": " + value
		}
	}
	return text
}

// filterValues reads the filter that the audit log has stored.
func filterValues(text string) url.Values {
	query := url.Values{}
	for pair := range strings.SplitSeq(text, ", ") {
		if name, value, ok := strings.Cut(pair, ": "); ok && filters(name, value) && slices.Contains(filterFields, name) {
			query.Set(name, value)
		}
	}
	return query
}

// filterWords says what is filtered. endpoint says which endpoint an identifier is.
func filterWords(query url.Values, endpoint func(id string) *message) *message {
	var all *message
	add := func(part *message) {
		if all == nil {
			all = part
			return
		}
		all = msg("settings.filter.and", "first", all, "second", part)
	}
	for _, name := range filterFields {
		value := query.Get(name)
		if value == "" {
			continue
		}
		switch name {
		case "endpoint":
			add(msg("settings.filter.endpoint", "value", endpoint(value)))
		case "event":
			add(msg("settings.filter.event", "value", titles(value, webhookEvents())))
		case "state":
			add(msg("settings.filter.state", "value", stateWords[value]))
		case "since":
			add(msg("settings.filter.since", "value", wallDate(value)))
		case "until":
			add(msg("settings.filter.until", "value", wallDate(value)))
		}
	}
	if all == nil {
		return msg("settings.filter.all")
	}
	return all
}

// stateWords say the states that deliveries can be filtered by.
var stateWords = map[string]*message{
	"pending": msg("settings.delivery.waiting_or_retrying"), "delivered": msg("settings.delivery.delivered"), "failed": msg("settings.delivery.failed"),
}

// replayFiltered sends everything again that a filter held when it was counted.
func (r *request) replayFiltered() error {
	query := filterQuery(r.value)
	again := filtered("/settings/webhooks/deliveries/replay", query)
	asOf, err := time.Parse(time.RFC3339Nano, r.value("as_of"))
	if err != nil {
		return r.to(again)
	}
	res, err := perform(r, r.services.webhooks.ReplayDeliveries, &webhookv1.ReplayDeliveriesRequest{
		Filter: r.deliveryFilter(r.value), AsOf: timestamppb.New(asOf),
	})
	if err != nil {
		return r.refused(again, err)
	}
	r.target("filter")
	r.detail("filter", "", filterText(query))
	r.detail("count", "", fmt.Sprint(res.GetReplayed()))
	return r.back(filtered("/settings/webhooks/deliveries", query), plural(res.GetReplayed(), "delivery is", "deliveries are")+" being sent again.")
}
