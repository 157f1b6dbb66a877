package reservectl

import (
	"bytes"
	"context"
	"encoding/json"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
	webhookv1 "reservation.dev/proto/gen/reservation/webhook/v1"
)

// received is a request that the fake services received.
type received struct {
	method  string
	request proto.Message
	key     string // its idempotency key
	company string // the company that it is for
}

// rpcWorld is a fake of all services that records requests and answers every RPC.
type rpcWorld struct {
	mu       sync.Mutex
	requests []received
	answer   func(method string, req proto.Message) (proto.Message, error)
}

// newRPCWorld starts a fake whose responses have a value in every field.
func newRPCWorld(t *testing.T) *rpcWorld {
	t.Helper()
	w := &rpcWorld{answer: func(method string, _ proto.Message) (proto.Message, error) { return filledResponse(method), nil }}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := grpc.NewServer(grpc.UnknownServiceHandler(w.handle))
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = srv.Serve(l)
	}()
	t.Cleanup(func() { srv.Stop(); <-done })
	addr := l.Addr().String()
	t.Setenv("RESERVATION_CREDENTIALS", "")
	t.Setenv("RESERVATION_TOKEN", rawToken)
	globalFlags = []string{"--company", companyID, "--auth", addr, "--customer", addr, "--booking", addr, "--pass", addr, "--subscription", addr, "--media", addr, "--reports", addr, "--webhook", addr}
	return w
}

func (w *rpcWorld) handle(_ any, stream grpc.ServerStream) error {
	method, _ := grpc.MethodFromServerStream(stream)
	req := newMessage(call{method: method}.descriptor().Input()).Interface()
	if err := stream.RecvMsg(req); err != nil {
		return err
	}
	md, _ := metadata.FromIncomingContext(stream.Context())
	w.mu.Lock()
	defer w.mu.Unlock()
	w.requests = append(w.requests, received{method, req, strings.Join(md.Get("idempotency-key"), ""), strings.Join(md.Get("reservation-company"), "")})
	res, err := w.answer(method, req)
	if err != nil {
		return fault.Status(err).Err()
	}
	return stream.SendMsg(res)
}

// last returns the last request, and forgets all.
func (w *rpcWorld) last(t *testing.T) received {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.requests) == 0 {
		t.Fatal("no request arrived")
	}
	r := w.requests[len(w.requests)-1]
	w.requests = nil
	return r
}

// globalFlags are the flags by which commands reach the fake.
var globalFlags []string

// with returns a command line, split at spaces, that reaches the fake.
func with(line string) []string { return append(strings.Fields(line), globalFlags...) }

// filledResponse returns the last page of a list, or any other response, with a value in every field.
func filledResponse(method string) proto.Message {
	m := newMessage(call{method: method}.descriptor().Output())
	fill(m, 5)
	for _, name := range []protoreflect.Name{"next_page_token", "has_more"} {
		if d := m.Descriptor().Fields().ByName(name); d != nil {
			m.Clear(d)
		}
	}
	return m.Interface()
}

func fill(m protoreflect.Message, depth int) {
	for i := range m.Descriptor().Fields().Len() {
		d := m.Descriptor().Fields().Get(i)
		if d.ContainingOneof() != nil && !d.HasOptionalKeyword() && m.WhichOneof(d.ContainingOneof()) != nil || depth == 0 {
			continue
		}
		if d.IsList() {
			m.Mutable(d).List().Append(filledValue(m.Mutable(d).List().NewElement(), d, depth))
			continue
		}
		m.Set(d, filledValue(m.NewField(d), d, depth))
	}
}

func filledValue(empty protoreflect.Value, d protoreflect.FieldDescriptor, depth int) protoreflect.Value {
	switch d.Kind() {
	case protoreflect.MessageKind:
		fill(empty.Message(), depth-1)
		return empty
	case protoreflect.EnumKind:
		return protoreflect.ValueOfEnum(1)
	case protoreflect.StringKind:
		return protoreflect.ValueOfString("text")
	case protoreflect.BytesKind:
		return protoreflect.ValueOfBytes([]byte(`{"event":"x"}`))
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(true)
	case protoreflect.Int32Kind:
		return protoreflect.ValueOfInt32(7)
	}
	return protoreflect.ValueOfInt64(7)
}

func at(text string) *timestamppb.Timestamp {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		panic(err)
	}
	return timestamppb.New(t)
}

// callTest is a command line and the request that it makes. Its arguments have no spaces.
type callTest struct {
	line, method string
	want         proto.Message
}

