package reservectl

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/enum"
	"reservation.dev/platform/webhookevent"
	webhookv1 "reservation.dev/proto/gen/reservation/webhook/v1"
)

// eventType returns the event with the given name.
func eventType(name string) (webhookv1.EventType, error) {
	if t := webhookevent.Type(name); t != webhookv1.EventType_EVENT_TYPE_UNSPECIFIED {
		return t, nil
	}
	return 0, usageError{fmt.Errorf("unknown event %q; use one of: %s", name, eventList())}
}

// eventList returns the names of all events.
func eventList() string { return strings.Join(webhookevent.Names(), ", ") }

// eventTypes returns the events with the given names.
func eventTypes(names []string) ([]webhookv1.EventType, error) {
	types := make([]webhookv1.EventType, len(names))
	for i, name := range names {
		var err error
		if types[i], err = eventType(name); err != nil {
			return nil, err
		}
	}
	return types, nil
}

// endpoints are the resource of the commands below.
func (a *app) endpoints() resource[webhookv1.WebhookServiceClient] {
	return resource[webhookv1.WebhookServiceClient]{a, a.forCompany(a.webhooks), webhookv1.NewWebhookServiceClient, "webhook", "ENDPOINT", "whe_… --company comp_…"}
}

func (a *app) webhookCommand() *cobra.Command {
	return group("webhook", "Manage webhook endpoints, and see and replay their deliveries",
		a.webhookCreate(), a.webhookList(), a.webhookShow(), a.webhookUpdate(), a.webhookDisable(), a.webhookEnable(), a.webhookDelete(),
		a.webhookSecret(), a.webhookRotate(), a.webhookTest(), a.webhookDeliveries(), a.webhookDelivery(), a.webhookReplay(),
		a.callCommand("webhook", webhookMessages()), a.webhookEvents())
}

// eventsFlag adds the flag --events.
func eventsFlag(c *cobra.Command, events *[]string, byDefault []string, usage string) {
	c.Flags().StringSliceVar(events, "events", byDefault, usage)
	completeFlag(c, "events", webhookevent.Names())
}

func (a *app) webhookEvents() *cobra.Command {
	return &cobra.Command{
		Use: "events", Short: "List the events that endpoints can subscribe to", Args: exactly(), Example: "  reservectl webhook events --output table",
		RunE: func(*cobra.Command, []string) error {
			return a.printAll(rowsOf(webhookevent.All(), eventRow), "no events")
		},
	}
}

func eventRow(e webhookevent.Event) row {
	return row{{"event", e.Name}, {"default", e.IsDefault()}, {"summary", e.Summary}}
}

func (a *app) webhookCreate() *cobra.Command {
	var req webhookv1.CreateEndpointRequest
	var events []string
	c := &cobra.Command{
		Use: "create", Short: "Create an endpoint and its secret", Args: exactly(),
		Example: `  reservectl webhook create --company comp_… --url https://example.com/webhooks --events registration.created,pass.purchased
  reservectl webhook create --company comp_… --url https://example.com/webhooks --description "CRM" --disabled`,
		RunE: func(c *cobra.Command, _ []string) error {
			var err error
			if req.Events, err = eventTypes(events); err != nil {
				return err
			}
			return a.endpoints().print(c.Context(), func(ctx context.Context, webhooks webhookv1.WebhookServiceClient) (row, error) {
				res, err := webhooks.CreateEndpoint(ctx, &req)
				return append(endpointRow(res.GetEndpoint()), member{"secret", res.GetSecret()}), err
			})
		},
	}
	c.Flags().StringVar(&req.Url, "url", "", "HTTPS URL of the endpoint; not a private address")
	c.Flags().StringVar(&req.Description, "description", "", "notes")
	eventsFlag(c, &events, webhookevent.DefaultNames(), "events to subscribe to; reservectl webhook events lists them")
	c.Flags().BoolVar(&req.Disabled, "disabled", false, "create it disabled: nothing is sent to it until it is enabled")
	return required(c, "url")
}

