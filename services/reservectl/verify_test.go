package reservectl

import (
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc"

	"reservation.dev/platform/rpc"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
)

// books is a fake of the services, with numbers that a test sets.
type books struct {
	bookingv1.UnimplementedVerificationServiceServer
	passv1.UnimplementedPassServiceServer
	held  []*bookingv1.BookedCredits
	given []*passv1.RedeemedCredits
	wrong *bookingv1.BookingDifference
}

func (b *books) VerifyBookings(_ *bookingv1.VerifyBookingsRequest, out grpc.ServerStreamingServer[bookingv1.VerifyBookingsResponse]) error {
	if b.wrong != nil {
		if err := out.Send(&bookingv1.VerifyBookingsResponse{Difference: b.wrong}); err != nil {
			return err
		}
	}
	return out.Send(&bookingv1.VerifyBookingsResponse{Checked: 5})
}

func (b *books) VerifyPasses(_ *passv1.VerifyPassesRequest, out grpc.ServerStreamingServer[passv1.VerifyPassesResponse]) error {
	return out.Send(&passv1.VerifyPassesResponse{Checked: 7})
}

func (b *books) ExportPassPayments(_ *bookingv1.ExportPassPaymentsRequest, out grpc.ServerStreamingServer[bookingv1.ExportPassPaymentsResponse]) error {
	for chunk := range slices.Chunk(b.held, 2) {
		if err := out.Send(&bookingv1.ExportPassPaymentsResponse{Payments: chunk}); err != nil {
			return err
		}
	}
	return nil
}

func (b *books) ExportRedemptions(_ *passv1.ExportRedemptionsRequest, out grpc.ServerStreamingServer[passv1.ExportRedemptionsResponse]) error {
	for chunk := range slices.Chunk(b.given, 3) {
		if err := out.Send(&passv1.ExportRedemptionsResponse{Redemptions: chunk}); err != nil {
			return err
		}
	}
	return nil
}

func TestVerify(t *testing.T) {
	held := func(t, b string, credits int32) *bookingv1.BookedCredits {
		return &bookingv1.BookedCredits{TransactionId: "txn_" + t, BookingId: "booking_" + b, Credits: credits}
	}
	given := func(t, b string, credits int32) *passv1.RedeemedCredits {
		return &passv1.RedeemedCredits{RedemptionId: "txn_" + t, ItemId: "booking_" + b, Credits: credits}
	}
	agreeing := books{
		held:  []*bookingv1.BookedCredits{held("1", "a", 1), held("1", "b", 2), held("2", "c", 0), held("4", "d", 3)},
		given: []*passv1.RedeemedCredits{given("1", "a", 1), given("1", "b", 2), given("2", "c", 0), given("3", "x", 0), given("4", "d", 3)},
	}
	lost, stolen, off := agreeing, agreeing, agreeing
	lost.given = agreeing.given[:4]
	stolen.held = agreeing.held[1:]
	off.wrong = &bookingv1.BookingDifference{What: "event_date.booked", Id: "date_1", Stored: 3, Computed: 4}
	for name, tt := range map[string]struct {
		books books
		want  string // the differences, "" for none
	}{
		"finds no difference if the services agree":           {agreeing, ""},
		"finds credits that a booking holds and no pass gave": {lost, "booking.credits booking_d 3 0"},
		"finds credits that a pass gave and no booking holds": {stolen, "booking.credits booking_a 0 1"},
		"prints differences that a service finds in its data": {off, "event_date.booked date_1 3 4"},
	} {
		t.Run(name, func(t *testing.T) {
			srv := grpc.NewServer()
			bookingv1.RegisterVerificationServiceServer(srv, &tt.books)
			passv1.RegisterPassServiceServer(srv, &tt.books)
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			go func() { _ = srv.Serve(l) }()
			t.Cleanup(srv.Stop)
			conn, err := rpc.Dial(l.Addr().String(), rpc.DialOptions{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = conn.Close() })
			var out strings.Builder
			a := &app{out: &out, errOut: io.Discard, output: "table"}
			a.access.GRPC.Booking, a.access.GRPC.Pass, a.access.GRPC.ServiceToken = l.Addr().String(), l.Addr().String(), rawToken
			err = a.withBookingsAndPasses(t.Context(), a.verify)
			if errors.Is(err, errDifferences) != (tt.want != "") || err != nil && !errors.Is(err, errDifferences) {
				t.Fatalf("got %v", err)
			}
			if _, rows, _ := strings.Cut(out.String(), "\n"); strings.Join(strings.Fields(rows), " ") != tt.want {
				t.Errorf("got %q, want %q", rows, tt.want)
			}
		})
	}
}
