package admin

import (
	"reservation.dev/platform/scopes"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

// keyPermissions are the permissions of Interface B.
var keyPermissions = []grant{
	{scopes.Everything, "Everything", "All of the permissions below, and those that are added later."},
	{scopes.CustomersRead, "Read customers", "List customers and see each one's details."},
	{scopes.CustomersWrite, "Change customers", "Create, change and delete customers."},
	{scopes.EventsRead, "Read events", "List events with their dates, prices and places left."},
	{scopes.EventsWrite, "Change events", "Create, change, cancel and delete events and their dates."},
	{scopes.RegistrationsRead, "Read registrations", "See who has booked an event."},
	{scopes.RegistrationsWrite, "Book and cancel", "Book places for customers, and cancel bookings."},
	{scopes.PassesRead, "Read pass types", "List the passes that you sell."},
	{scopes.PassesWrite, "Change pass types", "Create and change the passes that you sell."},
	{scopes.CustomerPassesRead, "Read customers' passes", "See which passes customers hold, and how much is left of them."},
	{scopes.CustomerPassesWrite, "Assign and change customers' passes", "Assign passes to customers, pause and adjust them."},
}

// apiKeyKind are the credentials of Interface B.
func apiKeyKind() credentialKind {
	return credentialKind{
		credentialService: apiKeys{},
		Path:              "/settings/api-keys", Section: "api-keys", Title: "API Keys", Noun: "key",
		About:   "Programs that use the REST API (Interface B).",
		First:   "An API key is what a website or an app of your own signs in with to book, sell passes and keep customers. Add one for each integration, with only the permissions that it needs.",
		IDLabel: "API key", SecretLabel: "API secret",
		GrantField: "permissions", GrantNoun: "permission", GrantsLabel: "Permissions", Grants: keyPermissions, NoLimit: "the usual 100", LimitNew: true,
		User:      "The program that uses it",
		tokenPath: func(cfg *Config) string { return cfg.InterfaceB + "/auth/token" }, idMember: "apiKey", secretMember: "apiSecret",
	}
}

// apiKeys calls the service of API keys.
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
