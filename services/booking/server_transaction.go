package booking

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"reservation.dev/platform/check"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/page"
	"reservation.dev/platform/tenancy"
	"reservation.dev/platform/zone"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/convert"
	"reservation.dev/services/booking/model"
	"reservation.dev/services/booking/store"
)

// CreateTransaction implements BookingService.
func (s *Server) CreateTransaction(ctx context.Context, req *bookingv1.CreateTransactionRequest) (*bookingv1.CreateTransactionResponse, error) {
	company, err := s.companies.Claimed(ctx)
	if err != nil {
		return nil, err
	}
	order := convert.OrderRequest{
		Purchaser: req.GetPurchaserId(), Lines: req.GetLines(), Code: req.GetDiscountCode(), AfterStart: req.GetAfterStartReason(),
		PaymentRequest: convert.PaymentRequest{Method: req.GetPaymentMethod(), Reference: req.GetPaymentReference(), Pass: req.GetCustomerPassId()},
	}
	var resp *bookingv1.CreateTransactionResponse
	err = s.withOrder(ctx, company, order, func(o model.Order) (err error) {
		buy := s.purchaseByCard
		if o.ByPass() {
			buy = s.purchaseByPass
		}
		resp, err = buy(ctx, req, company, o)
		return err
	})
	return resp, err
}

// orderReadings is how often the order of a request is read, if dates are added to its course.
const orderReadings = 5

// withOrder reads the order of a request and calls place with it. It does so again if a date was added
// to a course after the course's dates were read, and before they were locked.
func (s *Server) withOrder(ctx context.Context, company tenancy.Company, r convert.OrderRequest, place func(model.Order) error) error {
	for range orderReadings {
		o, err := s.readOrder(ctx, company, r)
		if err != nil {
			return err
		}
		err = s.fetchMissingCustomers(ctx, company.ID, func() error { return place(o) })
		if !errors.Is(err, model.ErrCourseChanged) {
			return err
		}
	}
	return fault.Away(model.ErrCourseChanged)
}

// readOrder reads the order of a request, and fills in the dates of lines that give only an event.
func (s *Server) readOrder(ctx context.Context, company tenancy.Company, r convert.OrderRequest) (model.Order, error) {
	o, err := convert.Order(r)
	if err != nil {
		return o, err
	}
	events, err := s.store.OnlyDates(ctx, company.ID, o.UndatedEvents())
	if err != nil {
		return o, err
	}
	courses, err := s.store.Courses(ctx, company.ID, events, func() time.Time { return s.clock(company) })
	if err != nil {
		return o, err
	}
	err = o.NameDates(events, courses)
	return o, err
}

// GetTransaction implements BookingService.
func (s *Server) GetTransaction(ctx context.Context, req *bookingv1.GetTransactionRequest) (*bookingv1.GetTransactionResponse, error) {
	company, err := s.companies.Claimed(ctx)
	if err != nil {
		return nil, err
	}
	read := s.transaction
	if req.GetCustomerId() != "" {
		read = s.transactionOf
	}
	t, err := read(ctx, company, req)
	if err != nil {
		return nil, err
	}
	return &bookingv1.GetTransactionResponse{Transaction: convert.Transaction(t)}, nil
}

// transaction looks up a transaction of any customer.
func (s *Server) transaction(ctx context.Context, company tenancy.Company, req *bookingv1.GetTransactionRequest) (*model.Transaction, error) {
	which, err := check.ID[id.Transaction](req.GetTransactionId(), "transaction")
	if err != nil {
		return nil, err
	}
	found, err := s.store.CompanyTransactions(ctx, company.ID, []id.Transaction{which})
	if err == nil && len(found) == 0 {
		err = fault.Missing("transaction")
	}
	if err != nil {
		return nil, err
	}
	return &found[0], nil
}

// transactionOf looks up a transaction of a customer who is not deleted. A customer who is not in the
// copy has not bought anything.
func (s *Server) transactionOf(ctx context.Context, company tenancy.Company, req *bookingv1.GetTransactionRequest) (*model.Transaction, error) {
	c, err := check.ID[id.Customer](req.GetCustomerId(), "customer")
	if err != nil {
		return nil, err
	}
	t, err := check.ID[id.Transaction](req.GetTransactionId(), "transaction")
	if err != nil {
		return nil, err
	}
	l, err := s.store.Transaction(ctx, company.ID, c, t)
	switch {
	case err != nil:
		return nil, err
	case l.Purchaser.Exists(c) != nil || len(l.Transactions) == 0:
		return nil, fault.Missing("transaction")
	}
	return &l.Transactions[0], nil
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
	q, wrong := queryOf(req, company, s.clock(company))
	q.Customer = customer
	var l store.Listing
	err = s.fetchMissingCustomers(ctx, company.ID, func() (err error) {
		l, err = s.store.Transactions(ctx, company.ID, q)
		if err != nil {
			return err
		}
		return l.Purchaser.Exists(customer)
	})
	if err == nil {
		// A customer who does not exist is reported rather than an invalid parameter.
		err = wrong
	}
	if err != nil {
		return nil, err
	}
	resp := &bookingv1.ListTransactionsResponse{
		Transactions: make([]*bookingv1.Transaction, len(l.Transactions)),
		Total:        l.Total, Page: q.Page.Number, PageSize: q.Page.Size,
	}
	for i := range l.Transactions {
		resp.Transactions[i] = convert.Transaction(&l.Transactions[i])
	}
	return resp, nil
}

