package admin

import (
	"net/http"

	"reservation.dev/platform/fault"
)

// routes registers every page: the dashboard's whole surface.
func (web *web) routes() {
	web.mux.HandleFunc("GET /assets/", web.serveAsset)
	web.page("/", everybody, func(*visit) error { return fault.Missing("page") })

	web.page("GET /sign-in", everybody, (*visit).signInForm)
	web.page("POST /sign-in", everybody, (*visit).signIn)
	web.page("POST /sign-out", everybody, (*visit).signOut)
	web.page("GET /invitation/{token}", everybody, (*visit).invitation)
	web.page("POST /invitation/{token}", everybody, (*visit).acceptInvitation)

	web.page("GET /settings", staff, (*visit).settings)
	web.page("GET /settings/api-clients", owner, (*visit).apiClients)
	web.page("GET /settings/api-clients/new", owner, (*visit).newAPIClient)
	web.page("POST /settings/api-clients", owner, (*visit).createAPIClient)
	web.page("GET /settings/api-clients/{id}", owner, (*visit).apiClient)
	web.page("POST /settings/api-clients/{id}", owner, (*visit).updateAPIClient)
	web.page("GET /settings/api-clients/{id}/{action}", owner, (*visit).confirmAPIClient)
	web.page("POST /settings/api-clients/{id}/{action}", owner, (*visit).changeAPIClient)

	web.page("GET /settings/api-keys", owner, (*visit).apiKeys)
	web.page("GET /settings/api-keys/new", owner, (*visit).newAPIKey)
	web.page("POST /settings/api-keys", owner, (*visit).createAPIKey)
	web.page("GET /settings/api-keys/{id}", owner, (*visit).apiKey)
	web.page("POST /settings/api-keys/{id}", owner, (*visit).updateAPIKey)
	web.page("GET /settings/api-keys/{id}/{action}", owner, (*visit).confirmAPIKey)
	web.page("POST /settings/api-keys/{id}/{action}", owner, (*visit).changeAPIKey)

	web.page("GET /settings/company", owner, (*visit).company)
	web.page("POST /settings/company", owner, (*visit).updateCompany)

	web.page("GET /settings/webhooks", owner, (*visit).webhooks)
	web.page("GET /settings/webhooks/new", owner, (*visit).newEndpoint)
	web.page("POST /settings/webhooks", owner, (*visit).createEndpoint)
	web.page("GET /settings/webhooks/deliveries", owner, (*visit).deliveries)
	web.page("GET /settings/webhooks/deliveries/{id}", owner, (*visit).delivery)
	web.page("POST /settings/webhooks/deliveries/{id}/replay", owner, (*visit).replayDelivery)
	web.page("GET /settings/webhooks/replay", owner, (*visit).replayForm)
	web.page("POST /settings/webhooks/replay", owner, (*visit).replayFailed)
	web.page("GET /settings/webhooks/{id}", owner, (*visit).endpoint)
	web.page("POST /settings/webhooks/{id}", owner, (*visit).updateEndpoint)
	web.page("POST /settings/webhooks/{id}/test", owner, (*visit).sendTest)
	web.page("GET /settings/webhooks/{id}/{action}", owner, (*visit).confirmEndpoint)
	web.page("POST /settings/webhooks/{id}/{action}", owner, (*visit).changeEndpoint)
}

// settings opens the first of the settings that the administrator has.
func (v *visit) settings() error {
	target := "/account"
	if v.session.Owner {
		target = "/settings/api-clients"
	}
	http.Redirect(v.w, v.r, target, http.StatusSeeOther)
	return nil
}
