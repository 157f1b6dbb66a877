package rpc_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/reflection/grpc_reflection_v1"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/rpc"
	"reservation.dev/platform/scopes"
	"reservation.dev/platform/token"
)

func insecureCreds() grpc.DialOption {
	return grpc.WithTransportCredentials(insecure.NewCredentials())
}

// is fails the test unless err is a fault with the given kind and reason.
func is(t *testing.T, err error, kind fault.Kind, reason string) *fault.Error {
	t.Helper()
	f := fault.From(err)
	if f == nil || f.Kind != kind || f.Reason != reason {
		t.Fatalf("got %v, want %s", err, reason)
	}
	return f
}

func TestPermissions(t *testing.T) {
	p := newPart(t, nil)
	sign := func(scopes ...string) string { return "Bearer " + p.issuer.Client(p.company, scopes...) }
	expired := "Bearer " + p.issuer.Sign(token.Claims{Company: p.company, IssuedAt: time.Now().Add(-2 * time.Hour)})
	admin := "Bearer " + p.issuer.Admin()

	for name, tt := range map[string]struct{ method, authorization string }{
		"a public method without a token":           {empty, ""},
		"a public method with an invalid token":     {empty, "Bearer x"},
		"the first of the alternatives":             {unary, sign("customers:read")},
		"the second of the alternatives":            {unary, sign("profile:read")},
		"a scope among others":                      {unary, sign("bookings:read", "customers:write", "profile:read")},
		"the platform's scope instead of any other": {unary, admin},
		"the scheme in another case":                {unary, strings.Replace(admin, "Bearer", "bearer", 1)},
	} {
		t.Run("accepts "+name, func(t *testing.T) {
			if err := p.raw(tt.method, pairs(tt.authorization)...); err != nil {
				t.Fatal(err)
			}
		})
	}
	for name, tt := range map[string]struct {
		method, authorization string
		kind                  fault.Kind
		reason                string
	}{
		"no token":                          {unary, "", fault.Unauthenticated, fault.ReasonUnauthorized},
		"an invalid token":                  {unary, "Bearer x", fault.Unauthenticated, fault.ReasonUnauthorized},
		"a token without its scheme":        {unary, strings.TrimPrefix(admin, "Bearer "), fault.Unauthenticated, fault.ReasonUnauthorized},
		"another scheme":                    {unary, strings.Replace(admin, "Bearer", "Basic", 1), fault.Unauthenticated, fault.ReasonUnauthorized},
		"a scheme without a token":          {unary, "Bearer ", fault.Unauthenticated, fault.ReasonUnauthorized},
		"a huge token":                      {unary, admin + strings.Repeat("x", 4000), fault.Unauthenticated, fault.ReasonUnauthorized},
		"an expired token":                  {unary, expired, fault.Unauthenticated, fault.ReasonTokenExpired},
		"a token without a scope":           {unary, sign(), fault.Forbidden, fault.ReasonInsufficientScope},
		"a token with another scope":        {unary, sign("customers:write", "bookings:read"), fault.Forbidden, fault.ReasonInsufficientScope},
		"a part of a scope":                 {unary, sign("customers", "customers:", "read"), fault.Forbidden, fault.ReasonInsufficientScope},
		"the alternatives as one scope":     {unary, sign("customers:read|profile:read"), fault.Forbidden, fault.ReasonInsufficientScope},
		"the name of the policy as a scope": {unary, sign(rpc.Public, rpc.AnyToken), fault.Forbidden, fault.ReasonInsufficientScope},
		// Invariant 1.
		"a method without a policy":                    {unnamed, sign("customers:read"), fault.Forbidden, fault.ReasonForbidden},
		"a method without a policy, from the platform": {unnamed, admin, fault.Forbidden, fault.ReasonForbidden},
		"a method without a policy and no token":       {unnamed, "", fault.Forbidden, fault.ReasonForbidden},
	} {
		t.Run("refuses "+name, func(t *testing.T) {
			p.does(func(context.Context) error { t.Error("the method was called"); return nil })
			defer p.does(nil)
			is(t, p.raw(tt.method, pairs(tt.authorization)...), tt.kind, tt.reason)
		})
	}
	t.Run("refuses two tokens", func(t *testing.T) {
		is(t, p.raw(unary, "authorization", admin, "authorization", admin), fault.Unauthenticated, fault.ReasonUnauthorized)
	})
	t.Run("a missing scope is named by its first alternative", func(t *testing.T) {
		f := is(t, p.raw(unary, pairs(sign())...), fault.Forbidden, fault.ReasonInsufficientScope)
		if f.Meta["scope"] != "customers:read" || !strings.Contains(f.Message, "customers:read") || strings.Contains(f.Message, "|") {
			t.Errorf("got %q, %v", f.Message, f.Meta)
		}
	})
	t.Run("a revoked token is refused by the next call", func(t *testing.T) {
		raw := p.issuer.Sign(token.Claims{Subject: "m2m_1", Company: p.company, Scopes: []string{"profile:read"}, Generation: 1})
		if err := p.raw(unary, pairs("Bearer "+raw)...); err != nil {
			t.Fatal(err)
		}
		p.issuer.Verifier.Revoke("m2m_1", 2)
		is(t, p.raw(unary, pairs("Bearer "+raw)...), fault.Unauthenticated, fault.ReasonUnauthorized)
	})
	t.Run("streams have the same checks", func(t *testing.T) {
		if err := p.output(p.as(p.issuer.Client(p.company, "bookings:read"))); !errors.Is(err, io.EOF) {
			t.Errorf("with the scope: %v", err)
		}
		is(t, p.output(t.Context()), fault.Unauthenticated, fault.ReasonUnauthorized)
		f := is(t, p.output(p.as(p.issuer.Client(p.company, "customers:read"))), fault.Forbidden, fault.ReasonInsufficientScope)
		if f.Meta["scope"] != "bookings:read" {
			t.Errorf("got %v", f.Meta)
		}
	})
	t.Run("AnyToken accepts a token without scopes", func(t *testing.T) {
		call := func(ctx context.Context) error {
			s, err := p.client.FullDuplexCall(ctx)
			if err == nil {
				_, err = s.Recv()
			}
			return err
		}
		is(t, call(t.Context()), fault.Unauthenticated, fault.ReasonUnauthorized)
		if err := call(p.as(p.issuer.Client(p.company))); fault.Is(err, fault.Forbidden) || fault.Is(err, fault.Unauthenticated) {
			t.Errorf("got %v", err)
		}
	})
}

