package additions

import (
	"fmt"
	"testing"

	"reservation.dev/test/harness"
)

// plan creates a plan of £40 and eight credits every month, with the differences in more.
func (c *caller) plan(t *testing.T, more object) object {
	t.Helper()
	return c.create(t, "/plans", with(object{"title": "Regular", "price": 40, "interval": "month", "credits": 8, "maxRollover": 4}, more))
}

// subscribed starts a subscription that is paid in cash, with the differences in more, and waits for its
// credits.
func (c *caller) subscribed(t *testing.T, plan object, customer string, more object) object {
	t.Helper()
	made := c.create(t, "/subscriptions", with(object{"customerId": customer, "planId": plan["id"], "payment": object{"method": "CASH"}}, more))
	if plan["bookings"] != "none" {
		c.granted(t, made, 1)
	}
	return c.get(t, path(text(made, "id")))
}

// granted waits until the credits of the first n periods are in the pass of a subscription, and returns
// the periods.
func (c *caller) granted(t *testing.T, subscription object, n int) (periods []object) {
	t.Helper()
	pass := text(subscription, "customerPassId")
	harness.Eventually(t, waiting, func() error {
		periods = c.list(t, path(text(subscription, "id"))+"/periods")
		answer := c.Face.Send(t, 200, get, "/customer-passes?customerId="+text(subscription, "customerId"), nil)
		held := items(t, decode(t, answer), "customerPasses")
		for _, p := range held {
			if p["id"] == pass && len(periods) >= n && c.periodsInLedger(t, pass) >= n {
				return nil
			}
		}
		return fmt.Errorf("%s has %d periods and the passes %v", subscription["id"], len(periods), ids(held))
	})
	return periods
}

// periodsInLedger returns the last period in the ledger of a pass.
func (c *caller) periodsInLedger(t *testing.T, pass string) int {
	t.Helper()
	last := 0
	for _, entry := range c.list(t, path(pass)+"/ledger?perPage=100") {
		if n, ok := entry["period"].(float64); ok {
			last = max(last, int(n))
		}
	}
	return last
}

func testPlans(t *testing.T, p *platform) {
	c := p.newCaller(t)
	plan := c.plan(t, object{"trialDays": 14, "minimumPeriods": 3, "eligibleEventTypes": []string{"class"}})
	has(t, plan, object{"title": "Regular", "price": 40, "currency": "GBP", "interval": "month", "intervalCount": 1, "trialDays": 14, "minimumPeriods": 3,
		"bookings": "credits", "credits": 8, "maxRollover": 4, "eligibleEventTypes": []string{"class"}, "status": "active"})
	t.Run("a plan owns a pass type, which is not sold on its own", func(t *testing.T) {
		pass := text(plan, "passId")
		var owned object
		harness.Eventually(t, waiting, func() error {
			for _, found := range c.list(t, "/passes?includePlans=true") {
				if owned = found; found["id"] == pass {
					return nil
				}
			}
			return fmt.Errorf("there is no pass type %s", pass)
		})
		has(t, owned, object{"planId": plan["id"], "totalUses": 8, "title": "Regular"})
		c.lists(t, "/passes")
		c.refuses(t, "PASS_OF_SUBSCRIPTION", post, "/customer-passes", object{"customerId": c.customer(t, "Ada", "Byron"), "passId": pass, "startDate": date(0)})
	})
	t.Run("a change leaves the terms of subscriptions", func(t *testing.T) {
		sub := c.subscribed(t, plan, c.customer(t, "Ben", "King"), object{"skipTrial": true})
		has(t, c.change(t, text(plan, "id"), object{"price": 50}), object{"price": 50})
		has(t, c.get(t, path(text(sub, "id"))), object{"price": 40, "version": nil})
	})
	t.Run("an archived plan is not sold", func(t *testing.T) {
		old := c.plan(t, nil)
		has(t, c.change(t, text(old, "id"), object{"status": "archived"}), object{"status": "archived"})
		c.refuses(t, "PLAN_NOT_ACTIVE", post, "/subscriptions", object{"customerId": c.customer(t, "Cy", "Lee"), "planId": old["id"]})
	})
	t.Run("faults name their members", func(t *testing.T) {
		for member, body := range map[string]object{
			"title": {"title": ""}, "price": {"price": -1}, "interval": {"interval": "day"}, "intervalCount": {"intervalCount": 25},
			"credits": {"credits": 0, "bookings": "credits"}, "eligibleEventTypes": {"eligibleEventTypes": []string{"party"}},
		} {
			refused := c.Read(t, 400, post, "/plans", with(object{"title": "Regular", "price": 40, "interval": "month", "credits": 8}, body))
			if field := text(refused, "error.details.field"); len(field) < len(member) || field[:len(member)] != member {
				t.Errorf("%v: %v", body, refused)
			}
		}
	})
}

