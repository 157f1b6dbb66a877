package reservectl

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"reservation.dev/platform/webhookevent"
	webhookv1 "reservation.dev/proto/gen/reservation/webhook/v1"
)

// eventType returns the event of a name.
func eventType(name string) (webhookv1.EventType, error) {
	if t := webhookevent.Type(name); t != webhookv1.EventType_EVENT_TYPE_UNSPECIFIED {
		return t, nil
	}
	return 0, usageError{fmt.Errorf("%q is no event; events are %s", name, eventList())}
}

// eventList names the events for people.
func eventList() string { return strings.Join(webhookevent.Names(), ", ") }

// eventTypes returns the events of names.
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

// enumName is the name of an enum's value for the output; "" for none.
func enumName(name, prefix string) string {
	name = strings.ToLower(strings.TrimPrefix(name, prefix))
	if name == "unspecified" {
		return ""
	}
	return name
}

// orNull is a text for the output; nil for none.
func orNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}

func (a *app) webhookCommand() *cobra.Command {
	return group("webhook", "Webhook endpoints, the addresses that are told of events, and what was sent to them",
		a.webhookCreate(), a.webhookList(), a.webhookShow(), a.webhookUpdate(), a.webhookDisable(), a.webhookEnable(), a.webhookDelete(),
		a.webhookSecret(), a.webhookRotate(), a.webhookTest(), a.webhookDeliveries(), a.webhookDelivery(), a.webhookReplay())
}

// webhooks loads the access and opens a session with the webhook service, for a
// company.
func (a *app) webhooks(ctx context.Context) (*session, error) {
	if err := a.access.load(); err != nil {
		return nil, err
	}
	if _, err := a.company(); err != nil {
		return nil, err
	}
	return a.dial(ctx, "webhook", a.access.GRPC.Webhook)
}

// withWebhooks runs f with a client of the webhook service, for a company.
func (a *app) withWebhooks(ctx context.Context, f func(ctx context.Context, webhooks webhookv1.WebhookServiceClient) error) error {
	s, err := a.webhooks(ctx)
	if err != nil {
		return err
	}
	defer s.close()
	return f(s.ctx, webhookv1.NewWebhookServiceClient(s.conn))
}

// eventsFlag adds the flag --events.
func eventsFlag(c *cobra.Command, events *[]string, byDefault []string, usage string) {
	c.Flags().StringSliceVar(events, "events", byDefault, usage)
	_ = c.RegisterFlagCompletionFunc("events", cobra.FixedCompletions(webhookevent.Names(), cobra.ShellCompDirectiveNoFileComp))
}

func (a *app) webhookCreate() *cobra.Command {
	var req webhookv1.CreateEndpointRequest
	var events []string
	c := &cobra.Command{
		Use: "create", Short: "Add an endpoint and make its secret", Args: exactly(),
		Example: `  reservectl webhook create --company comp_… --url https://example.com/webhooks --events registration.created,pass.purchased
  reservectl webhook create --company comp_… --url https://example.com/webhooks --description "CRM" --disabled`,
		RunE: func(c *cobra.Command, _ []string) error {
			var err error
			if req.Events, err = eventTypes(events); err != nil {
				return err
			}
			return a.withWebhooks(c.Context(), func(ctx context.Context, webhooks webhookv1.WebhookServiceClient) error {
				res, err := webhooks.CreateEndpoint(ctx, &req)
				if err != nil {
					return err
				}
				return a.printOne(append(endpointRow(res.GetEndpoint()), member{"secret", res.GetSecret()}))
			})
		},
	}
	c.Flags().StringVar(&req.Url, "url", "", "the address: https, not a private one")
	c.Flags().StringVar(&req.Description, "description", "", "notes")
	eventsFlag(c, &events, webhookevent.Names(), "what it is told of")
	c.Flags().BoolVar(&req.Disabled, "disabled", false, "send nothing to it until it is enabled")
	return required(c, "url")
}

func (a *app) webhookList() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the company's endpoints", Args: exactly(),
		Example: "  reservectl webhook list --company comp_… --output table",
		RunE: func(c *cobra.Command, _ []string) error {
			return a.withWebhooks(c.Context(), func(ctx context.Context, webhooks webhookv1.WebhookServiceClient) error {
				res, err := webhooks.ListEndpoints(ctx, &webhookv1.ListEndpointsRequest{})
				if err != nil {
					return err
				}
				var rows []row
				for _, e := range res.GetEndpoints() {
					rows = append(rows, endpointRow(e))
				}
				return a.printAll(rows, "no endpoints yet; see reservectl webhook create --help")
			})
		},
	}
}

func (a *app) webhookShow() *cobra.Command {
	return a.webhookChange("show", "Show an endpoint",
		func(ctx context.Context, webhooks webhookv1.WebhookServiceClient, id string) (row, error) {
			res, err := webhooks.GetEndpoint(ctx, &webhookv1.GetEndpointRequest{Id: id})
			return endpointRow(res.GetEndpoint()), err
		})
}

func (a *app) webhookUpdate() *cobra.Command {
	var url, description string
	var events []string
	var changed func(flag string) bool
	c := a.webhookChange("update", "Change an endpoint; what is not given stays",
		func(ctx context.Context, webhooks webhookv1.WebhookServiceClient, id string) (row, error) {
			req := &webhookv1.UpdateEndpointRequest{Id: id}
			if changed("url") {
				req.Url = &url
			}
			if changed("description") {
				req.Description = &description
			}
			if changed("events") {
				types, err := eventTypes(events)
				if err != nil {
					return nil, err
				}
				req.Events = &webhookv1.EventTypes{Types: types}
			}
			res, err := webhooks.UpdateEndpoint(ctx, req)
			return endpointRow(res.GetEndpoint()), err
		})
	changed = c.Flags().Changed
	c.Example = "  reservectl webhook update whe_… --company comp_… --events pass.purchased"
	c.Flags().StringVar(&url, "url", "", "the address: https, not a private one")
	c.Flags().StringVar(&description, "description", "", "notes")
	eventsFlag(c, &events, nil, "what it is told of; they replace the present ones: "+eventList())
	return c
}

