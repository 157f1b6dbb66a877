package booking

import (
	"context"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
)

// A deletion is confirmed in three commits. Purchases lock the rows of their
// customers for key share, which an update of the copy neither waits for nor
// keeps out:
//
//	keep the deletion ──▶ fence: lock the row alone ──▶ end the waiting
//	from here on every     every purchase that read      an entry that was being
//	purchase is refused    it as present has ended       added is found
//
// So the fence never starves, and because its commit holds one lock and waits for
// no other, nobody waits in a circle.

// ConfirmCustomerDeletion implements CustomerDeletionService. It takes nothing from
// its caller but the name of the customer, so that it cannot be made to delete one.
func (s *Server) ConfirmCustomerDeletion(ctx context.Context, req *customerv1.ConfirmCustomerDeletionRequest) (*customerv1.ConfirmCustomerDeletionResponse, error) {
	company, err := s.tenant(ctx)
	if err != nil {
		return nil, err
	}
	customer, err := id.Parse[id.Customer](req.GetCustomerId())
	if err != nil {
		return nil, fault.Missing("customer")
	}
	deleted, err := s.meet(ctx, company.ID, []id.Customer{customer}, nil)
	switch {
	case err != nil:
		return nil, err
	case len(deleted) == 0:
		return nil, fault.Missing("customer")
	case deleted[0].deletedAt.IsZero():
		return nil, fault.InvalidParameter("customer_id", "deleted", "must be a customer that is deleted")
	}
	if err := s.store.fence(ctx, company.ID, customer); err != nil {
		return nil, err
	}
	err = s.store.inTx(ctx, company.ID, func(ctx context.Context, tx *pg.Tx) error { return leaveWaiting(ctx, tx, deleted) })
	if err != nil {
		return nil, err
	}
	return &customerv1.ConfirmCustomerDeletionResponse{}, nil
}

const (
	fenceSQL = `select from customers where company_id = $1 and id = $2 for update`

	customersOfSQL = `select c.deleted_at is not null from customers c where c.company_id = $1 and c.id in (
			select t.purchaser_id from transactions t where t.company_id = $1 and t.id = $2
			union all
			select b.bought_for from bookings b where b.company_id = $1 and b.transaction_id = $2)
		order by c.id for key share of c`
)

// fence waits until every commit that has read the customer has ended. It locks
// nothing else, and its lock ends with it.
func (s *store) fence(ctx context.Context, company id.Company, customer id.Customer) error {
	return s.inTx(ctx, company, func(ctx context.Context, tx *pg.Tx) error {
		_, err := tx.Exec(ctx, fenceSQL, company, customer)
		return err
	})
}

// namesCustomers returns the query that refuses a transaction if its purchaser, or
// somebody it is bought for, is deleted. Their deletion is confirmed only after tx.
func namesCustomers(company id.Company, t id.Transaction) pg.Query {
	return pg.Query{SQL: customersOfSQL, Args: []any{company, t}, Scan: each(func(rows pgx.Rows) error {
		var deleted bool
		err := rows.Scan(&deleted)
		if err == nil && deleted {
			err = fault.Missing("customer")
		}
		return err
	})}
}
