package customer

import (
	"context"
	"errors"
	"sync"

	"reservation.dev/platform/id"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
)

// Confirmer has the services that act in a customer's name confirm a deletion.
type Confirmer interface {
	// ConfirmDeletion returns nil once no replica of any of them serves the
	// customer. It reads the company and the token from ctx.
	ConfirmDeletion(ctx context.Context, customer id.Customer) error
}

// ConfirmationClient asks services to confirm deletions, with the caller's own
// token: they read the customer themselves, and so need not trust it.
type ConfirmationClient []customerv1.CustomerDeletionServiceClient

// ConfirmDeletion implements Confirmer: it asks all services at once.
func (c ConfirmationClient) ConfirmDeletion(ctx context.Context, customer id.Customer) error {
	faults := make([]error, len(c))
	var all sync.WaitGroup
	for i, client := range c {
		all.Go(func() {
			_, faults[i] = client.ConfirmCustomerDeletion(ctx, &customerv1.ConfirmCustomerDeletionRequest{CustomerId: customer.String()})
		})
	}
	all.Wait()
	return errors.Join(faults...)
}
