package docs

import (
	"go/ast"
	gotoken "go/token"
	"regexp"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"reservation.dev/platform/roles"
	"reservation.dev/platform/rpc"
	"reservation.dev/platform/scopes"
	"reservation.dev/platform/token"
	_ "reservation.dev/proto/gen/reservation/auth/v1"
	_ "reservation.dev/proto/gen/reservation/booking/v1"
	_ "reservation.dev/proto/gen/reservation/customer/v1"
	_ "reservation.dev/proto/gen/reservation/media/v1"
	_ "reservation.dev/proto/gen/reservation/pass/v1"
	_ "reservation.dev/proto/gen/reservation/privacy/v1"
	_ "reservation.dev/proto/gen/reservation/reports/v1"
	_ "reservation.dev/proto/gen/reservation/subscription/v1"
	_ "reservation.dev/proto/gen/reservation/webhook/v1"
)

// TestPolicies checks that the protos say who may call each method, and name only scopes that tokens
// can have. A misspelt scope would refuse every caller.
func TestPolicies(t *testing.T) {
	t.Parallel()
	known := slices.Concat([]string{token.Admin, rpc.Public, rpc.AnyToken, rpc.PlatformOnly}, roles.Owner.Scopes(), roles.Teacher.Scopes(), scopes.Service(), scopes.InterfaceA(), scopes.InterfaceB(), scopes.Publishable(), scopes.Platform())
	methods := 0
	protoregistry.GlobalFiles.RangeFiles(func(file protoreflect.FileDescriptor) bool {
		for i := range file.Services().Len() {
			service := file.Services().Get(i)
			if !strings.HasPrefix(string(service.FullName()), "reservation.") || strings.HasPrefix(string(service.FullName()), "reservation.edge.") {
				continue
			}
			policy := rpc.PolicyOf(&grpc.ServiceDesc{ServiceName: string(service.FullName())})
			for j := range service.Methods().Len() {
				methods++
				method := "/" + string(service.FullName()) + "/" + string(service.Methods().Get(j).Name())
				if policy[method] == "" {
					t.Errorf("the proto does not say who may call %s", method)
				}
				for scope := range strings.SplitSeq(policy[method], "|") {
					if !slices.Contains(known, scope) {
						t.Errorf("%s requires %q, which is not in platform/scopes", method, scope)
					}
				}
			}
		}
		return true
	})
	if methods < 100 {
		t.Errorf("found only %d methods", methods)
	}
}

// TestScopes checks that the services use the constants of platform/scopes.
func TestScopes(t *testing.T) {
	t.Parallel()
	scope := regexp.MustCompile(`\b[a-z-]+:(read|write|play|admin)\b`)
	for _, service := range []string{"auth", "booking", "customer", "media", "pass", "reports", "subscription", "webhook"} {
		for _, file := range walledFiles(t, service) {
			ast.Inspect(file.syntax, func(n ast.Node) bool {
				if text, ok := n.(*ast.BasicLit); ok && text.Kind == gotoken.STRING && scope.MatchString(text.Value) {
					t.Errorf("%s has the scope %s as text: use platform/scopes", file.path, text.Value)
				}
				return true
			})
		}
	}
}