func eventTests() []callTest {
	return []callTest{
		{"event list --status published --type workshop --starts-from 2026-03-01 --with-dates", bookingv1.EventService_ListEvents_FullMethodName, &bookingv1.ListEventsRequest{
			PageSize: 50, Status: bookingv1.EventStatus_EVENT_STATUS_PUBLISHED, Type: bookingv1.EventType_EVENT_TYPE_WORKSHOP, StartsFrom: at("2026-03-01T00:00:00Z"), WithDates: true,
		}},
		{"event get evt_1 --max-dates 3", bookingv1.EventService_GetEvent_FullMethodName, &bookingv1.GetEventRequest{Id: "evt_1", MaxDates: 3}},
		{`event create --title Yoga --date {"duration_minutes":60,"capacity":0} --date {"starts_at":"2026-03-29T09:30:00Z"} --pricing-option {"name":"A","price":"1200"} --booking-rules {"once_per_customer":true}`,
			bookingv1.EventService_CreateEvent_FullMethodName, &bookingv1.CreateEventRequest{
				Title: "Yoga", Dates: []*bookingv1.NewEventDate{{DurationMinutes: 60, Capacity: proto.Int32(0)}, {StartsAt: at("2026-03-29T09:30:00Z")}},
				PricingOptions: []*bookingv1.NewPricingOption{{Name: "A", Price: 1200}}, BookingRules: &bookingv1.BookingRules{OncePerCustomer: true},
			}},
		{`event update evt_1 --description= --free-cancellation-minutes -1 --booking-rules {} --expected-version 4`, bookingv1.EventService_UpdateEvent_FullMethodName, &bookingv1.UpdateEventRequest{
			Id: "evt_1", Description: proto.String(""), FreeCancellationMinutes: proto.Int32(-1), BookingRules: &bookingv1.BookingRules{}, ExpectedVersion: proto.Int64(4),
		}},
		{"event cancel evt_1 --reason Ill", bookingv1.EventService_CancelEvent_FullMethodName, &bookingv1.CancelEventRequest{Id: "evt_1", Reason: "Ill"}},
		{"event delete evt_1", bookingv1.EventService_DeleteEvent_FullMethodName, &bookingv1.DeleteEventRequest{Id: "evt_1"}},
		{`event add-dates evt_1 --date {"local_start":"2026-03-29T09:30:00"}`, bookingv1.EventService_AddEventDates_FullMethodName, &bookingv1.AddEventDatesRequest{
			EventId: "evt_1", Dates: []*bookingv1.NewEventDate{{LocalStart: "2026-03-29T09:30:00"}},
		}},
		{"event-date list --starts-from 2026-03-29T09:30:00+02:00 --starts-before 2026-03-30 --available --event-id evt_1 --event-status draft", bookingv1.EventService_ListEventDates_FullMethodName, &bookingv1.ListEventDatesRequest{
			PageSize: 50, StartsFrom: at("2026-03-29T07:30:00Z"), StartsBefore: at("2026-03-30T00:00:00Z"), Available: true, EventId: "evt_1", EventStatus: bookingv1.EventStatus_EVENT_STATUS_DRAFT,
		}},
		{"event-date get date_1", bookingv1.EventService_GetEventDate_FullMethodName, &bookingv1.GetEventDateRequest{Id: "date_1"}},
		{"event-date update date_1 --capacity 0 --expected-version 2", bookingv1.EventService_UpdateEventDate_FullMethodName, &bookingv1.UpdateEventDateRequest{
			Date: &bookingv1.EventDateChange{Id: "date_1", Capacity: proto.Int32(0)}, ExpectedVersion: proto.Int64(2),
		}},
		{"event-date cancel date_1 --reason Closed", bookingv1.EventService_CancelEventDate_FullMethodName, &bookingv1.CancelEventDateRequest{Id: "date_1", Reason: "Closed"}},
		{"discount list --order updated_desc", bookingv1.DiscountService_ListDiscountCodes_FullMethodName, &bookingv1.ListDiscountCodesRequest{PageSize: 50, Order: bookingv1.DiscountOrder_DISCOUNT_ORDER_UPDATED_DESC}},
		{"discount get disc_1", bookingv1.DiscountService_GetDiscountCode_FullMethodName, &bookingv1.GetDiscountCodeRequest{Id: "disc_1"}},
		{"discount create --code TEN --basis-points 1000 --event-id evt_1,evt_2 --event-id evt_3", bookingv1.DiscountService_CreateDiscountCode_FullMethodName, &bookingv1.CreateDiscountCodeRequest{
			Code: "TEN", Reduction: &bookingv1.CreateDiscountCodeRequest_BasisPoints{BasisPoints: 1000}, EventIds: []string{"evt_1", "evt_2", "evt_3"},
		}},
		{"discount update disc_1 --disabled=false --event-id=", bookingv1.DiscountService_UpdateDiscountCode_FullMethodName, &bookingv1.UpdateDiscountCodeRequest{
			Id: "disc_1", Disabled: proto.Bool(false), EventIds: &bookingv1.EventIds{},
		}},
	}
}

