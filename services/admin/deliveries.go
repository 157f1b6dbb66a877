package admin

import (
	"fmt"
	"net/url"
	"unicode/utf8"

	"reservation.dev/platform/webhookevent"
	webhookv1 "reservation.dev/proto/gen/reservation/webhook/v1"
)

// attemptView is an attempt as a page shows it.
type attemptView struct{ *webhookv1.Attempt }

// Succeeded tells whether the receiver took it.
func (a attemptView) Succeeded() bool {
	return a.GetFailure() == webhookv1.Failure_FAILURE_UNSPECIFIED
}

// Took prints its duration.
func (a attemptView) Took() string { return milliseconds(a.GetDurationMicroseconds()) }

// Outcome says what came of it.
func (a attemptView) Outcome() string { return outcome(a.GetFailure(), a.GetStatus()) }

// Body is the answer's body, where it is text.
func (a attemptView) Body() string {
	body := a.GetResponseBody()
	for len(body) > 0 && !utf8.Valid(body) && len(body) > len(a.GetResponseBody())-utf8.UTFMax {
		body = body[:len(body)-1] // cut in the middle of a character
	}
	if !utf8.Valid(body) {
		return plural(len(body), "byte", "bytes") + " that are no text"
	}
	return string(body)
}

// outcome says how an attempt ended.
func outcome(f webhookv1.Failure, status int32) string {
	switch f {
	case webhookv1.Failure_FAILURE_UNSPECIFIED:
		if status == 0 {
			return "Not sent yet"
		}
		return fmt.Sprintf("Answered %d", status)
	case webhookv1.Failure_FAILURE_DNS:
		return "The name did not resolve"
	case webhookv1.Failure_FAILURE_REFUSED:
		return "No connection"
	case webhookv1.Failure_FAILURE_TLS:
		return "The certificate was not accepted"
	case webhookv1.Failure_FAILURE_TIMEOUT:
		return "No answer in time"
	case webhookv1.Failure_FAILURE_BLOCKED:
		return "A private address, which is not sent to"
	case webhookv1.Failure_FAILURE_STATUS:
		return fmt.Sprintf("Answered %d", status)
	case webhookv1.Failure_FAILURE_RESET:
		return "The connection ended too early"
	case webhookv1.Failure_FAILURE_PROTOCOL:
		return "The answer could not be read"
	case webhookv1.Failure_FAILURE_ENDPOINT:
		return "Not sent: the endpoint was disabled or deleted"
	}
	return "Failed"
}

func milliseconds(microseconds int64) string {
	if microseconds < 10_000 {
		return fmt.Sprintf("%.1f ms", float64(microseconds)/1000)
	}
	if microseconds < 10_000_000 {
		return thousands(microseconds/1000) + " ms"
	}
	return fmt.Sprintf("%.1f s", float64(microseconds)/1e6)
}

// deliveryView is a delivery as a list shows it.
type deliveryView struct {
	*webhookv1.Delivery
	// URL is that of the endpoint; "": it was deleted.
	URL string
}

// Event is the name of what it tells of.
func (d deliveryView) Event() string { return webhookevent.Name(d.GetEvent()) }

// StateName says how it stands.
func (d deliveryView) StateName() string {
	switch {
	case d.GetState() == webhookv1.DeliveryState_DELIVERY_STATE_DELIVERED:
		return "Delivered"
	case d.GetState() == webhookv1.DeliveryState_DELIVERY_STATE_FAILED:
		return "Failed"
	case d.GetAttempts() > 0:
		return "Retrying"
	}
	return "Waiting"
}

// Last says what came of the last attempt.
func (d deliveryView) Last() string { return outcome(d.GetLastFailure(), d.GetLastStatus()) }

// deliveriesPage is a page of the log.
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
	// All leads to the replay of everything that the filters show.
	All string
}

func (deliveriesPage) head() (*message, string) { return literal("Deliveries"), "webhooks" }

// endpointURLs returns the endpoints' addresses by id, and as choices.
func (r *request) endpointURLs() (map[string]string, []option, error) {
	list, err := r.services.webhooks.ListEndpoints(r.ctx, &webhookv1.ListEndpointsRequest{})
	if err != nil {
		return nil, nil, err
	}
	urls, options := map[string]string{}, []option{{"", "All endpoints"}}
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
		Events: []option{{"", "All events"}}, States: []option{{"", "All states"}, {"pending", "Waiting or retrying"}, {"delivered", "Delivered"}, {"failed", "Failed"}},
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

// with returns the address of this page with another value of one parameter;
// "-" drops it, "" means that there is no such page.
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

// deliveryPage is one delivery with everything that was sent and answered.
type deliveryPage struct {
	Delivery deliveryView
	Body     string // as sent
	Pretty   string
	Attempts []attemptView
}

func (p deliveryPage) head() (*message, string) {
	return literal("Delivery of " + p.Delivery.Event()), "webhooks"
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
