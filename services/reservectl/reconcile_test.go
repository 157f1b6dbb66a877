package reservectl

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
)

// restored is a fake of the services after a restore to different moments.
type restored struct {
	books
	bookingv1.UnimplementedBookingServiceServer
	transactions map[string]*bookingv1.Transaction
	copies       []*bookingv1.CustomerDifference
	refuses      bool // RedeemCredits and ChangeRedemption refuse: no credits left
	returned     bool // the credits were returned, so ChangeRedemption refuses
	calls        []string
}

func (r *restored) did(format string, args ...any) {
	r.calls = append(r.calls, fmt.Sprintf(format, args...))
}

func (r *restored) GetCustomerPass(_ context.Context, req *passv1.GetCustomerPassRequest) (*passv1.GetCustomerPassResponse, error) {
	if req.GetId() == "cp_gone" {
		return nil, fault.Status(fault.Missing("customer pass")).Err()
	}
	return &passv1.GetCustomerPassResponse{CustomerPass: &passv1.CustomerPass{Id: req.GetId(), CustomerId: "cust_1"}}, nil
}

func (r *restored) GetTransaction(_ context.Context, req *bookingv1.GetTransactionRequest) (*bookingv1.GetTransactionResponse, error) {
	t := r.transactions[req.GetTransactionId()]
	if t == nil || req.GetCustomerId() != "cust_1" {
		return nil, fault.Status(fault.Missing("transaction")).Err()
	}
	return &bookingv1.GetTransactionResponse{Transaction: t}, nil
}

func (r *restored) RedeemCredits(_ context.Context, req *passv1.RedeemCreditsRequest) (*passv1.RedeemCreditsResponse, error) {
	for _, i := range req.GetItems() {
		r.did("redeem %s %s %s %s %d on %s", req.GetRedemptionId(), req.GetCustomerPassId(), i.GetItemId(), i.GetEventType(), i.GetCredits(), i.GetDay())
	}
	if r.refuses {
		return nil, fault.Status(fault.Refuse("PASS_EXHAUSTED", "none left")).Err()
	}
	return &passv1.RedeemCreditsResponse{}, nil
}

func (r *restored) ReturnCredits(_ context.Context, req *passv1.ReturnCreditsRequest) (*passv1.ReturnCreditsResponse, error) {
	r.did("return %s %s %d", req.GetRedemptionId(), req.GetReturnId(), req.GetCredits())
	return &passv1.ReturnCreditsResponse{}, nil
}

func (r *restored) ChangeRedemption(_ context.Context, req *passv1.ChangeRedemptionRequest) (*passv1.ChangeRedemptionResponse, error) {
	if r.returned {
		return nil, fault.Status(fault.Refuse("REDEMPTION_CANCELLED", "returned")).Err()
	}
	i := req.GetItem()
	if !req.GetValidateOnly() {
		r.did("change %s %s %s %d to %d on %s", req.GetRedemptionId(), i.GetItemId(), i.GetEventType(), req.GetExpectedCredits(), i.GetCredits(), i.GetDay())
	}
	if _, err := id.ParseUUID(req.GetChangeId()); err != nil {
		return nil, err
	}
	if r.refuses {
		return nil, fault.Status(fault.Refuse("PASS_EXHAUSTED", "none left")).Err()
	}
	return &passv1.ChangeRedemptionResponse{}, nil
}

func (r *restored) CancelRedemption(_ context.Context, req *passv1.CancelRedemptionRequest) (*passv1.CancelRedemptionResponse, error) {
	r.did("cancel %s", req.GetRedemptionId())
	return &passv1.CancelRedemptionResponse{}, nil
}

func (r *restored) RefundBooking(_ context.Context, req *bookingv1.RefundBookingRequest) (*bookingv1.RefundBookingResponse, error) {
	r.did("refund %s", req.GetBookingId())
	return &bookingv1.RefundBookingResponse{}, nil
}

func (r *restored) CompareCustomers(req *bookingv1.CompareCustomersRequest, out grpc.ServerStreamingServer[bookingv1.CompareCustomersResponse]) error {
	for _, d := range r.copies {
		d.Repaired = req.GetRepair() && d.GetVersion() > 0
		if err := out.Send(&bookingv1.CompareCustomersResponse{Difference: d}); err != nil {
			return err
		}
	}
	return out.Send(&bookingv1.CompareCustomersResponse{Checked: 3})
}

