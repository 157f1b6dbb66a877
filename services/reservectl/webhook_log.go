package reservectl

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/webhookevent"
	webhookv1 "reservation.dev/proto/gen/reservation/webhook/v1"
)

// deliveryStates are what becomes of deliveries.
var deliveryStates = []string{"pending", "delivered", "failed"}

// logFlags are the flags that choose deliveries.
type logFlags struct {
	endpoint, event, state, since, until string
	limit                                int
}

func (a *app) webhookDeliveries() *cobra.Command {
	var flags logFlags
	c := &cobra.Command{
		Use: "deliveries", Short: "List what was sent, newest first; the log keeps 30 days", Args: exactly(),
		Example: `  reservectl webhook deliveries --company comp_… --state failed --since 24h
  reservectl webhook deliveries --company comp_… --endpoint whe_… --limit 0 --output json`,
		RunE: func(c *cobra.Command, _ []string) error {
			req, err := flags.request(time.Now())
			if err != nil {
				return err
			}
			return a.withWebhooks(c.Context(), func(ctx context.Context, webhooks webhookv1.WebhookServiceClient) error {
				rows, err := deliveries(ctx, webhooks, req, flags.limit)
				if err != nil {
					return err
				}
				return a.printAll(rows, "no deliveries")
			})
		},
	}
	c.Flags().StringVar(&flags.endpoint, "endpoint", "", "of this endpoint only (whe_…)")
	c.Flags().StringVar(&flags.event, "event", "", "of this event only: "+eventList())
	c.Flags().StringVar(&flags.state, "state", "", "in this state only: "+strings.Join(deliveryStates, ", "))
	c.Flags().StringVar(&flags.since, "since", "", "what came at or after: a time (2026-03-29T09:30:00Z), or how long ago (90m, 24h)")
	c.Flags().StringVar(&flags.until, "until", "", "what came before, likewise")
	c.Flags().IntVar(&flags.limit, "limit", 50, "at most so many; 0: all")
	_ = c.RegisterFlagCompletionFunc("event", cobra.FixedCompletions(webhookevent.Names(), cobra.ShellCompDirectiveNoFileComp))
	_ = c.RegisterFlagCompletionFunc("state", cobra.FixedCompletions(deliveryStates, cobra.ShellCompDirectiveNoFileComp))
	return c
}

// largestPage is the most deliveries that the service gives at once.
const largestPage = 200

func (f logFlags) request(now time.Time) (*webhookv1.ListDeliveriesRequest, error) {
	req := &webhookv1.ListDeliveriesRequest{EndpointId: f.endpoint, PageSize: largestPage}
	var faults []error
	if f.event != "" {
		var err error
		req.Event, err = eventType(f.event)
		faults = append(faults, err)
	}
	if f.state != "" {
		req.State = webhookv1.DeliveryState(webhookv1.DeliveryState_value["DELIVERY_STATE_"+strings.ToUpper(f.state)])
		if req.State == 0 {
			faults = append(faults, fmt.Errorf("--state must be %s, not %q", strings.Join(deliveryStates, ", "), f.state))
		}
	}
	for _, bound := range []struct {
		name, text string
		to         **timestamppb.Timestamp
	}{{"since", f.since, &req.Since}, {"until", f.until, &req.Until}} {
		if bound.text == "" {
			continue
		}
		at, err := instant(bound.text, now)
		if err != nil {
			faults = append(faults, fmt.Errorf("--%s %w", bound.name, err))
		}
		*bound.to = timestamppb.New(at)
	}
	if f.limit < 0 {
		faults = append(faults, errors.New("--limit must not be negative"))
	} else if f.limit > 0 {
		req.PageSize = int32(min(f.limit, largestPage))
	}
	if err := errors.Join(faults...); err != nil {
		return nil, usageError{err}
	}
	return req, nil
}

// instant reads a time, or how long before now.
func instant(text string, now time.Time) (time.Time, error) {
	if ago, err := time.ParseDuration(text); err == nil && ago >= 0 {
		return now.Add(-ago), nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return at, fmt.Errorf("must be a time (2026-03-29T09:30:00Z) or how long ago (90m, 24h), not %q", text)
	}
	return at, nil
}

// deliveries reads pages of the log up to a limit; 0: all.
func deliveries(ctx context.Context, webhooks webhookv1.WebhookServiceClient, req *webhookv1.ListDeliveriesRequest, limit int) ([]row, error) {
	var rows []row
	for {
		res, err := webhooks.ListDeliveries(ctx, req)
		if err != nil {
			return nil, err
		}
		for _, d := range res.GetDeliveries() {
			if rows = append(rows, deliveryRow(d)); len(rows) == limit {
				return rows, nil
			}
		}
		if req.PageToken = res.GetNextPageToken(); req.PageToken == "" {
			return rows, nil
		}
	}
}

