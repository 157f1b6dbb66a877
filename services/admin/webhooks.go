package admin

import "time"

// webhookTimeout bounds calls of the webhook service: one of them waits for an
// endpoint, which has 10 s.
const webhookTimeout = 15 * time.Second
