package admin

import (
	"net/http"
	"slices"

	"reservation.dev/platform/fault"
)

// route is a page or a form of the dashboard.
type route struct {
	pattern string // of http.ServeMux
	access  access
	audited audited
	serve   func(v *request) error
	// alwaysLive says that the page uses live data in test mode too.
	alwaysLive bool
	// files says that the page shows files of the media service, or sends files to it.
	files bool
	// large says that the page can have hundreds of rows, so that it is compressed where compress.go allows it.
	large bool
	// camera says that the page can use the camera.
	camera bool
}

// get returns the route of a page.
func get(path string, who access, serve func(v *request) error) route {
	return route{pattern: "GET " + path, access: who, serve: serve}
}

// post returns the route of a form.
func post(path string, who access, a audited, serve func(v *request) error) route {
	return route{pattern: "POST " + path, access: who, audited: a, serve: serve}
}

// routes returns every page and form: the dashboard's whole surface.
func routes() []route {
	return slices.Concat(
		alwaysLive(signInRoutes(), accountRoutes(), companyRoutes(), []route{post(testModePath, staff, byAuth(), (*request).switchMode)}),
		eventRoutes(), bookingRoutes(), doorRoutes(), appointmentRoutes(), appointmentTypeRoutes(), resourceRoutes(), customerRoutes(), discountRoutes(), passRoutes(), planRoutes(), subscriptionRoutes(), servingFiles(libraryRoutes(), collectionRoutes()), reportRoutes(),
		apiClientKind().routes(), apiKeyKind().routes(), publishableRoutes(), webhookRoutes(), logRoutes(), testModeRoutes())
}

// alwaysLive returns routes for what belongs to the company itself, not to one of its modes.
func alwaysLive(groups ...[]route) []route {
	all := slices.Concat(groups...)
	for i := range all {
		all[i].alwaysLive = true
	}
	return all
}

// servingFiles returns routes of pages that show files of the media service.
func servingFiles(groups ...[]route) []route {
	all := slices.Concat(groups...)
	for i := range all {
		all[i].files = true
	}
	return all
}

func signInRoutes() []route {
	return []route{
		{pattern: "/", access: everybody, serve: func(*request) error { return fault.Missing("page") }},
		get("/sign-in", everybody, (*request).signInForm),
		post("/sign-in", everybody, byAuth(), (*request).signIn),
		get("/sign-in/code", everybody, (*request).codeForm),
		post("/sign-in/code", everybody, byAuth(), (*request).sendCode),
		get("/reset/{token}", everybody, show("reset", (*request).findReset)),
		post("/reset/{token}", everybody, byAuth(), (*request).resetPassword),
		post("/sign-out", everybody, byAuth(), (*request).signOut),
		get("/invitation/{token}", everybody, show("invitation", (*request).findInvitation)),
		post("/invitation/{token}", everybody, byAuth(), (*request).acceptInvitation),
	}
}

func eventRoutes() []route {
	return []route{
		{pattern: "GET /{$}", access: staff, large: true, serve: (*request).today},
		{pattern: "GET /week", access: staff, large: true, serve: (*request).week},
		get("/events", staff, (*request).events),
		get("/events/new", staff, (*request).newEvent),
		post("/events", staff, audited{"event.create", given}, (*request).createEvent),
		get("/events/{id}", staff, (*request).event),
		post("/events/{id}/publish", staff, audited{"event.publish", "id"}, (*request).publishEvent),
		get("/events/{id}/edit", staff, (*request).editEvent),
		post("/events/{id}/edit", staff, audited{"event.update", "id"}, (*request).updateEvent),
		get("/events/{id}/prices/new", staff, show("price", (*request).findPrice)),
		post("/events/{id}/prices", staff, audited{"event.price", "id"}, (*request).savePrice),
		get("/events/{id}/prices/{option}", staff, show("price", (*request).findPrice)),
		post("/events/{id}/prices/{option}", staff, audited{"event.price", "id"}, (*request).savePrice),
		get("/events/{id}/prices/{option}/end", staff, (*request).confirmPrice),
		post("/events/{id}/prices/{option}/end", staff, audited{"event.price_end", "id"}, (*request).endPrice),
		get("/events/{id}/dates/new", staff, (*request).newDates),
		post("/events/{id}/dates", staff, audited{"event.dates_add", "id"}, (*request).addDates),
		get("/events/{id}/staff", staff, (*request).teachersForm),
		post("/events/{id}/staff", staff, audited{"event.staff", "id"}, (*request).setTeachers),
		get("/events/{id}/{action}", staff, (*request).confirmEvent),
		post("/events/{id}/{action}", staff, audited{"event.{action}", "id"}, (*request).changeEvent),
		{pattern: "GET /events/{id}/dates/{date}", access: staff, large: true, serve: (*request).eventDate},
		get("/events/{id}/dates/{date}/edit", staff, (*request).editDate),
		post("/events/{id}/dates/{date}/edit", staff, audited{"event_date.update", "date"}, (*request).updateDate),
		get("/events/{id}/dates/{date}/staff", staff, (*request).substitutesForm),
		post("/events/{id}/dates/{date}/staff", staff, audited{"event_date.staff", "date"}, (*request).setSubstitutes),
		get("/dates/{date}", staff, (*request).findDatePage),
		get("/events/{id}/dates/{date}/cancel", staff, (*request).confirmDate),
		post("/events/{id}/dates/{date}/cancel", staff, audited{"event_date.cancel", "date"}, (*request).cancelDate),
	}
}

