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

	web.page("GET /{$}", staff, (*visit).today)
	web.page("GET /week", staff, (*visit).week)
	web.page("GET /events", staff, (*visit).events)
	web.page("GET /events/new", staff, (*visit).newEvent)
	web.page("POST /events", staff, (*visit).createEvent)
	web.page("GET /events/{id}", staff, (*visit).event)
	web.page("POST /events/{id}/publish", staff, (*visit).publishEvent)
	web.page("GET /events/{id}/dates/{date}", staff, (*visit).eventDate)
	web.page("GET /events/{id}/dates/{date}/cancel", staff, (*visit).confirmDate)
	web.page("POST /events/{id}/dates/{date}/cancel", staff, (*visit).cancelDate)
	web.page("GET /events/{id}/dates/{date}/book", staff, (*visit).bookForm)
	web.page("POST /events/{id}/dates/{date}/book", staff, (*visit).book)
	web.page("GET /events/{id}/dates/{date}/wait", staff, (*visit).waitForm)
	web.page("POST /events/{id}/dates/{date}/wait", staff, (*visit).wait)
	web.page("POST /waitlist/{id}/leave", staff, (*visit).leaveWaitlist)
	web.page("POST /waitlist/{id}/accept", staff, (*visit).acceptOffer)
	web.page("GET /bookings/{id}", staff, (*visit).booking)
	web.page("POST /bookings/{id}/attendance", staff, (*visit).attendance)
	web.page("GET /bookings/{id}/{action}", staff, (*visit).confirmBooking)
	web.page("POST /bookings/{id}/{action}", staff, (*visit).changeBooking)

	web.page("GET /customers", staff, (*visit).customers)
	web.page("GET /customers/new", staff, (*visit).newCustomer)
	web.page("POST /customers", staff, (*visit).createCustomer)
	web.page("GET /customers/{id}", staff, (*visit).customer)
	web.page("POST /customers/{id}", staff, (*visit).updateCustomer)
	web.page("GET /customers/{id}/assign", staff, (*visit).assignForm)
	web.page("POST /customers/{id}/assign", staff, (*visit).assign)
	web.page("GET /customers/{id}/export", owner, (*visit).exportCustomer)
	web.page("GET /customers/{id}/erase", owner, (*visit).eraseForm)
	web.page("POST /customers/{id}/erase", owner, (*visit).eraseCustomer)
	web.page("GET /customers/{id}/{action}", staff, (*visit).confirmCustomer)
	web.page("POST /customers/{id}/{action}", staff, (*visit).changeCustomer)

	web.page("GET /pass-types", staff, (*visit).passTypes)
	web.page("GET /pass-types/new", staff, (*visit).newPassType)
	web.page("POST /pass-types", staff, (*visit).createPassType)
	web.page("GET /pass-types/{id}", staff, (*visit).passType)
	web.page("POST /pass-types/{id}", staff, (*visit).updatePassType)
	web.page("POST /pass-types/{id}/{action}", staff, (*visit).archivePassType)
	web.page("GET /passes/{id}", staff, (*visit).pass)
	web.page("POST /passes/{id}/adjust", staff, (*visit).adjustPass)
	web.page("POST /passes/{id}/expiry", staff, (*visit).extendPass)
	web.page("GET /passes/{id}/{action}", staff, (*visit).confirmPass)
	web.page("POST /passes/{id}/{action}", staff, (*visit).changePass)

	web.page("GET /account", staff, (*visit).account)
	web.page("POST /account/password", staff, (*visit).changePassword)
	web.page("POST /account/totp", staff, (*visit).setupTotp)
	web.page("POST /account/totp/confirm", staff, (*visit).confirmTotp)
	web.page("POST /account/totp/disable", staff, (*visit).disableTotp)
	web.page("POST /account/sessions/end-others", staff, (*visit).endOtherSessions)
	web.page("POST /account/sessions/{id}/end", staff, (*visit).endSession)

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

	web.page("GET /settings/administrators", owner, (*visit).administrators)
	web.page("POST /settings/administrators", owner, (*visit).invite)
	web.page("POST /settings/invitations/{id}/revoke", owner, (*visit).revokeInvitation)
	web.page("GET /settings/administrators/{id}/{action}", owner, (*visit).confirmAdministrator)
	web.page("POST /settings/administrators/{id}/{action}", owner, (*visit).changeAdministrator)
	web.page("GET /settings/audit", owner, (*visit).auditLog)

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
