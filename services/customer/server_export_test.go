package customer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/devkit/testkit"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/roles"
	"reservation.dev/platform/rpc"
	"reservation.dev/platform/token"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
)

func TestExportPanics(t *testing.T) { // invariant 4
	w := open(t)
	w.importN("r", 3)
	t.Run("a panic while rendering ends the export with an error, and the process continues", func(t *testing.T) {
		e := &export{server: w.server, company: w.company} // without a shape, which panics
		var failures []error
		for c := range e.chunks(t.Context()) {
			failures = append(failures, c.err)
		}
		if len(failures) != 1 || failures[0] == nil || !strings.Contains(failures[0].Error(), "export.go") {
			t.Errorf("got %v, want one error that says where", failures)
		}
		if len(w.server.bulk) != 0 {
			t.Error("it does not free its place among the bulk users of the database")
		}
	})
}

func TestExportByRole(t *testing.T) {
	w := open(t)
	w.importN("r", 3)
	as := func(c token.Claims) context.Context {
		c.Company = w.company
		claims, err := w.issuer.Verifier.Verify(t.Context(), w.issuer.Sign(c))
		if err != nil {
			t.Fatal(err)
		}
		return rpc.WithClaims(t.Context(), claims)
	}
	for _, role := range roles.All() {
		text, err := w.export(as(token.Claims{Subject: id.New[id.Administrator]().String(), Kind: token.KindAdministrator, Scopes: role.Scopes()}), nil)
		switch mayExport := role.May(roles.ExportAndImport); {
		case mayExport && (err != nil || text == ""):
			t.Errorf("%s cannot export: %v", role, err)
		case !mayExport && (err == nil || fault.From(err).Reason != fault.ReasonInsufficientScope || text != ""):
			t.Errorf("%s exports: %v", role, err)
		}
	}
	t.Run("the front desk still lists customers", func(t *testing.T) {
		ctx := as(token.Claims{Subject: id.New[id.Administrator]().String(), Kind: token.KindAdministrator, Scopes: roles.FrontDesk.Scopes()})
		if res, err := w.client.ListCustomers(ctx, &customerv1.ListCustomersRequest{}); err != nil || len(res.GetCustomers()) != 3 {
			t.Errorf("got %v, %v", res, err)
		}
	})
	t.Run("an API client exports with customers:read alone", func(t *testing.T) {
		if text, err := w.export(w.as(w.company, "customers:read"), nil); err != nil || text == "" {
			t.Errorf("got %q, %v", text, err)
		}
	})
}

func members() []*customerv1.ExportMember {
	field := func(name string, f customerv1.CustomerField) *customerv1.ExportMember {
		return &customerv1.ExportMember{Name: name, Value: &customerv1.ExportMember_Field{Field: f}}
	}
	return []*customerv1.ExportMember{
		field("id", customerv1.CustomerField_CUSTOMER_FIELD_ID),
		{Name: `ty"pe`, Value: &customerv1.ExportMember_Constant{Constant: "customer\n"}},
		field("first", customerv1.CustomerField_CUSTOMER_FIELD_FIRST_NAME),
		field("last", customerv1.CustomerField_CUSTOMER_FIELD_LAST_NAME),
		field("email", customerv1.CustomerField_CUSTOMER_FIELD_EMAIL),
		field("mobile", customerv1.CustomerField_CUSTOMER_FIELD_MOBILE),
		field("archived", customerv1.CustomerField_CUSTOMER_FIELD_ARCHIVED),
		field("created", customerv1.CustomerField_CUSTOMER_FIELD_CREATED_AT),
		field("updated", customerv1.CustomerField_CUSTOMER_FIELD_UPDATED_AT),
	}
}

// export returns the whole export as text, and its error.
func (w *world) export(ctx context.Context, since *timestamppb.Timestamp) (string, error) {
	w.t.Helper()
	stream, err := w.client.ExportCustomers(ctx, &customerv1.ExportCustomersRequest{Members: members(), UpdatedSince: since})
	if err != nil {
		return "", err
	}
	var text strings.Builder
	for {
		res, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return text.String(), nil
		}
		if err != nil {
			return text.String(), err
		}
		text.Write(res.GetJson())
	}
}

// importN imports n customers whose references begin with a prefix.
func (w *world) importN(prefix string, n int) []*customerv1.ImportCustomerResult {
	w.t.Helper()
	stream, err := w.client.ImportCustomers(w.ctx())
	if err != nil {
		w.t.Fatal(err)
	}
	var results []*customerv1.ImportCustomerResult
	const batch = 5000
	for from := 0; from < n; from += batch {
		req := &customerv1.ImportCustomersRequest{}
		for i := from; i < min(n, from+batch); i++ {
			req.Customers = append(req.Customers, &customerv1.ImportedCustomer{
				Reference: fmt.Sprint(prefix, i), FirstName: fmt.Sprint("F", i), LastName: "\"Ö\u2028\\'", Email: fmt.Sprintf("c%d@example.com", i), Archived: i%2 == 0,
			})
		}
		if err := stream.Send(req); err != nil {
			w.t.Fatal(err)
		}
		res, err := stream.Recv()
		if err != nil {
			w.t.Fatal(err)
		}
		results = append(results, res.GetResults()...)
	}
	if err := stream.CloseSend(); err != nil {
		w.t.Fatal(err)
	}
	return results
}

