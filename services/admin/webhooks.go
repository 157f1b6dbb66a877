package admin

import (
	"net/url"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/webhookevent"
	webhookv1 "reservation.dev/proto/gen/reservation/webhook/v1"
)

// webhookTimeout bounds calls of the webhook service. A test waits for its endpoint up to 10 s.
const webhookTimeout = 15 * time.Second

// webhookEvents returns the events that a form offers.
func webhookEvents() []grant {
	var choices []grant
	group := ""
	for _, e := range webhookevent.All() {
		id := "settings.webhook.event." + strings.ReplaceAll(e.Name, ".", "_")
		choice := grant{Name: e.Name, Title: msg(id + ".title"), About: msg(id + ".about")}
		if of := eventGroup(e); of != group {
			group, choice.Group = of, msg("settings.webhook.group."+of)
		}
		choices = append(choices, choice)
	}
	return choices
}

// eventGroup returns the group in which a form offers an event: "default", or what its section of the
// webhook reference is called.
func eventGroup(e webhookevent.Event) string {
	if e.IsDefault() {
		return "default"
	}
	return strings.ToLower(e.Resource.Tag())
}

// endpointView is an endpoint as a page shows it.
type endpointView struct {
	*webhookv1.Endpoint
}

// EventNames returns the names of the events that the endpoint subscribes to.
func (e endpointView) EventNames() []string {
	var names []string
	for _, t := range e.GetEvents() {
		names = append(names, webhookevent.Name(t))
	}
	return names
}

// State returns the endpoint's state as a tag.
func (e endpointView) State() stateTag {
	switch {
	case !e.GetEnabled():
		return stateTag{"bad", msg("settings.webhook.disabled")}
	case e.GetFailingSince() != nil:
		return stateTag{"warn", msg("settings.webhook.failing")}
	}
	return stateTag{"good", msg("settings.webhook.enabled")}
}

// FailingSince says since when every attempt has failed.
func (e endpointView) FailingSince(c clock) *message {
	query := url.Values{"endpoint": {e.GetId()}, "state": {"failed"}}
	return msg("settings.webhook.failing_since", "time", c.Time(e.GetFailingSince()), "url", filtered("/settings/webhooks/deliveries", query))
}

// Reason says why the endpoint is disabled; nil if it is not, or if the reason is unknown.
func (e endpointView) Reason() *message {
	switch e.GetDisabledReason() {
	case webhookv1.DisabledReason_DISABLED_REASON_GONE:
		return msg("settings.webhook.disabled_gone")
	case webhookv1.DisabledReason_DISABLED_REASON_FAILING:
		return msg("settings.webhook.disabled_failing")
	case webhookv1.DisabledReason_DISABLED_REASON_REQUESTED:
		return msg("settings.webhook.disabled_requested")
	}
	return nil
}

// webhooksPage is the list of endpoints, with charts of their deliveries.
type webhooksPage struct {
	Endpoints []endpointView
	Charts    charts
}

func (webhooksPage) head() (*message, string) { return msg("settings.webhooks.title"), "webhooks" }

func (r *request) webhooks() error {
	list, err := r.services.webhooks.ListEndpoints(r.ctx, &webhookv1.ListEndpointsRequest{})
	if err != nil {
		return err
	}
	page := webhooksPage{}
	for _, e := range list.GetEndpoints() {
		page.Endpoints = append(page.Endpoints, endpointView{e})
	}
	if len(page.Endpoints) > 0 {
		if page.Charts, err = r.charts("", "/settings/webhooks"); err != nil {
			return err
		}
	}
	return r.render("webhooks", page)
}

// endpointFormPage adds an endpoint.
type endpointFormPage struct {
	Form   *form
	Events []grant
}

func (endpointFormPage) head() (*message, string) {
	return msg("settings.webhook.add_title"), "webhooks"
}

func (r *request) newEndpoint() error {
	f := newForm()
	f.values["events"] = webhookevent.DefaultNames()
	return r.render("webhook-new", endpointFormPage{f, webhookEvents()})
}

// chosenEvents returns the ticked events of a form; if none is ticked, those that endpoints receive by
// default.
func chosenEvents(f *form) []webhookv1.EventType {
	var types []webhookv1.EventType
	for _, name := range f.All("events") {
		types = append(types, webhookevent.Type(name))
	}
	if len(types) == 0 {
		return webhookevent.DefaultTypes()
	}
	return types
}

// readURL returns the URL of a form. It checks the scheme before the service does, with a plainer
// message.
func readURL(f *form) string {
	address := f.required("url", msg("settings.webhook.url_label"))
	if address != "" && !strings.HasPrefix(address, "https://") {
		f.add("url", msg("settings.webhook.url_scheme"))
	}
	return address
}

func (r *request) createEndpoint() error {
	f := r.sent(nil)
	req := &webhookv1.CreateEndpointRequest{Url: readURL(f), Description: f.text("description"), Events: chosenEvents(f)}
	res, err := submit(r, f, r.services.webhooks.CreateEndpoint, req)
	if err != nil {
		return r.again(err, "webhook-new", endpointFormPage{f, webhookEvents()})
	}
	endpoint := res.GetEndpoint()
	r.target(endpoint.GetId())
	r.detail("url", "", endpoint.GetUrl())
	r.detail("events", "", strings.Join(endpointView{endpoint}.EventNames(), " "))
	return r.back("/settings/webhooks/"+endpoint.GetId(), r.text("settings.webhook.added"))
}

// endpointPage is one endpoint.
type endpointPage struct {
	Endpoint endpointView
	Form     *form
	Events   []grant
	// Secrets is empty unless the page shows them.
	Secrets []*webhookv1.Secret
	Charts  charts
	Test    *testResult
	Sample  string // the event of the last test
}

