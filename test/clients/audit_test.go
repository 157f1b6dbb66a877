package clients

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	"reservation.dev/test/harness"
)

// unaudited are the operations that write and have no audit entry, with the reason.
func unaudited() map[string]string {
	return map[string]string{
		"createToken":           "a token changes nothing",
		"createHold":            "a hold ends by itself within minutes; its confirmation has an entry",
		"createAppointmentHold": "a hold ends by itself within minutes; its confirmation has an entry",
		"deleteHold":            "a hold that is released leaves nothing",
		"createPlaybackLink":    "a link to play an item changes nothing",
		"recordProgress":        "a player reports where a customer is, every few seconds",
	}
}

// auditActions are the actions of the audit entries of each operation that writes.
func auditActions() map[string]string {
	return map[string]string{
		// Interface A
		"updateProfile": "customer.update", "createNote": "customer.note_add", "updateNote": "customer.note_update", "deleteNote": "customer.note_delete",
		// Interface B
		"createCustomer": "customer.create", "updateCustomer": "customer.update", "patchCustomer": "customer.update", "deleteCustomer": "customer.delete",
		"createEvent": "event.create", "updateEvent": "event.update", "patchEvent": "event.update", "deleteEvent": "event.delete",
		"addEventDate": "event.dates_add", "updateEventDate": "event_date.update", "patchEventDate": "event_date.update", "cancelEventDate": "event_date.cancel",
		"createRegistration": "booking.create", "createTransaction": "booking.create", "confirmHold": "booking.create",
		"cancelRegistration": "booking.cancel", "cancelRegistrationById": "booking.cancel", "cancelAppointment": "booking.cancel",
		"refundRegistration": "booking.refund", "recordAttendance": "booking.attendance", "moveRegistration": "booking.move",
		"transferRegistration": "booking.transfer", "swapRegistrations": "booking.swap",
		"joinWaitlist": "waitlist.join", "deleteWaitlistEntry": "waitlist.leave", "acceptOffer": "waitlist.accept",
		"createPass": "pass_type.create", "updatePass": "pass_type.update", "patchPass": "pass_type.update",
		"createCustomerPass": "customer_pass.assign", "updateCustomerPass": "customer_pass.update", "patchCustomerPass": "customer_pass.update",
		"createPlan": "plan.create", "updatePlan": "plan.update", "patchPlan": "plan.update",
		"createSubscription": "subscription.create", "pauseSubscription": "subscription.pause", "resumeSubscription": "subscription.resume",
		"changePlan": "subscription.change_plan", "withdrawPlanChange": "subscription.keep_plan", "cancelSubscription": "subscription.cancel",
		"withdrawCancellation": "subscription.keep", "recordPayment": "subscription.payment", "recordPaymentFailure": "subscription.payment_failure",
		"waivePayment": "subscription.waive", "recordRefund": "subscription.refund", "updateSubscriptionSettings": "payments_due.update",
		"createMediaItem": "media.create", "updateMediaItem": "media.update", "patchMediaItem": "media.update", "deleteMediaItem": "media.delete",
		"createUpload": "media.upload_begin", "completeUpload": "media.upload", "cancelUpload": "media.upload_cancel",
		"createMediaCollection": "collection.create", "updateMediaCollection": "collection.update", "patchMediaCollection": "collection.update",
		"deleteMediaCollection": "collection.delete", "createMediaEntitlement": "media.access_add", "deleteMediaEntitlement": "media.access_remove",
		"createCalendar": "calendar.create", "deleteCalendar": "calendar.revoke",
		"createStaffMember": "staff.create", "updateStaffMember": "staff.update", "patchStaffMember": "staff.update", "updateWorkingHours": "staff.hours",
		"createTimeOff": "staff.time_off_add", "deleteTimeOff": "staff.time_off_delete", "createHoliday": "holiday.create", "deleteHoliday": "holiday.delete",
		"createRoom": "room.create", "updateRoom": "room.update", "patchRoom": "room.update",
		"createAppointmentType": "appointment_type.create", "updateAppointmentType": "appointment_type.update", "patchAppointmentType": "appointment_type.update",
		"createAppointment": "appointment.create", "moveAppointment": "appointment.move",
		"createDiscountCode": "discount.create", "updateDiscountCode": "discount.update", "patchDiscountCode": "discount.update",
		"createWebhookEndpoint": "webhook_endpoint.create", "updateWebhookEndpoint": "webhook_endpoint.update", "patchWebhookEndpoint": "webhook_endpoint.update",
		"deleteWebhookEndpoint": "webhook_endpoint.delete", "rotateWebhookSecret": "webhook_endpoint.rotate_secret", "sendWebhookTest": "webhook_endpoint.test",
		"replayWebhookDelivery": "webhook_delivery.replay", "replayWebhookDeliveries": "webhook_delivery.replay_selected",
		"advanceTestClock": "test_clock.advance", "resetTestData": "test_data.reset",
	}
}

// testAudit plays the scenario, and checks that the audit log has what every operation changed, once and
// with the credential that changed it.
func (r *routes) testAudit(t *testing.T) {
	c := r.caller(t)
	prefix := map[string]string{"a": "m2m_", "b": "key_"}[r.name]
	// One transaction books for two customers, one update of an event changes its date too, and one time off
	// is of a room.
	expected := map[string]int{}
	if r.name == "b" {
		expected = map[string]int{"booking.create": 1, "event_date.update": 1, "room.time_off_add": 1}
	}
	began := time.Now() // the scenario's own data is older
	for _, s := range c.steps {
		o := c.operations[s.operation]
		action, known := auditActions()[s.operation]
		if o.method != http.MethodGet && !known && unaudited()[s.operation] == "" {
			t.Errorf("%s has no audit entry: add it to auditActions, or to unaudited with a reason", s.operation)
		}
		request := c.request(s)
		if s.operation == "updateProfile" { // the profile of the scenario is the one that the customer has
			request.Body = strings.Replace(request.Body, "Zoë", "Zoe", 1)
		}
		answer := c.take(t, s, request)
		// A replay changes nothing while no delivery has failed.
		if o.method != http.MethodGet && known && s.want() < 300 && !strings.Contains(string(answer.Body), `"replayed":0`) {
			expected[action]++
		}
	}
	got := map[string]int{}
	harness.Eventually(t, 30*time.Second, func() error {
		clear(got)
		for _, e := range entriesOf(t, c.company) {
			if strings.HasPrefix(e.GetActor(), prefix) && !e.GetAt().AsTime().Before(began) {
				got[e.GetAction()]++
			}
		}
		for action := range expected {
			if got[action] == 0 {
				return fmt.Errorf("the audit log has no entry %s; it has %v", action, got)
			}
		}
		return nil
	})
	for _, action := range slices.Sorted(maps.Keys(got)) {
		// A step that changes nothing has no entry.
		if want := expected[action]; got[action] > want {
			t.Errorf("%d entries %s of %d requests", got[action], action, want)
		}
	}
}

// entriesOf returns all audit entries of a company.
func entriesOf(t *testing.T, company *harness.Company) (all []*authv1.AuditEntry) {
	t.Helper()
	req := &authv1.ListAuditEntriesRequest{PageSize: 1000}
	for {
		res, err := company.Operator().Audit.ListAuditEntries(company.Ctx(t.Context()), req)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, res.GetEntries()...)
		if req.PageToken = res.GetNextPageToken(); req.GetPageToken() == "" {
			return all
		}
	}
}