func (a *app) webhookDelivery() *cobra.Command {
	return &cobra.Command{
		Use: "delivery DELIVERY", Short: "Show one delivery with its body and its attempts", Args: exactly("DELIVERY"),
		Example: "  reservectl webhook delivery whd_… --company comp_… --output json",
		RunE: func(c *cobra.Command, args []string) error {
			return a.withWebhooks(c.Context(), func(ctx context.Context, webhooks webhookv1.WebhookServiceClient) error {
				res, err := webhooks.GetDelivery(ctx, &webhookv1.GetDeliveryRequest{Id: args[0]})
				if err != nil {
					return err
				}
				return a.printDelivery(res)
			})
		},
	}
}

// printDelivery prints a delivery as one object, or as a table of it, its body,
// and a table of its attempts.
func (a *app) printDelivery(res *webhookv1.GetDeliveryResponse) error {
	attempts := []row{}
	for _, at := range res.GetAttempts() {
		attempts = append(attempts, attemptRow(at))
	}
	table, err := a.table()
	if err != nil {
		return err
	}
	if !table {
		return a.printJSON(append(deliveryRow(res.GetDelivery()), member{"body", json.RawMessage(res.GetBody())}, member{"log", attempts}))
	}
	if err := a.printOne(deliveryRow(res.GetDelivery())); err != nil {
		return err
	}
	fmt.Fprintf(a.out, "\n%s\n\n", printableText(string(indented(res.GetBody()))))
	return a.printAll(attempts, "not attempted yet")
}

func (a *app) webhookReplay() *cobra.Command {
	var endpoint, since string
	c := &cobra.Command{
		Use: "replay [DELIVERY]", Short: "Send one delivery again, or all that failed since a time, with the same ids",
		Example: `  reservectl webhook replay whd_… --company comp_…
  reservectl webhook replay --company comp_… --failed-since 24h
  reservectl webhook replay --company comp_… --failed-since 2026-03-29T09:30:00Z --endpoint whe_…`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 1 == c.Flags().Changed("failed-since") || len(args) > 1 {
				return usageError{fmt.Errorf("wants either a DELIVERY or --failed-since; see %s --help", c.CommandPath())}
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 1 {
				if endpoint != "" {
					return usageError{errors.New("--endpoint goes with --failed-since")}
				}
				return a.replayOne(c.Context(), args[0])
			}
			from, err := instant(since, time.Now())
			if err != nil {
				return usageError{fmt.Errorf("--failed-since %w", err)}
			}
			return a.withWebhooks(c.Context(), func(ctx context.Context, webhooks webhookv1.WebhookServiceClient) error {
				res, err := webhooks.ReplayFailed(ctx, &webhookv1.ReplayFailedRequest{EndpointId: endpoint, Since: timestamppb.New(from)})
				if err != nil {
					return err
				}
				if res.GetReplayed() == 0 && res.GetTests() > 0 {
					fmt.Fprintln(a.errOut, "only test deliveries have failed; replay one by its identifier, or send a new test: reservectl webhook test")
				}
				return a.printOne(row{{"replayed", res.GetReplayed()}, {"tests", res.GetTests()}})
			})
		},
	}
	c.Flags().StringVar(&since, "failed-since", "", "all that failed since then: a time (2026-03-29T09:30:00Z), or how long ago (90m, 24h)")
	c.Flags().StringVar(&endpoint, "endpoint", "", "those of this endpoint only (whe_…)")
	return c
}

func (a *app) replayOne(ctx context.Context, delivery string) error {
	return a.withWebhooks(ctx, func(ctx context.Context, webhooks webhookv1.WebhookServiceClient) error {
		res, err := webhooks.ReplayDelivery(ctx, &webhookv1.ReplayDeliveryRequest{Id: delivery})
		if err != nil {
			return err
		}
		return a.printOne(deliveryRow(res.GetDelivery()))
	})
}

func deliveryRow(d *webhookv1.Delivery) row {
	return row{
		{"delivery", d.GetId()}, {"message", d.GetMessageId()}, {"endpoint", d.GetEndpointId()}, {"event", webhookevent.Name(d.GetEvent())},
		{"state", enumName(d.GetState().String(), "DELIVERY_STATE_")}, {"attempts", d.GetAttempts()},
		{"last_failure", orNull(enumName(d.GetLastFailure().String(), "FAILURE_"))}, {"last_status", status(d.GetLastStatus())},
		{"created_at", when(d.GetCreatedAt())}, {"next_attempt_at", when(d.GetNextAttemptAt())}, {"finished_at", when(d.GetFinishedAt())},
		{"test", d.GetTest()},
	}
}

func attemptRow(at *webhookv1.Attempt) row {
	return row{
		{"number", at.GetNumber()}, {"started_at", when(at.GetStartedAt())},
		{"milliseconds", float64(at.GetDurationMicroseconds()) / 1000}, {"failure", orNull(enumName(at.GetFailure().String(), "FAILURE_"))},
		{"status", status(at.GetStatus())}, {"message", orNull(at.GetMessage())}, {"answer", orNull(string(at.GetResponseBody()))},
	}
}

// status is an answer's for the output; nil for none.
func status(code int32) any {
	if code == 0 {
		return nil
	}
	return code
}
