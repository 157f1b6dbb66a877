package reservectl

import (
	"github.com/spf13/cobra"

	subscriptionv1 "reservation.dev/proto/gen/reservation/subscription/v1"
)

func (a *app) planCommand() *cobra.Command {
	return a.callGroup("plan", "Manage and import the plans that customers can subscribe to", []call{
		{
			use: "list", short: "List plans", method: subscriptionv1.PlanService_ListPlans_FullMethodName,
			columns: []string{"id", "title", "price", "currency", "interval_count", "interval_unit", "bookings", "credits", "max_rollover", "status"},
			none:    "no plans", examples: []string{"--status active"},
		},
		{
			use: "get PLAN", short: "Show a plan", method: subscriptionv1.PlanService_GetPlan_FullMethodName, args: []string{"id"}, examples: []string{"plan_…"},
		},
		{
			use: "create", short: "Create a plan", method: subscriptionv1.PlanService_CreatePlan_FullMethodName, required: []string{"title", "interval_unit"},
			examples: []string{
				`--title "Eight classes a month" --interval-unit month --price 8000 --credits 8 --max-rollover 4`,
				`--title "Unlimited year" --interval-unit year --price 90000 --bookings unlimited --trial-days 14 --media-collection-id col_…`,
			},
		},
		{
			use: "update PLAN", short: "Change a plan; existing subscriptions keep their terms", method: subscriptionv1.PlanService_UpdatePlan_FullMethodName,
			args: []string{"id"}, examples: []string{"plan_… --price 8500", "plan_… --status archived"},
		},
	}, a.planImport())
}

func (a *app) subscriptionCommand() *cobra.Command {
	return a.callGroup("subscription", "Manage and import the subscriptions of customers, their periods and their payments",
		append(subscriptionCalls(), subscriptionActions()...), a.subscriptionImport())
}

// subscriptionCalls are the commands that read subscriptions, start them and set how unpaid ones are
// handled.
func subscriptionCalls() []call {
	return []call{
		{
			use: "list", short: "List the subscriptions of all customers, or of one", method: subscriptionv1.SubscriptionService_ListSubscriptions_FullMethodName,
			columns: []string{"id", "customer_id", "plan=plan_title", "status", "period=current_period.number", "renews_on", "last_day", "amount_due", "currency=terms.currency"},
			none:    "no subscriptions", hidden: []string{"customer_must_exist"}, examples: []string{"--customer-id cust_…", "--status past_due --limit 0", "--payment-due"},
		},
		{
			use: "get SUBSCRIPTION", short: "Show a subscription", method: subscriptionv1.SubscriptionService_GetSubscription_FullMethodName,
			args: []string{"id"}, examples: []string{"sub_…"},
		},
		{
			use: "create CUSTOMER PLAN", short: "Subscribe a customer to a plan; with --method, the first period is paid",
			method: subscriptionv1.SubscriptionService_CreateSubscription_FullMethodName, args: []string{"customer_id", "plan_id"},
			into: "payment", hidden: []string{"payment.paid_at", "payment.paid_on"},
			examples: []string{"cust_… plan_…", "cust_… plan_… --method CARD --reference ch_4711", "cust_… plan_… --start-date 2026-03-01 --skip-trial"},
		},
		{
			use: "periods SUBSCRIPTION", short: "List the periods of a subscription, with their payments and credits",
			method: subscriptionv1.SubscriptionService_ListPeriods_FullMethodName, args: []string{"subscription_id"},
			columns: []string{"number", "first_day", "last_day", "price", "amount_due", "payment_status", "credits_granted", "credits_carried_over", "credits_expired"},
			none:    "no periods", examples: []string{"sub_… --descending"},
		},
		{
			use: "account SUBSCRIPTION", short: "List every change of a subscription's account credit and refund due",
			method: subscriptionv1.SubscriptionService_ListAccountEntries_FullMethodName, args: []string{"subscription_id"},
			columns: []string{"sequence", "created_at", "kind", "credit", "refund", "credit_balance", "refund_balance", "period", "actor"},
			none:    "no changes", examples: []string{"sub_…"},
		},
		{
			use: "settings", short: "Show what happens while a payment is due", method: subscriptionv1.SubscriptionService_GetSubscriptionSettings_FullMethodName,
		},
		{
			use: "update-settings", short: "Set what happens while a payment is due; without --end-after-days, unpaid subscriptions never end",
			method: subscriptionv1.SubscriptionService_UpdateSubscriptionSettings_FullMethodName, into: "settings",
			required: []string{"settings.past_due_after_days", "settings.grace_days", "settings.reminder_days"},
			examples: []string{"--past-due-after-days 3 --grace-days 7 --reminder-day 0,3,7 --end-after-days 30 --version 0"},
		},
		{
			use: "restore-passes", short: "Send the passes of all subscriptions to the pass service again, after a restore",
			method: subscriptionv1.SubscriptionService_RestoreCustomerPasses_FullMethodName,
		},
	}
}

