package reports

import (
	"context"
	"errors"
	"io"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"

	"reservation.dev/platform/id"
	"reservation.dev/platform/rpc"
	"reservation.dev/platform/token"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	outboxv1 "reservation.dev/proto/gen/reservation/outbox/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
	subscriptionv1 "reservation.dev/proto/gen/reservation/subscription/v1"
)

// Snapshots reads the snapshots of the services that own the data.
type Snapshots struct {
	booking      bookingv1.BookingSnapshotServiceClient
	pass         passv1.PassSnapshotServiceClient
	subscription subscriptionv1.SubscriptionSnapshotServiceClient
	customer     customerv1.CustomerSnapshotServiceClient
	outboxes     []outbox
	source       *token.Source
}

// outbox is the outbox of a service that owns data.
type outbox struct {
	service string
	client  outboxv1.OutboxServiceClient
}

// NewSnapshots returns a reader that calls the services behind the connections with the tokens of source.
func NewSnapshots(booking, pass, subscription, customer grpc.ClientConnInterface, source *token.Source) *Snapshots {
	return &Snapshots{
		booking: bookingv1.NewBookingSnapshotServiceClient(booking), pass: passv1.NewPassSnapshotServiceClient(pass),
		subscription: subscriptionv1.NewSubscriptionSnapshotServiceClient(subscription), customer: customerv1.NewCustomerSnapshotServiceClient(customer),
		outboxes: []outbox{
			{"booking", outboxv1.NewOutboxServiceClient(booking)}, {"pass", outboxv1.NewOutboxServiceClient(pass)},
			{"subscription", outboxv1.NewOutboxServiceClient(subscription)}, {"customer", outboxv1.NewOutboxServiceClient(customer)},
		},
		source: source,
	}
}

// chunk is the facts of one message of a snapshot.
type chunk struct {
	converter
	ids []string // of its items, in their order
}

// reading reads a snapshot from the item after one, and calls each for every message.
type reading func(s *Snapshots, ctx context.Context, after string, each func(*chunk) error) error

// reads returns the reading of a streaming RPC of a service.
func reads[Res, T any](service string, open func(s *Snapshots, ctx context.Context, after string) (grpc.ServerStreamingClient[Res], error),
	items func(*Res) []T, add func(p *chunk, item T),
) reading {
	return func(s *Snapshots, ctx context.Context, after string, each func(*chunk) error) error {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		stream, err := open(s, ctx, after)
		if err != nil {
			return rpc.OwnError(service, err)
		}
		for {
			res, err := stream.Recv()
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return rpc.OwnError(service, err)
			}
			p := &chunk{converter: converter{facts: newFacts()}}
			for _, item := range items(res) {
				add(p, item)
			}
			if p.err != nil {
				return p.err
			}
			if err := each(p); err != nil {
				return err
			}
		}
	}
}

// publishedUntil returns up to when all services have published the events of their commits.
func (s *Snapshots) publishedUntil(ctx context.Context) (time.Time, error) {
	times := make([]time.Time, len(s.outboxes))
	group, ctx := errgroup.WithContext(s.as(ctx, id.Company{}))
	for i, o := range s.outboxes {
		group.Go(func() error {
			res, err := o.client.GetPublished(ctx, &outboxv1.GetPublishedRequest{})
			if err != nil {
				return rpc.OwnError(o.service, err)
			}
			times[i] = res.GetPublishedUntil().AsTime()
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return time.Time{}, err
	}
	return slices.MinFunc(times, time.Time.Compare), nil
}

// as returns the context of a call for a company.
func (s *Snapshots) as(ctx context.Context, company id.Company) context.Context {
	return rpc.As(ctx, s.source, company)
}
