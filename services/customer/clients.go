package customer

import (
	"context"
	"errors"
	"sync"

	"reservation.dev/platform/id"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
)

// Confirmer gets deletions confirmed by the services that act on behalf of customers.
type Confirmer interface {
	// ConfirmDeletion returns nil after every replica of these services has stopped serving the
	// customer. It reads the company and the token from ctx.
	ConfirmDeletion(ctx context.Context, customer id.Customer) error
}

// ConfirmationClient requests confirmations with the caller's own token. The services read the
// customer themselves, so they do not have to trust the request.
type ConfirmationClient []customerv1.CustomerDeletionServiceClient

// ConfirmDeletion implements Confirmer. It calls all services at the same time.
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