func pairs(authorization string) []string {
	if authorization == "" {
		return nil
	}
	return []string{"authorization", authorization}
}

func TestHealthAndReflection(t *testing.T) {
	p := newPart(t, nil)
	t.Run("health needs no token", func(t *testing.T) {
		got, err := grpc_health_v1.NewHealthClient(p.conn).Check(t.Context(), &grpc_health_v1.HealthCheckRequest{})
		if err != nil || got.GetStatus() != grpc_health_v1.HealthCheckResponse_SERVING {
			t.Fatalf("got %v, %v", got, err)
		}
	})
	list := func(ctx context.Context) (string, error) {
		s, err := grpc_reflection_v1.NewServerReflectionClient(p.conn).ServerReflectionInfo(ctx)
		if err != nil {
			return "", err
		}
		_ = s.Send(&grpc_reflection_v1.ServerReflectionRequest{MessageRequest: &grpc_reflection_v1.ServerReflectionRequest_ListServices{}})
		_ = s.CloseSend()
		res, err := s.Recv()
		return res.String(), err
	}
	t.Run("reflection needs a token", func(t *testing.T) {
		_, err := list(t.Context())
		is(t, err, fault.Unauthenticated, fault.ReasonUnauthorized)
		got, err := list(p.as(p.issuer.Client(p.company)))
		if err != nil || !strings.Contains(got, "grpc.testing.TestService") {
			t.Fatalf("got %q, %v", got, err)
		}
	})
}

