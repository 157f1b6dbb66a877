package admin

import (
	"reservation.dev/platform/scopes"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

// keyPermissions are the permissions of Interface B.
var keyPermissions = []grant{
	{scopes.Everything, msg("settings.api_key.permission.everything.title"), msg("settings.api_key.permission.everything.about")},
	{scopes.CustomersRead, msg("settings.api_key.permission.customers_read.title"), msg("settings.api_key.permission.customers_read.about")},
	{scopes.CustomersWrite, msg("settings.api_key.permission.customers_write.title"), msg("settings.api_key.permission.customers_write.about")},
	{scopes.EventsRead, msg("settings.api_key.permission.events_read.title"), msg("settings.api_key.permission.events_read.about")},
	{scopes.EventsWrite, msg("settings.api_key.permission.events_write.title"), msg("settings.api_key.permission.events_write.about")},
	{scopes.RegistrationsRead, msg("settings.api_key.permission.registrations_read.title"), msg("settings.api_key.permission.registrations_read.about")},
	{scopes.RegistrationsWrite, msg("settings.api_key.permission.registrations_write.title"), msg("settings.api_key.permission.registrations_write.about")},
	{scopes.TransactionsRead, msg("settings.api_key.permission.transactions_read.title"), msg("settings.api_key.permission.transactions_read.about")},
	{scopes.TransactionsWrite, msg("settings.api_key.permission.transactions_write.title"), msg("settings.api_key.permission.transactions_write.about")},
	{scopes.HoldsRead, msg("settings.api_key.permission.holds_read.title"), msg("settings.api_key.permission.holds_read.about")},
	{scopes.HoldsWrite, msg("settings.api_key.permission.holds_write.title"), msg("settings.api_key.permission.holds_write.about")},
	{scopes.WaitlistRead, msg("settings.api_key.permission.waitlist_read.title"), msg("settings.api_key.permission.waitlist_read.about")},
	{scopes.WaitlistWrite, msg("settings.api_key.permission.waitlist_write.title"), msg("settings.api_key.permission.waitlist_write.about")},
	{scopes.DiscountsRead, msg("settings.api_key.permission.discounts_read.title"), msg("settings.api_key.permission.discounts_read.about")},
	{scopes.DiscountsWrite, msg("settings.api_key.permission.discounts_write.title"), msg("settings.api_key.permission.discounts_write.about")},
	{scopes.PassesRead, msg("settings.api_key.permission.passes_read.title"), msg("settings.api_key.permission.passes_read.about")},
	{scopes.PassesWrite, msg("settings.api_key.permission.passes_write.title"), msg("settings.api_key.permission.passes_write.about")},
	{scopes.CustomerPassesRead, msg("settings.api_key.permission.customer_passes_read.title"), msg("settings.api_key.permission.customer_passes_read.about")},
	{scopes.CustomerPassesWrite, msg("settings.api_key.permission.customer_passes_write.title"), msg("settings.api_key.permission.customer_passes_write.about")},
	{scopes.WebhooksRead, msg("settings.api_key.permission.webhooks_read.title"), msg("settings.api_key.permission.webhooks_read.about")},
	{scopes.WebhooksWrite, msg("settings.api_key.permission.webhooks_write.title"), msg("settings.api_key.permission.webhooks_write.about")},
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
	})
	return viewAPIKey(res.GetApiKey()), res.GetApiSecret(), err
}

func (apiKeys) update(r *request, f *form, id string, c credentialFields) error {
	_, err := submit(r, f, r.services.keys.UpdateApiKey, &authv1.UpdateApiKeyRequest{
		Id: id, Name: &c.name, Description: &c.description, Permissions: c.grants, RateLimit: c.limit,
	})
	return err
}

func (apiKeys) rotate(r *request, id string) (credentialView, string, error) {
	res, err := perform(r, r.services.keys.RotateApiKeySecret, &authv1.RotateApiKeySecretRequest{Id: id})
	return viewAPIKey(res.GetApiKey()), res.GetApiSecret(), err
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
