package admin

import (
	"reservation.dev/platform/scopes"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

// clientScopes are the scopes of Interface A.
var clientScopes = []grant{
	{Name: scopes.CustomersRead, Title: msg("settings.api_client.scope.customers_read.title"), About: msg("settings.api_client.scope.customers_read.about")},
	{Name: scopes.ProfileRead, Title: msg("settings.api_client.scope.profile_read.title"), About: msg("settings.api_client.scope.profile_read.about")},
	{Name: scopes.ProfileWrite, Title: msg("settings.api_client.scope.profile_write.title"), About: msg("settings.api_client.scope.profile_write.about")},
	{Name: scopes.BookingsRead, Title: msg("settings.api_client.scope.bookings_read.title"), About: msg("settings.api_client.scope.bookings_read.about")},
	{Name: scopes.PassesRead, Title: msg("settings.api_client.scope.passes_read.title"), About: msg("settings.api_client.scope.passes_read.about")},
	{Name: scopes.SubscriptionsRead, Title: msg("settings.api_client.scope.subscriptions_read.title"), About: msg("settings.api_client.scope.subscriptions_read.about")},
	{Name: scopes.AppointmentsRead, Title: msg("settings.api_client.scope.appointments_read.title"), About: msg("settings.api_client.scope.appointments_read.about")},
	{Name: scopes.MediaRead, Title: msg("settings.api_client.scope.media_read.title"), About: msg("settings.api_client.scope.media_read.about")},
	{Name: scopes.NotesRead, Title: msg("settings.api_client.scope.notes_read.title"), About: msg("settings.api_client.scope.notes_read.about")},
	{Name: scopes.NotesWrite, Title: msg("settings.api_client.scope.notes_write.title"), About: msg("settings.api_client.scope.notes_write.about")},
}

// apiClientKind returns the credentials of Interface A.
func apiClientKind() credentialKind {
	return credentialKind{
		credentialService: apiClients{},
		Path:              "/settings/api-clients", Section: "api-clients", texts: "settings.api_client.",
		GrantField: "scopes", Grants: clientScopes,
		tokenPath: func(cfg *Config) string { return cfg.InterfaceA + "/token" }, idMember: "client_id", secretMember: "client_secret",
	}
}

// apiClients calls the RPCs of API clients.
type apiClients struct{}

func viewAPIClient(c *authv1.ApiClient) credentialView {
	return credentialView{credential: c, Grants: c.GetScopes()}
}

func (apiClients) list(r *request, pageToken string) ([]credentialView, string, error) {
	res, err := r.services.clients.ListApiClients(r.ctx, &authv1.ListApiClientsRequest{PageSize: 50, PageToken: pageToken})
	return views(res.GetApiClients(), viewAPIClient), res.GetNextPageToken(), err
}

func (apiClients) get(r *request, id string) (credentialView, error) {
	res, err := r.services.clients.GetApiClient(r.ctx, &authv1.GetApiClientRequest{Id: id})
	if err != nil {
		return credentialView{}, err
	}
	c := viewAPIClient(res.GetApiClient())
	c.limit = res.GetApiClient().RateLimit
	return c, nil
}

func (apiClients) create(r *request, f *form, c credentialFields) (credentialView, string, error) {
	res, err := submit(r, f, r.services.clients.CreateApiClient, &authv1.CreateApiClientRequest{
		Name: c.name, Description: c.description, Scopes: c.grants, ExpiresAfterDays: c.expires,
		AllowedNetworks: c.networks.GetValues(),
	})
	return viewAPIClient(res.GetApiClient()), res.GetClientSecret(), err
}

func (apiClients) update(r *request, f *form, id string, c credentialFields) error {
	_, err := submit(r, f, r.services.clients.UpdateApiClient, &authv1.UpdateApiClientRequest{
		Id: id, Name: &c.name, Description: &c.description, Scopes: c.grants, RateLimit: c.limit,
		AllowedNetworks: c.networks,
	})
	return err
}

func (apiClients) rotate(r *request, id string, o overlap) (credentialView, string, error) {
	res, err := perform(r, r.services.clients.RotateApiClientSecret, &authv1.RotateApiClientSecretRequest{Id: id, OverlapDays: o.days, Force: o.force})
	return viewAPIClient(res.GetApiClient()), res.GetClientSecret(), err
}

func (apiClients) endPrevious(r *request, id string) error {
	_, err := perform(r, r.services.clients.EndPreviousApiClientSecret, &authv1.EndPreviousApiClientSecretRequest{Id: id})
	return err
}

func (apiClients) disable(r *request, id string) error {
	_, err := perform(r, r.services.clients.DisableApiClient, &authv1.DisableApiClientRequest{Id: id})
	return err
}

func (apiClients) enable(r *request, id string) error {
	_, err := perform(r, r.services.clients.EnableApiClient, &authv1.EnableApiClientRequest{Id: id})
	return err
}

func (apiClients) remove(r *request, id string) error {
	_, err := perform(r, r.services.clients.DeleteApiClient, &authv1.DeleteApiClientRequest{Id: id})
	return err
}