func bookingRoutes() []route {
	return []route{
		get("/events/{id}/dates/{date}/book", staff, (*request).bookForm),
		post("/events/{id}/dates/{date}/book", staff, audited{"booking.create", given}, (*request).book),
		get("/events/{id}/dates/{date}/walk-in", staff, (*request).walkInForm),
		post("/events/{id}/dates/{date}/walk-in", staff, audited{"booking.create", given}, (*request).walkIn),
		get("/sales/new", staff, (*request).saleForm),
		post("/sales", staff, audited{"booking.create", given}, (*request).sell),
		get("/events/{id}/dates/{date}/wait", staff, (*request).waitForm),
		post("/events/{id}/dates/{date}/wait", staff, audited{"waitlist.join", given}, (*request).wait),
		get("/events/{id}/dates/{date}/offers/{entry}", staff, (*request).offer),
		post("/events/{id}/dates/{date}/offers/{entry}", staff, audited{"waitlist.accept", "entry"}, (*request).acceptOffer),
		post("/waitlist/{id}/leave", staff, audited{"waitlist.leave", "id"}, (*request).leaveWaitlist),
		get("/bookings/{id}", staff, show("booking", (*request).findBooking)),
		get("/bookings/{id}/refund", staff, (*request).refundForm),
		post("/bookings/{id}/refund", staff, audited{"booking.refund", "id"}, (*request).refundBooking),
		get("/bookings/{id}/move", staff, (*request).moveBookingForm),
		post("/bookings/{id}/move", staff, audited{"booking.move", "id"}, (*request).moveBooking),
		get("/bookings/{id}/transfer", staff, (*request).transferForm),
		post("/bookings/{id}/transfer", staff, audited{"booking.transfer", "id"}, (*request).transferBooking),
		get("/bookings/{id}/swap", staff, (*request).swapForm),
		post("/bookings/{id}/swap", staff, audited{"booking.swap", "id"}, (*request).swapBookings),
		get("/bookings/{id}/history", staff, (*request).bookingHistory),
		get("/bookings/{id}/{action}", staff, (*request).confirmBooking),
		post("/bookings/{id}/{action}", staff, audited{"booking.{action}", "id"}, (*request).changeBooking),
	}
}

// doorRoutes are the pages and forms with which customers are checked in.
func doorRoutes() []route {
	return []route{
		{pattern: "GET /events/{id}/dates/{date}/scan", access: staff, camera: true, serve: (*request).scanForm},
		post("/events/{id}/dates/{date}/scan", staff, audited{"booking.attendance", given}, (*request).scan),
		post("/bookings/{id}/attendance", staff, audited{"booking.attendance", "id"}, (*request).attendance),
		get("/bookings/{id}/no-show", staff, (*request).confirmNoShow),
		post("/bookings/{id}/no-show", staff, audited{"booking.attendance", "id"}, (*request).markNoShow),
		get("/bookings/{id}/ticket", staff, show("ticket", (*request).findTicket)),
	}
}

func appointmentRoutes() []route {
	return []route{
		get("/appointments", staff, (*request).dayAgenda),
		get("/appointments/week", staff, (*request).weekAgenda),
		get("/appointments/book", staff, (*request).bookSlotForm),
		post("/appointments/book", staff, audited{"appointment.create", given}, (*request).bookSlot),
		get("/appointments/{id}", staff, (*request).appointment),
		get("/appointments/{id}/move", staff, (*request).moveForm),
		post("/appointments/{id}/move", staff, audited{"appointment.move", "id"}, (*request).moveAppointment),
		get("/appointments/{id}/{action}", staff, (*request).confirmAppointment),
		post("/appointments/{id}/{action}", staff, audited{"booking.{action}", "id"}, (*request).changeAppointment),
	}
}

