package admin

import (
	"net/http"
	"slices"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/roles"
)

// route is a page or a form of the dashboard.
type route struct {
	pattern string // of http.ServeMux
	// capability is what an administrator needs to open the page; everybody: not even a sign-in.
	capability roles.Capability
	audited    audited
	serve      func(v *request) error
	// alwaysLive says that the page uses live data in test mode too.
	alwaysLive bool
	// files says that the page shows files of the media service, or sends files to it.
	files bool
	// large says that the page can have hundreds of rows, so that it is compressed where compress.go allows it.
	large bool
	// upload says that the form has a file, which the page reads.
	upload bool
	// camera says that the page can use the camera.
	camera bool
}

// get returns the route of a page.
func get(path string, needs roles.Capability, serve func(v *request) error) route {
	return route{pattern: "GET " + path, capability: needs, serve: serve}
}

// post returns the route of a form.
func post(path string, needs roles.Capability, a audited, serve func(v *request) error) route {
	return route{pattern: "POST " + path, capability: needs, audited: a, serve: serve}
}

// postFile returns the route of a form with a file.
func postFile(path string, needs roles.Capability, a audited, serve func(v *request) error) route {
	return route{pattern: "POST " + path, capability: needs, audited: a, upload: true, serve: serve}
}

// routes returns every page and form: the dashboard's whole surface.
func routes() []route {
	return slices.Concat(
		alwaysLive(signInRoutes(), accountRoutes(), companyRoutes(), []route{post(testModePath, roles.UseTestMode, byAuth(), (*request).switchMode)}),
		eventRoutes(), ownClassRoutes(), bookingRoutes(), doorRoutes(), appointmentRoutes(), appointmentTypeRoutes(), resourceRoutes(), customerRoutes(), discountRoutes(), passRoutes(), planRoutes(), subscriptionRoutes(), servingFiles(libraryRoutes(), collectionRoutes()),
		apiClientKind().routes(), apiKeyKind().routes(), publishableRoutes(), webhookRoutes(), logRoutes(), testModeRoutes(), dataRoutes(), reportRoutes())
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
		{pattern: "/", capability: everybody, serve: func(*request) error { return fault.Missing("page") }},
		get("/sign-in", everybody, (*request).signInForm),
		post("/sign-in", everybody, byAuth(), (*request).signIn),
		get("/sign-in/code", everybody, (*request).codeForm),
		post("/sign-in/code", everybody, byAuth(), (*request).sendCode),
		get("/reset/{token}", everybody, show("reset", (*request).findReset)),
		post("/reset/{token}", everybody, byAuth(), (*request).resetPassword),
		post("/sign-out", everybody, byAuth(), (*request).signOut),
		post("/language", everybody, byAuth(), (*request).chooseLanguage),
		get("/invitation/{token}", everybody, show("invitation", (*request).findInvitation)),
		post("/invitation/{token}", everybody, byAuth(), (*request).acceptInvitation),
	}
}

