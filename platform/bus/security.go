package bus

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/nats-io/nats.go"
)

// Security has the settings with which a service and NATS authenticate each other. The files
// are read again for every connection, so a renewed file takes effect with the next
// connection. Only the public key of a bare NKey seed is read once.
type Security struct {
	CAFile          string `env:"NATS_CA_FILE" doc:"PEM file with the CA certificates of the NATS servers, instead of the system's; enables TLS"`
	CertFile        string `env:"NATS_CERT_FILE" doc:"PEM file with the client certificate for NATS; enables TLS"`
	KeyFile         string `env:"NATS_KEY_FILE" doc:"PEM file with the private key of NATS_CERT_FILE"`
	CredentialsFile string `env:"NATS_CREDENTIALS_FILE" doc:"file with the NATS credentials, instead of a user in NATS_URL: user:password, a .creds file or an NKey seed"`
}

// Validate reports every invalid setting and file. Its errors contain no secrets.
func (s Security) Validate() error {
	var faults []error
	if s.CAFile != "" {
		text, err := os.ReadFile(s.CAFile)
		if err == nil && !x509.NewCertPool().AppendCertsFromPEM(text) {
			err = fmt.Errorf("%s has no PEM certificate", s.CAFile)
		}
		faults = append(faults, withSetting("NATS_CA_FILE", err))
	}
	switch {
	case (s.CertFile == "") != (s.KeyFile == ""):
		faults = append(faults, errors.New("NATS_CERT_FILE and NATS_KEY_FILE must be set together; one of them is not set"))
	case s.CertFile != "":
		_, err := tls.LoadX509KeyPair(s.CertFile, s.KeyFile)
		faults = append(faults, withSetting("NATS_CERT_FILE, NATS_KEY_FILE", err))
	}
	if s.CredentialsFile != "" {
		_, err := s.credentials()
		faults = append(faults, withSetting("NATS_CREDENTIALS_FILE", err))
	}
	return errors.Join(faults...)
}

func withSetting(name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", name, err)
}

// checkURL reports invalid server addresses. Its errors do not quote an address, because
// it can contain a password.
func (c Config) checkURL() error {
	if c.URL == "" {
		return errors.New("NATS_URL is required")
	}
	for server := range strings.SplitSeq(c.URL, ",") {
		u, err := url.Parse(strings.TrimSpace(server))
		switch {
		case err != nil || strings.TrimSpace(server) == "", strings.Contains(server, "://") && !slices.Contains([]string{"nats", "tls", "ws", "wss"}, u.Scheme):
			return errors.New("NATS_URL contains an invalid address; use nats://host:port or tls://host:port, separated by commas")
		case u.User != nil && c.Security.CredentialsFile != "":
			return errors.New("NATS_URL contains a user and NATS_CREDENTIALS_FILE is set; use only one of them")
		}
	}
	return nil
}

// options returns the options of the connection.
func (s Security) options() ([]nats.Option, error) {
	var opts []nats.Option
	if s.CAFile != "" {
		opts = append(opts, nats.RootCAs(s.CAFile))
	}
	if s.CertFile != "" {
		opts = append(opts, nats.ClientCert(s.CertFile, s.KeyFile))
	}
	if s.CredentialsFile != "" {
		credentials, err := s.credentials()
		if err != nil {
			return nil, withSetting("NATS_CREDENTIALS_FILE", err)
		}
		opts = append(opts, credentials)
	}
	return opts, nil
}

// credentials returns the option for the kind of credentials that the file contains.
func (s Security) credentials() (nats.Option, error) {
	text, err := os.ReadFile(s.CredentialsFile)
	if err != nil {
		return nil, err
	}
	switch content := strings.TrimSpace(string(text)); {
	case strings.Contains(content, "BEGIN NATS USER JWT"):
		return nats.UserCredentials(s.CredentialsFile), nil
	case strings.Contains(content, "BEGIN USER NKEY SEED"), strings.HasPrefix(content, "SU") && !strings.Contains(content, ":"):
		return nats.NkeyOptionFromSeed(s.CredentialsFile)
	}
	if _, _, err := s.userPassword(); err != nil {
		return nil, err
	}
	return nats.UserInfoHandler(func() (string, string) {
		// If the file is missing, NATS refuses the connection and the library tries again.
		user, password, _ := s.userPassword()
		return user, password
	}), nil
}

func (s Security) userPassword() (user, password string, err error) {
	text, err := os.ReadFile(s.CredentialsFile)
	if err != nil {
		return "", "", err
	}
	user, password, found := strings.Cut(strings.TrimRight(string(text), "\r\n"), ":")
	if !found || user == "" || password == "" {
		return "", "", fmt.Errorf("%s has neither user:password nor the credentials of NATS", s.CredentialsFile)
	}
	return user, password, nil
}
