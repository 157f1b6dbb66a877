package media

// consumer is the name of the consumer of company events.
const consumer = "media-copies"
