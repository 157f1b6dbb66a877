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

	"reservation.dev/platform/enum"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/webhookevent"
	webhookv1 "reservation.dev/proto/gen/reservation/webhook/v1"
)

// deliveryStates are the states of deliveries.
var deliveryStates = []string{"pending", "delivered", "failed"}

// logFlags holds the flags that filter deliveries.
type logFlags struct {
	endpoint, event, state, since, until string
	limit                                int
}

func (a *app) webhookDeliveries() *cobra.Command {
	var flags logFlags
	c := &cobra.Command{
		Use: "deliveries", Short: "List deliveries, newest first; the log keeps 30 days", Args: exactly(),
		Example: `  reservectl webhook deliveries --company comp_… --state failed --since 24h
  reservectl webhook deliveries --company comp_… --endpoint whe_… --limit 0 --output json`,
		RunE: func(c *cobra.Command, _ []string) error {
			req, err := flags.request(time.Now())
			if err != nil {
				return err
			}
			return a.endpoints().call(c.Context(), func(ctx context.Context, webhooks webhookv1.WebhookServiceClient) error {
				rows, err := deliveries(ctx, webhooks, req, flags.limit)
				if err != nil {
					return err
				}
				return a.printAll(rows, "no deliveries")
			})
		},
	}
	c.Flags().StringVar(&flags.endpoint, "endpoint", "", "only deliveries to this endpoint (whe_…)")
	c.Flags().StringVar(&flags.event, "event", "", "only deliveries of this event: "+eventList())
	c.Flags().StringVar(&flags.state, "state", "", "only deliveries in this state: "+strings.Join(deliveryStates, ", "))
	c.Flags().StringVar(&flags.since, "since", "", "only deliveries created at or after this time (2026-03-29T09:30:00Z), or this long ago (90m, 24h)")
	c.Flags().StringVar(&flags.until, "until", "", "only deliveries created before this time, in the same formats")
	c.Flags().IntVar(&flags.limit, "limit", 50, "maximum number of deliveries; 0: all")
	completeFlag(c, "event", webhookevent.Names())
	completeFlag(c, "state", deliveryStates)
	return c
}

// largestPage is the largest page of deliveries that the service returns.
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
			faults = append(faults, fmt.Errorf("--state %s, not %q", fault.OneOf(deliveryStates), f.state))
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

// instant parses a time, or a duration before now.
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

// deliveries fetches pages of the log, up to limit deliveries; 0: all.
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
			return a.endpoints().call(c.Context(), func(ctx context.Context, webhooks webhookv1.WebhookServiceClient) error {
				res, err := webhooks.GetDelivery(ctx, &webhookv1.GetDeliveryRequest{Id: args[0]})
				if err != nil {
					return err
				}
				return a.printDelivery(res)
			})
		},
	}
}

// printDelivery prints a delivery with its body and its attempts, as one JSON object or as a
// table, the body, and another table.
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
		Use: "replay [DELIVERY]", Short: "Resend one delivery, or all that failed since a time, with the same message IDs",
		Example: `  reservectl webhook replay whd_… --company comp_…
  reservectl webhook replay --company comp_… --failed-since 24h
  reservectl webhook replay --company comp_… --failed-since 2026-03-29T09:30:00Z --endpoint whe_…`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 1 == c.Flags().Changed("failed-since") || len(args) > 1 {
				return usageError{fmt.Errorf("expected either a DELIVERY or --failed-since; see %s --help", c.CommandPath())}
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 1 {
				if endpoint != "" {
					return usageError{errors.New("--endpoint can only be given with --failed-since")}
				}
				return a.replayOne(c.Context(), args[0])
			}
			from, err := instant(since, time.Now())
			if err != nil {
				return usageError{fmt.Errorf("--failed-since %w", err)}
			}
			return a.endpoints().call(c.Context(), func(ctx context.Context, webhooks webhookv1.WebhookServiceClient) error {
				res, err := webhooks.ReplayFailed(ctx, &webhookv1.ReplayFailedRequest{EndpointId: endpoint, Since: timestamppb.New(from)})
				if err != nil {
					return err
				}
				if res.GetReplayed() == 0 && res.GetTests() > 0 {
					fmt.Fprintln(a.errOut, "only test deliveries failed; replay one by its identifier, or send a new test with reservectl webhook test")
				}
				return a.printOne(row{{"replayed", res.GetReplayed()}, {"tests", res.GetTests()}})
			})
		},
	}
	c.Flags().StringVar(&since, "failed-since", "", "resend all deliveries that failed since this time (2026-03-29T09:30:00Z), or this long ago (90m, 24h)")
	c.Flags().StringVar(&endpoint, "endpoint", "", "only deliveries to this endpoint (whe_…)")
	return c
}

func (a *app) replayOne(ctx context.Context, delivery string) error {
	return a.endpoints().print(ctx, func(ctx context.Context, webhooks webhookv1.WebhookServiceClient) (row, error) {
		res, err := webhooks.ReplayDelivery(ctx, &webhookv1.ReplayDeliveryRequest{Id: delivery})
		return deliveryRow(res.GetDelivery()), err
	})
}

func deliveryRow(d *webhookv1.Delivery) row {
	return row{
		{"delivery", d.GetId()}, {"message", d.GetMessageId()}, {"endpoint", d.GetEndpointId()}, {"event", webhookevent.Name(d.GetEvent())},
		{"state", enum.Name(d.GetState())}, {"attempts", d.GetAttempts()},
		{"last_failure", textOrNil(enum.Name(d.GetLastFailure()))}, {"last_status", status(d.GetLastStatus())},
		{"created_at", timeOrNil(d.GetCreatedAt())}, {"next_attempt_at", timeOrNil(d.GetNextAttemptAt())}, {"finished_at", timeOrNil(d.GetFinishedAt())},
		{"test", d.GetTest()},
	}
}

func attemptRow(at *webhookv1.Attempt) row {
	return row{
		{"number", at.GetNumber()}, {"started_at", timeOrNil(at.GetStartedAt())},
		{"milliseconds", float64(at.GetDurationMicroseconds()) / 1000}, {"failure", textOrNil(enum.Name(at.GetFailure()))},
		{"status", status(at.GetStatus())}, {"message", textOrNil(at.GetMessage())}, {"answer", textOrNil(string(at.GetResponseBody()))},
	}
}

// status returns an HTTP status for the output, or nil if there was no response.
func status(code int32) any {
	if code == 0 {
		return nil
	}
	return code
}