func bookingTests() []callTest {
	lines := []*bookingv1.TransactionLine{{EventDateId: "date_1", Spaces: 2}, {EventDateId: "date_2"}}
	const lineFlags = ` --line {"event_date_id":"date_1","spaces":2} --line {"event_date_id":"date_2"}`
	return []callTest{
		{"registration list --cancelled=false --attendance checked_in --customer-id cust_1", bookingv1.BookingService_ListRegistrations_FullMethodName, &bookingv1.ListRegistrationsRequest{
			PageSize: 50, Cancelled: proto.Bool(false), Attendance: bookingv1.Attendance_ATTENDANCE_CHECKED_IN, CustomerId: "cust_1",
		}},
		{"registration get reg_1", bookingv1.BookingService_GetRegistration_FullMethodName, &bookingv1.GetRegistrationRequest{BookingId: "booking_1"}},
		{"registration preview booking_1", bookingv1.BookingService_PreviewCancellation_FullMethodName, &bookingv1.PreviewCancellationRequest{BookingId: "booking_1"}},
		{"registration preview-cancellation booking_1", bookingv1.BookingService_PreviewCancellation_FullMethodName, &bookingv1.PreviewCancellationRequest{BookingId: "booking_1"}},
		{"registration cancel booking_1 --waive-policy --reason Ill", bookingv1.BookingService_CancelBooking_FullMethodName, &bookingv1.CancelBookingRequest{BookingId: "booking_1", WaivePolicy: true, Reason: "Ill"}},
		{"registration refund booking_1 --amount 500", bookingv1.BookingService_RefundBooking_FullMethodName, &bookingv1.RefundBookingRequest{BookingId: "booking_1", Amount: proto.Int64(500)}},
		{"registration refund booking_1", bookingv1.BookingService_RefundBooking_FullMethodName, &bookingv1.RefundBookingRequest{BookingId: "booking_1"}},
		{"registration preview-move booking_1 --event-date-id date_1 --spaces 2 --keep-price --waive-policy --after-start", bookingv1.BookingChangeService_PreviewMove_FullMethodName, &bookingv1.PreviewMoveRequest{
			BookingId: "booking_1", EventDateId: "date_1", Spaces: 2, KeepPrice: true, WaivePolicy: true, AfterStart: true,
		}},
		{"registration move reg_1 --event-date-id date_1 --payment-method cash --expected-amount-due 0", bookingv1.BookingChangeService_MoveBooking_FullMethodName, &bookingv1.MoveBookingRequest{
			BookingId: "booking_1", EventDateId: "date_1", PaymentMethod: bookingv1.PaymentMethod_PAYMENT_METHOD_CASH, ExpectedAmountDue: proto.Int64(0),
		}},
		{"registration transfer booking_1 cust_1 --buyer-keeps-control", bookingv1.BookingChangeService_TransferBooking_FullMethodName, &bookingv1.TransferBookingRequest{BookingId: "booking_1", CustomerId: "cust_1", BuyerKeepsControl: true}},
		{"registration swap booking_1 reg_2", bookingv1.BookingChangeService_SwapBookings_FullMethodName, &bookingv1.SwapBookingsRequest{BookingId: "booking_1", OtherBookingId: "booking_2"}},
		{"registration history booking_1", bookingv1.BookingChangeService_ListBookingHistory_FullMethodName, &bookingv1.ListBookingHistoryRequest{BookingId: "booking_1", PageSize: 50}},
		{"registration attendance booking_1 no_show", bookingv1.BookingService_RecordAttendance_FullMethodName, &bookingv1.RecordAttendanceRequest{BookingId: "booking_1", Attendance: bookingv1.Attendance_ATTENDANCE_NO_SHOW}},
		{"transaction list --purchaser-id cust_1", bookingv1.BookingService_ListCompanyTransactions_FullMethodName, &bookingv1.ListCompanyTransactionsRequest{PageSize: 50, PurchaserId: "cust_1"}},
		{"transaction get txn_1", bookingv1.BookingService_GetTransaction_FullMethodName, &bookingv1.GetTransactionRequest{TransactionId: "txn_1"}},
		{"transaction create --purchaser-id cust_1 --payment-method bank_transfer" + lineFlags, bookingv1.BookingService_CreateTransaction_FullMethodName, &bookingv1.CreateTransactionRequest{
			PurchaserId: "cust_1", Lines: lines, PaymentMethod: bookingv1.PaymentMethod_PAYMENT_METHOD_BANK_TRANSFER,
		}},
		{"hold create --purchaser-id cust_1 --minutes 30" + lineFlags, bookingv1.BookingService_HoldPlaces_FullMethodName, &bookingv1.HoldPlacesRequest{PurchaserId: "cust_1", Lines: lines, Minutes: 30}},
		{"hold get hold_1", bookingv1.BookingService_GetHold_FullMethodName, &bookingv1.GetHoldRequest{HoldId: "txn_1"}},
		{"hold confirm txn_1 --payment-method CASH", bookingv1.BookingService_ConfirmHold_FullMethodName, &bookingv1.ConfirmHoldRequest{HoldId: "txn_1", PaymentMethod: bookingv1.PaymentMethod_PAYMENT_METHOD_CASH}},
		{"hold release txn_1", bookingv1.BookingService_ReleaseHold_FullMethodName, &bookingv1.ReleaseHoldRequest{HoldId: "txn_1"}},
		{"waitlist list --event-date-id date_1 --state offered", bookingv1.WaitlistService_ListWaitlist_FullMethodName, &bookingv1.ListWaitlistRequest{
			PageSize: 50, EventDateId: "date_1", State: bookingv1.WaitlistState_WAITLIST_STATE_OFFERED,
		}},
		{"waitlist get wait_1", bookingv1.WaitlistService_GetWaitlistEntry_FullMethodName, &bookingv1.GetWaitlistEntryRequest{Id: "wait_1"}},
		{"waitlist join date_1 --customer-id cust_1 --mode book --spaces 2", bookingv1.WaitlistService_JoinWaitlist_FullMethodName, &bookingv1.JoinWaitlistRequest{
			EventDateId: "date_1", CustomerId: "cust_1", Mode: bookingv1.WaitlistMode_WAITLIST_MODE_BOOK, Spaces: 2,
		}},
		{"waitlist leave wait_1", bookingv1.WaitlistService_LeaveWaitlist_FullMethodName, &bookingv1.LeaveWaitlistRequest{Id: "wait_1"}},
		{"waitlist accept wait_1 --customer-pass-id cp_1 --payment-method pass", bookingv1.WaitlistService_AcceptOffer_FullMethodName, &bookingv1.AcceptOfferRequest{
			Id: "wait_1", CustomerPassId: "cp_1", PaymentMethod: bookingv1.PaymentMethod_PAYMENT_METHOD_PASS,
		}},
	}
}