// subscriptionActions are the commands that change one subscription, and their previews. Interface B has
// the actions under the same names.
func subscriptionActions() []call {
	const subscription = "SUBSCRIPTION"
	id := []string{"id"}
	return []call{
		{
			use: "pause " + subscription, short: "Pause a subscription, from today or a later day on", method: subscriptionv1.SubscriptionService_PauseSubscription_FullMethodName,
			args: id, examples: []string{`sub_… --reason "Broken foot"`, "sub_… --first-day 2026-07-01 --resumes-on 2026-09-01"},
		},
		{
			use: "resume " + subscription, short: "End a pause, or withdraw one that has not begun", method: subscriptionv1.SubscriptionService_ResumeSubscription_FullMethodName,
			args: id, examples: []string{"sub_…", "sub_… --on 2026-09-01"},
		},
		{
			use: "preview-plan-change " + subscription + " PLAN", short: "Show the credits and the money of a change of plan",
			method: subscriptionv1.SubscriptionService_PreviewPlanChange_FullMethodName,
			args:   []string{"id", "plan_id"}, examples: []string{"sub_… plan_… --when now"},
		},
		{
			use: "change-plan " + subscription + " PLAN", short: "Change the plan, now or at the end of the current period",
			method: subscriptionv1.SubscriptionService_ChangePlan_FullMethodName, args: []string{"id", "plan_id"},
			into: "payment", hidden: []string{"payment.paid_at", "payment.paid_on"}, examples: []string{"sub_… plan_…", "sub_… plan_… --when now --method CASH"},
		},
		{
			use: "withdraw-plan-change " + subscription, short: "Withdraw a scheduled change of plan",
			method: subscriptionv1.SubscriptionService_WithdrawPlanChange_FullMethodName, args: id, examples: []string{"sub_…"},
		},
		{
			use: "preview-cancellation " + subscription, short: "Show the last day and the refund of a cancellation",
			method: subscriptionv1.SubscriptionService_PreviewCancellation_FullMethodName, args: id, examples: []string{"sub_… --when now --prorate"},
		},
		{
			use: "cancel " + subscription, short: "Cancel a subscription, at the end of its current period or now",
			method: subscriptionv1.SubscriptionService_CancelSubscription_FullMethodName, args: id,
			examples: []string{`sub_… --reason "Moves away"`, "sub_… --when now --prorate --waive-minimum-term"},
		},
		{
			use: "withdraw-cancellation " + subscription, short: "Keep a subscription that is ending",
			method: subscriptionv1.SubscriptionService_WithdrawCancellation_FullMethodName, args: id, examples: []string{"sub_…"},
		},
		{
			use: "record-payment " + subscription, short: "Record that a period was paid; by default the oldest with an amount due",
			method: subscriptionv1.SubscriptionService_RecordPayment_FullMethodName, args: id,
			into: "payment", hidden: []string{"payment.paid_at", "payment.paid_on"}, examples: []string{"sub_… --method CASH", "sub_… --period 3 --reference ch_4711"},
		},
		{
			use: "record-failure " + subscription, short: "Record that an attempt to collect a payment failed",
			method: subscriptionv1.SubscriptionService_RecordPaymentFailure_FullMethodName, args: id, examples: []string{`sub_… --reason "Card expired"`},
		},
		{
			use: "waive-payment " + subscription, short: "Give up the amount due of a period",
			method: subscriptionv1.SubscriptionService_WaivePayment_FullMethodName, args: id, examples: []string{`sub_… --period 3 --reason "Studio closed"`},
		},
		{
			use: "record-refund " + subscription, short: "Record that money due to the customer was refunded, in full or in part",
			method: subscriptionv1.SubscriptionService_RecordRefund_FullMethodName, args: id, examples: []string{"sub_…", "sub_… --amount 500 --reference re_4711"},
		},
	}
}