func TestPolicyCheck(t *testing.T) {
	desc := &grpc_testing.TestService_ServiceDesc
	whole := rpc.Policy{}
	for _, m := range desc.Methods {
		whole["/"+desc.ServiceName+"/"+m.MethodName] = rpc.Public
	}
	for _, s := range desc.Streams {
		whole["/"+desc.ServiceName+"/"+s.StreamName] = "bookings:read"
	}
	server := func(p rpc.Policy) error {
		srv := rpc.NewServer(rpc.ServerOptions{Policy: p})
		grpc_testing.RegisterTestServiceServer(srv, &part{})
		return p.CheckServer(srv)
	}
	if err := whole.Check(desc); err != nil {
		t.Error(err)
	}
	if err := server(whole); err != nil {
		t.Error(err)
	}
	t.Run("names missing methods and entries that are not methods", func(t *testing.T) {
		delete(whole, unary)
		whole[output] = ""
		whole["/grpc.testing.TestService/Gone"] = rpc.Public
		err := whole.Check(desc)
		for _, want := range []string{unary + " has no policy", output + " has no policy", "Gone has a policy but is not a method"} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want %s", err, want)
			}
		}
		if err := server(whole); err == nil || !strings.Contains(err.Error(), output+", "+unary) {
			t.Errorf("a server with it: %v", err)
		}
	})
}

func TestCompanyOfACall(t *testing.T) { // invariant 2
	p := newPart(t, nil)
	other := id.New[id.Company]()
	call := func(raw string, companies ...string) (context.Context, error) {
		md := []string{"authorization", "Bearer " + raw}
		for _, c := range companies {
			md = append(md, "reservation-company", c)
		}
		ctx, _, err := p.received(func() error { return p.raw(unary, md...) })
		return ctx, err
	}
	client, admin := p.issuer.Client(p.company, "customers:read"), p.issuer.Admin()
	bound := p.issuer.Sign(token.Claims{Subject: "svc_1", Kind: token.KindService, Company: p.company, Scopes: []string{token.Admin}})
	for name, raw := range map[string]string{"a client's": client, "one of the platform that names a company": bound} {
		t.Run("is the company of the token of "+name, func(t *testing.T) {
			for _, named := range [][]string{nil, {p.company.String()}} {
				ctx, err := call(raw, named...)
				if err != nil || rpc.Company(ctx) != p.company || rpc.ClaimsFrom(ctx).Company != p.company {
					t.Fatalf("with %v: %v, %v", named, rpc.Company(ctx), err)
				}
			}
			_, err := call(raw, other.String())
			is(t, err, fault.Forbidden, fault.ReasonForbidden)
			for _, named := range [][]string{{"nonsense"}, {other.String(), p.company.String()}} {
				_, err := call(raw, named...)
				is(t, err, fault.Invalid, fault.ReasonInvalidParameter)
			}
		})
	}
	t.Run("is the company that a platform credential names", func(t *testing.T) {
		ctx, err := call(admin, other.String())
		if err != nil || rpc.Company(ctx) != other || !rpc.ClaimsFrom(ctx).Company.IsZero() {
			t.Fatalf("got %v, %v", rpc.Company(ctx), err)
		}
		if ctx, err = call(admin); err != nil || !rpc.Company(ctx).IsZero() {
			t.Fatalf("without a name: %v, %v", rpc.Company(ctx), err)
		}
	})
	t.Run("is not accepted from an invalid name or from two names", func(t *testing.T) {
		for _, named := range [][]string{{"nonsense"}, {""}, {id.Company{1: 0}.String()}, {"comp_00000000000000000000000000"}, {"cust_01jb0000000000000000000000"}, {other.String(), other.String()}} {
			_, err := call(admin, named...)
			is(t, err, fault.Invalid, fault.ReasonInvalidParameter)
		}
	})
	t.Run("is passed on with the caller", func(t *testing.T) {
		ctx, err := call(p.issuer.Sign(token.Claims{Subject: "m2m_7", Company: p.company, Scopes: []string{"profile:read"}}))
		if err != nil || rpc.Caller(ctx) != "m2m_7" {
			t.Fatalf("got %q, %v", rpc.Caller(ctx), err)
		}
		ctx, _, err = p.received(func() error { return p.raw(empty) })
		if err != nil || rpc.Caller(ctx) != "" || rpc.ClaimsFrom(ctx) != nil || !rpc.Company(ctx).IsZero() {
			t.Fatalf("a public call has a caller: %v, %v", rpc.ClaimsFrom(ctx), err)
		}
	})
}

