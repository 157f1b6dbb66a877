package admin

import (
	"net/http"
	"slices"

	"reservation.dev/platform/fault"
)

// route is a page or a form of the dashboard.
type route struct {
	pattern string // of http.ServeMux
	who     access
	audited audited
	serve   func(v *visit) error
}

// get returns the route of a page.
func get(path string, who access, serve func(v *visit) error) route {
	return route{"GET " + path, who, audited{}, serve}
}

// post returns the route of a form.
func post(path string, who access, a audited, serve func(v *visit) error) route {
	return route{"POST " + path, who, a, serve}
}

// routes returns every page and form: the dashboard's whole surface.
func routes() []route {
	return slices.Concat(signInRoutes(), eventRoutes(), bookingRoutes(), customerRoutes(), discountRoutes(), passRoutes(),
		accountRoutes(), apiClientKind().routes(), apiKeyKind().routes(), companyRoutes(), webhookRoutes())
}

func signInRoutes() []route {
	return []route{
		route{"/", everybody, audited{}, func(*visit) error { return fault.Missing("page") }},
		get("/sign-in", everybody, (*visit).signInForm),
		post("/sign-in", everybody, byAuth(), (*visit).signIn),
		get("/sign-in/code", everybody, (*visit).codeForm),
		post("/sign-in/code", everybody, byAuth(), (*visit).sendCode),
		get("/reset/{token}", everybody, (*visit).resetForm),
		post("/reset/{token}", everybody, byAuth(), (*visit).resetPassword),
		post("/sign-out", everybody, byAuth(), (*visit).signOut),
		get("/invitation/{token}", everybody, (*visit).invitation),
		post("/invitation/{token}", everybody, byAuth(), (*visit).acceptInvitation),
	}
}

func eventRoutes() []route {
	return []route{
		get("/{$}", staff, (*visit).today),
		get("/week", staff, (*visit).week),
		get("/events", staff, (*visit).events),
		get("/events/new", staff, (*visit).newEvent),
		post("/events", staff, audited{"event.create", given}, (*visit).createEvent),
		get("/events/{id}", staff, (*visit).event),
		post("/events/{id}/publish", staff, audited{"event.publish", "id"}, (*visit).publishEvent),
		get("/events/{id}/edit", staff, (*visit).editEvent),
		post("/events/{id}/edit", staff, audited{"event.update", "id"}, (*visit).updateEvent),
		get("/events/{id}/prices/new", staff, (*visit).price),
		post("/events/{id}/prices", staff, audited{"event.price", "id"}, (*visit).savePrice),
		get("/events/{id}/prices/{option}", staff, (*visit).price),
		post("/events/{id}/prices/{option}", staff, audited{"event.price", "id"}, (*visit).savePrice),
		get("/events/{id}/prices/{option}/end", staff, (*visit).confirmPrice),
		post("/events/{id}/prices/{option}/end", staff, audited{"event.price_end", "id"}, (*visit).endPrice),
		get("/events/{id}/dates/new", staff, (*visit).newDates),
		post("/events/{id}/dates", staff, audited{"event.dates_add", "id"}, (*visit).addDates),
		get("/events/{id}/{action}", staff, (*visit).confirmEvent),
		post("/events/{id}/{action}", staff, audited{"event.{action}", "id"}, (*visit).changeEvent),
		get("/events/{id}/dates/{date}", staff, (*visit).eventDate),
		get("/events/{id}/dates/{date}/edit", staff, (*visit).editDate),
		post("/events/{id}/dates/{date}/edit", staff, audited{"event_date.update", "date"}, (*visit).updateDate),
		get("/events/{id}/dates/{date}/cancel", staff, (*visit).confirmDate),
		post("/events/{id}/dates/{date}/cancel", staff, audited{"event_date.cancel", "date"}, (*visit).cancelDate),
	}
}

func bookingRoutes() []route {
	return []route{
		get("/events/{id}/dates/{date}/book", staff, (*visit).bookForm),
		post("/events/{id}/dates/{date}/book", staff, audited{"booking.create", given}, (*visit).book),
		get("/events/{id}/dates/{date}/wait", staff, (*visit).waitForm),
		post("/events/{id}/dates/{date}/wait", staff, audited{"waitlist.join", given}, (*visit).wait),
		get("/events/{id}/dates/{date}/offers/{entry}", staff, (*visit).offer),
		post("/events/{id}/dates/{date}/offers/{entry}", staff, audited{"waitlist.accept", "entry"}, (*visit).acceptOffer),
		post("/waitlist/{id}/leave", staff, audited{"waitlist.leave", "id"}, (*visit).leaveWaitlist),
		get("/bookings/{id}", staff, (*visit).booking),
		post("/bookings/{id}/attendance", staff, audited{"booking.attendance", "id"}, (*visit).attendance),
		get("/bookings/{id}/{action}", staff, (*visit).confirmBooking),
		post("/bookings/{id}/{action}", staff, audited{"booking.{action}", "id"}, (*visit).changeBooking),
	}
}

func customerRoutes() []route {
	return []route{
		get("/customers", staff, (*visit).customers),
		get("/customers/new", staff, (*visit).newCustomer),
		post("/customers", staff, audited{"customer.create", given}, (*visit).createCustomer),
		get("/customers/{id}", staff, (*visit).customer),
		post("/customers/{id}", staff, audited{"customer.update", "id"}, (*visit).updateCustomer),
		get("/customers/{id}/assign", staff, (*visit).assignForm),
		post("/customers/{id}/assign", staff, audited{"customer_pass.assign", given}, (*visit).assign),
		route{"GET /customers/{id}/export", owner, audited{"customer.export", "id"}, (*visit).exportCustomer},
		get("/customers/{id}/erase", owner, (*visit).eraseForm),
		post("/customers/{id}/erase", owner, audited{"customer.erase", "id"}, (*visit).eraseCustomer),
		get("/customers/{id}/{action}", staff, (*visit).confirmCustomer),
		post("/customers/{id}/{action}", staff, audited{"customer.{action}", "id"}, (*visit).changeCustomer),
	}
}

