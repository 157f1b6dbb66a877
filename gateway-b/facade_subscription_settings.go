package gatewayb

import (
	"context"

	"reservation.dev/platform/edge"
	"reservation.dev/platform/resource"
	edgebv1 "reservation.dev/proto/gen/reservation/edge/b/v1"
	subscriptionv1 "reservation.dev/proto/gen/reservation/subscription/v1"
)

// GetSubscriptionSettings is GET /subscription-settings.
func (f *facade) GetSubscriptionSettings(ctx context.Context, _ *edgebv1.GetSubscriptionSettingsRequest) (*edgebv1.GetSubscriptionSettingsResponse, error) {
	res, err := f.subscriptions.GetSubscriptionSettings(ctx, &subscriptionv1.GetSubscriptionSettingsRequest{})
	if err != nil {
		return nil, err
	}
	return &edgebv1.GetSubscriptionSettingsResponse{Settings: resource.SubscriptionSettings(edge.Tag(ctx, res.GetSettings()))}, nil
}

// UpdateSubscriptionSettings is PUT /subscription-settings. It replaces all settings, so the body has all
// members.
func (f *facade) UpdateSubscriptionSettings(ctx context.Context, req *edgebv1.UpdateSubscriptionSettingsRequest) (*edgebv1.UpdateSubscriptionSettingsResponse, error) {
	settings, err := subscriptionSettings(req.GetSettings())
	if err != nil {
		return nil, err
	}
	if version := edge.ExpectedVersion(ctx); version != nil {
		settings.Version = *version
	}
	res, err := f.subscriptions.UpdateSubscriptionSettings(ctx, &subscriptionv1.UpdateSubscriptionSettingsRequest{Settings: settings})
	if err != nil {
		return nil, renameFields(err, settingsNames())
	}
	return &edgebv1.UpdateSubscriptionSettingsResponse{Settings: resource.SubscriptionSettings(edge.Tag(ctx, res.GetSettings()))}, nil
}

// settingsNames maps the fields of the settings to the members of the body.
func settingsNames() map[string]string {
	return map[string]string{
		"settings.past_due_after_days": "pastDueAfterDays", "settings.grace_days": "graceDays",
		"settings.reminder_days": "reminderDays", "settings.end_after_days": "endAfterDays",
	}
}
