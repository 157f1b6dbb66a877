package gatewayb

import (
	"context"

	"reservation.dev/platform/edge"
	"reservation.dev/platform/resource"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	edgebv1 "reservation.dev/proto/gen/reservation/edge/b/v1"
)

// ListTransactions is GET /transactions.
func (f *facade) ListTransactions(ctx context.Context, req *edgebv1.ListTransactionsRequest) (*edgebv1.ListTransactionsResponse, error) {
	var q edge.Query
	p := newPage(&q, parameters{req.Page, req.PerPage, req.Cursor, req.Sort, req.UpdatedSince}, 4)
	list := &bookingv1.ListCompanyTransactionsRequest{
		PageSize: p.size, PageToken: p.cursor, Offset: p.offset(), UpdatedSince: p.since, Order: bookingv1.TransactionOrder(p.sort),
		PurchaserId: identifier(req.PurchasedById),
	}
	if err := q.Err(); err != nil {
		return nil, err
	}
	res, err := f.bookings.ListCompanyTransactions(ctx, list)
	if err != nil {
		return nil, err
	}
	currency := companyCurrency(ctx)
	return &edgebv1.ListTransactionsResponse{
		Transactions: edge.Convert(res.GetTransactions(), func(t *bookingv1.Transaction) *edgebv1.Transaction { return resource.Transaction(t, currency) }),
		Total:        res.GetTotal(), Page: p.number, PerPage: p.size, NextCursor: nextCursor(res.GetNextPageToken()),
	}, nil
}

// CreateTransaction is POST /transactions.
func (f *facade) CreateTransaction(ctx context.Context, req *edgebv1.CreateTransactionRequest) (*edgebv1.CreateTransactionResponse, error) {
	create, err := newTransaction(req.GetTransaction())
	if err != nil {
		return nil, err
	}
	res, err := f.bookings.CreateTransaction(ctx, create)
	if err != nil {
		return nil, renameFields(err, transactionNames(req.GetTransaction().GetPayment()))
	}
	return &edgebv1.CreateTransactionResponse{
		Transaction: resource.Transaction(setCreated(ctx, "transactions", res.GetTransaction()), companyCurrency(ctx)),
	}, nil
}

// GetTransaction is GET /transactions/{id}.
func (f *facade) GetTransaction(ctx context.Context, req *edgebv1.GetTransactionRequest) (*edgebv1.GetTransactionResponse, error) {
	res, err := f.bookings.GetTransaction(ctx, &bookingv1.GetTransactionRequest{TransactionId: req.GetId()})
	if err != nil {
		return nil, err
	}
	return &edgebv1.GetTransactionResponse{Transaction: taggedTransaction(ctx, res.GetTransaction())}, nil
}

// taggedTransaction converts a transaction and sets the ETag of the response.
func taggedTransaction(ctx context.Context, t *bookingv1.Transaction) *edgebv1.Transaction {
	return resource.Transaction(edge.Tag(ctx, t), companyCurrency(ctx))
}
