package subscription

import (
	"context"

	"reservation.dev/platform/check"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/idem"
	"reservation.dev/platform/pg"
	subscriptionv1 "reservation.dev/proto/gen/reservation/subscription/v1"
)

// GetSubscriptionSettings implements SubscriptionService.
func (s *Server) GetSubscriptionSettings(ctx context.Context, _ *subscriptionv1.GetSubscriptionSettingsRequest) (*subscriptionv1.GetSubscriptionSettingsResponse, error) {
	company, err := s.tenant(ctx)
	if err != nil {
		return nil, err
	}
	n, err := s.store.settings(ctx, company.ID)
	if err != nil {
		return nil, err
	}
	return &subscriptionv1.GetSubscriptionSettingsResponse{Settings: settingsMessage(n)}, nil
}

// UpdateSubscriptionSettings implements SubscriptionService.
func (s *Server) UpdateSubscriptionSettings(ctx context.Context, req *subscriptionv1.UpdateSubscriptionSettingsRequest) (*subscriptionv1.UpdateSubscriptionSettingsResponse, error) {
	company, err := s.tenant(ctx)
	if err != nil {
		return nil, err
	}
	if req.GetSettings() == nil {
		return nil, fault.InvalidFields(fault.Field{Field: "settings", Rule: "required", Message: "is required"})
	}
	n := settingsOfRequest(req.GetSettings())
	if err := n.Check(); err != nil {
		return nil, err
	}
	resp := &subscriptionv1.UpdateSubscriptionSettingsResponse{}
	return idem.Write(ctx, s.store, company.ID, req, resp, func(ctx context.Context, tx *pg.Tx) error {
		before, err := s.store.lockSettings(ctx, tx, company.ID)
		if err != nil {
			return err
		}
		// 0 replaces any version.
		if read := n.Version; read != 0 {
			if err := check.Version(before.Version, &read, "settings"); err != nil {
				return err
			}
		}
		changed := n
		changed.Version = before.Version + 1
		saveSettings(tx, company.ID, changed)
		resp.Settings = settingsMessage(changed)
		return s.outbox.AppendChange(ctx, tx, company.ID, company.ID)
	})
}