// webhookSwitch makes a command that turns an endpoint on or off.
func (a *app) webhookSwitch(use, short string, enabled bool) *cobra.Command {
	return a.webhookChange(use, short, func(ctx context.Context, webhooks webhookv1.WebhookServiceClient, id string) (row, error) {
		res, err := webhooks.UpdateEndpoint(ctx, &webhookv1.UpdateEndpointRequest{Id: id, Enabled: &enabled})
		return endpointRow(res.GetEndpoint()), err
	})
}

func (a *app) webhookDisable() *cobra.Command {
	return a.webhookSwitch("disable", "Send nothing more to an endpoint; what is queued fails, and can be replayed", false)
}

func (a *app) webhookEnable() *cobra.Command {
	return a.webhookSwitch("enable", "Send to a disabled endpoint again; see webhook replay for what it missed", true)
}

func (a *app) webhookDelete() *cobra.Command {
	return a.webhookChange("delete", "Delete an endpoint and its secrets; its deliveries stay in the log",
		func(ctx context.Context, webhooks webhookv1.WebhookServiceClient, id string) (row, error) {
			_, err := webhooks.DeleteEndpoint(ctx, &webhookv1.DeleteEndpointRequest{Id: id})
			return row{{"endpoint", id}, {"deleted", true}}, err
		})
}

func (a *app) webhookSecret() *cobra.Command {
	return a.webhookSecrets("secret", "Show the secrets that an endpoint's requests are signed with now",
		func(ctx context.Context, webhooks webhookv1.WebhookServiceClient, id string) ([]*webhookv1.Secret, error) {
			res, err := webhooks.GetSecret(ctx, &webhookv1.GetSecretRequest{EndpointId: id})
			return res.GetSecrets(), err
		})
}

func (a *app) webhookRotate() *cobra.Command {
	return a.webhookSecrets("rotate", "Make a new secret; the one before signs too for 24 hours",
		func(ctx context.Context, webhooks webhookv1.WebhookServiceClient, id string) ([]*webhookv1.Secret, error) {
			res, err := webhooks.RotateSecret(ctx, &webhookv1.RotateSecretRequest{EndpointId: id})
			return res.GetSecrets(), err
		})
}

// errTestFailed ends a test delivery that was printed.
var errTestFailed = errors.New("the test was not delivered; see failure, status and message above")

func (a *app) webhookTest() *cobra.Command {
	var event string
	c := &cobra.Command{
		Use: "test ENDPOINT", Short: "Send a sample of an event to an endpoint, once, and show what came of it", Args: exactly("ENDPOINT"),
		Example: "  reservectl webhook test whe_… --company comp_… --event pass.purchased",
		RunE: func(c *cobra.Command, args []string) error {
			chosen, err := eventType(event)
			if err != nil {
				return err
			}
			return a.withWebhooks(c.Context(), func(ctx context.Context, webhooks webhookv1.WebhookServiceClient) error {
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
	c.Flags().StringVar(&event, "event", webhookevent.Names()[0], "one of "+eventList())
	_ = c.RegisterFlagCompletionFunc("event", cobra.FixedCompletions(webhookevent.Names(), cobra.ShellCompDirectiveNoFileComp))
	return c
}

// webhookChange makes a command that does one thing to one endpoint.
func (a *app) webhookChange(use, short string, change func(ctx context.Context, webhooks webhookv1.WebhookServiceClient, id string) (row, error)) *cobra.Command {
	return &cobra.Command{
		Use: use + " ENDPOINT", Short: short, Args: exactly("ENDPOINT"),
		Example: "  reservectl webhook " + use + " whe_… --company comp_…",
		RunE: func(c *cobra.Command, args []string) error {
			return a.withWebhooks(c.Context(), func(ctx context.Context, webhooks webhookv1.WebhookServiceClient) error {
				changed, err := change(ctx, webhooks, args[0])
				if err != nil {
					return err
				}
				return a.printOne(changed)
			})
		},
	}
}

// webhookSecrets makes a command that prints the secrets of one endpoint.
func (a *app) webhookSecrets(use, short string, get func(ctx context.Context, webhooks webhookv1.WebhookServiceClient, id string) ([]*webhookv1.Secret, error)) *cobra.Command {
	return &cobra.Command{
		Use: use + " ENDPOINT", Short: short, Args: exactly("ENDPOINT"),
		Example: "  reservectl webhook " + use + " whe_… --company comp_…",
		RunE: func(c *cobra.Command, args []string) error {
			return a.withWebhooks(c.Context(), func(ctx context.Context, webhooks webhookv1.WebhookServiceClient) error {
				secrets, err := get(ctx, webhooks, args[0])
				if err != nil {
					return err
				}
				var rows []row
				for _, s := range secrets {
					rows = append(rows, row{
						{"key_id", s.GetKeyId()}, {"secret", s.GetSecret()}, {"created_at", when(s.GetCreatedAt())}, {"expires_at", when(s.GetExpiresAt())},
					})
				}
				return a.printAll(rows, "no secrets")
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
		{"disabled_reason", orNull(enumName(e.GetDisabledReason().String(), "DISABLED_REASON_"))}, {"disabled_at", when(e.GetDisabledAt())},
		{"failing_since", when(e.GetFailingSince())}, {"description", e.GetDescription()}, {"created_at", when(e.GetCreatedAt())},
	}
}
