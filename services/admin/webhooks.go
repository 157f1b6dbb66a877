package admin

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

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

func (webhooksPage) head() (string, string) { return "Webhooks", "webhooks" }

func (v *visit) webhooks() error {
	list, err := v.web.services.webhooks.ListEndpoints(v.ctx, &webhookv1.ListEndpointsRequest{})
	if err != nil {
		return err
	}
	page := webhooksPage{}
	for _, e := range list.GetEndpoints() {
		page.Endpoints = append(page.Endpoints, endpointView{e})
	}
	if len(page.Endpoints) > 0 {
		if page.Charts, err = v.charts("", "/settings/webhooks"); err != nil {
			return err
		}
	}
	return v.render("webhooks", page)
}

// endpointFormPage adds an endpoint.
type endpointFormPage struct {
	Form   *form
	Events []grant
}

func (endpointFormPage) head() (string, string) { return "Add Endpoint", "webhooks" }

func (v *visit) newEndpoint() error {
	f := newForm()
	f.values["events"] = webhookevent.Names()
	return v.render("webhook-new", endpointFormPage{f, webhookEvents()})
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
	url := f.required("url", "An address")
	if url != "" && !strings.HasPrefix(url, "https://") {
		f.add("url", "The address must begin with https://.")
	}
	return url
}