func appointmentTypeRoutes() []route {
	return []route{
		get("/appointment-types", staff, (*request).appointmentTypes),
		get("/appointment-types/new", staff, (*request).newAppointmentType),
		post("/appointment-types", staff, audited{"appointment_type.create", given}, (*request).createAppointmentType),
		get("/appointment-types/{id}", staff, (*request).appointmentType),
		post("/appointment-types/{id}", staff, audited{"appointment_type.update", "id"}, (*request).updateAppointmentType),
		get("/appointment-types/{id}/prices/new", staff, show("slot-price", (*request).findSlotPrice)),
		post("/appointment-types/{id}/prices", staff, audited{"appointment_type.price", "id"}, (*request).saveSlotPrice),
		get("/appointment-types/{id}/prices/{option}", staff, show("slot-price", (*request).findSlotPrice)),
		post("/appointment-types/{id}/prices/{option}", staff, audited{"appointment_type.price", "id"}, (*request).saveSlotPrice),
		get("/appointment-types/{id}/prices/{option}/end", staff, (*request).confirmSlotPrice),
		post("/appointment-types/{id}/prices/{option}/end", staff, audited{"appointment_type.price_end", "id"}, (*request).endSlotPrice),
	}
}

func resourceRoutes() []route {
	return []route{
		get("/staff", staff, (*request).staffList),
		get("/staff/new", staff, (*request).newStaffMember),
		post("/staff", staff, audited{"staff.create", given}, (*request).createStaffMember),
		get("/staff/{id}", staff, (*request).staffMember),
		post("/staff/{id}", staff, audited{"staff.update", "id"}, (*request).updateStaffMember),
		get("/staff/{id}/hours", staff, (*request).hoursForm),
		post("/staff/{id}/hours", staff, audited{"staff.hours", "id"}, (*request).setHours),
		get("/staff/{id}/time-off", staff, (*request).timeOffForm),
		post("/staff/{id}/time-off", staff, audited{"staff.time_off_add", "id"}, (*request).addTimeOff),
		get("/staff/{id}/time-off/{off}/delete", staff, (*request).confirmTimeOff),
		post("/staff/{id}/time-off/{off}/delete", staff, audited{"staff.time_off_delete", "id"}, (*request).deleteTimeOff),
		get("/rooms", staff, (*request).roomList),
		get("/rooms/new", staff, (*request).newRoom),
		post("/rooms", staff, audited{"room.create", given}, (*request).createRoom),
		get("/rooms/{id}", staff, (*request).room),
		post("/rooms/{id}", staff, audited{"room.update", "id"}, (*request).updateRoom),
		get("/rooms/{id}/time-off", staff, (*request).timeOffForm),
		post("/rooms/{id}/time-off", staff, audited{"room.time_off_add", "id"}, (*request).addTimeOff),
		get("/rooms/{id}/time-off/{off}/delete", staff, (*request).confirmTimeOff),
		post("/rooms/{id}/time-off/{off}/delete", staff, audited{"room.time_off_delete", "id"}, (*request).deleteTimeOff),
		get("/holidays", staff, (*request).holidays),
		post("/holidays", staff, audited{"holiday.create", given}, (*request).createHoliday),
		get("/holidays/{id}/delete", staff, (*request).confirmHoliday),
		post("/holidays/{id}/delete", staff, audited{"holiday.delete", "id"}, (*request).deleteHoliday),
		get("/calendars", staff, (*request).listCalendars),
		post("/calendars", staff, audited{"calendar.create", given}, (*request).createCalendar),
		get("/calendars/{id}/revoke", staff, (*request).confirmCalendar),
		post("/calendars/{id}/revoke", staff, audited{"calendar.revoke", "id"}, (*request).revokeCalendar),
	}
}

