package id

// The identifiers of the platform's resources. Their prefixes are part of the public
// interfaces and never change.
type (
	// Company identifies a company, to which every credential and row belongs: comp_.
	Company = ID[companyKind]
	// APIClient identifies a credential for Interface A: m2m_.
	APIClient = ID[apiClientKind]
	// APIKey identifies a credential for Interface B: key_.
	APIKey = ID[apiKeyKind]
	// ServiceCredential identifies a credential for internal calls over gRPC: svc_.
	ServiceCredential = ID[serviceCredentialKind]
	// Administrator identifies a person who signs in to the dashboard: admin_.
	Administrator = ID[administratorKind]
	// Session identifies an administrator's sign-in with one browser: sess_.
	Session = ID[sessionKind]
	// Invitation identifies an invitation to become an administrator: inv_.
	Invitation = ID[invitationKind]
	// AuditEntry identifies an entry of the audit log: audit_.
	AuditEntry = ID[auditEntryKind]
	// Customer identifies a customer: cust_.
	Customer = ID[customerKind]
	// Transaction identifies a purchase of one or several bookings: txn_.
	Transaction = ID[transactionKind]
	// Booking identifies a customer's booking of spaces on one event date: booking_.
	Booking = ID[bookingKind]
	// Event identifies an event, which takes place on event dates: evt_.
	Event = ID[eventKind]
	// EventDate identifies one occurrence of an event: date_.
	EventDate = ID[eventDateKind]
	// PricingOption identifies a way to pay for an event: po-.
	PricingOption = ID[pricingOptionKind]
	// PassType identifies a kind of pass that a company sells: pass_.
	PassType = ID[passTypeKind]
	// CustomerPass identifies a pass that a customer holds: cp_.
	CustomerPass = ID[customerPassKind]
	// DiscountCode identifies a code that lowers the price of a transaction: disc_.
	DiscountCode = ID[discountCodeKind]
	// WaitlistEntry identifies a customer's entry in the waitlist of an event date: wait_.
	WaitlistEntry = ID[waitlistEntryKind]
	// WebhookEndpoint identifies an endpoint that receives webhooks: whe_.
	WebhookEndpoint = ID[webhookEndpointKind]
	// WebhookMessage identifies a message, which is the same for every endpoint: msg_.
	WebhookMessage = ID[webhookMessageKind]
	// WebhookDelivery identifies the delivery of one message to one endpoint: whd_.
	WebhookDelivery = ID[webhookDeliveryKind]
	// PublishableKey identifies a credential for web pages, and is the credential: pub_.
	PublishableKey = ID[publishableKeyKind]
	// Note identifies a note about a customer: note_.
	Note = ID[noteKind]
	// LoggedRequest identifies an entry of the request log: req_.
	LoggedRequest = ID[loggedRequestKind]
	// Plan identifies a plan that customers subscribe to: plan_.
	Plan = ID[planKind]
	// Subscription identifies a customer's subscription to a plan: sub_.
	Subscription = ID[subscriptionKind]
	// MediaItem identifies a video, a recording, a document or an image: media_.
	MediaItem = ID[mediaItemKind]
	// Collection identifies a collection of media items: col_.
	Collection = ID[collectionKind]
	// Entitlement identifies a rule that lets customers play media: ent_.
	Entitlement = ID[entitlementKind]
	// Upload identifies the upload of a file: upl_.
	Upload = ID[uploadKind]
	// StaffMember identifies a person who gives appointments or teaches classes: staff_.
	StaffMember = ID[staffMemberKind]
	// Room identifies a room or a kind of equipment: room_.
	Room = ID[roomKind]
	// TimeOff identifies a time at which a person or a room cannot be booked: off_.
	TimeOff = ID[timeOffKind]
	// Holiday identifies a day on which nobody can be booked: hol_.
	Holiday = ID[holidayKind]
	// AppointmentType identifies a kind of appointment: apt_. Its event has the same UUID.
	AppointmentType = ID[appointmentTypeKind]
	// Appointment identifies an appointment: appt_. Its booking has the same UUID.
	Appointment = ID[appointmentKind]
	// Calendar identifies a calendar with a secret address: cal_.
	Calendar = ID[calendarKind]
)

