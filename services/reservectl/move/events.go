package move

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/bus"
	"reservation.dev/platform/id"
	"reservation.dev/platform/subjects"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

// connect connects to the NATS servers of a cell.
func (c *Cell) connect(ctx context.Context) (*bus.Bus, error) {
	b, err := bus.Connect(ctx, c.NATS.config(), slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, fmt.Errorf("cell %s: %w", c.Name, err)
	}
	return b, nil
}

// revokedSQL lists the credentials of companies whose revocation may still refuse a token, each with the generation
// from which on tokens are valid.
const revokedSQL = `
	select kind, id, generation from credentials where company_id = any ($1) and kind in ('client', 'key') and revoked_at > $2
	union all select 'administrator', id, generation from administrators where company_id = any ($1) and revoked_at > $2
	union all select 'publishable', id, generation from publishable_keys where company_id = any ($1) and revoked_at > $2`

// revocation is a row of revokedSQL.
type revocation struct {
	Kind       string
	ID         id.UUID
	Generation int64
}

// subject returns the subject of the tokens.
func (r revocation) subject() string {
	switch r.Kind {
	case "client":
		return id.APIClient(r.ID).String()
	case "key":
		return id.APIKey(r.ID).String()
	case "publishable":
		return id.PublishableKey(r.ID).String()
	}
	return id.Administrator(r.ID).String()
}

// revokeAgain publishes the revocations of the source at the target, whose services know only those of their own cell.
// Otherwise a company could move away, revoke a credential and come back, and its first cell would accept a token of
// that credential which it issued before.
func (m *Mover) revokeAgain(ctx context.Context, target *bus.Bus) error {
	rows, err := m.auth().from.Query(ctx, revokedSQL, keys(m.companies), time.Now().Add(-tokenLife-clockSkew))
	if err != nil {
		return err
	}
	revoked, err := pgx.CollectRows(rows, pgx.RowToStructByPos[revocation])
	if err != nil {
		return fmt.Errorf("revoked credentials: %w", err)
	}
	msgs := make([]bus.Message, len(revoked))
	for i, r := range revoked {
		payload, err := proto.Marshal(&authv1.CredentialRevoked{Subject: r.subject(), MinGeneration: r.Generation})
		if err != nil {
			return err
		}
		msgs[i] = bus.Message{ID: id.NewUUID(), Subject: subjects.CredentialRevoked + r.subject(), Payload: payload, OccurredAt: time.Now()}
	}
	if _, err := target.Publish(ctx, msgs); err != nil {
		return fmt.Errorf("cell %s: revoked credentials: %w", m.To.Name, err)
	}
	return nil
}

// removeEvents removes the companies' events from the stream of the source, where all consumers have handled them.
// The other cell cannot remove them when it erases a customer.
func (m *Mover) removeEvents(ctx context.Context) (int, error) {
	b, err := m.From.connect(ctx)
	if err != nil {
		return 0, err
	}
	defer b.Close()
	removed, err := b.Remove(ctx, func(e bus.Message) bool { return slices.Contains(m.companies, e.Company) })
	if err != nil {
		return removed, fmt.Errorf("cell %s: events: %w", m.From.Name, err)
	}
	return removed, nil
}
