package client

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"time"

	"reservation.dev/client/a"
)

// Customers returns all customers, archived ones included, ordered by id. It reads them as they arrive,
// so the memory that it needs does not depend on their number. A changedSince that is not zero leaves
// out older ones. If the response breaks off, the last pair has an error: the list is incomplete.
func (c *A) Customers(ctx context.Context, changedSince time.Time) iter.Seq2[a.Customer, error] {
	return func(yield func(a.Customer, error) bool) {
		stopped := false
		err := c.customers(ctx, changedSince, func(customer a.Customer) bool {
			stopped = !yield(customer, nil)
			return !stopped
		})
		if err != nil && !stopped {
			yield(a.Customer{}, err)
		}
	}
}

// customers visits all customers until visit returns false.
func (c *A) customers(ctx context.Context, changedSince time.Time, visit func(a.Customer) bool) error {
	ctx, cancel := context.WithCancel(context.WithValue(ctx, streaming{}, true))
	defer cancel()
	filters := &a.ListCustomersParams{}
	if !changedSince.IsZero() {
		filters.UpdatedSince = &changedSince
	}
	resp, err := c.ListCustomers(ctx, filters)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	decoder := json.NewDecoder(resp.Body)
	for _, want := range []json.Token{json.Delim('{'), "data", json.Delim('[')} {
		if got, err := decoder.Token(); err != nil || got != want {
			return fmt.Errorf("the list starts with %v, not %v: %w", got, want, errOr(err))
		}
	}
	for decoder.More() {
		var customer a.Customer
		if err := decoder.Decode(&customer); err != nil {
			return err
		}
		if !visit(customer) {
			return nil
		}
	}
	for _, want := range []json.Token{json.Delim(']'), json.Delim('}')} {
		if got, err := decoder.Token(); err != nil || got != want {
			return fmt.Errorf("the list is incomplete: %w", errOr(err))
		}
	}
	return nil
}

// errOr returns err, or the error of a response that is not the described one.
func errOr(err error) error {
	if err != nil {
		return err
	}
	return errBody
}

// Bookings returns the transactions that a customer bought, newest first.
func (c *A) Bookings(ctx context.Context, customer string, filters a.ListBookingsParams) iter.Seq2[a.Transaction, error] {
	read := func(number string) (*a.TransactionList, error) {
		return body(c.ListBookingsWithResponse(ctx, customer, &filters, byNumber(number)))
	}
	return items(read, func(p *a.TransactionList) ([]a.Transaction, *string) {
		return p.Data, following(p.Page, p.PageSize, p.Total)
	})
}

// Passes returns the passes of a customer.
func (c *A) Passes(ctx context.Context, customer string, filters a.ListPassesParams) iter.Seq2[a.Pass, error] {
	read := func(number string) (*a.PassList, error) {
		return body(c.ListPassesWithResponse(ctx, customer, &filters, byNumber(number)))
	}
	return items(read, func(p *a.PassList) ([]a.Pass, *string) { return p.Data, following(p.Page, p.PageSize, p.Total) })
}

// Notes returns the notes about a customer, pinned ones first.
func (c *A) Notes(ctx context.Context, customer string, filters a.ListNotesParams) iter.Seq2[a.Note, error] {
	read := func(number string) (*a.NoteList, error) {
		return body(c.ListNotesWithResponse(ctx, customer, &filters, byNumber(number)))
	}
	return items(read, func(p *a.NoteList) ([]a.Note, *string) { return p.Data, following(p.Page, p.PageSize, p.Total) })
}

// Subscriptions returns the subscriptions of a customer.
func (c *A) Subscriptions(ctx context.Context, customer string, filters a.ListSubscriptionsParams) iter.Seq2[a.Subscription, error] {
	read := func(number string) (*a.SubscriptionList, error) {
		return body(c.ListSubscriptionsWithResponse(ctx, customer, &filters, byNumber(number)))
	}
	return items(read, func(p *a.SubscriptionList) ([]a.Subscription, *string) {
		return p.Data, following(p.Page, p.PageSize, p.Total)
	})
}

// Media returns the media that a customer can play.
func (c *A) Media(ctx context.Context, customer string, filters a.ListMediaParams) iter.Seq2[a.Media, error] {
	read := func(number string) (*a.MediaList, error) {
		return body(c.ListMediaWithResponse(ctx, customer, &filters, byNumber(number)))
	}
	return items(read, func(p *a.MediaList) ([]a.Media, *string) { return p.Data, following(p.Page, p.PageSize, p.Total) })
}