type (
	companyKind           struct{}
	apiClientKind         struct{}
	apiKeyKind            struct{}
	serviceCredentialKind struct{}
	administratorKind     struct{}
	sessionKind           struct{}
	invitationKind        struct{}
	auditEntryKind        struct{}
	customerKind          struct{}
	transactionKind       struct{}
	bookingKind           struct{}
	eventKind             struct{}
	eventDateKind         struct{}
	pricingOptionKind     struct{}
	passTypeKind          struct{}
	customerPassKind      struct{}
	discountCodeKind      struct{}
	waitlistEntryKind     struct{}
	webhookEndpointKind   struct{}
	webhookMessageKind    struct{}
	webhookDeliveryKind   struct{}
	publishableKeyKind    struct{}
	noteKind              struct{}
	loggedRequestKind     struct{}
	planKind              struct{}
	subscriptionKind      struct{}
	mediaItemKind         struct{}
	collectionKind        struct{}
	entitlementKind       struct{}
	uploadKind            struct{}
	staffMemberKind       struct{}
	roomKind              struct{}
	timeOffKind           struct{}
	holidayKind           struct{}
	appointmentTypeKind   struct{}
	appointmentKind       struct{}
	calendarKind          struct{}
)

func (companyKind) Prefix() string           { return "comp_" }
func (apiClientKind) Prefix() string         { return "m2m_" }
func (apiKeyKind) Prefix() string            { return "key_" }
func (serviceCredentialKind) Prefix() string { return "svc_" }
func (administratorKind) Prefix() string     { return "admin_" }
func (sessionKind) Prefix() string           { return "sess_" }
func (invitationKind) Prefix() string        { return "inv_" }
func (auditEntryKind) Prefix() string        { return "audit_" }
func (customerKind) Prefix() string          { return "cust_" }
func (transactionKind) Prefix() string       { return "txn_" }
func (bookingKind) Prefix() string           { return "booking_" }
func (eventKind) Prefix() string             { return "evt_" }
func (eventDateKind) Prefix() string         { return "date_" }
func (pricingOptionKind) Prefix() string     { return "po-" }
func (passTypeKind) Prefix() string          { return "pass_" }
func (customerPassKind) Prefix() string      { return "cp_" }
func (discountCodeKind) Prefix() string      { return "disc_" }
func (waitlistEntryKind) Prefix() string     { return "wait_" }
func (webhookEndpointKind) Prefix() string   { return "whe_" }
func (webhookMessageKind) Prefix() string    { return "msg_" }
func (webhookDeliveryKind) Prefix() string   { return "whd_" }
func (publishableKeyKind) Prefix() string    { return "pub_" }
func (noteKind) Prefix() string              { return "note_" }
func (loggedRequestKind) Prefix() string     { return "req_" }
func (planKind) Prefix() string              { return "plan_" }
func (subscriptionKind) Prefix() string      { return "sub_" }
func (mediaItemKind) Prefix() string         { return "media_" }
func (collectionKind) Prefix() string        { return "col_" }
func (entitlementKind) Prefix() string       { return "ent_" }
func (uploadKind) Prefix() string            { return "upl_" }
func (staffMemberKind) Prefix() string       { return "staff_" }
func (roomKind) Prefix() string              { return "room_" }
func (timeOffKind) Prefix() string           { return "off_" }
func (holidayKind) Prefix() string           { return "hol_" }
func (appointmentTypeKind) Prefix() string   { return "apt_" }
func (appointmentKind) Prefix() string       { return "appt_" }
func (calendarKind) Prefix() string          { return "cal_" }
