package roles

import (
	"testing"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/scopes"
	"reservation.dev/platform/token"
)

func TestCheckExport(t *testing.T) { // invariant 1
	t.Parallel()
	for _, role := range All() {
		err := CheckExport(&token.Claims{Kind: token.KindAdministrator, Scopes: role.Scopes()})
		if role.May(ExportAndImport) != (err == nil) || err != nil && fault.From(err).Reason != fault.ReasonInsufficientScope {
			t.Errorf("%s: got %v", role, err)
		}
	}
	for _, kind := range []string{token.KindClient, token.KindKey, token.KindService} {
		if err := CheckExport(&token.Claims{Kind: kind, Scopes: []string{scopes.CustomersRead}}); err != nil {
			t.Errorf("%s: got %v", kind, err)
		}
	}
	if err := CheckExport(&token.Claims{Kind: token.KindAdministrator, Scopes: []string{token.Admin}}); err != nil {
		t.Errorf("the platform: got %v", err)
	}
	if got := Capability("fly").Scopes(); got != nil {
		t.Errorf("got %v", got)
	}
}