func eventRoutes() []route {
	return []route{
		{pattern: "GET /{$}", capability: roles.SeeSchedule, large: true, serve: (*request).today},
		{pattern: "GET /week", capability: roles.SeeSchedule, large: true, serve: (*request).week},
		get("/events", roles.SeeSchedule, (*request).events),
		get("/events/new", roles.EditEvents, (*request).newEvent),
		post("/events", roles.EditEvents, audited{"event.create", given}, (*request).createEvent),
		get("/events/{id}", roles.SeeSchedule, (*request).event),
		post("/events/{id}/publish", roles.EditEvents, audited{"event.publish", "id"}, (*request).publishEvent),
		get("/events/{id}/edit", roles.EditEvents, (*request).editEvent),
		post("/events/{id}/edit", roles.EditEvents, audited{"event.update", "id"}, (*request).updateEvent),
		get("/events/{id}/prices/new", roles.EditEvents, show("price", (*request).findPrice)),
		post("/events/{id}/prices", roles.EditEvents, audited{"event.price", "id"}, (*request).savePrice),
		get("/events/{id}/prices/{option}", roles.EditEvents, show("price", (*request).findPrice)),
		post("/events/{id}/prices/{option}", roles.EditEvents, audited{"event.price", "id"}, (*request).savePrice),
		get("/events/{id}/prices/{option}/end", roles.EditEvents, (*request).confirmPrice),
		post("/events/{id}/prices/{option}/end", roles.EditEvents, audited{"event.price_end", "id"}, (*request).endPrice),
		get("/events/{id}/dates/new", roles.EditEvents, (*request).newDates),
		post("/events/{id}/dates", roles.EditEvents, audited{"event.dates_add", "id"}, (*request).addDates),
		get("/events/{id}/staff", roles.EditEvents, (*request).teachersForm),
		post("/events/{id}/staff", roles.EditEvents, audited{"event.staff", "id"}, (*request).setTeachers),
		get("/events/{id}/{action}", roles.EditEvents, (*request).confirmEvent),
		post("/events/{id}/{action}", roles.EditEvents, audited{"event.{action}", "id"}, (*request).changeEvent),
		{pattern: "GET /events/{id}/dates/{date}", capability: roles.SeeSchedule, large: true, serve: (*request).eventDate},
		get("/events/{id}/dates/{date}/edit", roles.EditEvents, (*request).editDate),
		post("/events/{id}/dates/{date}/edit", roles.EditEvents, audited{"event_date.update", "date"}, (*request).updateDate),
		get("/events/{id}/dates/{date}/staff", roles.EditEvents, (*request).substitutesForm),
		post("/events/{id}/dates/{date}/staff", roles.EditEvents, audited{"event_date.staff", "date"}, (*request).setSubstitutes),
		get("/dates/{date}", roles.SeeSchedule, (*request).findDatePage),
		get("/events/{id}/dates/{date}/cancel", roles.EditEvents, (*request).confirmDate),
		post("/events/{id}/dates/{date}/cancel", roles.EditEvents, audited{"event_date.cancel", "date"}, (*request).cancelDate),
	}
}

// ownClassRoutes are the pages of a teacher.
func ownClassRoutes() []route {
	return []route{
		get(ownClassesPath, roles.OwnClasses, (*request).ownClasses),
		get(ownClassesPath+"/{date}", roles.OwnClasses, (*request).ownClass),
		post(ownClassesPath+"/{date}/attendance", roles.OwnClasses, audited{"booking.attendance", given}, (*request).ownAttendance),
	}
}

func bookingRoutes() []route {
	return []route{
		get("/events/{id}/dates/{date}/book", roles.SellAndBook, (*request).bookForm),
		post("/events/{id}/dates/{date}/book", roles.SellAndBook, audited{"booking.create", given}, (*request).book),
		get("/events/{id}/dates/{date}/walk-in", roles.SellAndBook, (*request).walkInForm),
		post("/events/{id}/dates/{date}/walk-in", roles.SellAndBook, audited{"booking.create", given}, (*request).walkIn),
		get("/sales/new", roles.SellAndBook, (*request).saleForm),
		post("/sales", roles.SellAndBook, audited{"booking.create", given}, (*request).sell),
		get("/events/{id}/dates/{date}/wait", roles.SellAndBook, (*request).waitForm),
		post("/events/{id}/dates/{date}/wait", roles.SellAndBook, audited{"waitlist.join", given}, (*request).wait),
		get("/events/{id}/dates/{date}/offers/{entry}", roles.SellAndBook, (*request).offer),
		post("/events/{id}/dates/{date}/offers/{entry}", roles.SellAndBook, audited{"waitlist.accept", "entry"}, (*request).acceptOffer),
		post("/waitlist/{id}/leave", roles.SellAndBook, audited{"waitlist.leave", "id"}, (*request).leaveWaitlist),
		get("/bookings/{id}", roles.SeeSchedule, show("booking", (*request).findBooking)),
		get("/bookings/{id}/refund", roles.ChangeBookings, (*request).refundForm),
		post("/bookings/{id}/refund", roles.ChangeBookings, audited{"booking.refund", "id"}, (*request).refundBooking),
		get("/bookings/{id}/move", roles.ChangeBookings, (*request).moveBookingForm),
		post("/bookings/{id}/move", roles.ChangeBookings, audited{"booking.move", "id"}, (*request).moveBooking),
		get("/bookings/{id}/transfer", roles.ChangeBookings, (*request).transferForm),
		post("/bookings/{id}/transfer", roles.ChangeBookings, audited{"booking.transfer", "id"}, (*request).transferBooking),
		get("/bookings/{id}/swap", roles.ChangeBookings, (*request).swapForm),
		post("/bookings/{id}/swap", roles.ChangeBookings, audited{"booking.swap", "id"}, (*request).swapBookings),
		get("/bookings/{id}/history", roles.SeeSchedule, (*request).bookingHistory),
		get("/bookings/{id}/{action}", roles.ChangeBookings, (*request).confirmBooking),
		post("/bookings/{id}/{action}", roles.ChangeBookings, audited{"booking.{action}", "id"}, (*request).changeBooking),
	}
}

