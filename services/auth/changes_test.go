package auth

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"reservation.dev/devkit/testkit"
	"reservation.dev/platform/bus"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/privacy"
	"reservation.dev/platform/subjects"
	accessv1 "reservation.dev/proto/gen/reservation/access/v1"
	auditv1 "reservation.dev/proto/gen/reservation/audit/v1"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	mediav1 "reservation.dev/proto/gen/reservation/media/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
	privacyv1 "reservation.dev/proto/gen/reservation/privacy/v1"
	subscriptionv1 "reservation.dev/proto/gen/reservation/subscription/v1"
	webhookv1 "reservation.dev/proto/gen/reservation/webhook/v1"
)

// notChanges are the methods that write and have no audit entry, with the reason.
var notChanges = map[string]string{
	bookingv1.BookingService_HoldPlaces_FullMethodName:                        "a hold ends by itself within minutes; its confirmation has an entry",
	bookingv1.BookingService_ReleaseHold_FullMethodName:                       "a hold that is released leaves nothing",
	bookingv1.AppointmentService_HoldAppointment_FullMethodName:               "like HoldPlaces",
	mediav1.MediaService_CreatePlaybackLink_FullMethodName:                    "a link to play an item changes nothing, and expires",
	mediav1.MediaService_RecordProgress_FullMethodName:                        "a player reports where a customer is, every few seconds",
	customerv1.CustomerDeletionService_ConfirmCustomerDeletion_FullMethodName: "a part of DeleteCustomer, which has the entry",
	subscriptionv1.SubscriptionService_RestoreCustomerPasses_FullMethodName:   "a repair by the operator, with a platform credential",
	authv1.CompanyCopyService_RefreshCompany_FullMethodName:                   "an internal call",
	bookingv1.OwnClassService_RecordOwnAttendance_FullMethodName:              "for teachers in the dashboard, which records it",
	authv1.TestDataService_DeleteTestData_FullMethodName:                      "an internal call; the auth service records the reset",
}

// reads are the beginnings of the names of methods that read.
var reads = []string{"BatchGet", "Compare", "Count", "Export", "Find", "Get", "List", "Preview", "Read", "Verify"}

func TestChangeActions(t *testing.T) {
	t.Parallel()
	t.Run("has every method of the services with which a credential of a company can change something", func(t *testing.T) {
		known := maps.Clone(notChanges)
		for method := range changeActions {
			known[method] = "has entries"
		}
		for _, file := range []protoreflect.FileDescriptor{
			customerv1.File_reservation_customer_v1_customer_proto, customerv1.File_reservation_customer_v1_note_proto,
			customerv1.File_reservation_customer_v1_deletion_proto, privacyv1.File_reservation_privacy_v1_privacy_proto,
			bookingv1.File_reservation_booking_v1_appointment_proto, bookingv1.File_reservation_booking_v1_appointment_type_proto,
			bookingv1.File_reservation_booking_v1_booking_proto, bookingv1.File_reservation_booking_v1_booking_change_proto,
			bookingv1.File_reservation_booking_v1_calendar_proto, bookingv1.File_reservation_booking_v1_discount_proto,
			bookingv1.File_reservation_booking_v1_event_proto, bookingv1.File_reservation_booking_v1_own_class_proto, bookingv1.File_reservation_booking_v1_room_proto,
			bookingv1.File_reservation_booking_v1_staff_proto, bookingv1.File_reservation_booking_v1_verification_proto,
			bookingv1.File_reservation_booking_v1_waitlist_proto,
			passv1.File_reservation_pass_v1_pass_proto, passv1.File_reservation_pass_v1_subscription_pass_proto,
			subscriptionv1.File_reservation_subscription_v1_plan_proto, subscriptionv1.File_reservation_subscription_v1_subscription_proto,
			mediav1.File_reservation_media_v1_media_proto, webhookv1.File_reservation_webhook_v1_webhook_proto,
			authv1.File_reservation_auth_v1_copies_proto,
		} {
			for _, method := range methodsOf(file) {
				if known[method] == "" {
					t.Errorf("%s has no audit entry: add it to changeActions, or to notChanges with a reason", method)
				}
				delete(known, method)
			}
		}
		for method := range known {
			t.Errorf("%s does not exist, or cannot be called with a credential of a company", method)
		}
	})
	t.Run("gives the actions that the dashboard has words for", func(t *testing.T) {
		for method, actions := range changeActions {
			for subject, action := range actions {
				if !actionPattern.MatchString(strings.Replace(action, "{kind}", "staff", 1)) || slices.Contains(reservedThings, strings.Split(action, ".")[0]) {
					t.Errorf("%s: the action %q of %s", method, action, subject)
				}
			}
		}
	})
}

