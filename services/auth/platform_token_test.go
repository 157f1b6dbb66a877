package auth

import (
	"context"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/emptypb"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/rpc"
	"reservation.dev/platform/token"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	privacyv1 "reservation.dev/proto/gen/reservation/privacy/v1"
)

// bound returns a platform token that names a company.
func (r *replica) bound(company string) string {
	r.t.Helper()
	res, err := r.tokens.IssueToken(r.t.Context(), &authv1.IssueTokenRequest{ClientId: r.admin.ID, ClientSecret: r.admin.Secret.Reveal(), CompanyId: company})
	if err != nil {
		r.t.Fatal(err)
	}
	return res.GetAccessToken()
}

// Invariant 18.
func TestPlatformTokensThatNameACompany(t *testing.T) {
	t.Parallel()
	r := newWorld(t).start()
	mine, theirs := r.company(), r.company()
	raw := r.bound(mine)
	ctx := with(t.Context(), raw)
	other, err := id.Parse[id.Company](theirs)
	if err != nil {
		t.Fatal(err)
	}
	naming := rpc.As(t.Context(), token.NewSource(func(context.Context) (string, time.Time, error) {
		return raw, time.Now().Add(time.Hour), nil
	}), other)
	for method, scope := range Policy() {
		if scope == rpc.Public || method == privacyv1.PersonalDataService_ExportPersonalData_FullMethodName { // this server does not serve ExportPersonalData
			continue
		}
		t.Run("cannot call "+method+" for another company", func(t *testing.T) {
			err := r.conn.Invoke(naming, method, &emptypb.Empty{}, &emptypb.Empty{})
			if !fault.Is(err, fault.Forbidden) {
				t.Errorf("got %v", err)
			}
			if !strings.HasPrefix(scope, rpc.PlatformOnly) {
				return
			}
			for name, ctx := range map[string]context.Context{"such a token": ctx, "metadata that name a company": r.as(mine)} {
				if err := r.conn.Invoke(ctx, method, &emptypb.Empty{}, &emptypb.Empty{}); !fault.Is(err, fault.Forbidden) {
					t.Errorf("a request about the platform, with %s: got %v", name, err)
				}
			}
		})
	}
	for name, ctx := range map[string]context.Context{"the token": ctx, "the metadata": r.as(mine)} {
		t.Run("read and change only their own company, if it is named in "+name, func(t *testing.T) {
			_, err := r.companies.GetCompany(ctx, &authv1.GetCompanyRequest{Id: theirs})
			wantMissing(t, "GetCompany", err)
			_, err = r.companies.UpdateCompany(ctx, &authv1.UpdateCompanyRequest{Id: theirs, Name: ptr("x")})
			wantMissing(t, "UpdateCompany", err)
			got, err := r.companies.GetCompany(ctx, &authv1.GetCompanyRequest{})
			if err != nil || got.GetCompany().GetId() != mine {
				t.Errorf("GetCompany: %v, %v", got, err)
			}
			_, err = r.services.CreateServiceCredential(ctx, &authv1.CreateServiceCredentialRequest{Name: "n", Scopes: []string{token.Admin}, Platform: true})
			if !fault.Is(err, fault.Forbidden) {
				t.Errorf("a credential of the platform: %v", err)
			}
			_, err = r.services.RotateServiceCredential(ctx, &authv1.RotateServiceCredentialRequest{Id: r.admin.ID})
			wantMissing(t, "RotateServiceCredential of the platform's", err)
			list, err := r.services.ListServiceCredentials(ctx, &authv1.ListServiceCredentialsRequest{})
			if err != nil || len(list.GetServiceCredentials()) != 0 {
				t.Errorf("service credentials: %v, %v", list, err)
			}
			entries, err := r.audit.ListAuditEntries(ctx, &authv1.ListAuditEntriesRequest{Target: theirs})
			if err != nil || len(entries.GetEntries()) != 0 {
				t.Errorf("audit entries: %v, %v", entries, err)
			}
		})
	}
}

// Invariant 18.
func TestTokensOfACompanysCredential(t *testing.T) {
	t.Parallel()
	r := newWorld(t).start()
	mine, theirs := r.company(), r.company()
	made, err := r.services.CreateServiceCredential(r.as(mine), &authv1.CreateServiceCredentialRequest{Name: "n", Scopes: []string{"customers:read"}})
	if err != nil {
		t.Fatal(err)
	}
	issue := func(credential, secret, company string) error {
		_, err := r.tokens.IssueToken(t.Context(), &authv1.IssueTokenRequest{ClientId: credential, ClientSecret: secret, CompanyId: company})
		return err
	}
	credential, secret := made.GetServiceCredential().GetId(), made.GetSecret()
	const zero = "comp_00000000000000000000000000"
	for _, named := range []string{theirs, zero, "x"} {
		wantMissing(t, "a token for "+named, issue(credential, secret, named))
	}
	if err := issue(credential, secret, mine); err != nil {
		t.Errorf("a token for its own company: %v", err)
	}
	wantMissing(t, "a platform token for the zero company", issue(r.admin.ID, r.admin.Secret.Reveal(), zero))
}

func wantMissing(t *testing.T, what string, err error) {
	t.Helper()
	if !fault.Is(err, fault.NotFound) {
		t.Errorf("%s: got %v, want NOT_FOUND", what, err)
	}
}