// doorRoutes are the pages and forms with which customers are checked in.
func doorRoutes() []route {
	return []route{
		{pattern: "GET /events/{id}/dates/{date}/scan", capability: roles.CheckIn, camera: true, serve: (*request).scanForm},
		post("/events/{id}/dates/{date}/scan", roles.CheckIn, audited{"booking.attendance", given}, (*request).scan),
		post("/bookings/{id}/attendance", roles.CheckIn, audited{"booking.attendance", "id"}, (*request).attendance),
		get("/bookings/{id}/no-show", roles.CheckIn, (*request).confirmNoShow),
		post("/bookings/{id}/no-show", roles.CheckIn, audited{"booking.attendance", "id"}, (*request).markNoShow),
		get("/bookings/{id}/ticket", roles.CheckIn, show("ticket", (*request).findTicket)),
	}
}

func appointmentRoutes() []route {
	return []route{
		get("/appointments", roles.SeeSchedule, (*request).dayAgenda),
		get("/appointments/week", roles.SeeSchedule, (*request).weekAgenda),
		get("/appointments/book", roles.SellAndBook, (*request).bookSlotForm),
		post("/appointments/book", roles.SellAndBook, audited{"appointment.create", given}, (*request).bookSlot),
		get("/appointments/{id}", roles.SeeSchedule, (*request).appointment),
		get("/appointments/{id}/move", roles.ChangeBookings, (*request).moveForm),
		post("/appointments/{id}/move", roles.ChangeBookings, audited{"appointment.move", "id"}, (*request).moveAppointment),
		get("/appointments/{id}/{action}", roles.ChangeBookings, (*request).confirmAppointment),
		post("/appointments/{id}/{action}", roles.ChangeBookings, audited{"booking.{action}", "id"}, (*request).changeAppointment),
	}
}

func appointmentTypeRoutes() []route {
	return []route{
		get("/appointment-types", roles.EditStaff, (*request).appointmentTypes),
		get("/appointment-types/new", roles.EditStaff, (*request).newAppointmentType),
		post("/appointment-types", roles.EditStaff, audited{"appointment_type.create", given}, (*request).createAppointmentType),
		get("/appointment-types/{id}", roles.EditStaff, (*request).appointmentType),
		post("/appointment-types/{id}", roles.EditStaff, audited{"appointment_type.update", "id"}, (*request).updateAppointmentType),
		get("/appointment-types/{id}/prices/new", roles.EditStaff, show("slot-price", (*request).findSlotPrice)),
		post("/appointment-types/{id}/prices", roles.EditStaff, audited{"appointment_type.price", "id"}, (*request).saveSlotPrice),
		get("/appointment-types/{id}/prices/{option}", roles.EditStaff, show("slot-price", (*request).findSlotPrice)),
		post("/appointment-types/{id}/prices/{option}", roles.EditStaff, audited{"appointment_type.price", "id"}, (*request).saveSlotPrice),
		get("/appointment-types/{id}/prices/{option}/end", roles.EditStaff, (*request).confirmSlotPrice),
		post("/appointment-types/{id}/prices/{option}/end", roles.EditStaff, audited{"appointment_type.price_end", "id"}, (*request).endSlotPrice),
	}
}

