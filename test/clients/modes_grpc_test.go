package clients

import (
	"context"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/dynamicpb"

	"reservation.dev/platform/roles"
	"reservation.dev/platform/rpc"
	accessv1 "reservation.dev/proto/gen/reservation/access/v1"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	_ "reservation.dev/proto/gen/reservation/privacy/v1" // its RPCs are called too
	"reservation.dev/test/harness"
)

// modeWorld is a platform with a company in both modes.
type modeWorld struct {
	platform  *harness.Standalone
	databases []*pgx.Conn
	conns     map[string]*grpc.ClientConn // by the name of the service
}

func connect(t *testing.T, p *harness.Standalone) map[string]*grpc.ClientConn {
	t.Helper()
	conns := map[string]*grpc.ClientConn{}
	for name, addr := range map[string]string{"auth": p.Auth, "customer": p.Customer, "booking": p.Booking, "pass": p.Pass, "subscription": p.Subscription, "media": p.Media, "reports": p.Reports, "webhook": p.Webhook} {
		conn, err := rpc.Dial(addr, rpc.DialOptions{Timeout: 30 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		conns[name] = conn
	}
	return conns
}

// method is an RPC that needs a token.
type method struct {
	protoreflect.MethodDescriptor
	served []*grpc.ClientConn
}

func (m method) path() string { return "/" + string(m.Parent().FullName()) + "/" + string(m.Name()) }

// methods returns every RPC that needs a token, with the services that serve it. First come those that
// read, and last those that end something.
func (w *modeWorld) methods(t *testing.T) []method {
	t.Helper()
	var all []method
	protoregistry.GlobalFiles.RangeFiles(func(file protoreflect.FileDescriptor) bool {
		if pkg := string(file.Package()); !strings.HasPrefix(pkg, "reservation.") || strings.HasPrefix(pkg, "reservation.edge.") {
			return true
		}
		for i := range file.Services().Len() {
			methods := file.Services().Get(i).Methods()
			for j := range methods.Len() {
				access, _ := proto.GetExtension(methods.Get(j).Options(), accessv1.E_Access).(*accessv1.Access)
				if !access.GetPublic() {
					all = append(all, method{MethodDescriptor: methods.Get(j)})
				}
			}
		}
		return true
	})
	for i, m := range all {
		for _, name := range slices.Sorted(maps.Keys(w.conns)) {
			if _, err := m.call(t.Context(), w.conns[name], dynamicpb.NewMessage(m.Input())); status.Code(err) != codes.Unimplemented {
				all[i].served = append(all[i].served, w.conns[name])
			}
		}
		if len(all[i].served) == 0 {
			t.Errorf("no service serves %s", m.path())
		}
	}
	slices.SortStableFunc(all, func(a, b method) int { return a.rank() - b.rank() })
	return all
}

// rank orders methods: those that read, those that create or change, and those that end something.
func (m method) rank() int {
	for _, verb := range []string{"Get", "List", "Count", "Preview", "BatchGet", "Export", "Verify"} {
		if strings.HasPrefix(string(m.Name()), verb) {
			return 0
		}
	}
	for rank, verbs := range [][]string{
		{"Cancel", "Release", "Leave", "Return", "EndSession", "DeleteNote", "DeleteEntitlement"}, {"Archive", "Disable", "End", "Revoke", "Refund"}, {"Delete"}, {"Erase", "Confirm", "Reset"},
	} {
		if slices.ContainsFunc(verbs, func(verb string) bool { return strings.HasPrefix(string(m.Name()), verb) }) {
			return 2 + rank
		}
	}
	return 1
}

// call makes a call, unary or streaming, and returns the responses as a text.
func (m method) call(ctx context.Context, conn *grpc.ClientConn, request proto.Message) (string, error) {
	if !m.IsStreamingClient() && !m.IsStreamingServer() {
		answer := dynamicpb.NewMessage(m.Output())
		err := conn.Invoke(ctx, m.path(), request, answer)
		return prototext.Format(answer), err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, m.path())
	if err != nil {
		return "", err
	}
	if err := errors.Join(stream.SendMsg(request), stream.CloseSend()); err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	var text strings.Builder
	for {
		answer := dynamicpb.NewMessage(m.Output())
		if err := stream.RecvMsg(answer); errors.Is(err, io.EOF) {
			return text.String(), nil
		} else if err != nil {
			return text.String(), err
		}
		text.WriteString(prototext.Format(answer))
	}
}

// collect adds the identifiers that the RPCs show of a side, and chooses one of each kind.
func (w *modeWorld) collect(t *testing.T, s *side) {
	t.Helper()
	for _, m := range w.methods(t) {
		if m.rank() > 0 {
			continue
		}
		for _, conn := range m.served {
			for _, credential := range []string{"of a service credential", "of an owner"} {
				text, _ := m.call(harness.WithToken(t.Context(), s.tokens[credential]), conn, dynamicpb.NewMessage(m.Input())) // many need an identifier
				for _, found := range identifier.FindAllString(text, -1) {
					s.seen[found] = true
				}
			}
		}
	}
	kinds := map[string]string{}
	for _, found := range slices.Sorted(maps.Keys(s.seen)) {
		kinds[identifier.FindStringSubmatch(found)[1]] = found
	}
	s.rpcs = slices.Sorted(maps.Values(kinds))
}

// testRPCs calls every RPC with the identifiers of an owner and the credentials of an intruder.
func (w *modeWorld) testRPCs(t *testing.T, intruder, owner *side) {
	methods := w.methods(t)
	if len(methods) < 100 || len(owner.rpcs) < 20 {
		t.Fatalf("only %d methods, and identifiers of %d kinds: %q", len(methods), len(owner.rpcs), owner.rpcs)
	}
	for _, m := range methods {
		for name, token := range intruder.tokens {
			w.intrudeRPC(t, m, name, token, owner)
		}
	}
}

// intrudeRPC calls an RPC with every identifier of an owner, unless the credential lacks the scope.
func (w *modeWorld) intrudeRPC(t *testing.T, m method, name, token string, owner *side) {
	t.Helper()
	for _, request := range m.requests(owner.rpcs) {
		for _, conn := range m.served {
			text, err := m.call(harness.WithToken(t.Context(), token), conn, request)
			switch code := status.Code(err); code {
			case codes.PermissionDenied, codes.Unauthenticated:
				return
			case codes.Internal, codes.Unknown, codes.Unavailable, codes.DeadlineExceeded:
				t.Errorf("%s with a token %s: %v", m.path(), name, err)
			}
			if leak := owner.leak(text+status.Convert(err).Message(), prototext.Format(request)); leak != "" {
				t.Errorf("%s with a token %s shows %s:\n%s\n%v\nto\n%s", m.path(), name, leak, text, err, prototext.Format(request))
			}
		}
	}
}

// testControl calls every RPC with the identifiers of one side on behalf of its company. The tests above
// would prove nothing about an RPC whose requests are always invalid, or never name what exists.
func (w *modeWorld) testControl(t *testing.T, operator *harness.Operator, s *side) {
	unreached := []protoreflect.Name{
		"GetErasure", "SwapBookings", // nobody was erased; a swap needs a second booking
		"ListOwnDates", "GetOwnDate", "ListOwnBookings", "RecordOwnAttendance", // only for the token of a teacher
	}
	for _, m := range w.methods(t) {
		access, _ := proto.GetExtension(m.Options(), accessv1.E_Access).(*accessv1.Access)
		if access.GetPlatformOnly() || slices.Equal(access.GetScopes(), []string{"platform:admin"}) || slices.Contains(unreached, m.Name()) {
			continue
		}
		failures := m.refusals(s.company.Ctx(t.Context()), s.rpcs)
		if slices.ContainsFunc(failures, func(failure string) bool { return strings.Contains(failure, "PermissionDenied") }) {
			signed, err := operator.Administrators.Authenticate(t.Context(), &authv1.AuthenticateRequest{SessionToken: signIn(t, operator, s.company, roles.Owner)})
			if err != nil {
				t.Fatal(err)
			}
			failures = m.refusals(harness.WithToken(t.Context(), signed.GetIdentity().GetAccessToken()), s.rpcs)
		}
		if len(failures) > 0 {
			t.Errorf("no request of %s reaches what it names: %q", m.path(), slices.Compact(failures))
		}
	}
}

// refusals makes the requests of an RPC, and returns why they were refused, or nothing if one of them
// reached what it names.
func (m method) refusals(ctx context.Context, identifiers []string) (failures []string) {
	for _, request := range m.requests(identifiers) {
		for _, conn := range m.served {
			_, err := m.call(ctx, conn, request)
			switch status.Code(err) {
			case codes.InvalidArgument, codes.NotFound, codes.PermissionDenied, codes.Unauthenticated:
				failures = append(failures, err.Error())
			default:
				return nil
			}
		}
	}
	return failures
}
