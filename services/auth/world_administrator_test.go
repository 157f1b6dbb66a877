package auth

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/rpc"
	"reservation.dev/platform/token"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

const goodPassword = "correct horse battery"

const owner, manager = authv1.AdministratorRole_ADMINISTRATOR_ROLE_OWNER, authv1.AdministratorRole_ADMINISTRATOR_ROLE_MANAGER

// person is an administrator with a browser.
type person struct {
	*replica
	id, email, session string
}

// email returns a new e-mail address.
func email() string { return id.NewUUID().String() + "@example.com" }

// administrator creates an administrator of a company and signs them in.
func (r *replica) administrator(company string, role authv1.AdministratorRole) *person {
	r.t.Helper()
	made, err := r.admins.CreateAdministrator(r.as(company), &authv1.CreateAdministratorRequest{Email: email(), Name: "Ada", Password: goodPassword, Role: role})
	if err != nil {
		r.t.Fatal(err)
	}
	return r.signedIn(made.GetAdministrator().GetEmail(), "")
}

// signedIn signs in with another browser.
func (r *replica) signedIn(email, code string) *person {
	r.t.Helper()
	res, err := r.signIn(email, goodPassword, code, "192.0.2.1")
	if err != nil || res.GetTotpRequired() {
		r.t.Fatal(res, err)
	}
	return &person{replica: r, id: res.GetIdentity().GetAdministrator().GetId(), email: email, session: res.GetSessionToken()}
}

func (r *replica) signIn(email, password, code, address string) (*authv1.SignInResponse, error) {
	return r.admins.SignIn(r.t.Context(), &authv1.SignInRequest{Email: email, Password: password, TotpCode: code, Address: address, UserAgent: "Firefox"})
}

// access returns a new access token.
func (p *person) access() string {
	p.t.Helper()
	res, err := p.admins.Authenticate(p.t.Context(), &authv1.AuthenticateRequest{SessionToken: p.session})
	if err != nil {
		p.t.Fatal(err)
	}
	return res.GetIdentity().GetAccessToken()
}

// ctx returns a context for the person's calls.
func (p *person) ctx() context.Context { return with(p.t.Context(), p.access()) }

// with returns a context for calls with an access token.
func with(ctx context.Context, raw string) context.Context {
	return rpc.As(ctx, token.NewSource(func(context.Context) (string, time.Time, error) {
		return raw, time.Now().Add(time.Hour), nil
	}), id.Company{})
}

// isOut reports whether the session has ended.
func (p *person) isOut() bool {
	p.t.Helper()
	_, err := p.admins.Authenticate(p.t.Context(), &authv1.AuthenticateRequest{SessionToken: p.session})
	if err != nil && fault.From(err).Reason != ReasonSessionEnded {
		p.t.Fatal(err)
	}
	return err != nil
}

// withTotp sets up TOTP at an instant of the server's clock and returns its secret and the recovery
// codes.
func (p *person) withTotp(at time.Time) (secret string, recovery []string) {
	p.t.Helper()
	made, err := p.admins.SetupTotp(p.ctx(), &authv1.SetupTotpRequest{Password: goodPassword})
	if err != nil {
		p.t.Fatal(err)
	}
	confirmed, err := p.admins.ConfirmTotp(p.ctx(), &authv1.ConfirmTotpRequest{Code: codeAt(p.t, made.GetSecret(), at)})
	if err != nil {
		p.t.Fatal(err)
	}
	return made.GetSecret(), confirmed.GetRecoveryCodes()
}

func codeAt(t *testing.T, secret string, at time.Time) string {
	t.Helper()
	code, err := totp.GenerateCode(secret, at)
	if err != nil {
		t.Fatal(err)
	}
	return code
}

// refusedCode returns a code that is not accepted at an instant.
func refusedCode(t *testing.T, secret string, at time.Time) string {
	t.Helper()
	right := []string{codeAt(t, secret, at.Add(-totpPeriod)), codeAt(t, secret, at), codeAt(t, secret, at.Add(totpPeriod))}
	for _, code := range []string{"000000", "111111", "222222"} {
		if !slices.Contains(right, code) {
			return code
		}
	}
	return "333333"
}

// entries returns the audit entries of a company, newest first.
func (r *replica) entries(company string, req *authv1.ListAuditEntriesRequest) []*authv1.AuditEntry {
	r.t.Helper()
	res, err := r.audit.ListAuditEntries(r.as(company), req)
	if err != nil {
		r.t.Fatal(err)
	}
	return res.GetEntries()
}

// spelled returns entries as "action field: before → after, …".
func spelled(entries []*authv1.AuditEntry) []string {
	var out []string
	for _, e := range entries {
		var details []string
		for _, d := range e.GetDetails() {
			text := d.GetField() + ": " + d.GetAfter()
			if d.GetBefore() != "" {
				text = d.GetField() + ": " + d.GetBefore() + " → " + d.GetAfter()
			}
			details = append(details, text)
		}
		out = append(out, strings.TrimSpace(e.GetAction()+" "+strings.Join(details, ", ")))
	}
	return out
}

func reason(err error) string {
	if err == nil {
		return ""
	}
	return fault.From(err).Reason
}