func (a *app) webhookList() *cobra.Command {
	c := a.endpoints().list("List the company's endpoints", "no endpoints yet; see reservectl webhook create --help",
		func(ctx context.Context, webhooks webhookv1.WebhookServiceClient, _ string) ([]row, string, error) {
			res, err := webhooks.ListEndpoints(ctx, &webhookv1.ListEndpointsRequest{})
			return rowsOf(res.GetEndpoints(), endpointRow), "", err
		})
	c.Example = "  reservectl webhook list --company comp_… --output table"
	return c
}

func (a *app) webhookShow() *cobra.Command {
	return a.endpoints().change("show", "Show an endpoint",
		func(ctx context.Context, webhooks webhookv1.WebhookServiceClient, id string) (row, error) {
			res, err := webhooks.GetEndpoint(ctx, &webhookv1.GetEndpointRequest{Id: id})
			return endpointRow(res.GetEndpoint()), err
		})
}

func (a *app) webhookUpdate() *cobra.Command {
	var url, description string
	var events []string
	var c *cobra.Command
	c = a.endpoints().change("update", "Change an endpoint; flags that are not given change nothing",
		func(ctx context.Context, webhooks webhookv1.WebhookServiceClient, id string) (row, error) {
			req := &webhookv1.UpdateEndpointRequest{Id: id, Url: flagValue(c, "url", &url), Description: flagValue(c, "description", &description)}
			if c.Flags().Changed("events") {
				types, err := eventTypes(events)
				if err != nil {
					return nil, err
				}
				req.Events = &webhookv1.EventTypes{Types: types}
			}
			res, err := webhooks.UpdateEndpoint(ctx, req)
			return endpointRow(res.GetEndpoint()), err
		})
	c.Example = "  reservectl webhook update whe_… --company comp_… --events pass.purchased"
	c.Flags().StringVar(&url, "url", "", "HTTPS URL of the endpoint; not a private address")
	c.Flags().StringVar(&description, "description", "", "notes")
	eventsFlag(c, &events, nil, "events to subscribe to, instead of the present ones; \"\": the default events")
	return c
}

func (a *app) webhookDisable() *cobra.Command {
	return a.webhookSwitch("disable", "Disable an endpoint; its queued deliveries fail and can be replayed", proto.Bool(false))
}

func (a *app) webhookEnable() *cobra.Command {
	return a.webhookSwitch("enable", "Enable a disabled endpoint; replay what it missed with reservectl webhook replay", proto.Bool(true))
}

// webhookSwitch returns a command that enables or disables an endpoint.
func (a *app) webhookSwitch(use, short string, enabled *bool) *cobra.Command {
	return a.endpoints().change(use, short, func(ctx context.Context, webhooks webhookv1.WebhookServiceClient, id string) (row, error) {
		res, err := webhooks.UpdateEndpoint(ctx, &webhookv1.UpdateEndpointRequest{Id: id, Enabled: enabled})
		return endpointRow(res.GetEndpoint()), err
	})
}

func (a *app) webhookDelete() *cobra.Command {
	return a.endpoints().change("delete", "Delete an endpoint and its secrets; its deliveries stay in the log",
		func(ctx context.Context, webhooks webhookv1.WebhookServiceClient, id string) (row, error) {
			_, err := webhooks.DeleteEndpoint(ctx, &webhookv1.DeleteEndpointRequest{Id: id})
			return row{{"endpoint", id}, {"deleted", true}}, err
		})
}

func (a *app) webhookSecret() *cobra.Command {
	return a.webhookSecrets("secret", "Show the secrets that sign an endpoint's requests now",
		func(ctx context.Context, webhooks webhookv1.WebhookServiceClient, id string) ([]*webhookv1.Secret, error) {
			res, err := webhooks.GetSecret(ctx, &webhookv1.GetSecretRequest{EndpointId: id})
			return res.GetSecrets(), err
		})
}

