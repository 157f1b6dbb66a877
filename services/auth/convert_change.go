package auth

import (
	"fmt"
	"strings"

	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/bus"
	"reservation.dev/platform/id"
	"reservation.dev/platform/outbox"
	"reservation.dev/platform/subjects"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	mediav1 "reservation.dev/proto/gen/reservation/media/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
	privacyv1 "reservation.dev/proto/gen/reservation/privacy/v1"
	subscriptionv1 "reservation.dev/proto/gen/reservation/subscription/v1"
	webhookv1 "reservation.dev/proto/gen/reservation/webhook/v1"
)

// recorded is outbox.ChangeRecorded of any service, as a key of changeActions.
const recorded = outbox.ChangeRecorded

// The subjects of events that no other service needs by name.
const (
	subjectEventDeleted    = "booking.v1.event_deleted"
	subjectPassTypeCreated = "pass.v1.pass_type_created"
	subjectPassTypeUpdated = "pass.v1.pass_type_updated"
	subjectPlanCreated     = "subscription.v1.plan_created"
	subjectPlanUpdated     = "subscription.v1.plan_updated"
)

// changeActions has the methods whose changes by credentials are in the audit log, and for each method
// the actions of its events. An event that is not listed for the method is a consequence of another
// event, for example the cancellation of a booking with its date, and has no entry. "{kind}" stands for
// the kind of the target.
var changeActions = map[string]map[string]string{
	customerv1.CustomerService_CreateCustomer_FullMethodName:  {subjects.CustomerCreated: "customer.create"},
	customerv1.CustomerService_UpdateCustomer_FullMethodName:  {subjects.CustomerUpdated: "customer.update"},
	customerv1.CustomerService_ArchiveCustomer_FullMethodName: {subjects.CustomerUpdated: "customer.archive"},
	customerv1.CustomerService_DeleteCustomer_FullMethodName:  {subjects.CustomerDeleted: "customer.delete"},
	customerv1.CustomerService_ImportCustomers_FullMethodName: {recorded: "customer.import"},
	customerv1.NoteService_CreateNote_FullMethodName:          {recorded: "customer.note_add"},
	customerv1.NoteService_UpdateNote_FullMethodName:          {recorded: "customer.note_update"},
	customerv1.NoteService_DeleteNote_FullMethodName:          {recorded: "customer.note_delete"},
	privacyv1.ErasureService_EraseCustomer_FullMethodName:     {subjects.CustomerErased: "customer.erase"},

	bookingv1.BookingService_CreateTransaction_FullMethodName:             {subjects.BookingConfirmed: "booking.create"},
	bookingv1.BookingService_ConfirmHold_FullMethodName:                   {subjects.BookingConfirmed: "booking.create"},
	bookingv1.BookingService_CancelBooking_FullMethodName:                 {subjects.BookingCancelled: "booking.cancel"},
	bookingv1.BookingService_RefundBooking_FullMethodName:                 {subjects.BookingRefunded: "booking.refund"},
	bookingv1.BookingService_RecordAttendance_FullMethodName:              {subjects.AttendanceRecorded: "booking.attendance"},
	bookingv1.BookingService_ImportTransactions_FullMethodName:            {recorded: "booking.import"},
	bookingv1.BookingChangeService_MoveBooking_FullMethodName:             {subjects.BookingMoved: "booking.move", subjects.AppointmentMoved: "appointment.move"},
	bookingv1.BookingChangeService_SwapBookings_FullMethodName:            {subjects.BookingMoved: "booking.swap"},
	bookingv1.BookingChangeService_TransferBooking_FullMethodName:         {subjects.BookingTransferred: "booking.transfer"},
	bookingv1.AppointmentService_BookAppointment_FullMethodName:           {subjects.AppointmentBooked: "appointment.create"},
	bookingv1.AppointmentService_MoveAppointment_FullMethodName:           {subjects.AppointmentMoved: "appointment.move"},
	bookingv1.AppointmentService_ImportAppointments_FullMethodName:        {recorded: "appointment.import"},
	bookingv1.WaitlistService_JoinWaitlist_FullMethodName:                 {subjects.WaitlistJoined: "waitlist.join"},
	bookingv1.WaitlistService_LeaveWaitlist_FullMethodName:                {subjects.WaitlistEnded: "waitlist.leave"},
	bookingv1.WaitlistService_AcceptOffer_FullMethodName:                  {subjects.BookingConfirmed: "waitlist.accept"},
	bookingv1.EventService_CreateEvent_FullMethodName:                     {subjects.EventCreated: "event.create"},
	bookingv1.EventService_UpdateEvent_FullMethodName:                     eventActions(),
	bookingv1.EventService_CancelEvent_FullMethodName:                     {subjects.EventCancelled: "event.cancel"},
	bookingv1.EventService_DeleteEvent_FullMethodName:                     {subjectEventDeleted: "event.delete"},
	bookingv1.EventService_AddEventDates_FullMethodName:                   {subjects.EventDatesAdded: "event.dates_add"},
	bookingv1.EventService_UpdateEventDate_FullMethodName:                 {subjects.EventDateUpdated: "event_date.update"},
	bookingv1.EventService_CancelEventDate_FullMethodName:                 {subjects.EventDateCancelled: "event_date.cancel"},
	bookingv1.DiscountService_CreateDiscountCode_FullMethodName:           {recorded: "discount.create"},
	bookingv1.DiscountService_UpdateDiscountCode_FullMethodName:           {recorded: "discount.update"},
	bookingv1.StaffService_CreateStaffMember_FullMethodName:               {recorded: "staff.create"},
	bookingv1.StaffService_UpdateStaffMember_FullMethodName:               {recorded: "staff.update"},
	bookingv1.StaffService_SetWorkingHours_FullMethodName:                 {recorded: "staff.hours"},
	bookingv1.StaffService_CreateTimeOff_FullMethodName:                   {recorded: "{kind}.time_off_add"},
	bookingv1.StaffService_DeleteTimeOff_FullMethodName:                   {recorded: "{kind}.time_off_delete"},
	bookingv1.StaffService_CreateHoliday_FullMethodName:                   {recorded: "holiday.create"},
	bookingv1.StaffService_DeleteHoliday_FullMethodName:                   {recorded: "holiday.delete"},
	bookingv1.RoomService_CreateRoom_FullMethodName:                       {recorded: "room.create"},
	bookingv1.RoomService_UpdateRoom_FullMethodName:                       {recorded: "room.update"},
	bookingv1.AppointmentTypeService_CreateAppointmentType_FullMethodName: {recorded: "appointment_type.create"},
	bookingv1.AppointmentTypeService_UpdateAppointmentType_FullMethodName: {recorded: "appointment_type.update"},
	bookingv1.CalendarService_CreateCalendar_FullMethodName:               {recorded: "calendar.create"},
	bookingv1.CalendarService_RevokeCalendar_FullMethodName:               {recorded: "calendar.revoke"},

	passv1.PassService_CreatePassType_FullMethodName:         {subjectPassTypeCreated: "pass_type.create"},
	passv1.PassService_UpdatePassType_FullMethodName:         {subjectPassTypeUpdated: "pass_type.update"},
	passv1.PassService_AssignCustomerPass_FullMethodName:     {subjects.CustomerPassAssigned: "customer_pass.assign"},
	passv1.PassService_ImportCustomerPasses_FullMethodName:   {recorded: "customer_pass.import"},
	passv1.PassService_UpdateCustomerPass_FullMethodName:     {subjects.CustomerPassUpdated: "customer_pass.update"},
	passv1.PassService_AdjustCredits_FullMethodName:          {subjects.CustomerPassUpdated: "customer_pass.adjust"},
	passv1.PassService_RedeemCredits_FullMethodName:          {subjects.CustomerPassUpdated: "customer_pass.redeem"},
	passv1.PassService_BatchRedeemCredits_FullMethodName:     {subjects.CustomerPassUpdated: "customer_pass.redeem"},
	passv1.PassService_ChangeRedemption_FullMethodName:       {subjects.CustomerPassUpdated: "customer_pass.redeem"},
	passv1.PassService_ReturnCredits_FullMethodName:          {subjects.CustomerPassUpdated: "customer_pass.return"},
	passv1.PassService_CancelRedemption_FullMethodName:       {subjects.CustomerPassUpdated: "customer_pass.return"},
	passv1.PassService_CancelRedemptionChange_FullMethodName: {subjects.CustomerPassUpdated: "customer_pass.return"},

	subscriptionv1.PlanService_CreatePlan_FullMethodName:                         {subjectPlanCreated: "plan.create"},
	subscriptionv1.PlanService_UpdatePlan_FullMethodName:                         {subjectPlanUpdated: "plan.update"},
	subscriptionv1.SubscriptionService_CreateSubscription_FullMethodName:         {subjects.SubscriptionCreated: "subscription.create"},
	subscriptionv1.SubscriptionService_PauseSubscription_FullMethodName:          {subjects.SubscriptionUpdated: "subscription.pause"},
	subscriptionv1.SubscriptionService_ResumeSubscription_FullMethodName:         {subjects.SubscriptionUpdated: "subscription.resume"},
	subscriptionv1.SubscriptionService_ChangePlan_FullMethodName:                 {subjects.SubscriptionUpdated: "subscription.change_plan"},
	subscriptionv1.SubscriptionService_WithdrawPlanChange_FullMethodName:         {subjects.SubscriptionUpdated: "subscription.keep_plan"},
	subscriptionv1.SubscriptionService_CancelSubscription_FullMethodName:         {subjects.SubscriptionUpdated: "subscription.cancel", subjects.SubscriptionEnded: "subscription.cancel"},
	subscriptionv1.SubscriptionService_WithdrawCancellation_FullMethodName:       {subjects.SubscriptionUpdated: "subscription.keep"},
	subscriptionv1.SubscriptionService_RecordPayment_FullMethodName:              {subjects.SubscriptionPaymentRecorded: "subscription.payment"},
	subscriptionv1.SubscriptionService_RecordPaymentFailure_FullMethodName:       {subjects.SubscriptionPaymentRecorded: "subscription.payment_failure"},
	subscriptionv1.SubscriptionService_WaivePayment_FullMethodName:               {subjects.SubscriptionPaymentRecorded: "subscription.waive"},
	subscriptionv1.SubscriptionService_RecordRefund_FullMethodName:               {subjects.SubscriptionUpdated: "subscription.refund"},
	subscriptionv1.SubscriptionService_UpdateSubscriptionSettings_FullMethodName: {recorded: "payments_due.update"},
	subscriptionv1.SubscriptionService_ImportSubscriptions_FullMethodName:        {recorded: "subscription.import"},

	mediav1.MediaService_CreateMediaItem_FullMethodName:   {subjects.MediaItemCreated: "media.create"},
	mediav1.MediaService_UpdateMediaItem_FullMethodName:   {subjects.MediaItemUpdated: "media.update"},
	mediav1.MediaService_DeleteMediaItem_FullMethodName:   {subjects.MediaItemDeleted: "media.delete"},
	mediav1.MediaService_CreateUpload_FullMethodName:      {recorded: "media.upload_begin"},
	mediav1.MediaService_CompleteUpload_FullMethodName:    {recorded: "media.upload"},
	mediav1.MediaService_CancelUpload_FullMethodName:      {recorded: "media.upload_cancel"},
	mediav1.MediaService_CreateCollection_FullMethodName:  {recorded: "collection.create"},
	mediav1.MediaService_UpdateCollection_FullMethodName:  {recorded: "collection.update"},
	mediav1.MediaService_DeleteCollection_FullMethodName:  {recorded: "collection.delete"},
	mediav1.MediaService_CreateEntitlement_FullMethodName: {subjects.MediaEntitlementCreated: "{kind}.access_add"},
	mediav1.MediaService_DeleteEntitlement_FullMethodName: {subjects.MediaEntitlementDeleted: "{kind}.access_remove"},

	webhookv1.WebhookService_CreateEndpoint_FullMethodName:   {recorded: "webhook_endpoint.create"},
	webhookv1.WebhookService_UpdateEndpoint_FullMethodName:   {recorded: "webhook_endpoint.update"},
	webhookv1.WebhookService_DeleteEndpoint_FullMethodName:   {recorded: "webhook_endpoint.delete"},
	webhookv1.WebhookService_RotateSecret_FullMethodName:     {recorded: "webhook_endpoint.rotate_secret"},
	webhookv1.WebhookService_SendTest_FullMethodName:         {recorded: "webhook_endpoint.test"},
	webhookv1.WebhookService_ReplayDelivery_FullMethodName:   {recorded: "webhook_delivery.replay"},
	webhookv1.WebhookService_ReplayFailed_FullMethodName:     {recorded: "webhook_delivery.replay_failed"},
	webhookv1.WebhookService_ReplayDeliveries_FullMethodName: {recorded: "webhook_delivery.replay_selected"},
}