func resourceRoutes() []route {
	return []route{
		get("/staff", roles.EditStaff, (*request).staffList),
		get("/staff/new", roles.EditStaff, (*request).newStaffMember),
		post("/staff", roles.EditStaff, audited{"staff.create", given}, (*request).createStaffMember),
		get("/staff/{id}", roles.EditStaff, (*request).staffMember),
		post("/staff/{id}", roles.EditStaff, audited{"staff.update", "id"}, (*request).updateStaffMember),
		get("/staff/{id}/hours", roles.EditStaff, (*request).hoursForm),
		post("/staff/{id}/hours", roles.EditStaff, audited{"staff.hours", "id"}, (*request).setHours),
		get("/staff/{id}/time-off", roles.EditStaff, (*request).timeOffForm),
		post("/staff/{id}/time-off", roles.EditStaff, audited{"staff.time_off_add", "id"}, (*request).addTimeOff),
		get("/staff/{id}/time-off/{off}/delete", roles.EditStaff, (*request).confirmTimeOff),
		post("/staff/{id}/time-off/{off}/delete", roles.EditStaff, audited{"staff.time_off_delete", "id"}, (*request).deleteTimeOff),
		get("/rooms", roles.EditStaff, (*request).roomList),
		get("/rooms/new", roles.EditStaff, (*request).newRoom),
		post("/rooms", roles.EditStaff, audited{"room.create", given}, (*request).createRoom),
		get("/rooms/{id}", roles.EditStaff, (*request).room),
		post("/rooms/{id}", roles.EditStaff, audited{"room.update", "id"}, (*request).updateRoom),
		get("/rooms/{id}/time-off", roles.EditStaff, (*request).timeOffForm),
		post("/rooms/{id}/time-off", roles.EditStaff, audited{"room.time_off_add", "id"}, (*request).addTimeOff),
		get("/rooms/{id}/time-off/{off}/delete", roles.EditStaff, (*request).confirmTimeOff),
		post("/rooms/{id}/time-off/{off}/delete", roles.EditStaff, audited{"room.time_off_delete", "id"}, (*request).deleteTimeOff),
		get("/holidays", roles.EditStaff, (*request).holidays),
		post("/holidays", roles.EditStaff, audited{"holiday.create", given}, (*request).createHoliday),
		get("/holidays/{id}/delete", roles.EditStaff, (*request).confirmHoliday),
		post("/holidays/{id}/delete", roles.EditStaff, audited{"holiday.delete", "id"}, (*request).deleteHoliday),
		get("/calendars", roles.EditStaff, (*request).listCalendars),
		post("/calendars", roles.EditStaff, audited{"calendar.create", given}, (*request).createCalendar),
		get("/calendars/{id}/revoke", roles.EditStaff, (*request).confirmCalendar),
		post("/calendars/{id}/revoke", roles.EditStaff, audited{"calendar.revoke", "id"}, (*request).revokeCalendar),
	}
}

