package privacy_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"testing"

	"google.golang.org/grpc"

	"reservation.dev/devkit/testkit"
	"reservation.dev/devkit/tokentest"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/privacy"
	"reservation.dev/platform/rpc"
	privacyv1 "reservation.dev/proto/gen/reservation/privacy/v1"
)

func TestExporter(t *testing.T) {
	s := newShop(t)
	pass := id.New[id.CustomerPass]()
	note, line := id.NewUUID(), id.NewUUID()
	for _, owner := range []id.Customer{s.customer, id.New[id.Customer]()} {
		u := note
		if owner != s.customer {
			u = id.NewUUID()
		}
		s.exec(`insert into notes values ($1, $2, $3, $4, jsonb_build_array(jsonb_build_object('id', $5::uuid, 'pass_id', $6::uuid, 'nothing', null)))`,
			s.company, u, owner, "of "+owner.String(), line, pass)
	}
	issuer := tokentest.New(t)
	srv := rpc.NewServer(rpc.ServerOptions{Log: testkit.Log(t), Verifier: issuer.Verifier, Policy: rpc.Policy{
		privacyv1.PersonalDataService_ExportPersonalData_FullMethodName: "privacy:read",
	}})
	privacyv1.RegisterPersonalDataServiceServer(srv, &privacy.Exporter{Service: "sample", DB: s.db, Collections: []privacy.Collection{{
		Kind: "note", SQL: `select id, to_jsonb(n) from notes n where company_id = $1 and customer_id = $2`,
		Names: map[string]func(id.UUID) string{
			"id": privacy.Named[id.AuditEntry], "customer_id": privacy.Named[id.Customer], "lines.id": privacy.Named[id.Booking], "pass_id": privacy.Named[id.CustomerPass],
		},
	}}})
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = srv.Serve(ln) }()
	t.Cleanup(srv.Stop)
	conn, err := rpc.Dial(ln.Addr().String(), rpc.DialOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	export := func(company id.Company, customer string, scopes ...string) ([]string, error) {
		claims, err := issuer.Verifier.Verify(t.Context(), issuer.Client(company, scopes...))
		if err != nil {
			t.Fatal(err)
		}
		stream, err := privacyv1.NewPersonalDataServiceClient(conn).ExportPersonalData(rpc.WithClaims(t.Context(), claims), &privacyv1.ExportPersonalDataRequest{CustomerId: customer}, grpc.WaitForReady(true))
		if err != nil {
			return nil, err
		}
		var all []string
		for {
			res, err := stream.Recv()
			if errors.Is(err, io.EOF) {
				return all, nil
			}
			if err != nil {
				return nil, err
			}
			r := res.GetRecord()
			all = append(all, r.GetService()+" "+r.GetKind()+" "+r.GetId()+" "+r.GetJson())
		}
	}

	t.Run("it has the customer's items, with identifiers in the form of the interfaces", func(t *testing.T) {
		name := id.AuditEntry(note).String()
		want := fmt.Sprintf(`sample note %s {"customer_id":"%s","id":"%s","lines":[{"id":"%s","pass_id":"%s"}],"note":"of %s"}`,
			name, s.customer, name, id.Booking(line), pass, s.customer)
		if got, err := export(s.company, s.customer.String(), "privacy:read"); err != nil || !slices.Equal(got, []string{want}) {
			t.Errorf("got %v, %v\nwant %s", got, err, want)
		}
	})
	t.Run("another company gets nothing", func(t *testing.T) {
		if got, err := export(id.New[id.Company](), s.customer.String(), "privacy:read"); err != nil || len(got) != 0 {
			t.Errorf("got %v, %v", got, err)
		}
	})
	t.Run("an invalid identifier is NOT_FOUND, and the scope is required", func(t *testing.T) {
		if _, err := export(s.company, "cust_x", "privacy:read"); !fault.Is(err, fault.NotFound) {
			t.Errorf("got %v", err)
		}
		if _, err := export(s.company, s.customer.String(), "customers:read"); !fault.Is(err, fault.Forbidden) {
			t.Errorf("got %v", err)
		}
	})
}
