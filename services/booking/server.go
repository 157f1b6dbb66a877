package booking

import (
	"context"
	"time"

	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/idem"
	"reservation.dev/platform/outbox"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/rpc"
	"reservation.dev/platform/zone"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	privacyv1 "reservation.dev/proto/gen/reservation/privacy/v1"
)

// Server answers the RPCs of the booking services.
type Server struct {
	bookingv1.UnimplementedBookingServiceServer
	bookingv1.UnimplementedEventServiceServer
	bookingv1.UnimplementedDiscountServiceServer
	bookingv1.UnimplementedWaitlistServiceServer
	bookingv1.UnimplementedVerificationServiceServer
	customerv1.UnimplementedCustomerDeletionServiceServer

	store     *store
	outbox    *outbox.Outbox
	customers Customers
	companies Companies
	passes    Passes
	desk      *desk
	metrics   *metrics
	// importing holds a token per batch being stored, so that imports leave
	// connections to everyone else.
	importing chan struct{}
	now       func() time.Time
	newID     func() id.UUID
}

// importsAtOnce is how many batches of imports one process stores at a time.
const importsAtOnce = 2

// NewServer returns a server on db, which appends its events to box.
func NewServer(db *pg.DB, box *outbox.Outbox, customers Customers, companies Companies, passes Passes) *Server {
	s := &Server{
		store: newStore(db), outbox: box, customers: customers, companies: companies, passes: passes,
		importing: make(chan struct{}, importsAtOnce), metrics: newMetrics(), now: time.Now, newID: id.NewUUID,
	}
	s.desk = newDesk(func(ctx context.Context, company id.Company, purchases []*purchase) error {
		s.metrics.desk.Observe(float64(len(purchases)))
		return s.sell(ctx, company, purchases)
	})
	return s
}

// Policy is the scope that each RPC needs.
func Policy() rpc.Policy {
	return rpc.Policy{
		privacyv1.PersonalDataService_ExportPersonalData_FullMethodName: "privacy:read",

		customerv1.CustomerDeletionService_ConfirmCustomerDeletion_FullMethodName: "customers:write|privacy:write",

		bookingv1.BookingService_CreateTransaction_FullMethodName:       "bookings:write|registrations:write",
		bookingv1.BookingService_GetTransaction_FullMethodName:          "bookings:read",
		bookingv1.BookingService_ListTransactions_FullMethodName:        "bookings:read",
		bookingv1.BookingService_CancelBooking_FullMethodName:           "bookings:write|registrations:write",
		bookingv1.BookingService_PreviewCancellation_FullMethodName:     "bookings:read|registrations:read",
		bookingv1.BookingService_HoldPlaces_FullMethodName:              "bookings:write",
		bookingv1.BookingService_ConfirmHold_FullMethodName:             "bookings:write",
		bookingv1.BookingService_ReleaseHold_FullMethodName:             "bookings:write",
		bookingv1.DiscountService_CreateDiscountCode_FullMethodName:     "discounts:write",
		bookingv1.DiscountService_UpdateDiscountCode_FullMethodName:     "discounts:write",
		bookingv1.DiscountService_GetDiscountCode_FullMethodName:        "discounts:read",
		bookingv1.DiscountService_ListDiscountCodes_FullMethodName:      "discounts:read",
		bookingv1.WaitlistService_JoinWaitlist_FullMethodName:           "bookings:write",
		bookingv1.WaitlistService_LeaveWaitlist_FullMethodName:          "bookings:write",
		bookingv1.WaitlistService_AcceptOffer_FullMethodName:            "bookings:write",
		bookingv1.WaitlistService_GetWaitlistEntry_FullMethodName:       "bookings:read",
		bookingv1.WaitlistService_ListWaitlist_FullMethodName:           "bookings:read",
		bookingv1.VerificationService_VerifyBookings_FullMethodName:     "platform:admin|bookings:read",
		bookingv1.VerificationService_ExportPassPayments_FullMethodName: "platform:admin|bookings:read",
		bookingv1.VerificationService_CompareCustomers_FullMethodName:   "platform:admin",
		bookingv1.BookingService_RefundBooking_FullMethodName:           "bookings:write",
		bookingv1.BookingService_ImportTransactions_FullMethodName:      "bookings:write",
		bookingv1.BookingService_ListRegistrations_FullMethodName:       "bookings:read|registrations:read",
		bookingv1.BookingService_GetRegistration_FullMethodName:         "bookings:read|registrations:read",
		bookingv1.BookingService_RecordAttendance_FullMethodName:        "bookings:write",
		bookingv1.EventService_CreateEvent_FullMethodName:               "events:write",
		bookingv1.EventService_GetEvent_FullMethodName:                  "events:read",
		bookingv1.EventService_ListEvents_FullMethodName:                "events:read",
		bookingv1.EventService_ListEventDates_FullMethodName:            "events:read",
		bookingv1.EventService_UpdateEvent_FullMethodName:               "events:write",
		bookingv1.EventService_CancelEvent_FullMethodName:               "events:write",
		bookingv1.EventService_DeleteEvent_FullMethodName:               "events:write",
		bookingv1.EventService_AddEventDates_FullMethodName:             "events:write",
		bookingv1.EventService_UpdateEventDate_FullMethodName:           "events:write",
		bookingv1.EventService_CancelEventDate_FullMethodName:           "events:write",
	}
}