func customerRoutes() []route {
	return []route{
		get("/customers", roles.SeeCustomers, (*request).customers),
		get("/customers/new", roles.EditCustomers, (*request).newCustomer),
		post("/customers", roles.EditCustomers, audited{"customer.create", given}, (*request).createCustomer),
		get("/customers/{id}", roles.SeeCustomers, (*request).customer),
		post("/customers/{id}", roles.EditCustomers, audited{"customer.update", "id"}, (*request).updateCustomer),
		get("/customers/{id}/assign", roles.SellAndBook, (*request).assignForm),
		post("/customers/{id}/assign", roles.SellAndBook, audited{"customer_pass.assign", given}, (*request).assign),
		get("/customers/{id}/notes/new", roles.EditCustomers, show("note", (*request).findNote)),
		post("/customers/{id}/notes", roles.EditCustomers, audited{"customer.note_add", "id"}, (*request).addNote),
		get("/customers/{id}/notes/{note}", roles.EditCustomers, show("note", (*request).findNote)),
		post("/customers/{id}/notes/{note}", roles.EditCustomers, audited{"customer.note_update", "id"}, (*request).updateNote),
		get("/customers/{id}/notes/{note}/delete", roles.EditCustomers, (*request).confirmNote),
		post("/customers/{id}/notes/{note}/{action}", roles.EditCustomers, audited{"customer.note_{action}", "id"}, (*request).changeNote),
		{pattern: "GET /customers/{id}/export", capability: roles.PersonalData, audited: audited{"customer.export", "id"}, serve: (*request).exportCustomer},
		get("/customers/{id}/erase", roles.PersonalData, (*request).eraseForm),
		post("/customers/{id}/erase", roles.PersonalData, audited{"customer.erase", "id"}, (*request).eraseCustomer),
		get("/customers/{id}/{action}", roles.ArchiveCustomers, (*request).confirmCustomer),
		post("/customers/{id}/{action}", roles.ArchiveCustomers, audited{"customer.{action}", "id"}, (*request).changeCustomer),
	}
}

func discountRoutes() []route {
	return []route{
		get("/discounts", roles.EditCatalog, (*request).discounts),
		get("/discounts/new", roles.EditCatalog, (*request).newDiscount),
		post("/discounts", roles.EditCatalog, audited{"discount.create", given}, (*request).createDiscount),
		get("/discounts/{id}", roles.EditCatalog, show("discount", (*request).findDiscount)),
		post("/discounts/{id}", roles.EditCatalog, audited{"discount.update", "id"}, (*request).updateDiscount),
		post("/discounts/{id}/{action}", roles.EditCatalog, audited{"discount.{action}", "id"}, (*request).switchDiscount),
	}
}

func passRoutes() []route {
	return []route{
		get("/pass-types", roles.EditCatalog, (*request).passTypes),
		get("/pass-types/new", roles.EditCatalog, (*request).newPassType),
		post("/pass-types", roles.EditCatalog, audited{"pass_type.create", given}, (*request).createPassType),
		get("/pass-types/{id}", roles.EditCatalog, (*request).passType),
		post("/pass-types/{id}", roles.EditCatalog, audited{"pass_type.update", "id"}, (*request).updatePassType),
		post("/pass-types/{id}/{action}", roles.EditCatalog, audited{"pass_type.{action}", "id"}, (*request).archivePassType),
		get("/passes/{id}", roles.SeeCustomers, show("pass", (*request).findPass)),
		post("/passes/{id}/adjust", roles.ManagePasses, audited{"customer_pass.adjust", "id"}, (*request).adjustPass),
		post("/passes/{id}/expiry", roles.ManagePasses, audited{"customer_pass.expiry", "id"}, (*request).extendPass),
		get("/passes/{id}/{action}", roles.ManagePasses, (*request).confirmPass),
		post("/passes/{id}/{action}", roles.ManagePasses, audited{"customer_pass.{action}", "id"}, (*request).changePass),
	}
}

func planRoutes() []route {
	return []route{
		get("/plans", roles.EditCatalog, (*request).plans),
		get("/plans/new", roles.EditCatalog, (*request).newPlan),
		post("/plans", roles.EditCatalog, audited{"plan.create", given}, (*request).createPlan),
		get("/plans/{id}", roles.EditCatalog, (*request).plan),
		post("/plans/{id}", roles.EditCatalog, audited{"plan.update", "id"}, (*request).updatePlan),
		post("/plans/{id}/{action}", roles.EditCatalog, audited{"plan.{action}", "id"}, (*request).archivePlan),
		get(dunningPath, roles.CompanySettings, (*request).dunning),
		post(dunningPath, roles.CompanySettings, audited{"payments_due.update", given}, (*request).updateDunning),
	}
}