// methodsOf returns the methods of a file that may write and that a credential of a company can call.
func methodsOf(file protoreflect.FileDescriptor) (methods []string) {
	for i := range file.Services().Len() {
		service := file.Services().Get(i)
		for j := range service.Methods().Len() {
			m := service.Methods().Get(j)
			access, _ := proto.GetExtension(m.Options(), accessv1.E_Access).(*accessv1.Access)
			isPlatform := access.GetPlatformOnly() || slices.Equal(access.GetScopes(), []string{"platform:admin"})
			if !isPlatform && !slices.ContainsFunc(reads, func(read string) bool { return strings.HasPrefix(string(m.Name()), read) }) {
				methods = append(methods, fmt.Sprintf("/%s/%s", service.FullName(), m.Name()))
			}
		}
	}
	return methods
}

// goldenEvent returns the event that the producer's test wrote.
func goldenEvent(t *testing.T, subject string, m proto.Message) bus.Message {
	t.Helper()
	service, name, _ := strings.Cut(subject, ".v1.")
	text, err := os.ReadFile(filepath.Join("..", service, "testdata", name+".json"))
	must(t, err)
	must(t, protojson.Unmarshal(text, m))
	payload, err := proto.Marshal(m)
	must(t, err)
	return bus.Message{ID: id.NewUUID(), Company: id.New[id.Company](), Subject: subject, Payload: payload, OccurredAt: time.Now(), Actor: id.New[id.APIKey]().String()}
}

// goldenEvents are the messages of the events in changeActions, except those of outbox.AppendChange.
func goldenEvents() map[string]proto.Message {
	return map[string]proto.Message{
		subjects.CustomerCreated: &customerv1.CustomerCreated{}, subjects.CustomerUpdated: &customerv1.CustomerUpdated{},
		subjects.CustomerDeleted: &customerv1.CustomerDeleted{}, subjects.CustomerErased: &customerv1.CustomerErased{},
		subjects.BookingConfirmed: &bookingv1.BookingConfirmed{}, subjects.BookingCancelled: &bookingv1.BookingCancelled{},
		subjects.BookingRefunded: &bookingv1.BookingRefunded{}, subjects.BookingMoved: &bookingv1.BookingMoved{},
		subjects.BookingTransferred: &bookingv1.BookingTransferred{}, subjects.AttendanceRecorded: &bookingv1.AttendanceRecorded{},
		subjects.AppointmentBooked: &bookingv1.AppointmentBooked{}, subjects.AppointmentMoved: &bookingv1.AppointmentMoved{},
		subjects.WaitlistJoined: &bookingv1.WaitlistJoined{}, subjects.WaitlistEnded: &bookingv1.WaitlistEnded{},
		subjects.EventCreated: &bookingv1.EventCreated{}, subjects.EventUpdated: &bookingv1.EventUpdated{},
		subjects.EventDatesAdded: &bookingv1.EventDatesAdded{}, subjects.EventCancelled: &bookingv1.EventCancelled{},
		subjects.EventDateUpdated: &bookingv1.EventDateUpdated{}, subjects.EventDateCancelled: &bookingv1.EventDateCancelled{},
		subjectEventDeleted: &bookingv1.EventDeleted{}, subjectPassTypeCreated: &passv1.PassTypeCreated{},
		subjectPassTypeUpdated: &passv1.PassTypeUpdated{}, subjects.CustomerPassAssigned: &passv1.CustomerPassAssigned{},
		subjects.CustomerPassUpdated: &passv1.CustomerPassUpdated{}, subjectPlanCreated: &subscriptionv1.PlanCreated{},
		subjectPlanUpdated: &subscriptionv1.PlanUpdated{}, subjects.SubscriptionCreated: &subscriptionv1.SubscriptionCreated{},
		subjects.SubscriptionUpdated: &subscriptionv1.SubscriptionUpdated{}, subjects.SubscriptionEnded: &subscriptionv1.SubscriptionEnded{},
		subjects.SubscriptionPaymentRecorded: &subscriptionv1.SubscriptionPaymentRecorded{},
		subjects.MediaItemCreated:            &mediav1.MediaItemCreated{}, subjects.MediaItemUpdated: &mediav1.MediaItemUpdated{},
		subjects.MediaItemDeleted: &mediav1.MediaItemDeleted{}, subjects.MediaEntitlementCreated: &mediav1.MediaEntitlementCreated{},
		subjects.MediaEntitlementDeleted: &mediav1.MediaEntitlementDeleted{},
	}
}

