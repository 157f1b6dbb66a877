// Package additions is the specification of what Interfaces A and B and the webhooks offer in addition
// to customers, events, registrations and passes, as a test: holds, the waitlist, refunds, discount
// codes, publishable keys and so on. It knows a running platform only as an integrator does. There is a
// file for each resource.
//
// In every test, the caller in support_test.go also checks the rules that hold for every resource:
// each answer matches openapi.yaml, each write can be retried with its Idempotency-Key, and
// each answer to a write is what a GET returns afterwards.
package additions

import (
	"testing"

	"reservation.dev/test/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }

func TestAdditions(t *testing.T) {
	p := start(t)
	for _, resource := range []struct {
		name string
		test func(t *testing.T, p *platform)
	}{
		{"rules for every resource", testRules},
		{"bodies and answers", testBodies},
		{"customers", testCustomers},
		{"customers without an e-mail address", testOptionalEmails},
		{"events", testEvents},
		{"event dates", testEventDates},
		{"booking rules", testBookingRules},
		{"payments", testPayments},
		{"registrations", testRegistrations},
		{"changes of registrations", testRegistrationChanges},
		{"transactions", testTransactions},
		{"holds", testHolds},
		{"waitlist", testWaitlist},
		{"discount codes", testDiscountCodes},
		{"passes", testPasses},
		{"customer passes", testCustomerPasses},
		{"plans", testPlans},
		{"subscriptions", testSubscriptions},
		{"media", testMedia},
		{"staff", testStaff},
		{"appointments", testAppointments},
		{"calendars", testCalendars},
		{"reports", testReports},
		{"publishable keys", testPublishableKeys},
		{"webhook endpoints", testWebhookEndpoints},
		{"webhook events", testWebhookEvents},
		{"webhook messages", testWebhookMessages},
		{"Interface A", testInterfaceA},
	} {
		t.Run(resource.name, func(t *testing.T) {
			awaitDay(t)
			resource.test(t, p)
		})
	}
}

// TestSlowExpiry waits for the end of a hold and of an offer, which last at least a minute.
func TestSlowExpiry(t *testing.T) {
	t.Parallel()
	testExpiry(t, start(t))
}
