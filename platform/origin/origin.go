// Package origin tells why code runs: for a request, or to handle an event of the bus. While a company moves to
// another installation, its requests are refused, but the events that it has caused are still handled (package pg,
// Moves).
package origin

import "context"

type eventKey struct{}

// WithEvent returns ctx for the handling of an event. The bus, and servers for the calls of a handler, call it.
func WithEvent(ctx context.Context) context.Context { return context.WithValue(ctx, eventKey{}, true) }

// IsEvent reports whether ctx belongs to the handling of an event.
func IsEvent(ctx context.Context) bool { return ctx.Value(eventKey{}) != nil }