func TestEntriesOfGoldenEvents(t *testing.T) {
	t.Parallel()
	golden := goldenEvents()
	for method, actions := range changeActions {
		for subject, action := range actions {
			if subject == recorded {
				continue
			}
			m := goldenEvent(t, subject, golden[subject])
			m.Method = method
			e, ok, err := entryOfChange(m)
			if err != nil || !ok || !strings.Contains(e.Target, "_") || e.Actor != m.Actor || e.Company != m.Company || e.ID.UUID() != m.ID {
				t.Errorf("%s by %s: got %+v, %v, %v", subject, method, e, ok, err)
			}
			if !strings.HasSuffix(e.Action, action[strings.Index(action, "."):]) && action != "customer.archive" {
				t.Errorf("%s by %s: the action is %q", subject, method, e.Action)
			}
			m.Actor = ""
			if _, ok, _ := entryOfChange(m); ok {
				t.Errorf("%s by %s: an event without an actor has an entry", subject, method)
			}
		}
	}
	t.Run("a cascade of a change has no entry", func(t *testing.T) {
		m := goldenEvent(t, subjects.BookingCancelled, &bookingv1.BookingCancelled{})
		m.Method = bookingv1.EventService_CancelEventDate_FullMethodName
		if e, ok, err := entryOfChange(m); ok || err != nil {
			t.Errorf("got %+v, %v", e, err)
		}
	})
	t.Run("a swap has one entry for its two bookings", func(t *testing.T) {
		low, high := id.New[id.Booking](), id.New[id.Booking]()
		entries := 0
		for _, pair := range [][2]id.Booking{{low, high}, {high, low}} {
			payload, err := proto.Marshal(&bookingv1.BookingMoved{
				Booking: &bookingv1.BookingSnapshot{Booking: &bookingv1.Booking{Id: pair[0].String()}}, SwappedWith: pair[1].String(),
			})
			must(t, err)
			_, ok, err := entryOfChange(bus.Message{
				ID: id.NewUUID(), Company: id.New[id.Company](), Subject: subjects.BookingMoved, Payload: payload, Actor: "key_1",
				Method: bookingv1.BookingChangeService_SwapBookings_FullMethodName,
			})
			must(t, err)
			if ok {
				entries++
			}
		}
		if entries != 1 {
			t.Errorf("got %d entries", entries)
		}
	})
}

// changeBy returns the event of a change that no domain event describes.
func changeBy(t *testing.T, company id.Company, actor, method, target string, details ...*auditv1.ChangeDetail) bus.Message {
	t.Helper()
	payload, err := proto.Marshal(&auditv1.ChangeRecorded{Target: target, Details: details})
	must(t, err)
	service, _, _ := strings.Cut(strings.TrimPrefix(method, "/reservation."), ".")
	return bus.Message{
		ID: id.NewUUID(), Company: company, Subject: service + recorded, Payload: payload, OccurredAt: time.Now().UTC().Truncate(time.Microsecond),
		Trace: map[string]string{bus.Actor: actor, bus.Method: method},
	}
}