func (p endpointPage) head() (*message, string) { return literal(p.Endpoint.GetUrl()), "webhooks" }

// testResult is the result of a test.
type testResult struct {
	Attempt  attemptView
	Body     string
	Delivery string
}

func (r *request) endpoint() error {
	page, err := r.findEndpoint()
	if err != nil {
		return err
	}
	if r.query("secret") == "shown" {
		res, err := r.services.webhooks.GetSecret(r.ctx, &webhookv1.GetSecretRequest{EndpointId: page.Endpoint.GetId()})
		if err != nil {
			return err
		}
		page.Secrets = res.GetSecrets()
	}
	if page.Charts, err = r.charts(page.Endpoint.GetId(), "/settings/webhooks/"+page.Endpoint.GetId()); err != nil {
		return err
	}
	return r.render("webhook", page)
}

func (r *request) findEndpoint() (endpointPage, error) {
	res, err := r.services.webhooks.GetEndpoint(r.ctx, &webhookv1.GetEndpointRequest{Id: r.path("id")})
	if err != nil {
		return endpointPage{}, err
	}
	p := endpointPage{Endpoint: endpointView{res.GetEndpoint()}, Events: webhookEvents()}
	p.Form = newForm("url", p.Endpoint.GetUrl(), "description", p.Endpoint.GetDescription())
	p.Form.values["events"] = p.Endpoint.EventNames()
	return p, nil
}

func (r *request) updateEndpoint() error {
	page, err := r.findEndpoint()
	if err != nil {
		return err
	}
	before := page.Endpoint
	page.Form = r.sent(nil)
	address, description, events := readURL(page.Form), page.Form.text("description"), chosenEvents(page.Form)
	res, err := submit(r, page.Form, r.services.webhooks.UpdateEndpoint, &webhookv1.UpdateEndpointRequest{
		Id: before.GetId(), Url: &address, Description: &description, Events: &webhookv1.EventTypes{Types: events},
	})
	if err != nil {
		return r.again(err, "webhook", page)
	}
	after := endpointView{res.GetEndpoint()}
	r.detail("url", before.GetUrl(), after.GetUrl())
	r.detail("events", strings.Join(before.EventNames(), " "), strings.Join(after.EventNames(), " "))
	return r.back("/settings/webhooks/"+before.GetId(), r.text("settings.webhook.saved"))
}

// sendTest sends a sample immediately and shows the result.
func (r *request) sendTest() error {
	page, err := r.findEndpoint()
	if err != nil {
		return err
	}
	page.Sample = r.value("event")
	event := webhookevent.Type(page.Sample)
	if event == webhookv1.EventType_EVENT_TYPE_UNSPECIFIED {
		return fault.Missing("page")
	}
	// Without an idempotency key, a second press sends a second test.
	res, err := r.services.webhooks.SendTest(r.ctx, &webhookv1.SendTestRequest{EndpointId: page.Endpoint.GetId(), Event: event})
	if err != nil {
		return r.refused("/settings/webhooks/"+page.Endpoint.GetId(), err)
	}
	r.changed()
	r.detail("event", "", page.Sample)
	page.Test = &testResult{Attempt: attemptView{res.GetAttempt()}, Body: indented(res.GetBody()), Delivery: res.GetDeliveryId()}
	if page.Charts, err = r.charts(page.Endpoint.GetId(), "/settings/webhooks/"+page.Endpoint.GetId()); err != nil {
		return err
	}
	return r.render("webhook", page)
}

// endpointEffects counts the effects that the page before an action lists.
var endpointEffects = map[string]int{"rotate": 3, "disable": 2, "enable": 2, "delete": 2}

func (r *request) confirmEndpoint() error {
	action := r.path("action")
	effects, ok := endpointEffects[action]
	if !ok {
		return fault.Missing("page")
	}
	page, err := r.findEndpoint()
	if err != nil {
		return err
	}
	p := r.confirmation("settings.webhook.confirm."+action, effects, action != "enable")
	if reason := page.Endpoint.Reason(); reason != nil && action == "enable" {
		p.Effects = append([]string{r.text(reason)}, p.Effects...)
	}
	return r.confirm(p, "webhooks", page.Endpoint.GetUrl(), "/settings/webhooks/"+page.Endpoint.GetId())
}

func (r *request) changeEndpoint() error {
	s, endpoint := r.services.webhooks, r.path("id")
	path := "/settings/webhooks/" + endpoint
	var err error
	switch r.path("action") {
	case "rotate":
		r.action("webhook_endpoint.rotate_secret")
		if _, err = perform(r, s.RotateSecret, &webhookv1.RotateSecretRequest{EndpointId: endpoint, Force: true}); err == nil {
			return r.back(path+"?secret=shown#secret", r.text("settings.webhook.is_rotated"))
		}
	case "enable":
		if _, err = perform(r, s.UpdateEndpoint, &webhookv1.UpdateEndpointRequest{Id: endpoint, Enabled: proto.Bool(true)}); err == nil {
			return r.back(path, r.text("settings.webhook.is_enabled"))
		}
	case "disable":
		if _, err = perform(r, s.UpdateEndpoint, &webhookv1.UpdateEndpointRequest{Id: endpoint, Enabled: proto.Bool(false)}); err == nil {
			return r.back(path, r.text("settings.webhook.is_disabled"))
		}
	case "delete":
		if _, err = perform(r, s.DeleteEndpoint, &webhookv1.DeleteEndpointRequest{Id: endpoint}); err == nil {
			return r.back("/settings/webhooks", r.text("settings.webhook.is_deleted"))
		}
	default:
		return fault.Missing("page")
	}
	return r.refused(path, err)
}
