package reports

// consumer is the name of the consumer of company events.
const consumer = "reports-copies"