func (a *app) webhookRotate() *cobra.Command {
	var force bool
	c := a.webhookSecrets("rotate", "Create a new secret; requests are also signed with the previous one for 24 hours",
		func(ctx context.Context, webhooks webhookv1.WebhookServiceClient, id string) ([]*webhookv1.Secret, error) {
			res, err := webhooks.RotateSecret(ctx, &webhookv1.RotateSecretRequest{EndpointId: id, Force: force})
			return res.GetSecrets(), err
		})
	c.Flags().BoolVar(&force, "force", false, "end the previous secret at once if it is still valid")
	return c
}

// errTestFailed ends a test delivery that failed, after it was printed.
var errTestFailed = errors.New("the test was not delivered; see failure, status and message above")

func (a *app) webhookTest() *cobra.Command {
	var event string
	c := &cobra.Command{
		Use: "test ENDPOINT", Short: "Send a sample of an event to an endpoint once, and show the result", Args: exactly("ENDPOINT"),
		Example: "  reservectl webhook test whe_… --company comp_… --event pass.purchased",
		RunE: func(c *cobra.Command, args []string) error {
			chosen, err := eventType(event)
			if err != nil {
				return err
			}
			return a.endpoints().call(c.Context(), func(ctx context.Context, webhooks webhookv1.WebhookServiceClient) error {
				res, err := webhooks.SendTest(ctx, &webhookv1.SendTestRequest{EndpointId: args[0], Event: chosen})
				if err != nil {
					return err
				}
				if err := a.printOne(append(row{{"delivery", res.GetDeliveryId()}}, attemptRow(res.GetAttempt())...)); err != nil {
					return err
				}
				if res.GetAttempt().GetFailure() != webhookv1.Failure_FAILURE_UNSPECIFIED {
					return errTestFailed
				}
				return nil
			})
		},
	}
	c.Flags().StringVar(&event, "event", webhookevent.Names()[0], "event to send: "+eventList())
	completeFlag(c, "event", webhookevent.Names())
	return c
}

// webhookSecrets returns a command that prints the secrets of one endpoint.
func (a *app) webhookSecrets(use, short string, get func(ctx context.Context, webhooks webhookv1.WebhookServiceClient, id string) ([]*webhookv1.Secret, error)) *cobra.Command {
	return &cobra.Command{
		Use: use + " ENDPOINT", Short: short, Args: exactly("ENDPOINT"),
		Example: "  reservectl webhook " + use + " whe_… --company comp_…",
		RunE: func(c *cobra.Command, args []string) error {
			return a.endpoints().call(c.Context(), func(ctx context.Context, webhooks webhookv1.WebhookServiceClient) error {
				secrets, err := get(ctx, webhooks, args[0])
				if err != nil {
					return err
				}
				return a.printAll(rowsOf(secrets, secretRow), "no secrets")
			})
		},
	}
}

func endpointRow(e *webhookv1.Endpoint) row {
	events := []string{}
	for _, event := range e.GetEvents() {
		events = append(events, webhookevent.Name(event))
	}
	return row{
		{"endpoint", e.GetId()}, {"url", e.GetUrl()}, {"events", slices.Clip(events)}, {"enabled", e.GetEnabled()},
		{"disabled_reason", textOrNil(enum.Name(e.GetDisabledReason()))}, {"disabled_at", timeOrNil(e.GetDisabledAt())},
		{"failing_since", timeOrNil(e.GetFailingSince())}, {"description", e.GetDescription()}, {"created_at", timeOrNil(e.GetCreatedAt())},
	}
}

func secretRow(s *webhookv1.Secret) row {
	return row{{"key_id", s.GetKeyId()}, {"secret", s.GetSecret()}, {"created_at", timeOrNil(s.GetCreatedAt())}, {"expires_at", timeOrNil(s.GetExpiresAt())}}
}
