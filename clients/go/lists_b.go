package client

import (
	"context"
	"iter"

	"reservation.dev/client/b"
)

// list reads the list of an operation, page by page, while the caller ranges over it. It returns every
// item that exists during the whole time exactly once.
func list[F, P, T any, R interface{ GetJSON200() *P }](
	ctx context.Context, call func(context.Context, *F, ...b.RequestEditorFn) (R, error), filters F, cut func(*P) ([]T, *string),
) iter.Seq2[T, error] {
	return items(func(cursor string) (*P, error) { return body[P](call(ctx, &filters, byCursor(cursor))) }, cut)
}

// Customers returns the customers.
func (c *B) Customers(ctx context.Context, filters b.ListCustomersParams) iter.Seq2[b.Customer, error] {
	return list(ctx, c.ListCustomersWithResponse, filters, func(p *b.CustomersPage) ([]b.Customer, *string) { return p.Customers, p.NextCursor })
}

// Events returns the events.
func (c *B) Events(ctx context.Context, filters b.ListEventsParams) iter.Seq2[b.Event, error] {
	return list(ctx, c.ListEventsWithResponse, filters, func(p *b.EventsPage) ([]b.Event, *string) { return p.Events, p.NextCursor })
}

// EventDates returns the event dates, by their start.
func (c *B) EventDates(ctx context.Context, filters b.ListEventDatesParams) iter.Seq2[b.ScheduledDate, error] {
	return list(ctx, c.ListEventDatesWithResponse, filters, func(p *b.EventDatesPage) ([]b.ScheduledDate, *string) { return p.EventDates, p.NextCursor })
}

// Registrations returns the registrations.
func (c *B) Registrations(ctx context.Context, filters b.ListAllRegistrationsParams) iter.Seq2[b.Registration, error] {
	return list(ctx, c.ListAllRegistrationsWithResponse, filters, func(p *b.RegistrationsPage) ([]b.Registration, *string) { return p.Registrations, p.NextCursor })
}

// EventRegistrations returns the registrations of an event.
func (c *B) EventRegistrations(ctx context.Context, event string, filters b.ListRegistrationsParams) iter.Seq2[b.Registration, error] {
	read := func(cursor string) (*b.RegistrationsPage, error) {
		return body(c.ListRegistrationsWithResponse(ctx, event, &filters, byCursor(cursor)))
	}
	return items(read, func(p *b.RegistrationsPage) ([]b.Registration, *string) { return p.Registrations, p.NextCursor })
}

// Transactions returns the transactions.
func (c *B) Transactions(ctx context.Context, filters b.ListTransactionsParams) iter.Seq2[b.Transaction, error] {
	return list(ctx, c.ListTransactionsWithResponse, filters, func(p *b.TransactionsPage) ([]b.Transaction, *string) { return p.Transactions, p.NextCursor })
}

// WaitlistEntries returns the waitlist entries.
func (c *B) WaitlistEntries(ctx context.Context, filters b.ListWaitlistEntriesParams) iter.Seq2[b.WaitlistEntry, error] {
	return list(ctx, c.ListWaitlistEntriesWithResponse, filters, func(p *b.WaitlistEntriesPage) ([]b.WaitlistEntry, *string) { return p.WaitlistEntries, p.NextCursor })
}

// PassTypes returns the pass types.
func (c *B) PassTypes(ctx context.Context, filters b.ListPassesParams) iter.Seq2[b.Pass, error] {
	return list(ctx, c.ListPassesWithResponse, filters, func(p *b.PassesPage) ([]b.Pass, *string) { return p.Passes, p.NextCursor })
}

// CustomerPasses returns the passes that customers hold.
func (c *B) CustomerPasses(ctx context.Context, filters b.ListCustomerPassesParams) iter.Seq2[b.CustomerPass, error] {
	return list(ctx, c.ListCustomerPassesWithResponse, filters, func(p *b.CustomerPassesPage) ([]b.CustomerPass, *string) { return p.CustomerPasses, p.NextCursor })
}

// Ledger returns the changes of a customer pass.
func (c *B) Ledger(ctx context.Context, customerPass string, filters b.ListLedgerParams) iter.Seq2[b.LedgerEntry, error] {
	read := func(cursor string) (*b.LedgerPage, error) {
		return body(c.ListLedgerWithResponse(ctx, customerPass, &filters, byCursor(cursor)))
	}
	return items(read, func(p *b.LedgerPage) ([]b.LedgerEntry, *string) { return p.Ledger, p.NextCursor })
}

// Plans returns the plans.
func (c *B) Plans(ctx context.Context, filters b.ListPlansParams) iter.Seq2[b.Plan, error] {
	return list(ctx, c.ListPlansWithResponse, filters, func(p *b.PlansPage) ([]b.Plan, *string) { return p.Plans, p.NextCursor })
}

// Subscriptions returns the subscriptions.
func (c *B) Subscriptions(ctx context.Context, filters b.ListSubscriptionsParams) iter.Seq2[b.Subscription, error] {
	return list(ctx, c.ListSubscriptionsWithResponse, filters, func(p *b.SubscriptionsPage) ([]b.Subscription, *string) { return p.Subscriptions, p.NextCursor })
}

