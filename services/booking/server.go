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
)

// Server answers the RPCs of BookingService and EventService.
type Server struct {
	bookingv1.UnimplementedBookingServiceServer
	bookingv1.UnimplementedEventServiceServer

	store     *store
	outbox    *outbox.Outbox
	customers Customers
	companies Companies
	desk      *desk
	// importing holds a token per batch being stored, so that imports leave
	// connections to everyone else.
	importing chan struct{}
	now       func() time.Time
	newID     func() id.UUID
}

// importsAtOnce is how many batches of imports one process stores at a time.
const importsAtOnce = 2

// NewServer returns a server on db, which appends its events to box.
func NewServer(db *pg.DB, box *outbox.Outbox, customers Customers, companies Companies) *Server {
	s := &Server{
		store: newStore(db), outbox: box, customers: customers, companies: companies,
		importing: make(chan struct{}, importsAtOnce), now: time.Now, newID: id.NewUUID,
	}
	s.desk = newDesk(s.sell)
	return s
}

// Policy is the scope that each RPC needs.
func Policy() rpc.Policy {
	return rpc.Policy{
		bookingv1.BookingService_CreateTransaction_FullMethodName:  "bookings:write",
		bookingv1.BookingService_GetTransaction_FullMethodName:     "bookings:read",
		bookingv1.BookingService_ListTransactions_FullMethodName:   "bookings:read",
		bookingv1.BookingService_CancelBooking_FullMethodName:      "bookings:write",
		bookingv1.BookingService_RefundBooking_FullMethodName:      "bookings:write",
		bookingv1.BookingService_ImportTransactions_FullMethodName: "bookings:write",
		bookingv1.BookingService_ListRegistrations_FullMethodName:  "bookings:read|registrations:read",
		bookingv1.BookingService_GetRegistration_FullMethodName:    "bookings:read|registrations:read",
		bookingv1.BookingService_RecordAttendance_FullMethodName:   "bookings:write",
		bookingv1.EventService_CreateEvent_FullMethodName:          "events:write",
		bookingv1.EventService_GetEvent_FullMethodName:             "events:read",
		bookingv1.EventService_ListEvents_FullMethodName:           "events:read",
		bookingv1.EventService_UpdateEvent_FullMethodName:          "events:write",
		bookingv1.EventService_CancelEvent_FullMethodName:          "events:write",
		bookingv1.EventService_DeleteEvent_FullMethodName:          "events:write",
		bookingv1.EventService_AddEventDates_FullMethodName:        "events:write",
		bookingv1.EventService_UpdateEventDate_FullMethodName:      "events:write",
		bookingv1.EventService_CancelEventDate_FullMethodName:      "events:write",
	}
}

// CreateTransaction implements BookingService.
func (s *Server) CreateTransaction(ctx context.Context, req *bookingv1.CreateTransactionRequest) (*bookingv1.CreateTransactionResponse, error) {
	company, err := s.tenant(ctx)
	if err != nil {
		return nil, err
	}
	o, err := orderOf(req)
	if err != nil {
		return nil, err
	}
	var resp *bookingv1.CreateTransactionResponse
	err = s.knowing(ctx, company.ID, func() error {
		resp, err = s.purchase(ctx, req, company, o)
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

// CancelBooking implements BookingService.
func (s *Server) CancelBooking(ctx context.Context, req *bookingv1.CancelBookingRequest) (*bookingv1.CancelBookingResponse, error) {
	resp := &bookingv1.CancelBookingResponse{}
	err := s.changeBooking(ctx, req, resp, req.GetBookingId(), (*Booking).cancel, bookingCancelled,
		func(b *Booking, changed bool) { resp.Booking, resp.Changed = bookingToProto(b), changed })
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// RefundBooking implements BookingService.
func (s *Server) RefundBooking(ctx context.Context, req *bookingv1.RefundBookingRequest) (*bookingv1.RefundBookingResponse, error) {
	resp := &bookingv1.RefundBookingResponse{}
	err := s.changeBooking(ctx, req, resp, req.GetBookingId(), (*Booking).refund, bookingRefunded,
		func(b *Booking, changed bool) { resp.Booking, resp.Changed = bookingToProto(b), changed })
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// write runs fn, which fills resp, once per idempotency key in one transaction
// of the company.
func (s *Server) write(ctx context.Context, company id.Company, req, resp proto.Message, fn func(ctx context.Context, tx *pg.Tx) error) error {
	return s.store.inTx(ctx, company, func(ctx context.Context, tx *pg.Tx) error {
		return idem.Do(ctx, tx, req, resp, func() error { return fn(ctx, tx) })
	})
}

// changeBooking sets a flag of one booking, and with it, in one commit, its
// transaction's version, what becomes free, and the event. Where the flag is set
// already nothing changes.
func (s *Server) changeBooking(ctx context.Context, req, resp proto.Message, booking string,
	decide func(*Booking) change, event func(*bookingv1.BookingSnapshot) outbox.Event, answer func(*Booking, bool),
) error {
	company, err := s.tenant(ctx)
	if err != nil {
		return err
	}
	which, err := id.Parse[id.Booking](booking)
	if err != nil {
		return fault.Missing("booking")
	}
	return s.write(ctx, company.ID, req, resp, func(ctx context.Context, tx *pg.Tx) error {
		t, err := s.store.lockBooking(ctx, tx, company.ID, which)
		if err != nil {
			return err
		}
		b := &t.Bookings[0]
		done := decide(b)
		answer(b, done.changed)
		if !done.changed {
			return nil
		}
		t.Version++
		now := s.now()
		if err := s.store.saveBooking(ctx, tx, company.ID, t, done.frees, now); err != nil {
			return err
		}
		return s.append(ctx, tx, company.ID, now, event(snapshotToProto(t, b)))
	})
}
