package webhook

import (
	"context"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/page"
	"reservation.dev/platform/rpc"
	"reservation.dev/platform/webhookevent"
	webhookv1 "reservation.dev/proto/gen/reservation/webhook/v1"
)

// ListMessages implements WebhookService. The next page token is the position of the last message, or
// the one that the page began after.
func (s *Server) ListMessages(ctx context.Context, req *webhookv1.ListMessagesRequest) (*webhookv1.ListMessagesResponse, error) {
	company, err := rpc.Tenant(ctx)
	if err != nil {
		return nil, err
	}
	filter, err := messageFilterOf(req)
	if err != nil {
		return nil, err
	}
	p, err := page.Read(page.Of(req), byPosition(), page.Sizes{Default: 50, Max: 200})
	if err != nil {
		return nil, err
	}
	last := filter.start()
	if p.After != nil {
		last = max(last, p.After.Key)
	}
	list, err := s.store.messagesAfter(ctx, company, filter, last, p.Size+1)
	if err != nil {
		return nil, err
	}
	resp := &webhookv1.ListMessagesResponse{HasMore: len(list) > p.Size}
	for _, m := range list[:min(len(list), p.Size)] {
		resp.Messages, last = append(resp.Messages, positionedMessage(&m)), m.Position
	}
	resp.NextPageToken = page.Cursor{Code: byPosition().Code, Key: last}.Token()
	return resp, nil
}

// messageFilterOf checks the filter of a list of messages and returns it.
func messageFilterOf(req *webhookv1.ListMessagesRequest) (f messageFilter, err error) {
	f.event = webhookevent.Name(req.GetEvent())
	if f.event == "" && req.GetEvent() != webhookv1.EventType_EVENT_TYPE_UNSPECIFIED {
		return f, fault.InvalidParameter("event", "enum", "is not an event")
	}
	f.since, err = boundOf("since", req.GetSince())
	return f, err
}

func positionedMessage(m *Positioned) *webhookv1.Message {
	return &webhookv1.Message{Id: m.ID.String(), Event: webhookevent.Type(m.Event), OccurredAt: timestamppb.New(m.OccurredAt), Body: m.JSON}
}