func TestScopesOfThePlatform(t *testing.T) { // invariant 2
	p := newPart(t, func(o *rpc.ServerOptions) {
		o.Policy = rpc.Policy{empty: rpc.PlatformOnly, unary: rpc.PlatformOnly + "|" + scopes.DirectoryRead, output: "bookings:read", duplex: rpc.AnyToken}
	})
	sign := func(company id.Company, scopes ...string) string {
		return "Bearer " + p.issuer.Sign(token.Claims{Subject: "svc_1", Kind: token.KindService, Company: company, Scopes: scopes})
	}
	own, admin := sign(id.Company{}, scopes.DirectoryRead), sign(id.Company{}, token.Admin)
	t.Run("a method for the platform accepts its scope and platform:admin", func(t *testing.T) {
		for _, authorization := range []string{own, admin} {
			if err := p.raw(unary, "authorization", authorization); err != nil {
				t.Error(err)
			}
		}
	})
	t.Run("the scope is not enough for other methods, with or without a company", func(t *testing.T) {
		for _, method := range []string{empty, output, duplex} {
			is(t, p.raw(method, "authorization", own), fault.Forbidden, fault.ReasonInsufficientScope)
			is(t, p.raw(method, "authorization", own, "reservation-company", p.company.String()), fault.Forbidden, fault.ReasonInsufficientScope)
		}
	})
	t.Run("refuses a call that names a company, in the token or in the metadata", func(t *testing.T) {
		for _, authorization := range []string{own, admin} {
			is(t, p.raw(unary, "authorization", authorization, "reservation-company", p.company.String()), fault.Forbidden, fault.ReasonForbidden)
		}
		is(t, p.raw(unary, "authorization", sign(p.company, scopes.DirectoryRead)), fault.Forbidden, fault.ReasonForbidden)
		is(t, p.raw(duplex, "authorization", sign(p.company, scopes.DirectoryRead)), fault.Forbidden, fault.ReasonInsufficientScope)
	})
	t.Run("a token without a company that also has another scope is invalid", func(t *testing.T) {
		is(t, p.raw(unary, "authorization", sign(id.Company{}, scopes.DirectoryRead, "bookings:read")), fault.Unauthenticated, fault.ReasonUnauthorized)
		is(t, p.raw(unary, "authorization", sign(id.Company{})), fault.Unauthenticated, fault.ReasonUnauthorized)
	})
	t.Run("a missing scope is named", func(t *testing.T) {
		f := is(t, p.raw(unary, "authorization", sign(p.company, "bookings:read")), fault.Forbidden, fault.ReasonInsufficientScope)
		if f.Meta["scope"] != scopes.DirectoryRead {
			t.Errorf("got %v", f.Meta)
		}
	})
}

