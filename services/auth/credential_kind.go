package auth

import (
	"reservation.dev/platform/id"
	"reservation.dev/platform/scopes"
	"reservation.dev/platform/token"
)

// The kinds of credentials, as stored in tokens and rows.
const (
	kindClient  = token.KindClient
	kindKey     = token.KindKey
	kindService = token.KindService
)

// credentialKind has what differs between the kinds of credentials.
type credentialKind struct {
	name        string // in tokens and rows
	thing       string // begins the actions in the audit log
	scopesField string // in requests and in the audit log
	scopes      func() []string
	usual       func() []string // the default scopes of a new one; nil: the request must give some
	subject     func(credential id.UUID) string
	parse       func(subject string) (id.UUID, error)
}

// apiClients are for Interface A.
func apiClients() credentialKind {
	return credentialKind{
		name: kindClient, thing: "api_client", scopesField: "scopes", scopes: scopes.InterfaceA,
		subject: func(credential id.UUID) string { return id.APIClient(credential).String() },
		parse: func(subject string) (id.UUID, error) {
			client, err := id.Parse[id.APIClient](subject)
			return client.UUID(), err
		},
	}
}

// apiKeys returns the kind of credentials for Interface B. Their scopes are permissions; the
// permission "*" includes all others.
func apiKeys() credentialKind {
	return credentialKind{
		name: kindKey, thing: "api_key", scopesField: "permissions",
		scopes:  func() []string { return append(scopes.InterfaceB(), scopes.Everything) },
		usual:   func() []string { return []string{scopes.Everything} },
		subject: func(credential id.UUID) string { return id.APIKey(credential).String() },
		parse: func(subject string) (id.UUID, error) {
			key, err := id.Parse[id.APIKey](subject)
			return key.UUID(), err
		},
	}
}

// serviceCredentials are for gRPC.
func serviceCredentials() credentialKind {
	return credentialKind{
		name: kindService, thing: "service_credential", scopesField: "scopes", scopes: scopes.Service,
		subject: func(credential id.UUID) string { return id.ServiceCredential(credential).String() },
		parse: func(subject string) (id.UUID, error) {
			credential, err := id.Parse[id.ServiceCredential](subject)
			return credential.UUID(), err
		},
	}
}

// platformCredentials are the service credentials of the platform, which can have the scope
// platform:admin and those of scopes.Platform.
func platformCredentials() credentialKind {
	k := serviceCredentials()
	k.scopes = func() []string { return append(append(scopes.Service(), token.Admin), scopes.Platform()...) }
	return k
}

// kindOf returns the kind with a name.
func kindOf(name string) credentialKind {
	switch name {
	case kindClient:
		return apiClients()
	case kindKey:
		return apiKeys()
	}
	return serviceCredentials()
}

// parseSubject returns the identifier of a credential and the name of its kind.
func parseSubject(subject string) (credential id.UUID, kind string, ok bool) {
	for _, k := range []credentialKind{apiClients(), apiKeys(), serviceCredentials()} {
		if credential, err := k.parse(subject); err == nil {
			return credential, k.name, true
		}
	}
	return id.UUID{}, "", false
}

// subjectUUID returns the identifier of a credential, a publishable key or an administrator.
func subjectUUID(subject string) (u id.UUID, ok bool) {
	if administrator, err := id.Parse[id.Administrator](subject); err == nil {
		return administrator.UUID(), true
	}
	if key, err := id.Parse[id.PublishableKey](subject); err == nil {
		return key.UUID(), true
	}
	u, _, ok = parseSubject(subject)
	return u, ok
}