// widen makes the customers larger than all buffers on the way to the reader.
func (w *world) widen() {
	w.t.Helper()
	err := w.db.InTx(w.t.Context(), pg.For(w.company), func(ctx context.Context, tx *pg.Tx) error {
		return execUnlimited(ctx, tx, `update customers set first_name = repeat('🎪', 100), last_name = repeat('🎻', 100)`)
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

func TestExport(t *testing.T) { // invariant 4
	w := open(t)
	const n = 12_000
	results := w.importN("r", n)
	t.Run("has every customer once, by id, in the caller's shape", func(t *testing.T) {
		text, err := w.export(w.ctx(), nil)
		if err != nil {
			t.Fatal(err)
		}
		var list []map[string]any
		if err := json.Unmarshal([]byte("["+text+"]"), &list); err != nil {
			t.Fatal(err)
		}
		if len(list) != n || !slices.IsSortedFunc(list, func(a, b map[string]any) int { return strings.Compare(a["id"].(string), b["id"].(string)) }) {
			t.Errorf("%d customers, or not by id", len(list))
		}
		byID := map[string]map[string]any{}
		for _, c := range list {
			byID[c["id"].(string)] = c
		}
		c := byID[results[1234].GetId()]
		if c[`ty"pe`] != "customer\n" || c["first"] != "F1234" || c["last"] != "\"Ö\u2028\\'" || c["archived"] != true || c["mobile"] != "" {
			t.Errorf("got %v", c)
		}
		made, err := time.Parse("2006-01-02T15:04:05Z", c["created"].(string))
		if err != nil || time.Since(made) > time.Hour || time.Since(made) < -time.Minute {
			t.Errorf("created %v, %v", c["created"], err)
		}
	})
	t.Run("has every customer who exists throughout once, while others are added and deleted", func(t *testing.T) {
		stop := make(chan struct{})
		var wg sync.WaitGroup
		wg.Go(func() {
			for i := n / 2; i < n; i++ {
				select {
				case <-stop:
					return
				default:
				}
				w.create("new")
				_, err := w.client.DeleteCustomer(w.ctx(), &customerv1.DeleteCustomerRequest{Id: results[i].GetId()})
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
		for range 5 {
			text, err := w.export(w.ctx(), nil)
			if err != nil {
				t.Error(err)
			}
			var list []struct{ ID string }
			if err := json.Unmarshal([]byte("["+text+"]"), &list); err != nil {
				t.Fatal(err)
			}
			met := map[string]bool{}
			for i, c := range list {
				if met[c.ID] || i > 0 && list[i-1].ID >= c.ID {
					t.Errorf("%s is exported twice, or out of order", c.ID)
				}
				met[c.ID] = true
			}
			for _, r := range results[:n/2] {
				if !met[r.GetId()] {
					t.Errorf("%s is missing", r.GetId())
				}
			}
		}
		close(stop)
		wg.Wait()
	})
}

func TestExportUnderPressure(t *testing.T) { // invariant 4
	w := open(t)
	w.importN("r", 12_000)
	t.Run("holds no connection while its reader pauses", func(t *testing.T) {
		w.widen()
		stream, err := w.client.ExportCustomers(w.ctx(), &customerv1.ExportCustomersRequest{Members: members()})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := stream.Recv(); err != nil {
			t.Fatal(err)
		}
		testkit.Eventually(t, time.Minute, func() error {
			if n := w.db.Pool().Stat().AcquiredConns(); n != 0 {
				return fmt.Errorf("%d connections are in use", n)
			}
			return nil
		})
		for err == nil {
			_, err = stream.Recv()
		}
		if !errors.Is(err, io.EOF) {
			t.Error(err)
		}
	})
	t.Run("ends with an error when the database fails midway", func(t *testing.T) {
		w.widen()
		stream, err := w.client.ExportCustomers(w.ctx(), &customerv1.ExportCustomersRequest{Members: members()})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := stream.Recv(); err != nil {
			t.Fatal(err)
		}
		admin, err := pgx.ParseConfig(testkit.AdminURL(t))
		if err != nil {
			t.Fatal(err)
		}
		admin.Database = w.db.Pool().Config().ConnConfig.Database
		conn, err := pgx.ConnectConfig(t.Context(), admin)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close(context.WithoutCancel(t.Context()))
		if _, err := conn.Exec(t.Context(), `alter table customers rename to elsewhere`); err != nil {
			t.Fatal(err)
		}
		for err == nil {
			_, err = stream.Recv()
		}
		if errors.Is(err, io.EOF) {
			t.Error("the stream ended without an error")
		}
	})
	t.Run("refuses an invalid shape", func(t *testing.T) {
		for _, m := range [][]*customerv1.ExportMember{nil, {{Name: "x"}}, {{Name: "x", Value: &customerv1.ExportMember_Field{Field: 99}}}, slices.Repeat(members(), 3)} {
			stream, err := w.client.ExportCustomers(w.ctx(), &customerv1.ExportCustomersRequest{Members: m})
			if err == nil {
				_, err = stream.Recv()
			}
			if !fault.Is(err, fault.Invalid) {
				t.Errorf("%v: got %v", m, err)
			}
		}
	})
}