func customerTests() []callTest {
	return []callTest{
		{"customer list --query Ünal --archived=false --limit 7", customerv1.CustomerService_ListCustomers_FullMethodName, &customerv1.ListCustomersRequest{PageSize: 7, Query: "Ünal", Archived: proto.Bool(false)}},
		{"customer get cust_1", customerv1.CustomerService_GetCustomer_FullMethodName, &customerv1.GetCustomerRequest{Id: "cust_1"}},
		{"customer create --first-name A --last-name B --email a@example.com", customerv1.CustomerService_CreateCustomer_FullMethodName, &customerv1.CreateCustomerRequest{FirstName: "A", LastName: "B", Email: "a@example.com"}},
		{"customer create --first-name A --last-name B", customerv1.CustomerService_CreateCustomer_FullMethodName, &customerv1.CreateCustomerRequest{FirstName: "A", LastName: "B"}},
		{"customer update cust_1 --mobile=", customerv1.CustomerService_UpdateCustomer_FullMethodName, &customerv1.UpdateCustomerRequest{Id: "cust_1", Mobile: proto.String("")}},
		{"customer archive cust_1", customerv1.CustomerService_ArchiveCustomer_FullMethodName, &customerv1.ArchiveCustomerRequest{Id: "cust_1", Archived: true}},
		{"customer unarchive cust_1", customerv1.CustomerService_ArchiveCustomer_FullMethodName, &customerv1.ArchiveCustomerRequest{Id: "cust_1"}},
		{"customer delete cust_1 --expected-version 3", customerv1.CustomerService_DeleteCustomer_FullMethodName, &customerv1.DeleteCustomerRequest{Id: "cust_1", ExpectedVersion: proto.Int64(3)}},
		{"note list cust_1 --kind health", customerv1.NoteService_ListNotes_FullMethodName, &customerv1.ListNotesRequest{CustomerId: "cust_1", PageSize: 50, Kind: customerv1.NoteKind_NOTE_KIND_HEALTH}},
		{"note get note_1", customerv1.NoteService_GetNote_FullMethodName, &customerv1.GetNoteRequest{Id: "note_1"}},
		{"note create cust_1 --body Hello --pinned", customerv1.NoteService_CreateNote_FullMethodName, &customerv1.CreateNoteRequest{CustomerId: "cust_1", Body: "Hello", Pinned: true}},
		{"note update note_1 --pinned=false", customerv1.NoteService_UpdateNote_FullMethodName, &customerv1.UpdateNoteRequest{Id: "note_1", Pinned: proto.Bool(false)}},
		{"note delete note_1", customerv1.NoteService_DeleteNote_FullMethodName, &customerv1.DeleteNoteRequest{Id: "note_1"}},
		{"pass list --status archived", passv1.PassService_ListPassTypes_FullMethodName, &passv1.ListPassTypesRequest{PageSize: 50, Status: passv1.PassTypeStatus_PASS_TYPE_STATUS_ARCHIVED}},
		{"pass get pass_1", passv1.PassService_GetPassType_FullMethodName, &passv1.GetPassTypeRequest{Id: "pass_1"}},
		{"pass create --title Ten --total-uses 10 --validity-count 2 --validity-unit month --price 12000", passv1.PassService_CreatePassType_FullMethodName, &passv1.CreatePassTypeRequest{
			Title: "Ten", TotalUses: 10, ValidityCount: 2, ValidityUnit: passv1.ValidityUnit_VALIDITY_UNIT_MONTH, Price: 12000,
		}},
		{"pass update pass_1 --price 0 --eligible-event-type class,course", passv1.PassService_UpdatePassType_FullMethodName, &passv1.UpdatePassTypeRequest{
			Id: "pass_1", Price: proto.Int64(0), EligibleEventTypes: &passv1.EventTypes{Types: []string{"class", "course"}},
		}},
		{"customer-pass list --customer-id cust_1", passv1.PassService_ListCustomerPasses_FullMethodName, &passv1.ListCustomerPassesRequest{CustomerId: "cust_1", PageSize: 50}},
		{"customer-pass get cp_1", passv1.PassService_GetCustomerPass_FullMethodName, &passv1.GetCustomerPassRequest{Id: "cp_1"}},
		{"customer-pass assign cust_1 pass_1", passv1.PassService_AssignCustomerPass_FullMethodName, &passv1.AssignCustomerPassRequest{CustomerId: "cust_1", PassTypeId: "pass_1"}},
		{"customer-pass assign cust_1 pass_1 --gross 0 --method CASH", passv1.PassService_AssignCustomerPass_FullMethodName, &passv1.AssignCustomerPassRequest{
			CustomerId: "cust_1", PassTypeId: "pass_1", Purchase: &passv1.PassPurchase{Gross: proto.Int64(0), Method: "CASH"},
		}},
		{"customer-pass update cp_1 --status paused --remaining-uses 0", passv1.PassService_UpdateCustomerPass_FullMethodName, &passv1.UpdateCustomerPassRequest{
			Id: "cp_1", Status: passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_PAUSED, RemainingUses: proto.Int32(0),
		}},
		{"customer-pass adjust cp_1 --credits -2 --reason Mistake", passv1.PassService_AdjustCredits_FullMethodName, &passv1.AdjustCreditsRequest{CustomerPassId: "cp_1", Credits: -2, Reason: "Mistake"}},
		{"customer-pass ledger cp_1 --descending", passv1.PassService_ListLedgerEntries_FullMethodName, &passv1.ListLedgerEntriesRequest{CustomerPassId: "cp_1", PageSize: 50, Descending: true}},
		{"customer-pass entries --created-from 2026-03-01", passv1.PassService_ListCompanyLedgerEntries_FullMethodName, &passv1.ListCompanyLedgerEntriesRequest{PageSize: 50, CreatedFrom: timestamppb.New(time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC))}},
		{"publishable-key list", authv1.PublishableKeyService_ListPublishableKeys_FullMethodName, &authv1.ListPublishableKeysRequest{}},
		{"publishable-key get pub_1", authv1.PublishableKeyService_GetPublishableKey_FullMethodName, &authv1.GetPublishableKeyRequest{Id: "pub_1"}},
		{"publishable-key create --name Site --origin https://a.example,https://b.example", authv1.PublishableKeyService_CreatePublishableKey_FullMethodName, &authv1.CreatePublishableKeyRequest{
			Name: "Site", Origins: []string{"https://a.example", "https://b.example"},
		}},
		{"publishable-key update pub_1 --enabled=false --origin=", authv1.PublishableKeyService_UpdatePublishableKey_FullMethodName, &authv1.UpdatePublishableKeyRequest{
			Id: "pub_1", Enabled: proto.Bool(false), Origins: &authv1.Origins{},
		}},
		{"publishable-key delete pub_1", authv1.PublishableKeyService_DeletePublishableKey_FullMethodName, &authv1.DeletePublishableKeyRequest{Id: "pub_1"}},
		{"test-mode enable", authv1.TestModeService_EnableTestMode_FullMethodName, &authv1.EnableTestModeRequest{}},
		{"test-mode clock", authv1.TestModeService_GetTestClock_FullMethodName, &authv1.GetTestClockRequest{}},
		{"test-mode advance 2027-01-31T09:00:00Z", authv1.TestModeService_AdvanceTestClock_FullMethodName, &authv1.AdvanceTestClockRequest{To: at("2027-01-31T09:00:00Z")}},
		{"test-mode reset", authv1.TestModeService_ResetTestData_FullMethodName, &authv1.ResetTestDataRequest{}},
		{"request list --credential-id key_1 --interface b --min-status 400 --method POST --since 2026-03-29T09:30:00Z", authv1.RequestLogService_ListRequests_FullMethodName, &authv1.ListRequestsRequest{
			PageSize: 50, CredentialId: "key_1", Interface: authv1.PublicInterface_PUBLIC_INTERFACE_B, MinStatus: 400, Method: "POST", Since: at("2026-03-29T09:30:00Z"),
		}},
		{"request get req_1", authv1.RequestLogService_GetRequest_FullMethodName, &authv1.GetRequestRequest{Id: "req_1"}},
		{"webhook messages --event waitlist.joined --since 2026-03-29T09:30:00Z --limit 500", webhookv1.WebhookService_ListMessages_FullMethodName, &webhookv1.ListMessagesRequest{
			PageSize: 200, Event: webhookv1.EventType_EVENT_TYPE_WAITLIST_JOINED, Since: at("2026-03-29T09:30:00Z"),
		}},
	}
}