func (v *visit) createEndpoint() error {
	f := v.sent()
	req := &webhookv1.CreateEndpointRequest{Url: endpointURL(f), Description: f.text("description"), Events: chosenEvents(f)}
	page := endpointFormPage{f, webhookEvents()}
	if f.Failed() {
		return v.again("webhook-new", page)
	}
	res, err := v.web.services.webhooks.CreateEndpoint(v.write("create"), req)
	if err != nil {
		if f.refuse(err, nil) {
			return v.again("webhook-new", page)
		}
		return err
	}
	endpoint := res.GetEndpoint()
	v.record("webhook_endpoint.create", endpoint.GetId(), detail("url", "", endpoint.GetUrl()), detail("events", "", strings.Join(endpointView{endpoint}.EventNames(), " ")))
	return v.back("/settings/webhooks/"+endpoint.GetId(), "The endpoint is added. Copy its secret to the receiver, then send a test.")
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

func (p endpointPage) head() (string, string) { return p.Endpoint.GetUrl(), "webhooks" }

// testResult is what came of a test.
type testResult struct {
	Attempt  attemptView
	Body     string
	Delivery string
}

func (v *visit) endpoint() error {
	page, err := v.findEndpoint()
	if err != nil {
		return err
	}
	if v.query("secret") == "shown" {
		res, err := v.web.services.webhooks.GetSecret(v.ctx, &webhookv1.GetSecretRequest{EndpointId: page.Endpoint.GetId()})
		if err != nil {
			return err
		}
		page.Secrets = res.GetSecrets()
	}
	if page.Charts, err = v.charts(page.Endpoint.GetId(), "/settings/webhooks/"+page.Endpoint.GetId()); err != nil {
		return err
	}
	return v.render("webhook", page)
}

func (v *visit) findEndpoint() (endpointPage, error) {
	res, err := v.web.services.webhooks.GetEndpoint(v.ctx, &webhookv1.GetEndpointRequest{Id: v.r.PathValue("id")})
	if err != nil {
		return endpointPage{}, err
	}
	p := endpointPage{Endpoint: endpointView{res.GetEndpoint()}, Events: webhookEvents()}
	p.Form = newForm("url", p.Endpoint.GetUrl(), "description", p.Endpoint.GetDescription())
	p.Form.values["events"] = p.Endpoint.EventNames()
	return p, nil
}

func (v *visit) updateEndpoint() error {
	page, err := v.findEndpoint()
	if err != nil {
		return err
	}
	before := page.Endpoint
	page.Form = v.sent()
	url, description, events := endpointURL(page.Form), page.Form.text("description"), chosenEvents(page.Form)
	if page.Form.Failed() {
		return v.again("webhook", page)
	}
	res, err := v.web.services.webhooks.UpdateEndpoint(v.write("update"), &webhookv1.UpdateEndpointRequest{
		Id: before.GetId(), Url: &url, Description: &description, Events: &webhookv1.EventTypes{Types: events},
	})
	if err != nil {
		if page.Form.refuse(err, nil) {
			return v.again("webhook", page)
		}
		return err
	}
	after := endpointView{res.GetEndpoint()}
	v.record("webhook_endpoint.update", before.GetId(), detail("url", before.GetUrl(), after.GetUrl()),
		detail("events", strings.Join(before.EventNames(), " "), strings.Join(after.EventNames(), " ")))
	return v.back("/settings/webhooks/"+before.GetId(), "Saved.")
}

// sendTest sends a sample at once and shows what came of it.
func (v *visit) sendTest() error {
	page, err := v.findEndpoint()
	if err != nil {
		return err
	}
	page.Sample = v.value("event")
	event := webhookevent.Type(page.Sample)
	if event == webhookv1.EventType_EVENT_TYPE_UNSPECIFIED {
		return fault.Missing("page")
	}
	res, err := v.web.services.webhooks.SendTest(v.ctx, &webhookv1.SendTestRequest{EndpointId: page.Endpoint.GetId(), Event: event})
	if err != nil {
		return v.refused("/settings/webhooks/"+page.Endpoint.GetId(), err)
	}
	page.Test = &testResult{Attempt: attemptView{res.GetAttempt()}, Body: indented(res.GetBody()), Delivery: res.GetDeliveryId()}
	v.record("webhook_endpoint.test", page.Endpoint.GetId(), detail("event", "", page.Sample))
	if page.Charts, err = v.charts(page.Endpoint.GetId(), "/settings/webhooks/"+page.Endpoint.GetId()); err != nil {
		return err
	}
	return v.render("webhook", page)
}

func (v *visit) confirmEndpoint() error {
	var p confirmPage
	switch v.r.PathValue("action") {
	case "rotate":
		p = confirmPage{Title: "Rotate the signing secret", Button: "Rotate the secret", Danger: true, Effects: []string{
			"A new secret is made and signs from now on.",
			"The present one stays valid for 24 hours, in which each request carries a signature of both: put the new one in place at the receiver within that time.",
			"Rotating again within 24 hours ends the oldest secret at once.",
		}}
	case "disable":
		p = confirmPage{Title: "Disable this endpoint", Button: "Disable", Danger: true, Effects: []string{
			"Nothing is sent to it any more. What is waiting to be sent fails.",
			"What failed can be replayed for 30 days, once it is enabled again.",
		}}
	case "enable":
		p = confirmPage{Title: "Enable this endpoint", Button: "Enable", Effects: []string{
			"It is told of what happens from now on.",
			"What was missed is not sent by itself: replay it from the log of deliveries.",
		}}
	case "delete":
		p = confirmPage{Title: "Delete this endpoint", Button: "Delete for good", Danger: true, Effects: []string{
			"Nothing is sent to it any more, and its secrets are deleted. What is waiting to be sent fails and cannot be replayed.",
			"Its deliveries stay in the log for 30 days.",
		}}
	default:
		return fault.Missing("page")
	}
	page, err := v.findEndpoint()
	if err != nil {
		return err
	}
	if reason := page.Endpoint.Reason(); reason != "" && v.r.PathValue("action") == "enable" {
		p.Effects = append([]string{reason}, p.Effects...)
	}
	p.Section, p.Subject, p.Action, p.Back = "webhooks", page.Endpoint.GetUrl(), v.r.URL.Path, "/settings/webhooks/"+page.Endpoint.GetId()
	return v.render("confirm", p)
}

func (v *visit) changeEndpoint() error {
	s, endpoint := v.web.services.webhooks, v.r.PathValue("id")
	path := "/settings/webhooks/" + endpoint
	enabled := v.r.PathValue("action") == "enable"
	var err error
	switch v.r.PathValue("action") {
	case "rotate":
		if _, err = s.RotateSecret(v.write("rotate"), &webhookv1.RotateSecretRequest{EndpointId: endpoint}); err == nil {
			v.record("webhook_endpoint.rotate_secret", endpoint)
			return v.back(path+"?secret=shown#secret", "The new secret signs from now on. The one before stays valid for 24 hours.")
		}
	case "enable", "disable":
		if _, err = s.UpdateEndpoint(v.write("enabled"), &webhookv1.UpdateEndpointRequest{Id: endpoint, Enabled: &enabled}); err == nil {
			message := "The endpoint is disabled."
			if enabled {
				message = "The endpoint is enabled. What was missed can be replayed from the log of deliveries."
			}
			v.record("webhook_endpoint."+v.r.PathValue("action"), endpoint)
			return v.back(path, message)
		}
	case "delete":
		if _, err = s.DeleteEndpoint(v.write("delete"), &webhookv1.DeleteEndpointRequest{Id: endpoint}); err == nil {
			v.record("webhook_endpoint.delete", endpoint)
			return v.back("/settings/webhooks", "The endpoint is deleted.")
		}
	default:
		return fault.Missing("page")
	}
	return v.refused(path, err)
}

// indented prints JSON for people; what is no JSON stays as it is.
func indented(raw []byte) string {
	var b bytes.Buffer
	if json.Indent(&b, raw, "", "  ") != nil {
		return string(raw)
	}
	return b.String()
}

// day reads a date of a filter as its start in the company's zone; nil: none.
func (v *visit) day(name string, plus int) *timestamppb.Timestamp {
	return v.dayOf(v.query(name), plus)
}

func (v *visit) dayOf(text string, plus int) *timestamppb.Timestamp {
	t, err := dayOf(text, v.session.Clock.Zone)
	if err != nil {
		return nil
	}
	return timestamppb.New(t.AddDate(0, 0, plus))
}