func discountRoutes() []route {
	return []route{
		get("/discounts", staff, (*visit).discounts),
		get("/discounts/new", staff, (*visit).newDiscount),
		post("/discounts", staff, audited{"discount.create", given}, (*visit).createDiscount),
		get("/discounts/{id}", staff, (*visit).discount),
		post("/discounts/{id}", staff, audited{"discount.update", "id"}, (*visit).updateDiscount),
		post("/discounts/{id}/{action}", staff, audited{"discount.{action}", "id"}, (*visit).switchDiscount),
	}
}

func passRoutes() []route {
	return []route{
		get("/pass-types", staff, (*visit).passTypes),
		get("/pass-types/new", staff, (*visit).newPassType),
		post("/pass-types", staff, audited{"pass_type.create", given}, (*visit).createPassType),
		get("/pass-types/{id}", staff, (*visit).passType),
		post("/pass-types/{id}", staff, audited{"pass_type.update", "id"}, (*visit).updatePassType),
		post("/pass-types/{id}/{action}", staff, audited{"pass_type.{action}", "id"}, (*visit).archivePassType),
		get("/passes/{id}", staff, (*visit).pass),
		post("/passes/{id}/adjust", staff, audited{"customer_pass.adjust", "id"}, (*visit).adjustPass),
		post("/passes/{id}/expiry", staff, audited{"customer_pass.expiry", "id"}, (*visit).extendPass),
		get("/passes/{id}/{action}", staff, (*visit).confirmPass),
		post("/passes/{id}/{action}", staff, audited{"customer_pass.{action}", "id"}, (*visit).changePass),
	}
}

func accountRoutes() []route {
	return []route{
		get("/account", staff, (*visit).account),
		post("/account/profile", staff, byAuth(), (*visit).updateProfile),
		post("/account/notices", staff, byAuth(), (*visit).dismissNotices),
		post("/account/password", staff, byAuth(), (*visit).changePassword),
		post("/account/totp", staff, byAuth(), (*visit).setupTotp),
		post("/account/totp/confirm", staff, byAuth(), (*visit).confirmTotp),
		post("/account/totp/disable", staff, byAuth(), (*visit).disableTotp),
		post("/account/totp/codes", staff, byAuth(), (*visit).renewRecoveryCodes),
		post("/account/sessions/end-others", staff, byAuth(), (*visit).endOtherSessions),
		post("/account/sessions/{id}/end", staff, byAuth(), (*visit).endSession),
	}
}

func companyRoutes() []route {
	return []route{
		get("/settings", staff, (*visit).settings),
		get("/settings/administrators", owner, (*visit).administrators),
		post("/settings/administrators", owner, byAuth(), (*visit).invite),
		post("/settings/invitations/{id}/revoke", owner, byAuth(), (*visit).revokeInvitation),
		get("/settings/administrators/{id}", owner, (*visit).administrator),
		get("/settings/administrators/{id}/{action}", owner, (*visit).confirmAdministrator),
		post("/settings/administrators/{id}/{action}", owner, byAuth(), (*visit).changeAdministrator),
		get("/settings/audit", owner, (*visit).auditLog),
		get("/settings/company", owner, (*visit).company),
		post("/settings/company", owner, byAuth(), (*visit).updateCompany),
	}
}

func webhookRoutes() []route {
	return []route{
		get("/settings/webhooks", owner, (*visit).webhooks),
		get("/settings/webhooks/new", owner, (*visit).newEndpoint),
		post("/settings/webhooks", owner, audited{"webhook_endpoint.create", given}, (*visit).createEndpoint),
		get("/settings/webhooks/deliveries", owner, (*visit).deliveries),
		post("/settings/webhooks/deliveries/selected", owner, audited{"webhook_delivery.replay_selected", given}, (*visit).replaySelected),
		get("/settings/webhooks/deliveries/replay", owner, (*visit).confirmReplay),
		post("/settings/webhooks/deliveries/replay", owner, audited{"webhook_delivery.replay_filtered", given}, (*visit).replayFiltered),
		get("/settings/webhooks/deliveries/{id}", owner, (*visit).delivery),
		post("/settings/webhooks/deliveries/{id}/replay", owner, audited{"webhook_delivery.replay", "id"}, (*visit).replayDelivery),
		get("/settings/webhooks/replay", owner, (*visit).replayForm),
		post("/settings/webhooks/replay", owner, audited{"webhook_delivery.replay_failed", given}, (*visit).replayFailed),
		get("/settings/webhooks/{id}", owner, (*visit).endpoint),
		post("/settings/webhooks/{id}", owner, audited{"webhook_endpoint.update", "id"}, (*visit).updateEndpoint),
		post("/settings/webhooks/{id}/test", owner, audited{"webhook_endpoint.test", "id"}, (*visit).sendTest),
		get("/settings/webhooks/{id}/{action}", owner, (*visit).confirmEndpoint),
		post("/settings/webhooks/{id}/{action}", owner, audited{"webhook_endpoint.{action}", "id"}, (*visit).changeEndpoint),
	}
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
