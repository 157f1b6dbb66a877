// Package credentials has the credentials.json: what a stranger needs to use a running
// platform. standalone and reservectl demonstration write it.
package credentials

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
)

// File is the content of a credentials.json.
type File struct {
	InterfaceA InterfaceA `json:"interface_a"`
	InterfaceB InterfaceB `json:"interface_b"`
	Admin      Admin      `json:"admin"`
	GRPC       GRPC       `json:"grpc"`
	Webhooks   Webhooks   `json:"webhooks"`
	CompanyID  string     `json:"company_id,omitempty"`
	// AdminPort is where /readyz and /metrics are; empty: one for each part.
	AdminPort string `json:"admin_port,omitempty"`
}

// InterfaceA is Interface A, and a client of the demonstration company.
type InterfaceA struct {
	BaseURL      string `json:"base_url"`
	ClientID     string `json:"client_id,omitempty"`
	ClientSecret string `json:"client_secret,omitempty"`
}

// InterfaceB is Interface B, and a key of the demonstration company.
type InterfaceB struct {
	APIBaseURL string `json:"api_base_url"`
	APIKey     string `json:"api_key,omitempty"`
	APISecret  string `json:"api_secret,omitempty"`
}

// Admin is the dashboard, and the owner of the demonstration company.
type Admin struct {
	URL      string `json:"url"`
	Email    string `json:"email,omitempty"`
	Password string `json:"password,omitempty"`
}

// Webhooks has the file of the authority (see localca) by which receivers on this
// machine are trusted; empty where WEBHOOK_CA_FILE names others.
type Webhooks struct {
	CAFile string `json:"ca_file,omitempty"`
}

// GRPC has the services' addresses, the operator's credential and a token of it.
// standalone binds the token to the demonstration company: it calls for no other
// company. The token is renewed in the file before it expires. The credential gets
// others, which name any company or none.
type GRPC struct {
	Auth              string     `json:"auth"`
	Customer          string     `json:"customer"`
	Booking           string     `json:"booking"`
	Pass              string     `json:"pass"`
	Webhook           string     `json:"webhook"`
	ServiceToken      string     `json:"service_token"`
	ServiceCredential Credential `json:"service_credential"`
}

// Credential is a platform credential (svc_…) and its secret.
type Credential struct {
	ID     string `json:"id"`
	Secret string `json:"secret"`
}

// Write replaces a file by v as JSON, as a whole and for its owner only.
func Write(path string, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	next := path + ".next"
	// One that is left of an interrupted run may have wider rights.
	if err := os.Remove(next); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.WriteFile(next, append(text, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(next, path)
}