// TestCalls checks that each command makes the right RPC, and prints its response in both formats.
func TestCalls(t *testing.T) {
	w := newRPCWorld(t)
	tests := slices.Concat(eventTests(), bookingTests(), customerTests(), subscriptionTests(), mediaTests(), staffTests(), appointmentTests(), reportTests())
	for _, tt := range tests {
		t.Run(tt.line, func(t *testing.T) {
			out := ok(t, with(tt.line+" -o json")...)
			if got := w.last(t); got.method != tt.method || !proto.Equal(got.request, tt.want) {
				t.Errorf("sent %s %v\nwant %s %v", got.method, got.request, tt.method, tt.want)
			}
			if !json.Valid([]byte(out)) || len(out) < 10 {
				t.Errorf("printed %s", out)
			}
			if out := ok(t, with(tt.line+" -o table")...); strings.Contains(tt.line, " list") && !strings.HasPrefix(tt.line, "discount") && strings.Contains(out, "–") {
				t.Errorf("a column has no value: %s", out)
			}
		})
	}
	t.Run("every command that makes an RPC is tested", func(t *testing.T) {
		for words, c := range commands(newRoot(nil, nil, nil)) {
			method, isCall := c.Annotations[methodAnnotation]
			if isCall && !slices.ContainsFunc(tests, func(tt callTest) bool { return strings.HasPrefix(tt.line+" ", words+" ") && tt.method == method }) {
				t.Errorf("%s is not tested", words)
			}
		}
	})
	t.Run("flags for money say that they are minor units", func(t *testing.T) {
		for words, c := range commands(newRoot(nil, nil, nil)) {
			for _, name := range []string{"price", "amount", "gross", "pricing-option"} {
				if f := c.Flags().Lookup(name); c.Annotations != nil && f != nil && !strings.Contains(f.Usage, "minor units") {
					t.Errorf("%s --%s: %s", words, name, f.Usage)
				}
			}
		}
	})
}

