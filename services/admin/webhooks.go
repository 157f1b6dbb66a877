package admin

import (
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/webhookevent"
	webhookv1 "reservation.dev/proto/gen/reservation/webhook/v1"
)

// webhookTimeout bounds calls of the webhook service: one of them waits for an
// endpoint, which has 10 s.
const webhookTimeout = 15 * time.Second

// webhookEvents returns the events that a form offers.
func webhookEvents() []grant {
	var choices []grant
	for _, e := range webhookevent.All() {
		choices = append(choices, grant{e.Name, e.Title, e.Description})
	}
	return choices
}

// endpointView is an endpoint as a page shows it.
type endpointView struct {
	*webhookv1.Endpoint
}

// EventNames lists what it is told of.
func (e endpointView) EventNames() []string {
	var names []string
	for _, t := range e.GetEvents() {
		names = append(names, webhookevent.Name(t))
	}
	return names
}

// StateName says how it stands.
func (e endpointView) StateName() string {
	switch {
	case !e.GetEnabled():
		return "Disabled"
	case e.GetFailingSince() != nil:
		return "Failing"
	}
	return "Enabled"
}

// Reason says why it is disabled; "": it is not, or by hand.
func (e endpointView) Reason() string {
	switch e.GetDisabledReason() {
	case webhookv1.DisabledReason_DISABLED_REASON_GONE:
		return "It was disabled because the receiver answered 410 Gone, which says that nothing is to be sent there any more."
	case webhookv1.DisabledReason_DISABLED_REASON_FAILING:
		return "It was disabled because for days every attempt had failed. The log shows with what."
	case webhookv1.DisabledReason_DISABLED_REASON_REQUESTED:
		return "It was disabled by an administrator."
	}
	return ""
}

// webhooksPage is the list of endpoints, and how deliveries went.
type webhooksPage struct {
	Endpoints []endpointView
	Charts    charts
}

func (webhooksPage) head() (*message, string) { return literal("Webhooks"), "webhooks" }

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

func (endpointFormPage) head() (*message, string) { return literal("Add Endpoint"), "webhooks" }

func (r *request) newEndpoint() error {
	f := newForm()
	f.values["events"] = webhookevent.Names()
	return r.render("webhook-new", endpointFormPage{f, webhookEvents()})
}

// chosenEvents reads the boxes of a form.
func chosenEvents(f *form) []webhookv1.EventType {
	var types []webhookv1.EventType
	for _, name := range checkGrants(f, "events", "event") {
		types = append(types, webhookevent.Type(name))
	}
	return types
}

// endpointURL checks what the service would refuse anyway, in plainer words.
func endpointURL(f *form) string {
	url := f.required("url", literal("an address"))
	if url != "" && !strings.HasPrefix(url, "https://") {
		f.add("url", literal("The address must begin with https://."))
	}
	return url
}

func (r *request) createEndpoint() error {
	f := r.sent(nil)
	req := &webhookv1.CreateEndpointRequest{Url: endpointURL(f), Description: f.text("description"), Events: chosenEvents(f)}
	res, err := submit(r, f, r.services.webhooks.CreateEndpoint, req)
	if err != nil {
		return r.again(err, "webhook-new", endpointFormPage{f, webhookEvents()})
	}
	endpoint := res.GetEndpoint()
	r.target(endpoint.GetId())
	r.detail("url", "", endpoint.GetUrl())
	r.detail("events", "", strings.Join(endpointView{endpoint}.EventNames(), " "))
	return r.back("/settings/webhooks/"+endpoint.GetId(), "The endpoint is added. Copy its secret to the receiver, then send a test.")
}

// endpointPage is one endpoint.
type endpointPage struct {
	Endpoint endpointView
	Form     *form
	Events   []grant
	// Secrets is empty until they are asked for.
	Secrets []*webhookv1.Secret
	Charts  charts
	Test    *testResult
	Sample  string // the event that a test was last made with
}

func (p endpointPage) head() (*message, string) { return literal(p.Endpoint.GetUrl()), "webhooks" }

// testResult is what came of a test.
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
	url, description, events := endpointURL(page.Form), page.Form.text("description"), chosenEvents(page.Form)
	res, err := submit(r, page.Form, r.services.webhooks.UpdateEndpoint, &webhookv1.UpdateEndpointRequest{
		Id: before.GetId(), Url: &url, Description: &description, Events: &webhookv1.EventTypes{Types: events},
	})
	if err != nil {
		return r.again(err, "webhook", page)
	}
	after := endpointView{res.GetEndpoint()}
	r.detail("url", before.GetUrl(), after.GetUrl())
	r.detail("events", strings.Join(before.EventNames(), " "), strings.Join(after.EventNames(), " "))
	return r.back("/settings/webhooks/"+before.GetId(), "Saved.")
}

// sendTest sends a sample at once and shows what came of it.
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
	// Pressed twice, it sends two tests: it has no key.
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

// endpointActions are what can be done to an endpoint, as the page before it says.
var endpointActions = map[string]confirmPage{
	"rotate": {Title: "Rotate the signing secret", Button: "Rotate the secret", Danger: true, Effects: []string{
		"A new secret is made and signs from now on.",
		"The present one stays valid for 24 hours, in which each request carries a signature of both: put the new one in place at the receiver within that time.",
		"Rotating again within 24 hours ends the oldest secret at once.",
	}},
	"disable": {Title: "Disable this endpoint", Button: "Disable", Danger: true, Effects: []string{
		"Nothing is sent to it any more. What is waiting to be sent fails.",
		"What failed can be replayed for 30 days, once it is enabled again.",
	}},
	"enable": {Title: "Enable this endpoint", Button: "Enable", Effects: []string{
		"It is told of what happens from now on.",
		"What was missed is not sent by itself: replay it from the log of deliveries.",
	}},
	"delete": {Title: "Delete this endpoint", Button: "Delete for good", Danger: true, Effects: []string{
		"Nothing is sent to it any more, and its secrets are deleted. What is waiting to be sent fails and cannot be replayed.",
		"Its deliveries stay in the log for 30 days.",
	}},
}

func (r *request) confirmEndpoint() error {
	p, ok := endpointActions[r.path("action")]
	if !ok {
		return fault.Missing("page")
	}
	page, err := r.findEndpoint()
	if err != nil {
		return err
	}
	if reason := page.Endpoint.Reason(); reason != "" && r.path("action") == "enable" {
		p.Effects = append([]string{reason}, p.Effects...)
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
		if _, err = perform(r, s.RotateSecret, &webhookv1.RotateSecretRequest{EndpointId: endpoint}); err == nil {
			return r.back(path+"?secret=shown#secret", "The new secret signs from now on. The one before stays valid for 24 hours.")
		}
	case "enable":
		if _, err = perform(r, s.UpdateEndpoint, &webhookv1.UpdateEndpointRequest{Id: endpoint, Enabled: proto.Bool(true)}); err == nil {
			return r.back(path, "The endpoint is enabled. What was missed can be replayed from the log of deliveries.")
		}
	case "disable":
		if _, err = perform(r, s.UpdateEndpoint, &webhookv1.UpdateEndpointRequest{Id: endpoint, Enabled: proto.Bool(false)}); err == nil {
			return r.back(path, "The endpoint is disabled.")
		}
	case "delete":
		if _, err = perform(r, s.DeleteEndpoint, &webhookv1.DeleteEndpointRequest{Id: endpoint}); err == nil {
			return r.back("/settings/webhooks", "The endpoint is deleted.")
		}
	default:
		return fault.Missing("page")
	}
	return r.refused(path, err)
}