func TestRequestIDs(t *testing.T) {
	p := newPart(t, nil)
	for name, ids := range map[string][]string{
		"none": nil, "an empty one": {""}, "one that is too long": {strings.Repeat("x", 129)},
		"an id with spaces": {"a b"}, "two ids": {"a", "b"},
	} {
		t.Run("a call with "+name+" gets a new id", func(t *testing.T) {
			var md []string
			for _, v := range ids {
				md = append(md, "x-request-id", v)
			}
			ctx, _, err := p.received(func() error { return p.raw(empty, md...) })
			if err != nil {
				t.Fatal(err)
			}
			if _, err := id.ParseUUID(rpc.RequestID(ctx)); err != nil {
				t.Fatalf("got %q", rpc.RequestID(ctx))
			}
		})
	}
	t.Run("a valid id is kept, passed on, logged, and returned to a refused caller", func(t *testing.T) {
		ctx := rpc.WithRequestID(t.Context(), "my-request/1")
		var trailer metadata.MD
		_, err := p.client.UnaryCall(ctx, &grpc_testing.SimpleRequest{}, grpc.Trailer(&trailer))
		is(t, err, fault.Unauthenticated, fault.ReasonUnauthorized)
		if got := trailer.Get("x-request-id"); len(got) != 1 || got[0] != "my-request/1" {
			t.Errorf("the trailer has %q", got)
		}
		if log := p.log.take(); !strings.Contains(log, "request_id=my-request/1") {
			t.Errorf("logged %q", log)
		}
		s, err := p.client.StreamingOutputCall(ctx, &grpc_testing.StreamingOutputCallRequest{})
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.Recv()
		is(t, err, fault.Unauthenticated, fault.ReasonUnauthorized)
		if got := s.Trailer().Get("x-request-id"); len(got) != 1 || got[0] != "my-request/1" {
			t.Errorf("the trailer of a stream has %q", got)
		}
	})
}

func TestIdempotencyKeys(t *testing.T) {
	type keyed struct{}
	p := newPart(t, func(o *rpc.ServerOptions) {
		o.Idempotency = func(ctx context.Context, key, caller, kind string) context.Context {
			return context.WithValue(ctx, keyed{}, caller+" "+key+" "+kind)
		}
	})
	authorization := []string{"authorization", "Bearer " + p.issuer.Sign(token.Claims{Subject: "m2m_7", Company: p.company, Scopes: []string{"customers:read"}})}
	with := func(keys ...string) []string {
		md := authorization
		for _, k := range keys {
			md = append(md, "idempotency-key", k)
		}
		return md
	}
	t.Run("a key reaches the method with its caller", func(t *testing.T) {
		for _, key := range []string{"k", "!", strings.Repeat("x", 255)} {
			ctx, _, err := p.received(func() error { return p.raw(unary, with(key)...) })
			if err != nil || ctx.Value(keyed{}) != "m2m_7 "+key+" customers" {
				t.Fatalf("got %v, %v", ctx.Value(keyed{}), err)
			}
		}
	})
	t.Run("a call without a key has none", func(t *testing.T) {
		ctx, _, err := p.received(func() error { return p.raw(unary, with()...) })
		if err != nil || ctx.Value(keyed{}) != nil {
			t.Fatalf("got %v, %v", ctx.Value(keyed{}), err)
		}
	})
	t.Run("an invalid key is refused, not ignored", func(t *testing.T) {
		for _, keys := range [][]string{{""}, {strings.Repeat("x", 256)}, {"a b"}, {"a", "b"}, {"a", "a"}} {
			f := is(t, p.raw(unary, with(keys...)...), fault.Invalid, fault.ReasonInvalidParameter)
			if len(f.Fields) != 1 || f.Fields[0].Field != "idempotency-key" {
				t.Errorf("%q: %v", keys, f.Fields)
			}
		}
	})
	t.Run("a refused caller gets no error about its key", func(t *testing.T) {
		is(t, p.raw(unary, "idempotency-key", "a b"), fault.Unauthenticated, fault.ReasonUnauthorized)
	})
}