// TestCallLists checks pages, the limit and the formats of lists.
func TestCallLists(t *testing.T) {
	w := newRPCWorld(t)
	const total = 450
	w.answer = func(_ string, req proto.Message) (proto.Message, error) {
		list := req.(*customerv1.ListCustomersRequest)
		res := &customerv1.ListCustomersResponse{}
		done := len(list.GetPageToken())
		for range min(int(list.GetPageSize()), total-done) {
			res.Customers = append(res.Customers, &customerv1.Customer{Id: "cust_1", LastName: "Þór & 瑜伽\x1b[2J"})
		}
		if done += len(res.GetCustomers()); done < total {
			res.NextPageToken = strings.Repeat("x", done)
		}
		return res, nil
	}
	for _, tt := range []struct {
		flags        string
		items, calls int
		note         string
	}{
		{"", 50, 1, "there are more than 50; print all with --limit 0"}, {"--limit 0", total, 3, ""}, {"--limit 450", total, 3, ""}, {"--limit 201", 201, 2, "more than 201"},
	} {
		t.Run("prints the pages of a list with "+tt.flags, func(t *testing.T) {
			w.requests = nil
			r := run(t, "", with("customer list -o json "+tt.flags)...)
			var items []map[string]any
			if err := json.Unmarshal([]byte(r.out), &items); err != nil || len(items) != tt.items || items[0]["last_name"] != "Þór & 瑜伽\x1b[2J" {
				t.Errorf("%d items, %v", len(items), err)
			}
			if len(w.requests) != tt.calls || !strings.Contains(r.errOut, tt.note) || tt.note == "" && r.errOut != "" {
				t.Errorf("%d calls, %s", len(w.requests), r.errOut)
			}
		})
	}
	t.Run("a table has one header and no control characters", func(t *testing.T) {
		out := ok(t, with("customer list -o table --limit 0")...)
		if lines := strings.Count(out, "\n"); lines != total+1 || strings.Count(out, "LAST_NAME") != 1 || strings.Contains(out, "\x1b") {
			t.Errorf("%d lines: %.300s", lines, out)
		}
	})
	t.Run("an empty list is an empty array, or a message instead of a table", func(t *testing.T) {
		w.answer = func(string, proto.Message) (proto.Message, error) { return &customerv1.ListCustomersResponse{}, nil }
		if out := ok(t, with("customer list -o json")...); out != "[]\n" {
			t.Errorf("got %q", out)
		}
		if r := run(t, "", with("customer list -o table")...); r.code != 0 || r.out != "" || r.errOut != "no customers\n" {
			t.Errorf("got %+v", r)
		}
	})
}