// queryOf reads the filters of a list of transactions.
func queryOf(req *bookingv1.ListTransactionsRequest, company tenancy.Company, now time.Time) (store.TransactionQuery, error) {
	loc, err := zone.Load(company.Timezone)
	if err != nil {
		return store.TransactionQuery{}, err
	}
	var q store.TransactionQuery
	if q.Page, err = model.NewPage(req.Page, req.PageSize); err != nil {
		return store.TransactionQuery{}, err
	}
	if q.Window, err = model.NewWindow(req.StartDate, req.EndDate, now, loc); err != nil {
		return store.TransactionQuery{}, err
	}
	if req.GetFutureOnly() {
		q.After = now
	}
	return q, nil
}

// companyQueryOf reads the filters of a list of a company's transactions.
func companyQueryOf(r *bookingv1.ListCompanyTransactionsRequest) (*store.CompanyQuery, error) {
	orders := map[bookingv1.TransactionOrder]page.Order{
		bookingv1.TransactionOrder_TRANSACTION_ORDER_UNSPECIFIED:  store.TransactionsByCreation(),
		bookingv1.TransactionOrder_TRANSACTION_ORDER_CREATED:      store.TransactionsByCreation(),
		bookingv1.TransactionOrder_TRANSACTION_ORDER_CREATED_DESC: store.TransactionsByCreationDesc(),
		bookingv1.TransactionOrder_TRANSACTION_ORDER_UPDATED:      store.TransactionsByChange(),
		bookingv1.TransactionOrder_TRANSACTION_ORDER_UPDATED_DESC: store.TransactionsByChangeDesc(),
		bookingv1.TransactionOrder_TRANSACTION_ORDER_PURCHASED:    store.TransactionsByPurchase(),
	}
	order, ok := orders[r.GetOrder()]
	if !ok {
		return nil, fault.InvalidParameter("order", "enum", "is not an order of transactions")
	}
	q := &store.CompanyQuery{Purchaser: id.Filter[id.Customer](r.GetPurchaserId()), MostCounted: cmp.Or(r.GetTotalLimit(), mostCounted)}
	if q.MostCounted < 0 || q.MostCounted > mostCounted {
		return nil, fault.InvalidParameter("total_limit", "range", fmt.Sprintf("must be 0 to %d", mostCounted))
	}
	var err error
	if q.Page, err = page.Read(page.Of(r), order, pageSizes()); err != nil {
		return nil, err
	}
	if q.Since, err = check.Bound("updated_since", r.GetUpdatedSince()); err != nil {
		return nil, err
	}
	if q.PurchasedFrom, err = check.Bound("purchased_from", r.GetPurchasedFrom()); err != nil {
		return nil, err
	}
	q.PurchasedBefore, err = check.Bound("purchased_before", r.GetPurchasedBefore())
	return q, err
}

// ListCompanyTransactions implements BookingService.
func (s *Server) ListCompanyTransactions(ctx context.Context, req *bookingv1.ListCompanyTransactionsRequest) (*bookingv1.ListCompanyTransactionsResponse, error) {
	company, err := s.companies.Claimed(ctx)
	if err != nil {
		return nil, err
	}
	q, err := companyQueryOf(req)
	if err != nil {
		return nil, err
	}
	found, total, err := s.store.CompanyTransactionIDs(ctx, company.ID, q)
	if err != nil {
		return nil, err
	}
	resp := &bookingv1.ListCompanyTransactionsResponse{Total: total}
	found, resp.NextPageToken = page.Cut(q.Page, found, func(t *store.ListedTransaction) page.Cursor { return t.Cursor(q.Page.Order) })
	ids := make([]id.Transaction, len(found))
	for i := range found {
		ids[i] = found[i].ID
	}
	list, err := s.store.CompanyTransactions(ctx, company.ID, ids)
	if err != nil {
		return nil, err
	}
	for i := range list {
		resp.Transactions = append(resp.Transactions, convert.Transaction(&list[i]))
	}
	return resp, nil
}
