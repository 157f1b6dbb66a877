package admin

import (
	"net/url"
	"strconv"
	"unicode/utf8"

	"reservation.dev/platform/webhookevent"
	webhookv1 "reservation.dev/proto/gen/reservation/webhook/v1"
)

// attemptView is an attempt as a page shows it.
type attemptView struct{ *webhookv1.Attempt }

// Succeeded reports whether the receiver accepted the message.
func (a attemptView) Succeeded() bool {
	return a.GetFailure() == webhookv1.Failure_FAILURE_UNSPECIFIED
}

// Took prints the duration of the attempt.
func (a attemptView) Took() *message {
	return printed(func(x *texts) string { return x.milliseconds(a.GetDurationMicroseconds()) })
}

// Outcome says how the attempt ended.
func (a attemptView) Outcome() *message { return outcome(a.GetFailure(), a.GetStatus()) }

// Body returns the response body; if it is not text, its length. It is nil if there is no body.
func (a attemptView) Body() *message {
	body := a.GetResponseBody()
	for len(body) > 0 && !utf8.Valid(body) && len(body) > len(a.GetResponseBody())-utf8.UTFMax {
		body = body[:len(body)-1] // the body was cut within a character
	}
	switch {
	case len(body) == 0:
		return nil
	case !utf8.Valid(body):
		return msg("settings.attempt.binary", "count", len(body))
	}
	return literal(string(body))
}

// outcome says how an attempt ended.
func outcome(f webhookv1.Failure, status int32) *message {
	switch f {
	case webhookv1.Failure_FAILURE_UNSPECIFIED:
		if status == 0 {
			return msg("settings.attempt.not_sent")
		}
		return msg("settings.attempt.answered", "status", strconv.Itoa(int(status)))
	case webhookv1.Failure_FAILURE_DNS:
		return msg("settings.attempt.dns")
	case webhookv1.Failure_FAILURE_REFUSED:
		return msg("settings.attempt.refused")
	case webhookv1.Failure_FAILURE_TLS:
		return msg("settings.attempt.tls")
	case webhookv1.Failure_FAILURE_TIMEOUT:
		return msg("settings.attempt.timeout")
	case webhookv1.Failure_FAILURE_BLOCKED:
		return msg("settings.attempt.blocked")
	case webhookv1.Failure_FAILURE_STATUS:
		return msg("settings.attempt.answered", "status", strconv.Itoa(int(status)))
	case webhookv1.Failure_FAILURE_RESET:
		return msg("settings.attempt.reset")
	case webhookv1.Failure_FAILURE_PROTOCOL:
		return msg("settings.attempt.protocol")
	case webhookv1.Failure_FAILURE_ENDPOINT:
		return msg("settings.attempt.endpoint")
	}
	return msg("settings.attempt.failed")
}

// milliseconds prints a duration in the unit that suits it: "1.5 ms", "1,200 ms", "10.5 s".
func (x *texts) milliseconds(microseconds int64) string {
	if microseconds < 10_000 {
		return x.decimals(float64(microseconds)/1000, 1) + " ms"
	}
	if microseconds < 10_000_000 {
		return x.number(microseconds/1000) + " ms"
	}
	return x.decimals(float64(microseconds)/1e6, 1) + " s"
}

// deliveryView is a delivery as a page shows it.
type deliveryView struct {
	*webhookv1.Delivery
	// URL is the URL of the endpoint; "" if the endpoint was deleted.
	URL string
}

// Event returns the name of the webhook event.
func (d deliveryView) Event() string { return webhookevent.Name(d.GetEvent()) }

// State returns the delivery's state as a tag.
func (d deliveryView) State() stateTag {
	switch {
	case d.GetState() == webhookv1.DeliveryState_DELIVERY_STATE_DELIVERED:
		return stateTag{"good", msg("settings.delivery.delivered")}
	case d.GetState() == webhookv1.DeliveryState_DELIVERY_STATE_FAILED:
		return stateTag{"bad", msg("settings.delivery.failed")}
	case d.GetAttempts() > 0:
		return stateTag{"warn", msg("settings.delivery.retrying")}
	}
	return stateTag{"warn", msg("settings.delivery.waiting")}
}

// Last says how the last attempt ended.
func (d deliveryView) Last() *message { return outcome(d.GetLastFailure(), d.GetLastStatus()) }

