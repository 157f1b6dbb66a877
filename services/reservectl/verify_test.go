package reservectl

import (
	"errors"
	"net"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc"

	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	mediav1 "reservation.dev/proto/gen/reservation/media/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
	reportsv1 "reservation.dev/proto/gen/reservation/reports/v1"
	subscriptionv1 "reservation.dev/proto/gen/reservation/subscription/v1"
)

// books is a fake of the services, with numbers that a test sets.
type books struct {
	reportsv1.UnimplementedReportMaintenanceServiceServer
	bookingv1.UnimplementedVerificationServiceServer
	passv1.UnimplementedPassServiceServer
	passv1.UnimplementedSubscriptionPassServiceServer
	subscriptionv1.UnimplementedSubscriptionServiceServer
	mediav1.UnimplementedMediaServiceServer
	bookingv1.UnimplementedBookingSnapshotServiceServer
	passv1.UnimplementedPassSnapshotServiceServer
	subscriptionv1.UnimplementedSubscriptionSnapshotServiceServer
	customerv1.UnimplementedCustomerSnapshotServiceServer
	facts      *factory
	held       []*bookingv1.BookedCredits
	given      []*passv1.RedeemedCredits
	wrong      *bookingv1.BookingDifference
	periods    []*subscriptionv1.Grant
	granted    []*passv1.PassGrant
	wrongState *subscriptionv1.SubscriptionDifference
	wrongFile  *mediav1.MediaDifference
	wrongSum   *reportsv1.ReportDifference
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

func (b *books) VerifySubscriptions(_ *subscriptionv1.VerifySubscriptionsRequest, out grpc.ServerStreamingServer[subscriptionv1.VerifySubscriptionsResponse]) error {
	if b.wrongState != nil {
		if err := out.Send(&subscriptionv1.VerifySubscriptionsResponse{Difference: b.wrongState}); err != nil {
			return err
		}
	}
	return out.Send(&subscriptionv1.VerifySubscriptionsResponse{Checked: 11})
}

func (b *books) ExportGrants(_ *subscriptionv1.ExportGrantsRequest, out grpc.ServerStreamingServer[subscriptionv1.ExportGrantsResponse]) error {
	for chunk := range slices.Chunk(b.periods, 2) {
		if err := out.Send(&subscriptionv1.ExportGrantsResponse{Grants: chunk}); err != nil {
			return err
		}
	}
	return nil
}

func (b *books) ExportPassGrants(_ *passv1.ExportPassGrantsRequest, out grpc.ServerStreamingServer[passv1.ExportPassGrantsResponse]) error {
	for chunk := range slices.Chunk(b.granted, 3) {
		if err := out.Send(&passv1.ExportPassGrantsResponse{Grants: chunk}); err != nil {
			return err
		}
	}
	return nil
}

func (b *books) VerifyMedia(_ *mediav1.VerifyMediaRequest, out grpc.ServerStreamingServer[mediav1.VerifyMediaResponse]) error {
	if b.wrongFile != nil {
		if err := out.Send(&mediav1.VerifyMediaResponse{Difference: b.wrongFile}); err != nil {
			return err
		}
	}
	return out.Send(&mediav1.VerifyMediaResponse{Checked: 13})
}

func TestVerify(t *testing.T) {
	held := func(t, b string, credits int32) *bookingv1.BookedCredits {
		return &bookingv1.BookedCredits{TransactionId: "txn_" + t, BookingId: "booking_" + b, Credits: credits}
	}
	given := func(t, b string, credits int32) *passv1.RedeemedCredits {
		return &passv1.RedeemedCredits{RedemptionId: "txn_" + t, ItemId: "booking_" + b, Credits: credits}
	}
	period := func(pass string, n, granted, carried, expired int32) *subscriptionv1.Grant {
		return &subscriptionv1.Grant{CustomerPassId: "cp_" + pass, Period: n, Granted: granted, CarriedOver: carried, Expired: expired}
	}
	ledger := func(pass string, n, granted, carried, expired int32) *passv1.PassGrant {
		return &passv1.PassGrant{CustomerPassId: "cp_" + pass, Period: n, Granted: granted, CarriedOver: carried, Expired: expired}
	}
	agreeing := books{
		periods: []*subscriptionv1.Grant{period("a", 1, 8, 0, 0), period("a", 2, 8, 4, 1), period("a", 10, 8, 0, 0), period("b", 1, 0, 0, 0)},
		granted: []*passv1.PassGrant{ledger("a", 1, 8, 0, 0), ledger("a", 2, 8, 4, 1), ledger("a", 10, 8, 0, 0), ledger("b", 1, 0, 0, 0)},
		held:    []*bookingv1.BookedCredits{held("1", "a", 1), held("1", "b", 2), held("2", "c", 0), held("4", "d", 3)},
		given:   []*passv1.RedeemedCredits{given("1", "a", 1), given("1", "b", 2), given("2", "c", 0), given("3", "x", 0), given("4", "d", 3)},
	}
	lost, stolen, off, overlap := agreeing, agreeing, agreeing, agreeing
	lost.given = agreeing.given[:4]
	stolen.held = agreeing.held[1:]
	ungranted, twice, other, unknown, badState, badFile := agreeing, agreeing, agreeing, agreeing, agreeing, agreeing
	ungranted.granted = agreeing.granted[:3]
	twice.granted = slices.Insert(slices.Clone(agreeing.granted), 1, agreeing.granted[0])
	other.granted = slices.Clone(agreeing.granted)
	other.granted[1] = ledger("a", 2, 9, 3, 2)
	unknown.periods = agreeing.periods[1:]
	badState.wrongState = &subscriptionv1.SubscriptionDifference{What: "period.first_day", Id: "sub_1", Stored: "2026-03-01", Computed: "2026-02-28"}
	badSum := agreeing
	badSum.wrongSum = &reportsv1.ReportDifference{What: "takings.gross", Id: "2026-03-01 CARD", Stored: 5, Computed: 6}
	badFile.wrongFile = &mediav1.MediaDifference{What: "file.missing", Id: "media_1", Stored: 1, Computed: 0}
	off.wrong = &bookingv1.BookingDifference{What: "event_date.booked", Id: "date_1", Stored: 3, Computed: 4}
	overlap.wrong = &bookingv1.BookingDifference{What: "staff.overlaps", Id: "staff_1", Stored: 2}
	for name, tt := range map[string]struct {
		books books
		want  string // the differences, "" for none
	}{
		"finds no difference if the services agree":           {agreeing, ""},
		"finds credits that a booking holds and no pass gave": {lost, "booking.credits booking_d 3 0"},
		"finds credits that a pass gave and no booking holds": {stolen, "booking.credits booking_a 0 1"},
		"prints differences that a service finds in its data": {off, "event_date.booked date_1 3 4"},
		"finds a period without a grant in the ledger":        {ungranted, "period.grants cp_b/1 1 0"},
		"finds a period that was granted twice":               {twice, "period.grants cp_a/1 0 1"},
		"finds a grant without a period":                      {unknown, "period.grants cp_a/1 0 1"},
		"finds a grant with other numbers":                    {other, "period.granted cp_a/2 8 9 period.carried_over cp_a/2 4 3 period.expired cp_a/2 1 2"},
		"prints overlaps of staff":                            {overlap, "staff.overlaps staff_1 2 0"},
		"prints differences of subscriptions":                 {badState, "period.first_day sub_1 2026-03-01 2026-02-28"},
		"prints differences of sums of reports":               {badSum, "takings.gross 2026-03-01 CARD 5 6"},
		"prints differences of files":                         {badFile, "file.missing media_1 1 0"},
	} {
		t.Run(name, func(t *testing.T) {
			out, errOut, err := tt.books.verify(t)
			if errors.Is(err, errDifferences) != (tt.want != "") || err != nil && !errors.Is(err, errDifferences) {
				t.Fatalf("got %v", err)
			}
			if _, rows, _ := strings.Cut(out, "\n"); strings.Join(strings.Fields(rows), " ") != tt.want {
				t.Errorf("got %q, want %q", rows, tt.want)
			}
			if wrong := tt.books.wrong.GetWhat(); (wrong == "staff.overlaps") != strings.Contains(errOut, "staff.overlaps: a staff member has appointments") {
				t.Errorf("explained %q", errOut)
			}
		})
	}
}

// verify runs the command against the fake, and returns what it prints.
func (b *books) verify(t *testing.T) (out, errOut string, err error) {
	t.Helper()
	if b.facts == nil {
		b.facts = newFactory()
	}
	srv := grpc.NewServer()
	bookingv1.RegisterVerificationServiceServer(srv, b)
	bookingv1.RegisterBookingSnapshotServiceServer(srv, b)
	passv1.RegisterPassServiceServer(srv, b)
	passv1.RegisterPassSnapshotServiceServer(srv, b)
	passv1.RegisterSubscriptionPassServiceServer(srv, b)
	subscriptionv1.RegisterSubscriptionServiceServer(srv, b)
	subscriptionv1.RegisterSubscriptionSnapshotServiceServer(srv, b)
	customerv1.RegisterCustomerSnapshotServiceServer(srv, b)
	mediav1.RegisterMediaServiceServer(srv, b)
	reportsv1.RegisterReportMaintenanceServiceServer(srv, b)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = srv.Serve(l) }()
	t.Cleanup(srv.Stop)
	var printed, explained strings.Builder
	a := &app{out: &printed, errOut: &explained, output: "table"}
	g := &a.access.GRPC
	for _, addr := range []*string{&g.Booking, &g.Pass, &g.Subscription, &g.Customer, &g.Media, &g.Reports} {
		*addr = l.Addr().String()
	}
	g.ServiceToken = rawToken
	err = a.withStores(t.Context(), func(s stores) error { return a.verify(s, b.facts.wait) })
	return printed.String(), explained.String(), err
}
