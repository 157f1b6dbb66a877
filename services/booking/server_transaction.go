package booking

import (
	"context"
	"time"

	"reservation.dev/platform/check"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/tenancy"
	"reservation.dev/platform/zone"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

// CreateTransaction implements BookingService.
func (s *Server) CreateTransaction(ctx context.Context, req *bookingv1.CreateTransactionRequest) (*bookingv1.CreateTransactionResponse, error) {
	company, err := s.companies.Claimed(ctx)
	if err != nil {
		return nil, err
	}
	o, err := s.readOrder(ctx, company.ID, asked{
		purchaser: req.GetPurchaserId(), lines: req.GetLines(), code: req.GetDiscountCode(),
		payment: payment{method: req.GetPaymentMethod(), reference: req.GetPaymentReference(), pass: req.GetCustomerPassId()},
	})
	if err != nil {
		return nil, err
	}
	buy := s.purchaseByCard
	if o.payment.method == Pass {
		buy = s.purchaseByPass
	}
	var resp *bookingv1.CreateTransactionResponse
	err = s.fetchMissingCustomers(ctx, company.ID, func() (err error) {
		resp, err = buy(ctx, req, company, o)
		return err
	})
	return resp, err
}

// readOrder reads what a request asks to buy, and finds the dates of lines that name an
// event alone.
func (s *Server) readOrder(ctx context.Context, company id.Company, r asked) (order, error) {
	o, err := orderOf(r)
	if err != nil {
		return o, err
	}
	dates, err := s.store.onlyDates(ctx, company, o.undatedEvents())
	if err != nil {
		return o, err
	}
	return o, o.nameDates(dates)
}

// GetTransaction implements BookingService.
func (s *Server) GetTransaction(ctx context.Context, req *bookingv1.GetTransactionRequest) (*bookingv1.GetTransactionResponse, error) {
	company, err := s.companies.Claimed(ctx)
	if err != nil {
		return nil, err
	}
	t, err := s.transaction(ctx, company, req.GetCustomerId(), req.GetTransactionId())
	if err != nil {
		return nil, err
	}
	return &bookingv1.GetTransactionResponse{Transaction: transactionToProto(t)}, nil
}

// transaction finds a transaction of a customer who is not deleted. One who is
// not in the copy has bought nothing.
func (s *Server) transaction(ctx context.Context, company tenancy.Company, customer, transaction string) (*Transaction, error) {
	c, err := check.ID[id.Customer](customer, "customer")
	if err != nil {
		return nil, err
	}
	t, err := check.ID[id.Transaction](transaction, "transaction")
	if err != nil {
		return nil, err
	}
	l, err := s.store.transaction(ctx, company.ID, c, t)
	switch {
	case err != nil:
		return nil, err
	case l.purchaser.exists(c) != nil || len(l.transactions) == 0:
		return nil, fault.Missing("transaction")
	}
	return &l.transactions[0], nil
}

// ListTransactions implements BookingService.
func (s *Server) ListTransactions(ctx context.Context, req *bookingv1.ListTransactionsRequest) (*bookingv1.ListTransactionsResponse, error) {
	company, err := s.companies.Claimed(ctx)
	if err != nil {
		return nil, err
	}
	customer, err := check.ID[id.Customer](req.GetCustomerId(), "customer")
	if err != nil {
		return nil, err
	}
	q, wrong := queryOf(req, company, s.now())
	q.customer = customer
	var l listing
	err = s.fetchMissingCustomers(ctx, company.ID, func() (err error) {
		l, err = s.store.list(ctx, company.ID, q)
		if err != nil {
			return err
		}
		return l.purchaser.exists(customer)
	})
	if err == nil {
		// A customer who does not exist is the greater fault.
		err = wrong
	}
	if err != nil {
		return nil, err
	}
	resp := &bookingv1.ListTransactionsResponse{
		Transactions: make([]*bookingv1.Transaction, len(l.transactions)),
		Total:        l.total, Page: q.page.number, PageSize: q.page.size,
	}
	for i := range l.transactions {
		resp.Transactions[i] = transactionToProto(&l.transactions[i])
	}
	return resp, nil
}

// queryOf reads what a list is to hold.
func queryOf(req *bookingv1.ListTransactionsRequest, company tenancy.Company, now time.Time) (query, error) {
	loc, err := zone.Load(company.Timezone)
	if err != nil {
		return query{}, err
	}
	var q query
	if q.page, err = newPage(req.Page, req.PageSize); err != nil {
		return query{}, err
	}
	if q.window, err = newWindow(req.StartDate, req.EndDate, now, loc); err != nil {
		return query{}, err
	}
	if req.GetFutureOnly() {
		q.after = now
	}
	return q, nil
}
