package admin

import (
	"reservation.dev/platform/scopes"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

// keyPermissions are the permissions of Interface B.
var keyPermissions = []grant{
	{Name: scopes.Everything, Title: msg("settings.api_key.permission.everything.title"), About: msg("settings.api_key.permission.everything.about")},
	{Name: scopes.CustomersRead, Title: msg("settings.api_key.permission.customers_read.title"), About: msg("settings.api_key.permission.customers_read.about")},
	{Name: scopes.CustomersWrite, Title: msg("settings.api_key.permission.customers_write.title"), About: msg("settings.api_key.permission.customers_write.about")},
	{Name: scopes.EventsRead, Title: msg("settings.api_key.permission.events_read.title"), About: msg("settings.api_key.permission.events_read.about")},
	{Name: scopes.EventsWrite, Title: msg("settings.api_key.permission.events_write.title"), About: msg("settings.api_key.permission.events_write.about")},
	{Name: scopes.RegistrationsRead, Title: msg("settings.api_key.permission.registrations_read.title"), About: msg("settings.api_key.permission.registrations_read.about")},
	{Name: scopes.RegistrationsWrite, Title: msg("settings.api_key.permission.registrations_write.title"), About: msg("settings.api_key.permission.registrations_write.about")},
	{Name: scopes.AppointmentsRead, Title: msg("settings.api_key.permission.appointments_read.title"), About: msg("settings.api_key.permission.appointments_read.about")},
	{Name: scopes.AppointmentsWrite, Title: msg("settings.api_key.permission.appointments_write.title"), About: msg("settings.api_key.permission.appointments_write.about")},
	{Name: scopes.AppointmentTypesRead, Title: msg("settings.api_key.permission.appointment_types_read.title"), About: msg("settings.api_key.permission.appointment_types_read.about")},
	{Name: scopes.AppointmentTypesWrite, Title: msg("settings.api_key.permission.appointment_types_write.title"), About: msg("settings.api_key.permission.appointment_types_write.about")},
	{Name: scopes.StaffRead, Title: msg("settings.api_key.permission.staff_read.title"), About: msg("settings.api_key.permission.staff_read.about")},
	{Name: scopes.StaffWrite, Title: msg("settings.api_key.permission.staff_write.title"), About: msg("settings.api_key.permission.staff_write.about")},
	{Name: scopes.RoomsRead, Title: msg("settings.api_key.permission.rooms_read.title"), About: msg("settings.api_key.permission.rooms_read.about")},
	{Name: scopes.RoomsWrite, Title: msg("settings.api_key.permission.rooms_write.title"), About: msg("settings.api_key.permission.rooms_write.about")},
	{Name: scopes.CalendarsRead, Title: msg("settings.api_key.permission.calendars_read.title"), About: msg("settings.api_key.permission.calendars_read.about")},
	{Name: scopes.CalendarsWrite, Title: msg("settings.api_key.permission.calendars_write.title"), About: msg("settings.api_key.permission.calendars_write.about")},
	{Name: scopes.TransactionsRead, Title: msg("settings.api_key.permission.transactions_read.title"), About: msg("settings.api_key.permission.transactions_read.about")},
	{Name: scopes.TransactionsWrite, Title: msg("settings.api_key.permission.transactions_write.title"), About: msg("settings.api_key.permission.transactions_write.about")},
	{Name: scopes.HoldsRead, Title: msg("settings.api_key.permission.holds_read.title"), About: msg("settings.api_key.permission.holds_read.about")},
	{Name: scopes.HoldsWrite, Title: msg("settings.api_key.permission.holds_write.title"), About: msg("settings.api_key.permission.holds_write.about")},
	{Name: scopes.WaitlistRead, Title: msg("settings.api_key.permission.waitlist_read.title"), About: msg("settings.api_key.permission.waitlist_read.about")},
	{Name: scopes.WaitlistWrite, Title: msg("settings.api_key.permission.waitlist_write.title"), About: msg("settings.api_key.permission.waitlist_write.about")},
	{Name: scopes.DiscountsRead, Title: msg("settings.api_key.permission.discounts_read.title"), About: msg("settings.api_key.permission.discounts_read.about")},
	{Name: scopes.DiscountsWrite, Title: msg("settings.api_key.permission.discounts_write.title"), About: msg("settings.api_key.permission.discounts_write.about")},
	{Name: scopes.PassesRead, Title: msg("settings.api_key.permission.passes_read.title"), About: msg("settings.api_key.permission.passes_read.about")},
	{Name: scopes.PassesWrite, Title: msg("settings.api_key.permission.passes_write.title"), About: msg("settings.api_key.permission.passes_write.about")},
	{Name: scopes.CustomerPassesRead, Title: msg("settings.api_key.permission.customer_passes_read.title"), About: msg("settings.api_key.permission.customer_passes_read.about")},
	{Name: scopes.CustomerPassesWrite, Title: msg("settings.api_key.permission.customer_passes_write.title"), About: msg("settings.api_key.permission.customer_passes_write.about")},
	{Name: scopes.PlansRead, Title: msg("settings.api_key.permission.plans_read.title"), About: msg("settings.api_key.permission.plans_read.about")},
	{Name: scopes.PlansWrite, Title: msg("settings.api_key.permission.plans_write.title"), About: msg("settings.api_key.permission.plans_write.about")},
	{Name: scopes.SubscriptionsRead, Title: msg("settings.api_key.permission.subscriptions_read.title"), About: msg("settings.api_key.permission.subscriptions_read.about")},
	{Name: scopes.SubscriptionsWrite, Title: msg("settings.api_key.permission.subscriptions_write.title"), About: msg("settings.api_key.permission.subscriptions_write.about")},
	{Name: scopes.MediaRead, Title: msg("settings.api_key.permission.media_read.title"), About: msg("settings.api_key.permission.media_read.about")},
	{Name: scopes.MediaWrite, Title: msg("settings.api_key.permission.media_write.title"), About: msg("settings.api_key.permission.media_write.about")},
	{Name: scopes.PlaybackWrite, Title: msg("settings.api_key.permission.playback_write.title"), About: msg("settings.api_key.permission.playback_write.about")},
	{Name: scopes.ReportsRead, Title: msg("settings.api_key.permission.reports_read.title"), About: msg("settings.api_key.permission.reports_read.about")},
	{Name: scopes.RequestsRead, Title: msg("settings.api_key.permission.requests_read.title"), About: msg("settings.api_key.permission.requests_read.about")},
	{Name: scopes.WebhooksRead, Title: msg("settings.api_key.permission.webhooks_read.title"), About: msg("settings.api_key.permission.webhooks_read.about")},
	{Name: scopes.WebhooksWrite, Title: msg("settings.api_key.permission.webhooks_write.title"), About: msg("settings.api_key.permission.webhooks_write.about")},
	{Name: scopes.TestModeRead, Title: msg("settings.api_key.permission.test_mode_read.title"), About: msg("settings.api_key.permission.test_mode_read.about")},
	{Name: scopes.TestModeWrite, Title: msg("settings.api_key.permission.test_mode_write.title"), About: msg("settings.api_key.permission.test_mode_write.about")},
}

// apiKeyKind returns the credentials of Interface B.
func apiKeyKind() credentialKind {
	return credentialKind{
		credentialService: apiKeys{},
		Path:              "/settings/api-keys", Section: "api-keys", texts: "settings.api_key.",
		GrantField: "permissions", Grants: keyPermissions, LimitNew: true,
		tokenPath: func(cfg *Config) string { return cfg.InterfaceB + "/auth/token" }, idMember: "apiKey", secretMember: "apiSecret",
	}
}

// apiKeys calls the RPCs of API keys.
type apiKeys struct{}

func viewAPIKey(c *authv1.ApiKey) credentialView {
	return credentialView{credential: c, Grants: c.GetPermissions()}
}

func (apiKeys) list(r *request, pageToken string) ([]credentialView, string, error) {
	res, err := r.services.keys.ListApiKeys(r.ctx, &authv1.ListApiKeysRequest{PageSize: 50, PageToken: pageToken})
	return views(res.GetApiKeys(), viewAPIKey), res.GetNextPageToken(), err
}

func (apiKeys) get(r *request, id string) (credentialView, error) {
	res, err := r.services.keys.GetApiKey(r.ctx, &authv1.GetApiKeyRequest{Id: id})
	if err != nil {
		return credentialView{}, err
	}
	c := viewAPIKey(res.GetApiKey())
	c.limit = res.GetApiKey().RateLimit
	return c, nil
}

func (apiKeys) create(r *request, f *form, c credentialFields) (credentialView, string, error) {
	res, err := submit(r, f, r.services.keys.CreateApiKey, &authv1.CreateApiKeyRequest{
		Name: c.name, Description: c.description, Permissions: c.grants, ExpiresAfterDays: c.expires, RateLimit: c.limit,
		AllowedNetworks: c.networks.GetValues(),
	})
	return viewAPIKey(res.GetApiKey()), res.GetApiSecret(), err
}

func (apiKeys) update(r *request, f *form, id string, c credentialFields) error {
	_, err := submit(r, f, r.services.keys.UpdateApiKey, &authv1.UpdateApiKeyRequest{
		Id: id, Name: &c.name, Description: &c.description, Permissions: c.grants, RateLimit: c.limit,
		AllowedNetworks: c.networks,
	})
	return err
}

func (apiKeys) rotate(r *request, id string, o overlap) (credentialView, string, error) {
	res, err := perform(r, r.services.keys.RotateApiKeySecret, &authv1.RotateApiKeySecretRequest{Id: id, OverlapDays: o.days, Force: o.force})
	return viewAPIKey(res.GetApiKey()), res.GetApiSecret(), err
}

func (apiKeys) endPrevious(r *request, id string) error {
	_, err := perform(r, r.services.keys.EndPreviousApiKeySecret, &authv1.EndPreviousApiKeySecretRequest{Id: id})
	return err
}

func (apiKeys) disable(r *request, id string) error {
	_, err := perform(r, r.services.keys.DisableApiKey, &authv1.DisableApiKeyRequest{Id: id})
	return err
}

func (apiKeys) enable(r *request, id string) error {
	_, err := perform(r, r.services.keys.EnableApiKey, &authv1.EnableApiKeyRequest{Id: id})
	return err
}

func (apiKeys) remove(r *request, id string) error {
	_, err := perform(r, r.services.keys.DeleteApiKey, &authv1.DeleteApiKeyRequest{Id: id})
	return err
}
