package pass

import (
	"context"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
)

// ConfirmCustomerDeletion implements CustomerDeletionService. It takes nothing from
// its caller but the name of the customer, so that it cannot be made to delete one.
//
// The deletion is committed first: from then on every new request is refused. The
// fence then waits for the commits that have read the customer as present. They
// lock the customer's row for key share, which the first commit does not wait for;
// the fence holds no other lock, so nobody waits in a circle.
func (s *Server) ConfirmCustomerDeletion(ctx context.Context, req *customerv1.ConfirmCustomerDeletionRequest) (*customerv1.ConfirmCustomerDeletionResponse, error) {
	company, customer, err := named[id.Customer](ctx, s, req.GetCustomerId(), "customer")
	if err != nil {
		return nil, err
	}
	deleted, err := s.others.CustomerDeleted(ctx, company.ID, customer)
	if err != nil {
		return nil, err
	}
	if !deleted {
		return nil, fault.InvalidParameter("customer_id", "deleted", "must be a customer that is deleted")
	}
	for _, query := range []pg.Query{
		{SQL: deleteCustomerSQL, Args: []any{company.ID, customer, instant(s.now())}},
		{SQL: fenceSQL, Args: []any{company.ID, customer}},
	} {
		err := s.store.inTx(ctx, company.ID, func(ctx context.Context, tx *pg.Tx) error { return tx.Pipeline(ctx, query) })
		if err != nil {
			return nil, err
		}
	}
	return &customerv1.ConfirmCustomerDeletionResponse{}, nil
}

const (
	deleteCustomerSQL = `insert into customers as c (company_id, id, deleted_at) values ($1, $2, $3)
		on conflict (company_id, id) do update set deleted_at = excluded.deleted_at where c.deleted_at is null`

	fenceSQL = `select from customers where company_id = $1 and id = $2 for update`

	meetCustomerSQL = `insert into customers (company_id, id) values ($1, $2) on conflict (company_id, id) do nothing`

	lockPresentSQL = `select deleted_at is not null from customers where company_id = $1 and id = $2 for key share`

	onOfferSQL = `select status from pass_types where company_id = $1 and id = $2 for share`
)

// presentCustomer returns the queries that refuse a customer who is deleted. The
// deletion of one who is not is confirmed only after tx.
func presentCustomer(company id.Company, customer id.Customer) []pg.Query {
	args := []any{company, customer}
	return []pg.Query{
		{SQL: meetCustomerSQL, Args: args},
		{SQL: lockPresentSQL, Args: args, Scan: func(rows pgx.Rows) error {
			deleted, err := pgx.CollectExactlyOneRow(rows, pgx.RowTo[bool])
			if err == nil && deleted {
				err = fault.Missing("customer")
			}
			return err
		}},
	}
}

// onOffer returns the query that refuses an archived pass type. One that is not
// archived stays so until the end of tx.
func onOffer(company id.Company, passType id.PassType) pg.Query {
	return pg.Query{SQL: onOfferSQL, Args: []any{company, passType}, Scan: func(rows pgx.Rows) error {
		status, err := pgx.CollectExactlyOneRow(rows, pgx.RowTo[string])
		if err == nil && status == typeArchived {
			err = archivedType()
		}
		return err
	}}
}

func archivedType() error {
	return fault.Refuse(ReasonPassNotActive, "the pass type is archived").With("status", typeArchived)
}