func TestReconcile(t *testing.T) {
	held := func(b string, credits int32) []*bookingv1.BookedCredits {
		return []*bookingv1.BookedCredits{{TransactionId: "txn_1", BookingId: "booking_" + b, CustomerPassId: "cp_1", Credits: credits}}
	}
	given := func(b string, credits int32) []*passv1.RedeemedCredits {
		return []*passv1.RedeemedCredits{{RedemptionId: "txn_1", ItemId: "booking_" + b, CustomerPassId: "cp_1", Credits: credits}}
	}
	moving := func(payments []*bookingv1.BookedCredits) []*bookingv1.BookedCredits {
		payments[0].Changing = true
		return payments
	}
	paid := func(b string, credits int32, refunded bool) *bookingv1.Booking {
		return &bookingv1.Booking{Id: "booking_" + b, IsRefunded: refunded, EventType: bookingv1.EventType_EVENT_TYPE_CLASS,
			StartsAt: timestamppb.New(time.Date(2026, 3, 28, 23, 30, 0, 0, time.UTC)), Timezone: "Europe/Paris",
			Payment: &bookingv1.Booking_Pass{Pass: &bookingv1.PassPayment{CreditsUsed: credits, CustomerPassId: "cp_1"}}}
	}
	one := func(bookings ...*bookingv1.Booking) map[string]*bookingv1.Transaction {
		return map[string]*bookingv1.Transaction{"txn_1": {Id: "txn_1", Purchaser: &bookingv1.CustomerReference{Id: "cust_1"}, Bookings: bookings}}
	}
	two := func(a, b []*bookingv1.BookedCredits) []*bookingv1.BookedCredits { return append(a, b...) }
	for name, tt := range map[string]struct {
		restored restored
		want     []string // calls with --apply
		left     bool     // whether differences are left after --apply
	}{
		"services that agree":                           {restored{books: books{held: held("a", 2), given: given("a", 2)}, transactions: one(paid("a", 2, false))}, nil, false},
		"credits of a purchase that does not exist":     {restored{books: books{given: given("a", 2)}}, []string{"cancel txn_1"}, false},
		"credits of a refunded booking":                 {restored{books: books{held: held("a", 0), given: given("a", 2)}, transactions: one(paid("a", 2, true))}, []string{"return txn_1 booking_a 2"}, false},
		"credits that were returned to the pass":        {restored{books: books{held: held("a", 2), given: given("a", 0)}, transactions: one(paid("a", 2, false)), returned: true}, []string{"refund booking_a"}, false},
		"a move whose credits were not taken":           {restored{books: books{held: held("a", 3), given: given("a", 0)}, transactions: one(paid("a", 3, false))}, []string{"change txn_1 booking_a class 0 to 3 on 2026-03-29"}, false},
		"a move that the pass cannot pay":               {restored{books: books{held: held("a", 3), given: given("a", 2)}, transactions: one(paid("a", 3, false)), refuses: true}, []string{"change txn_1 booking_a class 2 to 3 on 2026-03-29"}, true},
		"a move whose credits were not returned":        {restored{books: books{held: held("a", 1), given: given("a", 2)}, transactions: one(paid("a", 1, false))}, []string{"change txn_1 booking_a class 2 to 1 on 2026-03-29"}, false},
		"a move to a date that costs no credits":        {restored{books: books{held: held("a", 0), given: given("a", 2)}, transactions: one(paid("a", 0, false))}, []string{"change txn_1 booking_a class 2 to 0 on 2026-03-29"}, false},
		"a move that the booking service is finishing":  {restored{books: books{held: moving(held("a", 1)), given: given("a", 2)}, transactions: one(paid("a", 1, false))}, nil, false},
		"a purchase whose credits were not redeemed":    {restored{books: books{held: held("a", 2)}, transactions: one(paid("a", 2, false))}, []string{"redeem txn_1 cp_1 booking_a class 2 on 2026-03-29"}, false},
		"several bookings of a purchase, redeemed once": {restored{books: books{held: two(held("a", 2), held("b", 1))}, transactions: one(paid("a", 2, false), paid("b", 1, false), paid("c", 1, true))}, []string{"redeem txn_1 cp_1 booking_a class 2 on 2026-03-29", "redeem txn_1 cp_1 booking_b class 1 on 2026-03-29"}, false},
		"a purchase that the pass cannot pay":           {restored{books: books{held: held("a", 2)}, transactions: one(paid("a", 2, false)), refuses: true}, []string{"redeem txn_1 cp_1 booking_a class 2 on 2026-03-29"}, true},
		"a pass that does not exist":                    {restored{books: books{held: []*bookingv1.BookedCredits{{TransactionId: "txn_1", BookingId: "booking_a", CustomerPassId: "cp_gone", Credits: 1}}}}, nil, true},
		"an outdated copy of a customer":                {restored{copies: []*bookingv1.CustomerDifference{{CustomerId: "cust_1", CopiedVersion: 3, Version: 2}}}, nil, false},
		"a copy of a customer that does not exist":      {restored{copies: []*bookingv1.CustomerDifference{{CustomerId: "cust_1", CopiedVersion: 3}}}, nil, true},
	} {
		t.Run("handles "+name, func(t *testing.T) {
			run := func(apply bool) error {
				a := &app{out: io.Discard, errOut: io.Discard, output: "json"}
				addr := tt.restored.serve(t)
				a.access.GRPC.Booking, a.access.GRPC.Pass, a.access.GRPC.ServiceToken = addr, addr, rawToken
				return a.withBookingsAndPasses(t.Context(), func(bookings, passes *session) error {
					return a.reconcile(t.Context(), bookings, passes, apply, time.Millisecond)
				})
			}
			differs := len(tt.want) > 0 || tt.left || len(tt.restored.copies) > 0
			if err := run(false); errors.Is(err, errUnreconciled) != differs || err != nil && !errors.Is(err, errUnreconciled) {
				t.Errorf("without --apply: %v", err)
			}
			if len(tt.restored.calls) > 0 {
				t.Errorf("without --apply it did %v", tt.restored.calls)
			}
			if err := run(true); errors.Is(err, errUnreconciled) != tt.left || err != nil && !errors.Is(err, errUnreconciled) {
				t.Errorf("with --apply: %v", err)
			}
			if !slices.Equal(tt.restored.calls, tt.want) {
				t.Errorf("it did %s, want %s", strings.Join(tt.restored.calls, "; "), strings.Join(tt.want, "; "))
			}
		})
	}
}

// serve starts a server with all of r's services and returns its address.
func (r *restored) serve(t *testing.T) string {
	t.Helper()
	srv := grpc.NewServer()
	bookingv1.RegisterVerificationServiceServer(srv, r)
	bookingv1.RegisterBookingServiceServer(srv, r)
	passv1.RegisterPassServiceServer(srv, r)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = srv.Serve(l) }()
	t.Cleanup(srv.Stop)
	return l.Addr().String()
}
