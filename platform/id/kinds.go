package id

// The resources of the platform. The prefixes are part of the public
// interfaces and never change.
type (
	// Company is the tenant: every credential and every row belongs to one.
	Company = ID[companyKind]
	// APIClient authenticates an integration on Interface A.
	APIClient = ID[apiClientKind]
	// APIKey authenticates an integration on Interface B.
	APIKey = ID[apiKeyKind]
	// ServiceCredential authenticates an internal caller over gRPC.
	ServiceCredential = ID[serviceCredentialKind]
	// Customer is a person who books.
	Customer = ID[customerKind]
	// Transaction is one purchase of one or several bookings.
	Transaction = ID[transactionKind]
	// Booking is a number of spaces on one event date for one customer.
	Booking = ID[bookingKind]
	// Event is something that can be booked; it takes place on event dates.
	Event = ID[eventKind]
	// EventDate is one occurrence of an event.
	EventDate = ID[eventDateKind]
	// PricingOption is a way to pay for an event.
	PricingOption = ID[pricingOptionKind]
	// PassType is a pass as it is sold.
	PassType = ID[passTypeKind]
	// CustomerPass is a pass that a customer holds.
	CustomerPass = ID[customerPassKind]
	// DiscountCode lowers the price of a transaction.
	DiscountCode = ID[discountCodeKind]
	// WaitlistEntry identifies somebody who waits for places of a date: wait_.
	WaitlistEntry = ID[waitlistEntryKind]
	// WebhookEndpoint is an address that is told of events.
	WebhookEndpoint = ID[webhookEndpointKind]
	// WebhookMessage is what endpoints are told, the same for each of them.
	WebhookMessage = ID[webhookMessageKind]
	// WebhookDelivery is one message for one endpoint.
	WebhookDelivery = ID[webhookDeliveryKind]
)

type (
	companyKind           struct{}
	apiClientKind         struct{}
	apiKeyKind            struct{}
	serviceCredentialKind struct{}
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
)

func (companyKind) Prefix() string           { return "comp_" }
func (apiClientKind) Prefix() string         { return "m2m_" }
func (apiKeyKind) Prefix() string            { return "key_" }
func (serviceCredentialKind) Prefix() string { return "svc_" }
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
