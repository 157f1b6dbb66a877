package subscription

import (
	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/id"
	"reservation.dev/platform/outbox"
	"reservation.dev/platform/subjects"
	subscriptionv1 "reservation.dev/proto/gen/reservation/subscription/v1"
)

// Subjects of the published events.
const (
	subjectPlanCreated                 = "subscription.v1.plan_created"
	subjectPlanUpdated                 = "subscription.v1.plan_updated"
	subjectDataErased                  = "subscription.v1.customer_data_erased"
	subjectSubscriptionCreated         = subjects.SubscriptionCreated
	subjectSubscriptionUpdated         = subjects.SubscriptionUpdated
	subjectSubscriptionRenewed         = subjects.SubscriptionRenewed
	subjectSubscriptionPaymentDue      = subjects.SubscriptionPaymentDue
	subjectSubscriptionPaymentRecorded = subjects.SubscriptionPaymentRecorded
	subjectSubscriptionEnded           = subjects.SubscriptionEnded
	subjectSubscriptionImported        = subjects.SubscriptionImported
)

// consumer is the name of the consumer of company events.
const consumer = "subscription-copies"

func event(company id.Company, subject string, payload proto.Message) outbox.Event {
	return outbox.Event{Company: company, Subject: subject, Payload: payload}
}

func planCreated(company id.Company, p *subscriptionv1.Plan) outbox.Event {
	return event(company, subjectPlanCreated, &subscriptionv1.PlanCreated{Plan: p})
}

func planUpdated(company id.Company, p *subscriptionv1.Plan) outbox.Event {
	return event(company, subjectPlanUpdated, &subscriptionv1.PlanUpdated{Plan: p})
}

func subscriptionCreated(company id.Company, s *subscriptionv1.Subscription, paid []*subscriptionv1.SubscriptionMovement) outbox.Event {
	return event(company, subjectSubscriptionCreated, &subscriptionv1.SubscriptionCreated{Subscription: s, Movements: paid})
}

func subscriptionUpdated(company id.Company, s, previous *subscriptionv1.Subscription, paid []*subscriptionv1.SubscriptionMovement) outbox.Event {
	return event(company, subjectSubscriptionUpdated, &subscriptionv1.SubscriptionUpdated{Subscription: s, Previous: previous, Movements: paid})
}

func subscriptionRenewed(company id.Company, s, previous *subscriptionv1.Subscription, paid []*subscriptionv1.SubscriptionMovement) outbox.Event {
	return event(company, subjectSubscriptionRenewed, &subscriptionv1.SubscriptionRenewed{Subscription: s, Previous: previous, Movements: paid})
}

func paymentDue(company id.Company, s *subscriptionv1.Subscription, p *subscriptionv1.Period) outbox.Event {
	return event(company, subjectSubscriptionPaymentDue, &subscriptionv1.SubscriptionPaymentDue{Subscription: s, Period: p})
}

func paymentRecorded(company id.Company, s, previous *subscriptionv1.Subscription, p *subscriptionv1.Period, paid []*subscriptionv1.SubscriptionMovement) outbox.Event {
	return event(company, subjectSubscriptionPaymentRecorded,
		&subscriptionv1.SubscriptionPaymentRecorded{Subscription: s, Previous: previous, Period: p, Movements: paid})
}

func subscriptionImported(company id.Company, s *subscriptionv1.Subscription, paid []*subscriptionv1.SubscriptionMovement) outbox.Event {
	return event(company, subjectSubscriptionImported, &subscriptionv1.SubscriptionImported{Subscription: s, Movements: paid})
}

func subscriptionEnded(company id.Company, s, previous *subscriptionv1.Subscription, paid []*subscriptionv1.SubscriptionMovement) outbox.Event {
	return event(company, subjectSubscriptionEnded, &subscriptionv1.SubscriptionEnded{Subscription: s, Previous: previous, Movements: paid})
}