// TestFollow checks that --follow continues after the last page, and prints one object a line.
func TestFollow(t *testing.T) {
	w := newRPCWorld(t)
	ctx, stop := context.WithCancel(t.Context())
	w.answer = func(_ string, req proto.Message) (proto.Message, error) {
		token := req.(*webhookv1.ListMessagesRequest).GetPageToken()
		if token == "3" {
			stop()
		}
		next := string(rune('1' + len(w.requests) - 1))
		return &webhookv1.ListMessagesResponse{
			Messages: []*webhookv1.Message{{Id: "msg_" + next, Body: []byte(`{"id":"msg_1","data":{"total":1.50}}`)}}, NextPageToken: next, HasMore: len(w.requests) < 2,
		}, nil
	}
	var out bytes.Buffer
	a := &app{out: &out, errOut: &out, output: "json"}
	a.access.CompanyID, a.access.GRPC.ServiceToken, a.access.GRPC.Webhook = companyID, rawToken, globalFlags[len(globalFlags)-1]
	l := listing{app: a, request: newRequest(webhookMessages()), follow: true, every: 1}
	err := l.run(ctx)
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) < 3 || !strings.Contains(lines[2], `"id":"msg_3"`) || !strings.Contains(lines[0], `"total":1.50`) {
		t.Errorf("got %q, %v", lines, err)
	}
}