// CreateTransaction implements BookingService.
func (s *Server) CreateTransaction(ctx context.Context, req *bookingv1.CreateTransactionRequest) (*bookingv1.CreateTransactionResponse, error) {
	company, err := s.tenant(ctx)
	if err != nil {
		return nil, err
	}
	o, err := orderOf(asked{
		purchaser: req.GetPurchaserId(), lines: req.GetLines(), code: req.GetDiscountCode(),
		payment: payment{req.GetPaymentMethod(), req.GetPaymentReference(), req.GetCustomerPassId()},
	})
	if err != nil {
		return nil, err
	}
	if err := s.store.nameDates(ctx, company.ID, &o); err != nil {
		return nil, err
	}
	var resp *bookingv1.CreateTransactionResponse
	err = s.knowing(ctx, company.ID, func() error {
		if o.payment.method == Pass {
			resp, err = s.purchaseByPass(ctx, req, company, o)
		} else {
			resp, err = s.purchase(ctx, req, company, o)
		}
		return err
	})
	return resp, err
}

// GetTransaction implements BookingService.
func (s *Server) GetTransaction(ctx context.Context, req *bookingv1.GetTransactionRequest) (*bookingv1.GetTransactionResponse, error) {
	company, err := s.tenant(ctx)
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
func (s *Server) transaction(ctx context.Context, company Company, customer, transaction string) (*Transaction, error) {
	c, err := id.Parse[id.Customer](customer)
	if err != nil {
		return nil, fault.Missing("customer")
	}
	t, err := id.Parse[id.Transaction](transaction)
	if err != nil {
		return nil, fault.Missing("transaction")
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
	company, err := s.tenant(ctx)
	if err != nil {
		return nil, err
	}
	customer, err := customerOf(req.GetCustomerId())
	if err != nil {
		return nil, err
	}
	q, wrong := queryOf(req, company, s.now())
	q.customer = customer
	var l listing
	err = s.knowing(ctx, company.ID, func() (err error) {
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
func queryOf(req *bookingv1.ListTransactionsRequest, company Company, now time.Time) (query, error) {
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

// write runs fn, which fills resp, once per idempotency key in one transaction
// of the company.
func (s *Server) write(ctx context.Context, company id.Company, req, resp proto.Message, fn func(ctx context.Context, tx *pg.Tx) error) error {
	return s.store.inTx(ctx, company, func(ctx context.Context, tx *pg.Tx) error {
		return idem.Do(ctx, tx, req, resp, func() error { return fn(ctx, tx) })
	})
}
