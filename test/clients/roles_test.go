package clients

import (
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/dynamicpb"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/roles"
	accessv1 "reservation.dev/proto/gen/reservation/access/v1"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	"reservation.dev/test/harness"
)

// testRoles calls every RPC that needs a scope with the token of each role. A service accepts exactly the roles that
// have one of the scopes in the table of roles.
func (w *modeWorld) testRoles(t *testing.T, operator *harness.Operator, company *harness.Company) {
	methods := w.methods(t)
	for _, role := range roles.All() {
		signed, err := operator.Administrators.Authenticate(t.Context(), &authv1.AuthenticateRequest{SessionToken: signIn(t, operator, company, role)})
		if err != nil {
			t.Fatal(err)
		}
		ctx := harness.WithToken(t.Context(), signed.GetIdentity().GetAccessToken())
		accepted := 0
		for _, m := range methods {
			access, _ := proto.GetExtension(m.Options(), accessv1.E_Access).(*accessv1.Access)
			if len(access.GetScopes()) == 0 {
				continue
			}
			may := slices.ContainsFunc(access.GetScopes(), func(scope string) bool { return slices.Contains(role.Scopes(), scope) })
			if m.Name() == "ExportCustomers" { // its scope is that of lists
				may = role.May(roles.ExportAndImport)
			}
			for _, conn := range m.served {
				_, err := m.call(ctx, conn, dynamicpb.NewMessage(m.Input()))
				if refused := err != nil && fault.From(err).Reason == fault.ReasonInsufficientScope; refused == may {
					t.Errorf("%s calls %s: %v", role, m.path(), err)
				}
			}
			if may {
				accepted++
			}
			if own := strings.Contains(m.path(), ".OwnClassService/") || strings.Contains(m.path(), ".AuditService/"); role == roles.Teacher && may && !own {
				t.Errorf("a teacher may call %s", m.path())
			}
		}
		if accepted == 0 {
			t.Errorf("%s may call nothing", role)
		}
	}
}