func customerRoutes() []route {
	return []route{
		get("/customers", staff, (*request).customers),
		get("/customers/new", staff, (*request).newCustomer),
		post("/customers", staff, audited{"customer.create", given}, (*request).createCustomer),
		get("/customers/{id}", staff, (*request).customer),
		post("/customers/{id}", staff, audited{"customer.update", "id"}, (*request).updateCustomer),
		get("/customers/{id}/assign", staff, (*request).assignForm),
		post("/customers/{id}/assign", staff, audited{"customer_pass.assign", given}, (*request).assign),
		get("/customers/{id}/notes/new", staff, show("note", (*request).findNote)),
		post("/customers/{id}/notes", staff, audited{"customer.note_add", "id"}, (*request).addNote),
		get("/customers/{id}/notes/{note}", staff, show("note", (*request).findNote)),
		post("/customers/{id}/notes/{note}", staff, audited{"customer.note_update", "id"}, (*request).updateNote),
		get("/customers/{id}/notes/{note}/delete", staff, (*request).confirmNote),
		post("/customers/{id}/notes/{note}/{action}", staff, audited{"customer.note_{action}", "id"}, (*request).changeNote),
		{pattern: "GET /customers/{id}/export", access: owner, audited: audited{"customer.export", "id"}, serve: (*request).exportCustomer},
		get("/customers/{id}/erase", owner, (*request).eraseForm),
		post("/customers/{id}/erase", owner, audited{"customer.erase", "id"}, (*request).eraseCustomer),
		get("/customers/{id}/{action}", staff, (*request).confirmCustomer),
		post("/customers/{id}/{action}", staff, audited{"customer.{action}", "id"}, (*request).changeCustomer),
	}
}

func discountRoutes() []route {
	return []route{
		get("/discounts", staff, (*request).discounts),
		get("/discounts/new", staff, (*request).newDiscount),
		post("/discounts", staff, audited{"discount.create", given}, (*request).createDiscount),
		get("/discounts/{id}", staff, show("discount", (*request).findDiscount)),
		post("/discounts/{id}", staff, audited{"discount.update", "id"}, (*request).updateDiscount),
		post("/discounts/{id}/{action}", staff, audited{"discount.{action}", "id"}, (*request).switchDiscount),
	}
}

func passRoutes() []route {
	return []route{
		get("/pass-types", staff, (*request).passTypes),
		get("/pass-types/new", staff, (*request).newPassType),
		post("/pass-types", staff, audited{"pass_type.create", given}, (*request).createPassType),
		get("/pass-types/{id}", staff, (*request).passType),
		post("/pass-types/{id}", staff, audited{"pass_type.update", "id"}, (*request).updatePassType),
		post("/pass-types/{id}/{action}", staff, audited{"pass_type.{action}", "id"}, (*request).archivePassType),
		get("/passes/{id}", staff, show("pass", (*request).findPass)),
		post("/passes/{id}/adjust", staff, audited{"customer_pass.adjust", "id"}, (*request).adjustPass),
		post("/passes/{id}/expiry", staff, audited{"customer_pass.expiry", "id"}, (*request).extendPass),
		get("/passes/{id}/{action}", staff, (*request).confirmPass),
		post("/passes/{id}/{action}", staff, audited{"customer_pass.{action}", "id"}, (*request).changePass),
	}
}

func planRoutes() []route {
	return []route{
		get("/plans", staff, (*request).plans),
		get("/plans/new", staff, (*request).newPlan),
		post("/plans", staff, audited{"plan.create", given}, (*request).createPlan),
		get("/plans/{id}", staff, (*request).plan),
		post("/plans/{id}", staff, audited{"plan.update", "id"}, (*request).updatePlan),
		post("/plans/{id}/{action}", staff, audited{"plan.{action}", "id"}, (*request).archivePlan),
		get(dunningPath, owner, (*request).dunning),
		post(dunningPath, owner, audited{"payments_due.update", given}, (*request).updateDunning),
	}
}