func testSubscriptions(t *testing.T, p *platform) {
	c := p.newCaller(t)
	plan := c.plan(t, nil)
	event := c.event(t, object{"capacity": nil})
	book := "/events/" + text(event, "id") + "/registrations"

	t.Run("a subscription pays for bookings with the credits of its period", func(t *testing.T) {
		ada := c.customer(t, "Ada", "Byron")
		sub := c.subscribed(t, plan, ada, nil)
		has(t, sub, object{"status": "active", "planTitle": "Regular", "price": 40, "amountDue": 0, "currentPeriod.number": 1, "currentPeriod.paymentStatus": "paid",
			"currentPeriod.payment.method": "CASH", "currentPeriod.payment.amount": 40, "currentPeriod.creditsGranted": 8, "startDate": date(0)})
		registration := c.register(t, event, ada, object{"spots": 3, "payment": object{"method": "PASS", "subscriptionId": sub["id"]}})
		has(t, registration, object{"paymentMethod": "PASS", "passUsed": sub["customerPassId"]})
		pass := c.get(t, path(text(sub, "customerPassId")))
		has(t, pass, object{"subscriptionId": sub["id"], "remainingUses": 5})
		c.refuses(t, "PASS_OF_SUBSCRIPTION", patch, path(text(pass, "id")), object{"status": "paused"})
		c.refuses(t, "VALIDATION_ERROR", post, book, object{"customerId": ada,
			"payment": object{"method": "PASS", "subscriptionId": sub["id"], "customerPassId": pass["id"]}})
		c.do(t, path(text(registration, "id"))+"/cancel", nil)
		has(t, c.get(t, path(text(pass, "id"))), object{"remainingUses": 8})
	})
	t.Run("a plan with unlimited bookings takes no credits", func(t *testing.T) {
		bo := c.customer(t, "Bo", "Li")
		sub := c.subscribed(t, c.plan(t, object{"bookings": "unlimited", "credits": nil, "maxRollover": nil}), bo, nil)
		registration := c.register(t, event, bo, object{"spots": 5, "payment": object{"method": "PASS", "subscriptionId": sub["id"]}})
		a := c.interfaceA(t)
		has(t, a.Read(t, 200, get, "/customer/"+bo+"/booking/"+text(registration, "transactionId"), nil), object{
			"data.bookings.0.payment": object{"method": "PASS", "currency": "CR", "credits_used": 0}, "data.bookings.0.spaces": 5,
		})
		has(t, c.do(t, path(text(registration, "id"))+"/cancel", nil), object{"status": "cancelled", "creditsReturned": 0})
		has(t, c.get(t, path(text(sub, "customerPassId"))), object{"unlimitedUses": true, "remainingUses": 999999})
	})
	t.Run("a plan without bookings has no pass", func(t *testing.T) {
		sub := c.subscribed(t, c.plan(t, object{"bookings": "none", "credits": nil, "maxRollover": nil}), c.customer(t, "Di", "Wu"), nil)
		has(t, sub, object{"customerPassId": nil, "status": "active"})
	})
	t.Run("a failed payment makes it past due, and a payment active", func(t *testing.T) {
		eve := c.customer(t, "Eve", "Adams")
		sub := c.subscribed(t, plan, eve, object{"payment": nil})
		has(t, sub, object{"status": "active", "amountDue": 40, "currentPeriod.paymentStatus": "due"})
		at := path(text(sub, "id"))
		has(t, c.do(t, at+"/record-failure", object{"period": 1, "reason": "card declined"}), object{"status": "past_due", "currentPeriod.paymentStatus": "failed", "currentPeriod.failedAttempts": 1})
		// The grace period lasts a week, so it still pays.
		c.register(t, event, eve, object{"payment": object{"method": "PASS", "subscriptionId": sub["id"]}})
		c.refuses(t, "VALIDATION_ERROR", post, at+"/record-payment", object{"period": 1, "payment": object{"method": "CARD", "amount": 39}})
		has(t, c.do(t, at+"/record-payment", object{"period": 1, "payment": object{"method": "CARD", "reference": "ch_1"}}), object{"status": "active", "amountDue": 0, "pastDueSince": nil})
		c.refuses(t, "NO_PAYMENT_DUE", post, at+"/record-payment", object{"period": 1})
		c.refuses(t, "NO_PAYMENT_DUE", post, at+"/waive-payment", object{"period": 1})
	})
	t.Run("a paused subscription does not pay", func(t *testing.T) {
		flo := c.customer(t, "Flo", "Hay")
		sub := c.subscribed(t, plan, flo, nil)
		at := path(text(sub, "id"))
		has(t, c.do(t, at+"/pause", object{"reason": "injury"}), object{"status": "paused", "pause.firstDay": date(0), "pause.resumesOn": nil, "pause.reason": "injury"})
		c.refuses(t, "PASS_NOT_ACTIVE", post, book, object{"customerId": flo, "payment": object{"method": "PASS", "subscriptionId": sub["id"]}})
		c.refuses(t, "ALREADY_PAUSED", post, at+"/pause", nil)
		has(t, c.do(t, at+"/resume", nil), object{"status": "active", "pause": nil, "currentPeriod.lastDay": sub["currentPeriod"].(object)["lastDay"]})
		c.refuses(t, "NOT_PAUSED", post, at+"/resume", nil)
		c.register(t, event, flo, object{"payment": object{"method": "PASS", "subscriptionId": sub["id"]}})
	})
	t.Run("a change of plan does what its preview says", func(t *testing.T) {
		sub := c.subscribed(t, plan, c.customer(t, "Gus", "Orr"), nil)
		at := path(text(sub, "id"))
		better := c.plan(t, object{"title": "Frequent", "price": 70, "credits": 16})
		preview := c.get(t, at+"/plan-change-preview?when=now&planId="+text(better, "id"))
		has(t, preview, object{"unusedValue": 40, "price": 70, "creditApplied": 40, "amountDue": 30, "creditsCarriedOver": 0, "creditsExpired": 8, "creditsGranted": 16, "on": date(0)})
		changed := c.do(t, at+"/change-plan", object{"planId": better["id"], "when": "now", "payment": object{"method": "CARD"}})
		has(t, changed, object{"planId": better["id"], "price": 70, "amountDue": 0, "accountCredit": 0, "currentPeriod.number": 2, "currentPeriod.creditApplied": 40, "currentPeriod.payment.amount": 30})
		periods := c.granted(t, changed, 2)
		has(t, periods[0], object{"unusedValue": 40})
		has(t, c.get(t, at), object{"currentPeriod.creditsCarriedOver": 0, "currentPeriod.creditsExpired": 8, "currentPeriod.creditsGranted": 16})
		has(t, c.get(t, path(text(sub, "customerPassId"))), object{"remainingUses": 16, "passId": better["passId"]})
		entries := c.list(t, at+"/account-entries")
		has(t, entries[0], object{"kind": "unused_period", "credit": 40, "creditBalance": 40})
		has(t, entries[1], object{"kind": "applied", "credit": -40, "creditBalance": 0, "period": 2})
	})
	t.Run("a cancellation at the period's end can be withdrawn", func(t *testing.T) {
		sub := c.subscribed(t, plan, c.customer(t, "Hal", "Ito"), nil)
		last := at(sub, "currentPeriod.lastDay")
		at := path(text(sub, "id"))
		has(t, c.get(t, at+"/cancellation-preview"), object{"lastDay": last, "refundDue": 0})
		has(t, c.do(t, at+"/cancel", object{"reason": "moving away"}), object{"status": "ending", "lastDay": last, "cancellation.reason": "moving away", "cancellation.atPeriodEnd": true})
		c.refuses(t, "SUBSCRIPTION_ENDING", post, at+"/cancel", nil)
		has(t, c.do(t, at+"/withdraw-cancellation", nil), object{"status": "active", "lastDay": nil, "cancellation": nil})
		c.refuses(t, "NOT_ENDING", post, at+"/withdraw-cancellation", nil)
	})
	t.Run("a cancellation at once ends the credits, and states what is due", func(t *testing.T) {
		ivy := c.customer(t, "Ivy", "Jones")
		sub := c.subscribed(t, plan, ivy, nil)
		at := path(text(sub, "id"))
		has(t, c.get(t, at+"/cancellation-preview?when=now&prorate=true"), object{"refundDue": 40})
		has(t, c.do(t, at+"/cancel", object{"when": "now", "prorate": true}), object{"status": "ended", "endReason": "cancelled", "refundDue": 40, "renewsOn": nil})
		c.refuses(t, "PASS_NOT_ACTIVE", post, book, object{"customerId": ivy, "payment": object{"method": "PASS", "subscriptionId": sub["id"]}})
		harness.Eventually(t, waiting, func() error {
			if pass := c.get(t, path(text(sub, "customerPassId"))); pass["status"] != "cancelled" || pass["remainingUses"] != 0.0 {
				return fmt.Errorf("%v", pass)
			}
			return nil
		})
		c.refuses(t, "NO_REFUND_DUE", post, at+"/record-refund", object{"amount": 41})
		has(t, c.do(t, at+"/record-refund", object{"reference": "re_1"}), object{"refundDue": 0, "refundedAmount": 40})
		c.refuses(t, "NO_REFUND_DUE", post, at+"/record-refund", nil)
		for _, action := range []string{"pause", "resume", "cancel"} {
			c.refuses(t, "SUBSCRIPTION_ENDED", post, at+"/"+action, nil)
		}
	})
	t.Run("a minimum term moves the end", func(t *testing.T) {
		bound := c.plan(t, object{"minimumPeriods": 3})
		sub := c.subscribed(t, bound, c.customer(t, "Jo", "Kim"), nil)
		at := path(text(sub, "id"))
		c.refuses(t, "MINIMUM_TERM", post, at+"/cancel", object{"when": "now"})
		preview := c.get(t, at+"/cancellation-preview")
		has(t, preview, object{"minimumTermApplies": true, "lastDay": preview["minimumTermLastDay"]})
		has(t, c.do(t, at+"/cancel", nil), object{"status": "ending", "lastDay": preview["lastDay"]})
	})
	t.Run("the settings of dunning", func(t *testing.T) {
		settings := c.get(t, "/subscription-settings")
		has(t, settings, object{"pastDueAfterDays": 3, "graceDays": 7, "reminderDays": []int{0, 3, 7}, "endAfterDays": 30})
		has(t, decode(t, c.write(t, 200, put, "/subscription-settings", with(settings, object{"graceDays": 5}))), object{"graceDays": 5})
		c.refuses(t, "VALIDATION_ERROR", put, "/subscription-settings", with(settings, object{"graceDays": 61}))
	})
	t.Run("a deleted customer's subscription ends", func(t *testing.T) {
		kit := c.customer(t, "Kit", "Low")
		sub := c.subscribed(t, plan, kit, object{"payment": nil})
		c.delete(t, path(kit))
		has(t, c.becomes(t, text(sub, "id"), object{"status": "ended"}), object{"endReason": "customer_deleted", "amountDue": 0})
		c.Refused(t, 404, "NOT_FOUND", post, "/subscriptions", object{"customerId": kit, "planId": plan["id"]})
	})
	t.Run("lists filter", func(t *testing.T) {
		other := c.plan(t, object{"title": "Rare"})
		lou, max := c.customer(t, "Lou", "May"), c.customer(t, "Max", "Ng")
		paid, due := c.subscribed(t, other, lou, nil), c.subscribed(t, other, max, object{"payment": nil})
		c.lists(t, "/subscriptions?planId="+text(other, "id"), text(paid, "id"), text(due, "id"))
		c.lists(t, "/subscriptions?paymentDue=true&planId="+text(other, "id"), text(due, "id"))
		c.lists(t, "/subscriptions?customerId="+lou, text(paid, "id"))
		c.lists(t, "/subscriptions?status=paused&planId="+text(other, "id"))
	})
	t.Run("another company sees nothing", func(t *testing.T) {
		sub := c.subscribed(t, plan, c.customer(t, "Ned", "Oz"), nil)
		other := p.newCaller(t)
		for _, private := range []string{path(text(sub, "id")), path(text(sub, "id")) + "/periods", path(text(plan, "id"))} {
			other.Refused(t, 404, "NOT_FOUND", get, private, nil)
		}
		other.Refused(t, 404, "NOT_FOUND", post, path(text(sub, "id"))+"/cancel", nil)
	})
	t.Run("Interface A", func(t *testing.T) {
		pat := c.customer(t, "Pat", "Quin")
		sub := c.subscribed(t, plan, pat, nil)
		a := c.interfaceA(t)
		page := a.Read(t, 200, get, "/customer/"+pat+"/subscriptions", nil)
		has(t, page, object{"total": 1, "page": 0, "pageSize": 30, "data.0.id": sub["id"], "data.0.type": "subscription", "data.0.status": "active",
			"data.0.plan_id": plan["id"], "data.0.base100price": 4000, "data.0.tz": "Europe/London", "data.0.current_period.number": 1})
		has(t, a.Read(t, 200, get, "/customer/"+pat+"/subscription/"+text(sub, "id"), nil), object{"data": at(page, "data.0")})
		a.Refused(t, 404, "NOT_FOUND", get, "/customer/"+c.customer(t, "Ray", "Sun")+"/subscription/"+text(sub, "id"), nil)
		has(t, c.interfaceA(t, "profile:read").Read(t, 403, get, "/customer/"+pat+"/subscriptions", nil), object{"error.details.scope": "subscriptions:read"})
	})
}
