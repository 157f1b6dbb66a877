package subscription

// consumer is the name of the consumer of company events.
const consumer = "subscription-copies"
