package main

// credentials is DATA_DIR/credentials.json: what a stranger needs to use the
// running instance.
type credentials struct {
	InterfaceA interfaceA `json:"interface_a"`
	InterfaceB interfaceB `json:"interface_b"`
	// Admin is the dashboard, and the owner of the demonstration company.
	Admin     adminAccess `json:"admin"`
	GRPC      grpcAccess  `json:"grpc"`
	CompanyID string      `json:"company_id,omitempty"`
	AdminPort string      `json:"admin_port"`
}

type interfaceA struct {
	BaseURL      string `json:"base_url"`
	ClientID     string `json:"client_id,omitempty"`
	ClientSecret string `json:"client_secret,omitempty"`
}

type interfaceB struct {
	APIBaseURL string `json:"api_base_url"`
	APIKey     string `json:"api_key,omitempty"`
	APISecret  string `json:"api_secret,omitempty"`
}

type adminAccess struct {
	URL      string `json:"url"`
	Email    string `json:"email,omitempty"`
	Password string `json:"password,omitempty"`
}

// grpcAccess has the services' addresses and a token of the operator, which
// speaks for the demonstration company unless the call's metadata names another
// (reservation-company). The token is renewed in the file before it expires;
// the credential gets further ones.
type grpcAccess struct {
	Auth              string     `json:"auth"`
	Customer          string     `json:"customer"`
	Booking           string     `json:"booking"`
	Pass              string     `json:"pass"`
	Webhook           string     `json:"webhook"`
	ServiceToken      string     `json:"service_token"`
	ServiceCredential credential `json:"service_credential"`
}