func subscriptionRoutes() []route {
	return []route{
		get("/customers/{id}/subscribe", roles.SellAndBook, (*request).subscribeForm),
		post("/customers/{id}/subscribe", roles.SellAndBook, audited{"subscription.create", given}, (*request).subscribe),
		get("/subscriptions", roles.SeeCustomers, (*request).subscriptions),
		get("/subscriptions/{id}", roles.SeeCustomers, (*request).subscription),
		get("/subscriptions/{id}/pause", roles.ManageSubscriptions, showForm((*request).pausePage)),
		post("/subscriptions/{id}/pause", roles.ManageSubscriptions, audited{"subscription.pause", "id"}, (*request).pauseSubscription),
		get("/subscriptions/{id}/resume", roles.ManageSubscriptions, showForm((*request).resumePage)),
		post("/subscriptions/{id}/resume", roles.ManageSubscriptions, audited{"subscription.resume", "id"}, (*request).resumeSubscription),
		get("/subscriptions/{id}/plan", roles.ManageSubscriptions, (*request).changePlanForm),
		post("/subscriptions/{id}/plan", roles.ManageSubscriptions, audited{"subscription.change_plan", "id"}, (*request).changePlan),
		get("/subscriptions/{id}/cancel", roles.ManageSubscriptions, (*request).cancelSubscriptionForm),
		post("/subscriptions/{id}/cancel", roles.ManageSubscriptions, audited{"subscription.cancel", "id"}, (*request).cancelSubscription),
		get("/subscriptions/{id}/refund", roles.ManageSubscriptions, showForm((*request).returnPage)),
		post("/subscriptions/{id}/refund", roles.ManageSubscriptions, audited{"subscription.refund", "id"}, (*request).refundSubscription),
		get("/subscriptions/{id}/periods/{period}/pay", roles.SellAndBook, showForm((*request).payPage)),
		post("/subscriptions/{id}/periods/{period}/pay", roles.SellAndBook, audited{"subscription.payment", "id"}, (*request).recordPayment),
		get("/subscriptions/{id}/periods/{period}/fail", roles.ManageSubscriptions, showForm((*request).failPage)),
		post("/subscriptions/{id}/periods/{period}/fail", roles.ManageSubscriptions, audited{"subscription.payment_failure", "id"}, (*request).recordFailure),
		get("/subscriptions/{id}/periods/{period}/waive", roles.ManageSubscriptions, showForm((*request).waivePage)),
		post("/subscriptions/{id}/periods/{period}/waive", roles.ManageSubscriptions, audited{"subscription.waive", "id"}, (*request).waivePayment),
		get("/subscriptions/{id}/{action}", roles.ManageSubscriptions, showForm((*request).keepPage)),
		post("/subscriptions/{id}/{action}", roles.ManageSubscriptions, audited{"subscription.{action}", "id"}, (*request).keepSubscription),
	}
}

func libraryRoutes() []route {
	return []route{
		get("/library", roles.ManageLibrary, (*request).library),
		get("/library/new", roles.ManageLibrary, (*request).newMedia),
		post("/library", roles.ManageLibrary, audited{"media.create", given}, (*request).createMedia),
		get("/library/{id}", roles.ManageLibrary, (*request).mediaItem),
		get("/library/{id}/edit", roles.ManageLibrary, (*request).editMedia),
		post("/library/{id}/edit", roles.ManageLibrary, audited{"media.update", "id"}, (*request).updateMedia),
		get("/library/{id}/play", roles.ManageLibrary, (*request).play),
		get("/library/{id}/give", roles.ManageLibrary, (*request).giveTo),
		get("/library/{id}/access", roles.ManageLibrary, (*request).accessForm),
		post("/library/{id}/access", roles.ManageLibrary, audited{"media.access_add", "id"}, (*request).addAccess),
		get("/library/{id}/access/{entitlement}/remove", roles.ManageLibrary, (*request).confirmAccess),
		post("/library/{id}/access/{entitlement}/remove", roles.ManageLibrary, audited{"media.access_remove", "id"}, (*request).removeAccess),
		get("/library/{id}/delete", roles.ManageLibrary, (*request).confirmMedia),
		post("/library/{id}/uploads", roles.ManageLibrary, audited{"media.upload_begin", "id"}, (*request).beginUpload),
		post("/library/{id}/uploads/{upload}/complete", roles.ManageLibrary, audited{"media.upload", "id"}, (*request).completeUpload),
		post("/library/{id}/uploads/{upload}/cancel", roles.ManageLibrary, audited{"media.upload_cancel", "id"}, (*request).cancelUpload),
		post("/library/{id}/{action}", roles.ManageLibrary, audited{"media.{action}", "id"}, (*request).changeMedia),
		get("/customers/{id}/give", roles.ManageLibrary, (*request).giveForm),
		post("/customers/{id}/give", roles.ManageLibrary, audited{"media.access_add", given}, (*request).give),
	}
}