func subscriptionRoutes() []route {
	return []route{
		get("/customers/{id}/subscribe", staff, (*request).subscribeForm),
		post("/customers/{id}/subscribe", staff, audited{"subscription.create", given}, (*request).subscribe),
		get("/subscriptions", staff, (*request).subscriptions),
		get("/subscriptions/{id}", staff, (*request).subscription),
		get("/subscriptions/{id}/pause", staff, showForm((*request).pausePage)),
		post("/subscriptions/{id}/pause", staff, audited{"subscription.pause", "id"}, (*request).pauseSubscription),
		get("/subscriptions/{id}/resume", staff, showForm((*request).resumePage)),
		post("/subscriptions/{id}/resume", staff, audited{"subscription.resume", "id"}, (*request).resumeSubscription),
		get("/subscriptions/{id}/plan", staff, (*request).changePlanForm),
		post("/subscriptions/{id}/plan", staff, audited{"subscription.change_plan", "id"}, (*request).changePlan),
		get("/subscriptions/{id}/cancel", staff, (*request).cancelSubscriptionForm),
		post("/subscriptions/{id}/cancel", staff, audited{"subscription.cancel", "id"}, (*request).cancelSubscription),
		get("/subscriptions/{id}/refund", staff, showForm((*request).returnPage)),
		post("/subscriptions/{id}/refund", staff, audited{"subscription.refund", "id"}, (*request).refundSubscription),
		get("/subscriptions/{id}/periods/{period}/pay", staff, showForm((*request).payPage)),
		post("/subscriptions/{id}/periods/{period}/pay", staff, audited{"subscription.payment", "id"}, (*request).recordPayment),
		get("/subscriptions/{id}/periods/{period}/fail", staff, showForm((*request).failPage)),
		post("/subscriptions/{id}/periods/{period}/fail", staff, audited{"subscription.payment_failure", "id"}, (*request).recordFailure),
		get("/subscriptions/{id}/periods/{period}/waive", staff, showForm((*request).waivePage)),
		post("/subscriptions/{id}/periods/{period}/waive", staff, audited{"subscription.waive", "id"}, (*request).waivePayment),
		get("/subscriptions/{id}/{action}", staff, showForm((*request).keepPage)),
		post("/subscriptions/{id}/{action}", staff, audited{"subscription.{action}", "id"}, (*request).keepSubscription),
	}
}

func libraryRoutes() []route {
	return []route{
		get("/library", staff, (*request).library),
		get("/library/new", staff, (*request).newMedia),
		post("/library", staff, audited{"media.create", given}, (*request).createMedia),
		get("/library/{id}", staff, (*request).mediaItem),
		get("/library/{id}/edit", staff, (*request).editMedia),
		post("/library/{id}/edit", staff, audited{"media.update", "id"}, (*request).updateMedia),
		get("/library/{id}/play", staff, (*request).play),
		get("/library/{id}/give", staff, (*request).giveTo),
		get("/library/{id}/access", staff, (*request).accessForm),
		post("/library/{id}/access", staff, audited{"media.access_add", "id"}, (*request).addAccess),
		get("/library/{id}/access/{entitlement}/remove", staff, (*request).confirmAccess),
		post("/library/{id}/access/{entitlement}/remove", staff, audited{"media.access_remove", "id"}, (*request).removeAccess),
		get("/library/{id}/delete", staff, (*request).confirmMedia),
		post("/library/{id}/uploads", staff, audited{"media.upload_begin", "id"}, (*request).beginUpload),
		post("/library/{id}/uploads/{upload}/complete", staff, audited{"media.upload", "id"}, (*request).completeUpload),
		post("/library/{id}/uploads/{upload}/cancel", staff, audited{"media.upload_cancel", "id"}, (*request).cancelUpload),
		post("/library/{id}/{action}", staff, audited{"media.{action}", "id"}, (*request).changeMedia),
		get("/customers/{id}/give", staff, (*request).giveForm),
		post("/customers/{id}/give", staff, audited{"media.access_add", given}, (*request).give),
	}
}

func collectionRoutes() []route {
	return []route{
		get("/collections", staff, (*request).listCollections),
		get("/collections/new", staff, (*request).newCollection),
		post("/collections", staff, audited{"collection.create", given}, (*request).createCollection),
		get("/collections/{id}", staff, show("collection", (*request).findCollection)),
		post("/collections/{id}", staff, audited{"collection.update", "id"}, (*request).updateCollection),
		get("/collections/{id}/give", staff, (*request).giveTo),
		get("/collections/{id}/access", staff, (*request).accessForm),
		post("/collections/{id}/access", staff, audited{"collection.access_add", "id"}, (*request).addAccess),
		get("/collections/{id}/access/{entitlement}/remove", staff, (*request).confirmAccess),
		post("/collections/{id}/access/{entitlement}/remove", staff, audited{"collection.access_remove", "id"}, (*request).removeAccess),
		get("/collections/{id}/delete", staff, (*request).confirmCollection),
		post("/collections/{id}/delete", staff, audited{"collection.delete", "id"}, (*request).deleteCollection),
	}
}

