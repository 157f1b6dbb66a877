package auth

import (
	"context"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

// TestTokensOfACompanyThatMoves checks that a token request for a company that moves says so. A client would take an
// unknown credential for revoked, and would not repeat the request.
func TestTokensOfACompanyThatMoves(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.start()
	owner, err := pgx.Connect(t.Context(), w.ownerURL)
	must(t, err)
	defer owner.Close(context.WithoutCancel(t.Context()))
	moving, other := r.company(), r.company()
	company, err := id.Parse[id.Company](moving)
	must(t, err)
	client, secret := r.client(moving)
	neighbour, neighbours := r.client(other)
	issue := func(client, secret string) error {
		_, err := r.tokens.IssueToken(t.Context(), &authv1.IssueTokenRequest{ClientId: client, ClientSecret: secret})
		return err
	}
	for _, state := range []pg.MoveState{pg.Leaving, pg.Left} {
		m, err := pg.MarkMove(t.Context(), owner, company, state, "elsewhere")
		must(t, err)
		must(t, pg.AwaitMove(t.Context(), owner, m))
		if err := fault.From(issue(client, secret)); !errors.Is(err, fault.Moving()) {
			t.Errorf("%s: got %v, want COMPANY_MOVING", state, err)
		}
		if err := fault.From(issue(client, secret+"x")); !errors.Is(err, invalidCredentials()) {
			t.Errorf("%s, wrong secret: got %v", state, err)
		}
		must(t, issue(neighbour, neighbours))
	}
	must(t, pg.UnmarkMove(t.Context(), owner, company, pg.Left))
	must(t, issue(client, secret))
}