// TestCallErrors checks that errors name flags and arguments, and the exit status.
func TestCallErrors(t *testing.T) {
	w := newRPCWorld(t)
	for _, tt := range []struct{ line, want string }{
		{"transaction create", "--purchaser-id is required\n--line is required"},
		{"registration cancel", "expected REGISTRATION, got 0 arguments; see reservectl registration cancel --help"},
		{"registration attendance booking_1 late", "ATTENDANCE must be unknown, checked_in or no_show"},
		{"registration move booking_1", "one of --event-date-id, --pricing-option-id, --spaces is required"},
		{"registration move booking_1 --waive-policy --spaces 0", "--spaces must not be empty or 0"},
		{"registration preview-move booking_1 --spaces 2 --event-date-id=", "--event-date-id must not be empty or 0"},
		{"registration move booking_1 --spaces 2 --payment-method pass", "must be card, cash, bank_transfer, online or other"},
		{"event list --starts-from soon", `"--starts-from" flag: must be a date or a time`},
		{"event list --type party", "must be class, event, workshop, course or appointment"},
		{"event list --max-dates 99999999999", "is too large or too small"},
		{"event list --with-dates=maybe", "must be true or false"},
		{"subscription update-settings --grace-days 7", "--past-due-after-days is required\n--reminder-day is required"},
		{"subscription cancel sub_1 --when later", "must be period_end or now"},
		{"media create --title X --kind film", "must be video, audio, document or image"},
		{"customer list --limit -1", "--limit must not be negative"},
		{"registration refund booking_1 --amount 5.00", `"--amount" flag: must be a whole number`},
		{`hold create --purchaser-id cust_1 --line {"place":1}`, "must be JSON with the members event_date_id, pricing_option_id, spaces, bought_for_id, event_id"},
	} {
		t.Run(tt.line, func(t *testing.T) {
			if r := run(t, "", with(tt.line)...); r.code != exitUsage || !strings.Contains(r.errOut, tt.want) || r.out != "" || len(w.requests) != 0 {
				t.Errorf("exit status %d, %d requests: %s", r.code, len(w.requests), r.errOut)
			}
		})
	}
	for _, tt := range []struct{ line, field, want string }{
		{`transaction create --purchaser-id x --line {"spaces":-1}`, "lines[0].spaces", "--line[0].spaces is refused (VALIDATION_ERROR)"},
		{"event-date update date_1 --capacity 1", "date.capacity", "--capacity is refused"},
		{"event-date update x", "date.id", "DATE is refused"},
		{"registration get x", "booking_id", "REGISTRATION is refused"},
		{"customer-pass assign cust_1 pass_1 --method GOLD", "purchase.method", "--method is refused"},
		{"event list", "page_token", "page_token is refused"},
		{"subscription record-payment x --amount 1", "payment.amount", "--amount is refused"},
		{"media playback-link media_1 x", "customer_id", "CUSTOMER is refused"},
	} {
		t.Run(tt.line+" is refused", func(t *testing.T) {
			w.answer = func(string, proto.Message) (proto.Message, error) {
				return nil, fault.InvalidFields(fault.Field{Field: tt.field, Rule: "range", Message: "is refused"})
			}
			if r := run(t, "", with(tt.line)...); r.code != exitFailed || !strings.Contains(r.errOut, "reservectl: "+tt.want) {
				t.Errorf("exit status %d: %s", r.code, r.errOut)
			}
		})
	}
	t.Run("a move whose amount has changed shows the amount", func(t *testing.T) {
		for currency, want := range map[string]string{"GBP": "; the amount due now is 550 GBP, in minor units\n", "": "; the amount due now is 550, in minor units\n"} {
			w.answer = func(string, proto.Message) (proto.Message, error) {
				return nil, fault.Refuse("PRICE_CHANGED", "preview the move again").With("amount_due", "550").With("currency", currency)
			}
			if r := run(t, "", with("registration move booking_1 --spaces 2")...); r.code != exitFailed || !strings.HasSuffix(r.errOut, "(PRICE_CHANGED)"+want) {
				t.Errorf("exit status %d: %s", r.code, r.errOut)
			}
		}
	})
	t.Run("help lists the methods that pay for a move, and no others", func(t *testing.T) {
		if help := ok(t, "registration", "move", "--help"); !strings.Contains(help, ": card, cash, bank_transfer, online, other\n") {
			t.Errorf("got %s", help)
		}
	})
	t.Run("an idempotency key is sent with changes", func(t *testing.T) {
		w.answer = func(method string, _ proto.Message) (proto.Message, error) { return filledResponse(method), nil }
		ok(t, with("customer archive cust_1 --idempotency-key k1")...)
		if got := w.last(t); got.key != "k1" {
			t.Errorf("sent %q", got.key)
		}
	})
}