// eventActions returns the actions of UpdateEvent, which can change an event and its dates together.
func eventActions() map[string]string {
	return map[string]string{
		subjects.EventUpdated: "event.update", subjects.EventDatesAdded: "event.dates_add", subjects.EventCancelled: "event.cancel",
		subjects.EventDateUpdated: "event_date.update", subjects.EventDateCancelled: "event_date.cancel",
	}
}

// actionOf returns the action of a change that an event describes; "" if the event has no entry.
func actionOf(m bus.Message) string {
	subject := m.Subject
	if strings.HasSuffix(subject, recorded) {
		subject = recorded
	}
	return changeActions[m.Method][subject]
}

// change is what an entry says of a change by a credential.
type change struct {
	target  string
	details []Detail
	// action replaces that of the method; "" keeps it.
	action string
	// repeats reports that another event of the same request has the entry.
	repeats bool
}

// entryOfChange returns the audit entry of an event. ok is false if the event has none.
func entryOfChange(m bus.Message) (e Entry, ok bool, err error) {
	action := actionOf(m)
	if m.Actor == "" || m.Company.IsZero() || action == "" {
		return e, false, nil
	}
	c, err := changeOf(m)
	if err != nil || c.repeats {
		return e, false, err
	}
	if c.action != "" {
		action = c.action
	}
	action = strings.Replace(action, "{kind}", kindOfTarget(c.target), 1)
	return Entry{
		Company: m.Company, ID: id.AuditEntry(m.ID), At: m.OccurredAt, Actor: m.Actor, Action: action,
		Target: bounded(c.target, maxTarget), Details: withoutEmpty(c.details),
	}, true, nil
}

// changeOf reads the payload of an event that has an entry.
func changeOf(m bus.Message) (change, error) {
	read := changeReaders[m.Subject]
	if strings.HasSuffix(m.Subject, recorded) {
		read = readRecorded
	}
	if read == nil {
		return change{}, fmt.Errorf("no entry can be made of %s", m.Subject)
	}
	return read(m.Payload)
}

// reading returns a reader of the payloads of one event.
func reading[E any, M interface {
	*E
	proto.Message
}](describe func(M) change) func([]byte) (change, error) {
	return func(payload []byte) (change, error) {
		e := M(new(E))
		if err := proto.Unmarshal(payload, e); err != nil {
			return change{}, err
		}
		return describe(e), nil
	}
}

// kindOfTarget returns the kind of thing of an identifier, as actions name it.
func kindOfTarget(target string) string {
	prefix, _, _ := strings.Cut(target, "_")
	if prefix == "col" {
		return "collection"
	}
	return prefix
}
