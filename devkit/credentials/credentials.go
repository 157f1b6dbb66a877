// Package credentials defines credentials.json: the addresses and credentials that a new user of a
// running platform needs. standalone and reservectl demonstration write it.
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
	Media      Media      `json:"media"`
	Webhooks   Webhooks   `json:"webhooks"`
	CompanyID  string     `json:"company_id,omitempty"`
	// AdminPort is the address of /readyz and /metrics; empty: each service has its own.
	AdminPort string `json:"admin_port,omitempty"`
}

// InterfaceA has the address of Interface A and an API client of the demonstration company.
type InterfaceA struct {
	BaseURL      string `json:"base_url"`
	ClientID     string `json:"client_id,omitempty"`
	ClientSecret string `json:"client_secret,omitempty"`
}

// InterfaceB has the address of Interface B and an API key of the demonstration company.
type InterfaceB struct {
	APIBaseURL string `json:"api_base_url"`
	APIKey     string `json:"api_key,omitempty"`
	APISecret  string `json:"api_secret,omitempty"`
}

// Admin has the address of the dashboard and the owner of the demonstration company.
type Admin struct {
	URL      string `json:"url"`
	Email    string `json:"email,omitempty"`
	Password string `json:"password,omitempty"`
}

// Media has the address at which the media service serves uploads and playback.
type Media struct {
	BaseURL string `json:"base_url"`
}

// Webhooks has the file of the authority (see localca) that issues certificates to receivers on
// this machine. It is empty if WEBHOOK_CA_FILE names other authorities.
type Webhooks struct {
	CAFile string `json:"ca_file,omitempty"`
}

// GRPC has the services' addresses, the operator's credential and a token. standalone binds the
// token to the demonstration company, so it works for no other company, and renews it in the file
// before it expires. With the credential, a program can request tokens for any company or for none.
type GRPC struct {
	Auth              string     `json:"auth"`
	Customer          string     `json:"customer"`
	Booking           string     `json:"booking"`
	Pass              string     `json:"pass"`
	Subscription      string     `json:"subscription"`
	Media             string     `json:"media"`
	Reports           string     `json:"reports"`
	Webhook           string     `json:"webhook"`
	ServiceToken      string     `json:"service_token"`
	ServiceCredential Credential `json:"service_credential"`
}

// Credential is a platform credential (svc_…) and its secret.
type Credential struct {
	ID     string `json:"id"`
	Secret string `json:"secret"`
}

// Write replaces a file with v as JSON. The file is never partly written, and only its owner can
// read it.
func Write(path string, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	next := path + ".next"
	// A file of an interrupted run may have wider permissions.
	if err := os.Remove(next); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.WriteFile(next, append(text, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(next, path)
}