func collectionRoutes() []route {
	return []route{
		get("/collections", roles.ManageLibrary, (*request).listCollections),
		get("/collections/new", roles.ManageLibrary, (*request).newCollection),
		post("/collections", roles.ManageLibrary, audited{"collection.create", given}, (*request).createCollection),
		get("/collections/{id}", roles.ManageLibrary, show("collection", (*request).findCollection)),
		post("/collections/{id}", roles.ManageLibrary, audited{"collection.update", "id"}, (*request).updateCollection),
		get("/collections/{id}/give", roles.ManageLibrary, (*request).giveTo),
		get("/collections/{id}/access", roles.ManageLibrary, (*request).accessForm),
		post("/collections/{id}/access", roles.ManageLibrary, audited{"collection.access_add", "id"}, (*request).addAccess),
		get("/collections/{id}/access/{entitlement}/remove", roles.ManageLibrary, (*request).confirmAccess),
		post("/collections/{id}/access/{entitlement}/remove", roles.ManageLibrary, audited{"collection.access_remove", "id"}, (*request).removeAccess),
		get("/collections/{id}/delete", roles.ManageLibrary, (*request).confirmCollection),
		post("/collections/{id}/delete", roles.ManageLibrary, audited{"collection.delete", "id"}, (*request).deleteCollection),
	}
}

func accountRoutes() []route {
	return []route{
		get("/account", roles.OwnAccount, show("account", (*request).accountPage)),
		post("/account/profile", roles.OwnAccount, byAuth(), (*request).updateProfile),
		post("/account/notices", roles.OwnAccount, byAuth(), (*request).dismissNotices),
		post("/account/password", roles.OwnAccount, byAuth(), (*request).changePassword),
		post("/account/totp", roles.OwnAccount, byAuth(), (*request).setupTotp),
		post("/account/totp/confirm", roles.OwnAccount, byAuth(), (*request).confirmTotp),
		post("/account/totp/disable", roles.OwnAccount, byAuth(), (*request).disableTotp),
		post("/account/totp/codes", roles.OwnAccount, byAuth(), (*request).renewRecoveryCodes),
		post("/account/sessions/end-others", roles.OwnAccount, byAuth(), (*request).endOtherSessions),
		post("/account/sessions/{id}/end", roles.OwnAccount, byAuth(), (*request).endSession),
	}
}

func companyRoutes() []route {
	return []route{
		get("/settings", roles.OwnAccount, (*request).settings),
		get("/settings/administrators", roles.Administrators, (*request).administrators),
		post("/settings/administrators", roles.Administrators, byAuth(), (*request).invite),
		post("/settings/invitations/{id}/revoke", roles.Administrators, byAuth(), (*request).revokeInvitation),
		get("/settings/administrators/{id}", roles.Administrators, show("administrator", (*request).findAdministrator)),
		get("/settings/administrators/{id}/{action}", roles.Administrators, (*request).confirmAdministrator),
		post("/settings/administrators/{id}/{action}", roles.Administrators, byAuth(), (*request).changeAdministrator),
		get("/settings/company", roles.CompanySettings, (*request).company),
		post("/settings/company", roles.CompanySettings, byAuth(), (*request).updateCompany),
	}
}

func logRoutes() []route {
	return []route{
		get("/settings/audit", roles.AuditLog, (*request).auditLog),
		get(requestsPath, roles.Credentials, (*request).requestLog),
		get(requestsPath+"/{id}", roles.Credentials, show("request", (*request).findRequest)),
	}
}