// SubscriptionPeriods returns the periods of a subscription.
func (c *B) SubscriptionPeriods(ctx context.Context, subscription string, filters b.ListSubscriptionPeriodsParams) iter.Seq2[b.SubscriptionPeriod, error] {
	read := func(cursor string) (*b.SubscriptionPeriodsPage, error) {
		return body(c.ListSubscriptionPeriodsWithResponse(ctx, subscription, &filters, byCursor(cursor)))
	}
	return items(read, func(p *b.SubscriptionPeriodsPage) ([]b.SubscriptionPeriod, *string) { return p.Periods, p.NextCursor })
}

// AccountEntries returns the changes of the account credit and of the refund due of a subscription.
func (c *B) AccountEntries(ctx context.Context, subscription string, filters b.ListAccountEntriesParams) iter.Seq2[b.AccountEntry, error] {
	read := func(cursor string) (*b.AccountEntriesPage, error) {
		return body(c.ListAccountEntriesWithResponse(ctx, subscription, &filters, byCursor(cursor)))
	}
	return items(read, func(p *b.AccountEntriesPage) ([]b.AccountEntry, *string) { return p.AccountEntries, p.NextCursor })
}

// Media returns the media items.
func (c *B) Media(ctx context.Context, filters b.ListMediaParams) iter.Seq2[b.MediaItem, error] {
	return list(ctx, c.ListMediaWithResponse, filters, func(p *b.MediaPage) ([]b.MediaItem, *string) { return p.Media, p.NextCursor })
}

// MediaCollections returns the collections of media items.
func (c *B) MediaCollections(ctx context.Context, filters b.ListMediaCollectionsParams) iter.Seq2[b.MediaCollection, error] {
	return list(ctx, c.ListMediaCollectionsWithResponse, filters, func(p *b.MediaCollectionsPage) ([]b.MediaCollection, *string) {
		return p.MediaCollections, p.NextCursor
	})
}

// MediaEntitlements returns the media entitlements.
func (c *B) MediaEntitlements(ctx context.Context, filters b.ListMediaEntitlementsParams) iter.Seq2[b.MediaEntitlement, error] {
	return list(ctx, c.ListMediaEntitlementsWithResponse, filters, func(p *b.MediaEntitlementsPage) ([]b.MediaEntitlement, *string) {
		return p.MediaEntitlements, p.NextCursor
	})
}

// Calendars returns the calendars.
func (c *B) Calendars(ctx context.Context, filters b.ListCalendarsParams) iter.Seq2[b.Calendar, error] {
	return list(ctx, c.ListCalendarsWithResponse, filters, func(p *b.CalendarsPage) ([]b.Calendar, *string) { return p.Calendars, p.NextCursor })
}

// CustomerMedia returns the media that a customer can play now.
func (c *B) CustomerMedia(ctx context.Context, customer string, filters b.ListCustomerMediaParams) iter.Seq2[b.CustomerMedia, error] {
	read := func(cursor string) (*b.CustomerMediaPage, error) {
		return body(c.ListCustomerMediaWithResponse(ctx, customer, &filters, byCursor(cursor)))
	}
	return items(read, func(p *b.CustomerMediaPage) ([]b.CustomerMedia, *string) { return p.Media, p.NextCursor })
}

// DiscountCodes returns the discount codes.
func (c *B) DiscountCodes(ctx context.Context, filters b.ListDiscountCodesParams) iter.Seq2[b.DiscountCode, error] {
	return list(ctx, c.ListDiscountCodesWithResponse, filters, func(p *b.DiscountCodesPage) ([]b.DiscountCode, *string) { return p.DiscountCodes, p.NextCursor })
}

// WebhookEndpoints returns the webhook endpoints.
func (c *B) WebhookEndpoints(ctx context.Context, filters b.ListWebhookEndpointsParams) iter.Seq2[b.WebhookEndpoint, error] {
	return list(ctx, c.ListWebhookEndpointsWithResponse, filters, func(p *b.WebhookEndpointsPage) ([]b.WebhookEndpoint, *string) {
		return p.WebhookEndpoints, p.NextCursor
	})
}

// WebhookDeliveries returns the webhook deliveries, newest first.
func (c *B) WebhookDeliveries(ctx context.Context, filters b.ListWebhookDeliveriesParams) iter.Seq2[b.WebhookDelivery, error] {
	return list(ctx, c.ListWebhookDeliveriesWithResponse, filters, func(p *b.WebhookDeliveriesPage) ([]b.WebhookDelivery, *string) {
		return p.WebhookDeliveries, p.NextCursor
	})
}

// Requests returns the requests that the company's credentials sent, newest first.
func (c *B) Requests(ctx context.Context, filters b.ListRequestsParams) iter.Seq2[b.LoggedRequest, error] {
	return list(ctx, c.ListRequestsWithResponse, filters, func(p *b.RequestsPage) ([]b.LoggedRequest, *string) { return p.Requests, p.NextCursor })
}

// WebhookMessages returns the messages of the last 30 days that follow filters.Cursor, up to now. After
// each page it moves filters.Cursor: store it when you have handled the messages, and continue with it
// the next time.
func (c *B) WebhookMessages(ctx context.Context, filters *b.ListWebhookMessagesParams) iter.Seq2[b.WebhookMessage, error] {
	return func(yield func(b.WebhookMessage, error) bool) {
		for more := true; more; {
			page, err := body(c.ListWebhookMessagesWithResponse(ctx, filters, byCursor("")))
			if err != nil {
				yield(b.WebhookMessage{}, err)
				return
			}
			for _, message := range page.WebhookMessages {
				if !yield(message, nil) {
					return
				}
			}
			filters.Cursor, more = &page.NextCursor, page.HasMore
		}
	}
}
