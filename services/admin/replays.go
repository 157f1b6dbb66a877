package admin

import (
	"fmt"
	"net/url"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

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
		_, known = deliveryStates[value]
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
func (v *visit) deliveryFilter(get func(string) string) *webhookv1.DeliveryFilter {
	return &webhookv1.DeliveryFilter{
		EndpointId: get("endpoint"), Event: webhookevent.Type(get("event")), State: deliveryStates[get("state")],
		Since: v.dayOf(get("since"), 0), Until: v.dayOf(get("until"), 1),
	}
}

func (v *visit) replayDelivery() error {
	path := "/settings/webhooks/deliveries/" + v.r.PathValue("id")
	if _, err := v.web.services.webhooks.ReplayDelivery(v.write("replay"), &webhookv1.ReplayDeliveryRequest{Id: v.r.PathValue("id")}); err != nil {
		return v.refused(path, err)
	}
	v.record("webhook_delivery.replay", v.r.PathValue("id"))
	return v.back(path, "It is being sent again, with a new set of retries.")
}

// replayPage sends again what has failed since a moment.
type replayPage struct {
	Form      *form
	Endpoints []option
}

func (replayPage) head() (string, string) { return "Replay what failed", "webhooks" }

func (v *visit) replayForm() error {
	_, options, err := v.endpointURLs()
	if err != nil {
		return err
	}
	f := newForm("endpoint", v.query("endpoint"), "since", v.web.now().In(v.session.Clock.Zone).AddDate(0, 0, -1).Format("2006-01-02T15:04"))
	return v.render("replay", replayPage{f, options})
}

func (v *visit) replayFailed() error {
	f := v.sent()
	since, err := time.ParseInLocation("2006-01-02T15:04", f.text("since"), v.session.Clock.Zone)
	if err != nil {
		f.add("since", "Give a date and a time.")
	}
	req := &webhookv1.ReplayFailedRequest{EndpointId: f.text("endpoint"), Since: timestamppb.New(since)}
	var res *webhookv1.ReplayFailedResponse
	if !f.Failed() {
		res, err = v.web.services.webhooks.ReplayFailed(v.write("replay"), req)
		if err != nil && !f.refuse(err, map[string]string{"endpoint_id": "endpoint"}) {
			return err
		}
	}
	if f.Failed() {
		_, options, err := v.endpointURLs()
		if err != nil {
			return err
		}
		return v.again("replay", replayPage{f, options})
	}
	target := req.GetEndpointId()
	if target == "" {
		target = "all endpoints"
	}
	v.record("webhook_delivery.replay_failed", target, detail("since", "", since.UTC().Format(time.RFC3339)), detail("count", "", fmt.Sprint(res.GetReplayed())))
	if res.GetReplayed() == 0 {
		return v.sayFailed("/settings/webhooks/deliveries", nothingToReplay(res.GetTests()))
	}
	return v.back("/settings/webhooks/deliveries", plural(res.GetReplayed(), "delivery is", "deliveries are")+" being sent again.")
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
func (v *visit) replaySelected() error {
	back := local(v.value("back"), "/settings/webhooks/deliveries")
	ids := v.sent().All("ids")
	if len(ids) == 0 {
		v.flash("failed", "Tick the deliveries first that are to be sent again.")
		v.redirect(back)
		return nil
	}
	res, err := v.web.services.webhooks.ReplayDeliveries(v.write("replay"), &webhookv1.ReplayDeliveriesRequest{Ids: ids})
	if err != nil {
		return v.refused(back, err)
	}
	v.record("webhook_delivery.replay_selected", "selection", detail("count", "", fmt.Sprint(res.GetReplayed())), detail("first", "", ids[0]))
	said := plural(res.GetReplayed(), "delivery is", "deliveries are") + " being sent again."
	if n := res.GetSkipped(); n > 0 {
		said += " " + plural(n, "was", "were") + " left out: being sent just now, or of an endpoint that is disabled or deleted."
	}
	return v.back(back, said)
}

// confirmReplay says how many deliveries a filter holds, before they are replayed.
func (v *visit) confirmReplay() error {
	query := filterQuery(v.query)
	back := filtered("/settings/webhooks/deliveries", query)
	filter := v.deliveryFilter(v.query)
	res, err := v.web.services.webhooks.CountDeliveries(v.ctx, &webhookv1.CountDeliveriesRequest{Filter: filter})
	if err != nil {
		return err
	}
	switch {
	case res.GetMore():
		v.flash("failed", "More than "+thousands(res.GetCount())+" deliveries fit these filters, which is too many to replay at once. Narrow them, by time or by endpoint.")
		v.redirect(back)
		return nil
	case res.GetCount() == 0:
		return v.sayFailed(back, nothingToReplay(res.GetTests()))
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
	return v.render("confirm", p)
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

// replayFiltered sends everything again that a filter held when it was counted.
func (v *visit) replayFiltered() error {
	query := filterQuery(v.value)
	again := filtered("/settings/webhooks/deliveries/replay", query)
	asOf, err := time.Parse(time.RFC3339Nano, v.value("as_of"))
	if err != nil {
		v.redirect(again)
		return nil
	}
	res, err := v.web.services.webhooks.ReplayDeliveries(v.write("replay"), &webhookv1.ReplayDeliveriesRequest{
		Filter: v.deliveryFilter(v.value), AsOf: timestamppb.New(asOf),
	})
	if err != nil {
		return v.refused(again, err)
	}
	v.record("webhook_delivery.replay_filtered", "filter", detail("filter", "", filterText(query)), detail("count", "", fmt.Sprint(res.GetReplayed())))
	return v.back(filtered("/settings/webhooks/deliveries", query), plural(res.GetReplayed(), "delivery is", "deliveries are")+" being sent again.")
}
