package rpc_test

import (
	"context"
	"testing"

	"google.golang.org/grpc/interop/grpc_testing"

	"reservation.dev/platform/origin"
	"reservation.dev/platform/rpc"
	"reservation.dev/platform/token"
)

// TestCallsOfAHandlerOfEventsSayWhyTheyAreMade checks that a call knows that it is part of handling an event, and that
// only platform credentials can say so.
func TestCallsOfAHandlerOfEventsSayWhyTheyAreMade(t *testing.T) {
	p := newPart(t, nil)
	admin := p.issuer.Sign(token.Claims{Subject: "svc_1", Kind: token.KindService, Scopes: []string{token.Admin}})
	own := rpc.As(t.Context(), fixed(admin), p.company)
	for name, test := range map[string]struct {
		ctx  context.Context
		want bool
	}{
		"a handler, with the service's credential":    {origin.WithEvent(own), true},
		"a request, with the service's credential":    {own, false},
		"a company's credential that claims to be it": {origin.WithEvent(p.reader()), false},
	} {
		t.Run(name, func(t *testing.T) {
			var got bool
			p.does(func(ctx context.Context) error { got = origin.IsEvent(ctx); return nil })
			if _, err := p.client.UnaryCall(test.ctx, &grpc_testing.SimpleRequest{}); err != nil {
				t.Fatal(err)
			}
			if got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}
