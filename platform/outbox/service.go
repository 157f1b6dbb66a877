package outbox

import (
	"context"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/pg"
	outboxv1 "reservation.dev/proto/gen/reservation/outbox/v1"
)

// publishedSQL has the time at which the statement began if no event waits. Rows carry the time at which
// their transactions began.
const publishedSQL = `select coalesce((select created_at from outbox_events order by created_at, id limit 1), now())`

// PublishedUntil returns up to when the events of all commits are published, by the clock of the database.
// While events wait, it is when the transaction of the oldest one began.
func (o *Outbox) PublishedUntil(ctx context.Context) (time.Time, error) {
	return pg.One[time.Time](ctx, o.db, pg.AllCompanies(), publishedSQL)
}

// Service implements OutboxService for the outbox of a service.
type Service struct {
	outboxv1.UnimplementedOutboxServiceServer
	outbox *Outbox
}

// NewService returns the OutboxService of an outbox.
func NewService(o *Outbox) *Service { return &Service{outbox: o} }

// GetPublished implements OutboxService.
func (s *Service) GetPublished(ctx context.Context, _ *outboxv1.GetPublishedRequest) (*outboxv1.GetPublishedResponse, error) {
	at, err := s.outbox.PublishedUntil(ctx)
	if err != nil {
		return nil, err
	}
	return &outboxv1.GetPublishedResponse{PublishedUntil: timestamppb.New(at)}, nil
}