// Choose labels the box that selects the delivery.
func (d deliveryView) Choose(c clock) *message {
	created := c.Seconds(d.GetCreatedAt())
	if d.URL == "" {
		return msg("settings.deliveries.choose_one", "event", d.Event(), "time", created)
	}
	return msg("settings.deliveries.choose_one_to", "event", d.Event(), "time", created, "endpoint", d.URL)
}

// deliveriesPage is a page of the list of deliveries.
type deliveriesPage struct {
	Deliveries []deliveryView
	Endpoints  []option
	Events     []option
	States     []option
	Form       *form // the filters
	Next       string
	Live       bool
	LiveURL    string
	Self       string
	// All is the address of the page that replays everything the filters match.
	All string
}

func (deliveriesPage) head() (*message, string) { return msg("settings.deliveries.title"), "webhooks" }

// endpointURLs returns the URLs of the endpoints, by id and as options.
func (r *request) endpointURLs() (map[string]string, []option, error) {
	list, err := r.services.webhooks.ListEndpoints(r.ctx, &webhookv1.ListEndpointsRequest{})
	if err != nil {
		return nil, nil, err
	}
	urls, options := map[string]string{}, []option{{"", r.text("settings.deliveries.all_endpoints")}}
	for _, e := range list.GetEndpoints() {
		urls[e.GetId()] = e.GetUrl()
		options = append(options, option{e.GetId(), e.GetUrl()})
	}
	return urls, options, nil
}

func (r *request) deliveries() error {
	urls, options, err := r.endpointURLs()
	if err != nil {
		return err
	}
	filter := r.deliveryFilter(r.query)
	res, err := r.services.webhooks.ListDeliveries(r.ctx, &webhookv1.ListDeliveriesRequest{
		EndpointId: filter.GetEndpointId(), Event: filter.GetEvent(), State: filter.GetState(),
		Since: filter.GetSince(), Until: filter.GetUntil(), PageSize: 50, PageToken: r.query("page"),
	})
	if err != nil {
		return err
	}
	f := r.filterForm(filterFields...)
	page := deliveriesPage{
		Endpoints: options, Form: f, Live: r.query("live") != "", Next: r.with("page", res.GetNextPageToken()), Self: r.http.URL.RequestURI(),
		Events: []option{{"", r.text("settings.deliveries.all_events")}}, States: []option{{"", r.text("settings.deliveries.all_states")}},
	}
	for _, state := range []string{"pending", "delivered", "failed"} {
		page.States = append(page.States, option{state, r.text(stateWords[state])})
	}
	page.All = filtered("/settings/webhooks/deliveries/replay", filterQuery(r.query))
	for _, name := range webhookevent.Names() {
		page.Events = append(page.Events, option{name, name})
	}
	if page.LiveURL = r.with("live", "1"); page.Live {
		page.LiveURL = r.with("live", "-")
	}
	for _, d := range res.GetDeliveries() {
		page.Deliveries = append(page.Deliveries, deliveryView{d, urls[d.GetEndpointId()]})
	}
	if r.live() {
		return r.fragment("deliveries", "rows", page)
	}
	return r.render("deliveries", page)
}

// with returns the address of this page with another value of one parameter. The value "-"
// drops the parameter; "" returns "", because there is no such page.
func (r *request) with(name, value string) string {
	if value == "" {
		return ""
	}
	query := url.Values{}
	for key, values := range r.http.URL.Query() {
		if values[0] != "" {
			query.Set(key, values[0])
		}
	}
	query.Set(name, value)
	if value == "-" {
		query.Del(name)
	}
	if len(query) == 0 {
		return r.http.URL.Path
	}
	return r.http.URL.Path + "?" + query.Encode()
}

// deliveryPage is a delivery with its message and its attempts.
type deliveryPage struct {
	Delivery deliveryView
	Body     string // as sent
	Pretty   string
	Attempts []attemptView
}

func (p deliveryPage) head() (*message, string) {
	return msg("settings.delivery.title", "event", p.Delivery.Event()), "webhooks"
}

func (r *request) delivery() error {
	res, err := r.services.webhooks.GetDelivery(r.ctx, &webhookv1.GetDeliveryRequest{Id: r.path("id")})
	if err != nil {
		return err
	}
	page := deliveryPage{Body: string(res.GetBody()), Pretty: indented(res.GetBody())}
	endpoint := ""
	for _, a := range res.GetAttempts() {
		page.Attempts = append(page.Attempts, attemptView{a})
		endpoint = a.GetUrl()
	}
	page.Delivery = deliveryView{res.GetDelivery(), endpoint}
	return r.render("delivery", page)
}
