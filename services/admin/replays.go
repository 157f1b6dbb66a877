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

// filterFields are the filters of the list of deliveries.
var filterFields = []string{"endpoint", "event", "state", "since", "until"}

// filters reports whether a value narrows the list. An unknown state or event, or an invalid day,
// does not.
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

// filterQuery returns the filters as the query of an address; get returns the value of one.
func filterQuery(get func(string) string) url.Values {
	query := url.Values{}
	for _, name := range filterFields {
		if value := get(name); filters(name, value) {
			query.Set(name, value)
		}
	}
	return query
}

// filtered returns an address with a filter.
func filtered(path string, query url.Values) string {
	if len(query) == 0 {
		return path
	}
	return path + "?" + query.Encode()
}

// deliveryFilter returns the filter of a request to the webhook service; get returns a value of
// the address or of the form.
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
	return r.back(path, r.text("settings.delivery.resending"))
}

// replayPage is the form that resends everything that failed since a moment.
type replayPage struct {
	Form      *form
	Endpoints []option
}

func (replayPage) head() (*message, string) { return msg("settings.replay.title"), "webhooks" }

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
		f.add("since", msg("settings.replay.since_wrong"))
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
		return r.sayFailed("/settings/webhooks/deliveries", r.text(nothingToReplay(res.GetTests())))
	}
	return r.back("/settings/webhooks/deliveries", r.text("settings.replay.resending", "count", res.GetReplayed()))
}

// nothingToReplay says why nothing was resent; tests counts the test deliveries that match.
func nothingToReplay(tests int64) *message {
	if tests > 0 {
		return msg("settings.replay.only_tests", "count", tests)
	}
	return msg("settings.replay.nothing")
}

// replaySelected resends the ticked deliveries.
func (r *request) replaySelected() error {
	back := local(r.value("back"), "/settings/webhooks/deliveries")
	ids := r.sent(nil).All("ids")
	if len(ids) == 0 {
		return r.sayFailed(back, r.text("settings.replay.tick_first"))
	}
	res, err := perform(r, r.services.webhooks.ReplayDeliveries, &webhookv1.ReplayDeliveriesRequest{Ids: ids})
	if err != nil {
		return r.refused(back, err)
	}
	r.target("selection")
	r.detail("count", "", fmt.Sprint(res.GetReplayed()))
	r.detail("first", "", ids[0])
	text := r.text("settings.replay.resending", "count", res.GetReplayed())
	if n := res.GetSkipped(); n > 0 {
		text += " " + r.text("settings.replay.skipped", "count", n)
	}
	return r.back(back, text)
}

// confirmReplay says how many deliveries a filter matches, before they are replayed.
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
		return r.sayFailed(back, r.text("settings.replay.too_many", "count", res.GetCount()))
	case res.GetCount() == 0:
		return r.sayFailed(back, r.text(nothingToReplay(res.GetTests())))
	}
	p := confirmPage{
		Title: r.text("settings.replay.confirm"), Section: "webhooks", Subject: upperFirst(r.text(filterWords(query, r.endpointURL))), Danger: true, Back: back,
		Action: "/settings/webhooks/deliveries/replay", Button: r.text("settings.replay.send", "count", res.GetCount()),
		Effects: []string{
			r.text("settings.replay.receivers", "deliveries", msg("settings.replay.count", "count", res.GetCount())),
			r.text("settings.replay.left_out"),
		},
		Hidden: map[string]string{"as_of": res.GetAsOf().AsTime().Format(time.RFC3339Nano)},
	}
	for name, values := range query {
		p.Hidden[name] = values[0]
	}
	return r.render("confirm", p)
}

// endpointURL returns the URL of an endpoint; its identifier if it cannot be read.
func (r *request) endpointURL(id string) *message {
	res, err := r.services.webhooks.GetEndpoint(r.ctx, &webhookv1.GetEndpointRequest{Id: id})
	if err != nil {
		return literal(id)
	}
	return literal(res.GetEndpoint().GetUrl())
}

// filterText returns a filter as the audit log stores it; see filterValues.
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

// filterValues returns the filter that filterText has written.
func filterValues(text string) url.Values {
	query := url.Values{}
	for pair := range strings.SplitSeq(text, ", ") {
		if name, value, ok := strings.Cut(pair, ": "); ok && filters(name, value) && slices.Contains(filterFields, name) {
			query.Set(name, value)
		}
	}
	return query
}

// filterWords says what a filter matches; endpoint names the endpoint with an identifier.
func filterWords(query url.Values, endpoint func(id string) *message) *message {
	var all *message
	add := func(part *message) { all = listed(all, part) }
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

// stateWords name the states by which deliveries can be filtered.
var stateWords = map[string]*message{
	"pending": msg("settings.delivery.waiting_or_retrying"), "delivered": msg("settings.delivery.delivered"), "failed": msg("settings.delivery.failed"),
}

// replayFiltered resends everything that a filter matched when it was counted.
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
	return r.back(filtered("/settings/webhooks/deliveries", query), r.text("settings.replay.resending", "count", res.GetReplayed()))
}