func TestChangesByCredentials(t *testing.T) { // invariant 7
	t.Parallel()
	r := newWorld(t).start()
	company, neighbour := r.company(), r.company()
	tenant := companyID(t, company)
	key, _ := r.key(company)
	const addNote, createRoom = customerv1.NoteService_CreateNote_FullMethodName, bookingv1.RoomService_CreateRoom_FullMethodName
	publish := func(msgs ...bus.Message) {
		t.Helper()
		_, err := r.bus.Publish(t.Context(), msgs)
		must(t, err)
	}
	changes := func(company string) []*authv1.AuditEntry {
		t.Helper()
		return r.entries(company, &authv1.ListAuditEntriesRequest{ByCredential: ptr(true)})
	}
	await := func(n int) []*authv1.AuditEntry {
		t.Helper()
		testkit.Eventually(t, patience, func() error {
			if got := len(changes(company)); got != n {
				return fmt.Errorf("%d entries, want %d", got, n)
			}
			return nil
		})
		return changes(company)
	}
	room := changeBy(t, tenant, key, createRoom, "room_1", &auditv1.ChangeDetail{Field: "name", After: "Studio"})
	// The auth service is away when the change is committed.
	publish(room)
	stop := r.consumeChanges()

	t.Run("a change that was published while the auth service was away has an entry", func(t *testing.T) {
		e := await(1)[0]
		if got := spelled([]*authv1.AuditEntry{e})[0]; got != "room.create name: Studio" || e.GetActor() != key || e.GetTarget() != "room_1" || !e.GetAt().AsTime().Equal(room.OccurredAt) {
			t.Errorf("got %s of %v", got, e)
		}
		if e.GetActorName() == "" {
			t.Error("the entry does not have the name of the key")
		}
	})
	t.Run("an event that is delivered again, also after a crash before its acknowledgement, adds nothing", func(t *testing.T) {
		room.Actor, room.Method = key, createRoom
		must(t, r.server.storeChanges(t.Context(), []bus.Message{room, room}))
		must(t, r.server.storeChanges(t.Context(), []bus.Message{room}))
		if got := changes(company); len(got) != 1 {
			t.Errorf("got %d entries", len(got))
		}
	})
	t.Run("an event without an actor, of a method without entries, or that cannot be read adds nothing and holds up nothing", func(t *testing.T) {
		damaged := changeBy(t, tenant, key, createRoom, "room_2")
		damaged.Payload = []byte{0xff}
		publish(changeBy(t, tenant, "", createRoom, "room_3"), changeBy(t, tenant, key, bookingv1.BookingService_HoldPlaces_FullMethodName, "txn_1"), damaged,
			changeBy(t, tenant, key, createRoom, "room_4"))
		if got := await(2); got[0].GetTarget() != "room_4" {
			t.Errorf("got %v", got)
		}
	})
	t.Run("other companies do not see it", func(t *testing.T) {
		if got := changes(neighbour); len(got) != 0 {
			t.Errorf("got %v", got)
		}
	})
	t.Run("the log can be limited to credentials and to others", func(t *testing.T) {
		all, others := r.entries(company, &authv1.ListAuditEntriesRequest{}), r.entries(company, &authv1.ListAuditEntriesRequest{ByCredential: ptr(false)})
		if len(all) != len(others)+2 || len(others) == 0 || slices.ContainsFunc(others, func(e *authv1.AuditEntry) bool { return e.GetActor() == key }) {
			t.Errorf("%d entries, %d by others", len(all), len(others))
		}
	})
	t.Run("an entry about an erased customer has no facts", func(t *testing.T) {
		gone := id.New[id.Customer]()
		must(t, r.db.InTx(t.Context(), pg.For(tenant), func(ctx context.Context, tx *pg.Tx) error {
			return privacy.Mark(ctx, tx, tenant, gone, time.Now())
		}))
		publish(changeBy(t, tenant, key, addNote, gone.String(), &auditv1.ChangeDetail{Field: "name", After: "Ann"}))
		if got := spelled(await(3))[0]; got != "customer.note_add" {
			t.Errorf("got %q", got)
		}
	})
	t.Run("is deleted after its own retention, and other entries stay", func(t *testing.T) {
		stop()
		before := len(r.entries(company, &authv1.ListAuditEntriesRequest{ByCredential: ptr(false)}))
		r.server.now = func() time.Time { return time.Now().Add(25 * time.Hour) }
		must(t, r.server.retainOnce(t.Context(), Retention{Audit: 48 * time.Hour, Changes: 24 * time.Hour, Requests: time.Hour, Invitations: 48 * time.Hour}))
		if got := len(changes(company)); got != 0 {
			t.Errorf("%d changes are left", got)
		}
		if after := len(r.entries(company, &authv1.ListAuditEntriesRequest{ByCredential: ptr(false)})); after != before {
			t.Errorf("%d other entries, before %d", after, before)
		}
	})
	t.Run("a caller cannot record an entry in the name of a credential", func(t *testing.T) {
		_, err := r.audit.RecordAuditEntry(r.as(company), &authv1.RecordAuditEntryRequest{Action: "api_key.update", Target: key})
		if !fault.Is(err, fault.Invalid) {
			t.Errorf("got %v", err)
		}
	})
}

// consumeChanges stores what is published, until the test ends or the result is called.
func (r *replica) consumeChanges() (stop context.CancelFunc) {
	ctx, cancel := context.WithCancel(r.t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = r.server.consumeChanges(ctx, r.bus)
	}()
	stop = func() {
		cancel()
		<-done
	}
	r.t.Cleanup(stop)
	return stop
}