func dataRoutes() []route {
	return []route{
		get("/exports", dataAccess, (*request).exports),
		{pattern: "GET /exports/file", capability: dataAccess, audited: audited{"company_data.export", given}, serve: (*request).exportFile},
		postFile("/imports/customers", dataAccess, audited{"company_data.import", given}, importFile("customers")),
		postFile("/imports/passes", dataAccess, audited{"company_data.import", given}, importFile("passes")),
		postFile("/imports/bookings", dataAccess, audited{"company_data.import", given}, importFile("bookings")),
	}
}

func testModeRoutes() []route {
	return []route{
		get(testModePath, roles.UseTestMode, (*request).testMode),
		post(testModePath+"/clock", roles.TestData, byAuth(), (*request).advanceClock),
		get(testModePath+"/reset", roles.TestData, (*request).confirmReset),
		post(testModePath+"/reset", roles.TestData, byAuth(), (*request).resetTestData),
	}
}

func publishableRoutes() []route {
	return []route{
		get(publishablePath, roles.Credentials, (*request).publishableKeys),
		get(publishablePath+"/new", roles.Credentials, show("publishable-key", (*request).findPublishable)),
		post(publishablePath, roles.Credentials, byAuth(), (*request).addPublishable),
		get(publishablePath+"/{id}", roles.Credentials, (*request).showPublishable),
		post(publishablePath+"/{id}", roles.Credentials, byAuth(), (*request).updatePublishable),
		get(publishablePath+"/{id}/{action}", roles.Credentials, (*request).confirmPublishable),
		post(publishablePath+"/{id}/{action}", roles.Credentials, byAuth(), (*request).changePublishable),
	}
}

func webhookRoutes() []route {
	return []route{
		get("/settings/webhooks", roles.Webhooks, (*request).webhooks),
		get("/settings/webhooks/new", roles.Webhooks, (*request).newEndpoint),
		post("/settings/webhooks", roles.Webhooks, audited{"webhook_endpoint.create", given}, (*request).createEndpoint),
		get("/settings/webhooks/deliveries", roles.Webhooks, (*request).deliveries),
		post("/settings/webhooks/deliveries/selected", roles.Webhooks, audited{"webhook_delivery.replay_selected", given}, (*request).replaySelected),
		get("/settings/webhooks/deliveries/replay", roles.Webhooks, (*request).confirmReplay),
		post("/settings/webhooks/deliveries/replay", roles.Webhooks, audited{"webhook_delivery.replay_filtered", given}, (*request).replayFiltered),
		get("/settings/webhooks/deliveries/{id}", roles.Webhooks, (*request).delivery),
		post("/settings/webhooks/deliveries/{id}/replay", roles.Webhooks, audited{"webhook_delivery.replay", "id"}, (*request).replayDelivery),
		get("/settings/webhooks/replay", roles.Webhooks, (*request).replayForm),
		post("/settings/webhooks/replay", roles.Webhooks, audited{"webhook_delivery.replay_failed", given}, (*request).replayFailed),
		get("/settings/webhooks/{id}", roles.Webhooks, (*request).endpoint),
		post("/settings/webhooks/{id}", roles.Webhooks, audited{"webhook_endpoint.update", "id"}, (*request).updateEndpoint),
		post("/settings/webhooks/{id}/test", roles.Webhooks, audited{"webhook_endpoint.test", "id"}, (*request).sendTest),
		get("/settings/webhooks/{id}/{action}", roles.Webhooks, (*request).confirmEndpoint),
		post("/settings/webhooks/{id}/{action}", roles.Webhooks, audited{"webhook_endpoint.{action}", "id"}, (*request).changeEndpoint),
	}
}

// settings redirects to the first settings page that the administrator can open.
func (r *request) settings() error {
	target := "/account"
	if r.session.Role.May(roles.Credentials) {
		target = "/settings/api-clients"
	}
	http.Redirect(r.w, r.http, target, http.StatusSeeOther)
	return nil
}