func accountRoutes() []route {
	return []route{
		get("/account", staff, show("account", (*request).accountPage)),
		post("/account/profile", staff, byAuth(), (*request).updateProfile),
		post("/account/notices", staff, byAuth(), (*request).dismissNotices),
		post("/account/password", staff, byAuth(), (*request).changePassword),
		post("/account/totp", staff, byAuth(), (*request).setupTotp),
		post("/account/totp/confirm", staff, byAuth(), (*request).confirmTotp),
		post("/account/totp/disable", staff, byAuth(), (*request).disableTotp),
		post("/account/totp/codes", staff, byAuth(), (*request).renewRecoveryCodes),
		post("/account/sessions/end-others", staff, byAuth(), (*request).endOtherSessions),
		post("/account/sessions/{id}/end", staff, byAuth(), (*request).endSession),
	}
}

func companyRoutes() []route {
	return []route{
		get("/settings", staff, (*request).settings),
		get("/settings/administrators", owner, (*request).administrators),
		post("/settings/administrators", owner, byAuth(), (*request).invite),
		post("/settings/invitations/{id}/revoke", owner, byAuth(), (*request).revokeInvitation),
		get("/settings/administrators/{id}", owner, show("administrator", (*request).findAdministrator)),
		get("/settings/administrators/{id}/{action}", owner, (*request).confirmAdministrator),
		post("/settings/administrators/{id}/{action}", owner, byAuth(), (*request).changeAdministrator),
		get("/settings/company", owner, (*request).company),
		post("/settings/company", owner, byAuth(), (*request).updateCompany),
	}
}

func logRoutes() []route {
	return []route{
		get("/settings/audit", owner, (*request).auditLog),
		get(requestsPath, owner, (*request).requestLog),
		get(requestsPath+"/{id}", owner, show("request", (*request).findRequest)),
	}
}

func testModeRoutes() []route {
	return []route{
		get(testModePath, staff, (*request).testMode),
		post(testModePath+"/clock", owner, byAuth(), (*request).advanceClock),
		get(testModePath+"/reset", owner, (*request).confirmReset),
		post(testModePath+"/reset", owner, byAuth(), (*request).resetTestData),
	}
}

func publishableRoutes() []route {
	return []route{
		get(publishablePath, owner, (*request).publishableKeys),
		get(publishablePath+"/new", owner, show("publishable-key", (*request).findPublishable)),
		post(publishablePath, owner, byAuth(), (*request).addPublishable),
		get(publishablePath+"/{id}", owner, (*request).showPublishable),
		post(publishablePath+"/{id}", owner, byAuth(), (*request).updatePublishable),
		get(publishablePath+"/{id}/{action}", owner, (*request).confirmPublishable),
		post(publishablePath+"/{id}/{action}", owner, byAuth(), (*request).changePublishable),
	}
}

func webhookRoutes() []route {
	return []route{
		get("/settings/webhooks", owner, (*request).webhooks),
		get("/settings/webhooks/new", owner, (*request).newEndpoint),
		post("/settings/webhooks", owner, audited{"webhook_endpoint.create", given}, (*request).createEndpoint),
		get("/settings/webhooks/deliveries", owner, (*request).deliveries),
		post("/settings/webhooks/deliveries/selected", owner, audited{"webhook_delivery.replay_selected", given}, (*request).replaySelected),
		get("/settings/webhooks/deliveries/replay", owner, (*request).confirmReplay),
		post("/settings/webhooks/deliveries/replay", owner, audited{"webhook_delivery.replay_filtered", given}, (*request).replayFiltered),
		get("/settings/webhooks/deliveries/{id}", owner, (*request).delivery),
		post("/settings/webhooks/deliveries/{id}/replay", owner, audited{"webhook_delivery.replay", "id"}, (*request).replayDelivery),
		get("/settings/webhooks/replay", owner, (*request).replayForm),
		post("/settings/webhooks/replay", owner, audited{"webhook_delivery.replay_failed", given}, (*request).replayFailed),
		get("/settings/webhooks/{id}", owner, (*request).endpoint),
		post("/settings/webhooks/{id}", owner, audited{"webhook_endpoint.update", "id"}, (*request).updateEndpoint),
		post("/settings/webhooks/{id}/test", owner, audited{"webhook_endpoint.test", "id"}, (*request).sendTest),
		get("/settings/webhooks/{id}/{action}", owner, (*request).confirmEndpoint),
		post("/settings/webhooks/{id}/{action}", owner, audited{"webhook_endpoint.{action}", "id"}, (*request).changeEndpoint),
	}
}

// settings redirects to the first settings page that the administrator can open.
func (r *request) settings() error {
	target := "/account"
	if r.session.Owner {
		target = "/settings/api-clients"
	}
	http.Redirect(r.w, r.http, target, http.StatusSeeOther)
	return nil
}
