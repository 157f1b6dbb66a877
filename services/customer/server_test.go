package customer

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/devkit/testkit"
	"reservation.dev/devkit/tokentest"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/idem"
	"reservation.dev/platform/outbox"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/rpc"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	privacyv1 "reservation.dev/proto/gen/reservation/privacy/v1"
	"reservation.dev/services/customer/migrations"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// desk is the service on gRPC and PostgreSQL, for one company.
type desk struct {
	t         testing.TB
	db        *pg.DB
	server    *Server
	client    customerv1.CustomerServiceClient
	issuer    *tokentest.Issuer
	auth      *fakeAuth
	confirmer *fakeConfirmer
	company   id.Company
}

func open(t testing.TB) *desk {
	t.Helper()
	d := &desk{
		t: t, db: testkit.DB(t, pg.Migrations{Part: "customer", FS: migrations.FS, AppRole: testkit.AppRole()}),
		issuer: tokentest.New(t), auth: &fakeAuth{}, confirmer: &fakeConfirmer{}, company: id.New[id.Company](),
	}
	companies := NewCompanies(d.db, d.auth)
	d.server = NewServer(d.db, outbox.New(d.db, nil, testkit.Log(t), time.Now), companies, d.confirmer)
	srv := rpc.NewServer(rpc.ServerOptions{Log: testkit.Log(t), Verifier: d.issuer.Verifier, Policy: Policy(), Idempotency: idem.WithKey})
	customerv1.RegisterCustomerServiceServer(srv, d.server)
	authv1.RegisterCompanyCopyServiceServer(srv, companies)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = srv.Serve(ln) }()
	t.Cleanup(srv.Stop)
	conn, err := rpc.Dial(ln.Addr().String(), rpc.DialOptions{Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	d.client = customerv1.NewCustomerServiceClient(conn)
	return d
}

// as returns a context of a caller of a company.
func (d *desk) as(company id.Company, scopes ...string) context.Context {
	d.t.Helper()
	if len(scopes) == 0 {
		scopes = []string{"customers:read", "customers:write"}
	}
	claims, err := d.issuer.Verifier.Verify(d.t.Context(), d.issuer.Client(company, scopes...))
	if err != nil {
		d.t.Fatal(err)
	}
	return rpc.WithClaims(d.t.Context(), claims)
}

func (d *desk) ctx() context.Context { return d.as(d.company) }

func (d *desk) create(first string) *customerv1.Customer {
	d.t.Helper()
	res, err := d.client.CreateCustomer(d.ctx(), &customerv1.CreateCustomerRequest{FirstName: first, LastName: "O'Brien", Email: "a@example.com"})
	if err != nil {
		d.t.Fatal(err)
	}
	return res.GetCustomer()
}

// events returns how many events of a subject wait in the outbox.
func (d *desk) events(subject string) int {
	d.t.Helper()
	n, err := pg.One[int64](d.t.Context(), d.db, pg.AllCompanies(), `select count(*) from outbox where subject = $1`, subject)
	if err != nil {
		d.t.Fatal(err)
	}
	return int(n)
}

// total returns what the list says, and checks it against the rows.
func (d *desk) total() int64 {
	d.t.Helper()
	res, err := d.client.ListCustomers(d.ctx(), &customerv1.ListCustomersRequest{PageSize: 1})
	if err != nil {
		d.t.Fatal(err)
	}
	rows, err := pg.One[int64](d.t.Context(), d.db, pg.For(d.company), `select count(*) from customers where company_id = $1 and deleted_at is null`, d.company)
	if err != nil || rows != res.GetTotal() {
		d.t.Errorf("the total is %d, there are %d rows (%v)", res.GetTotal(), rows, err)
	}
	return res.GetTotal()
}

func ptr[T any](v T) *T { return &v }

func TestPolicyCoversEveryMethod(t *testing.T) {
	if err := Policy().Check(&customerv1.CustomerService_ServiceDesc); err != nil {
		t.Error(err)
	}
}

func TestCreate(t *testing.T) {
	d := open(t)
	t.Run("stores, counts and announces in one commit", func(t *testing.T) { // invariants 1 and 3
		made := d.create("  Zoë ")
		got, err := d.client.GetCustomer(d.as(d.company, "profile:read"), &customerv1.GetCustomerRequest{Id: made.GetId()})
		if err != nil || !proto.Equal(got.GetCustomer(), made) || made.GetFirstName() != "Zoë" || made.GetVersion() != 1 {
			t.Errorf("got %v, %v, want %v", got, err, made)
		}
		if d.total() != 1 || d.events(subjectCreated) != 1 {
			t.Errorf("total %d, events %d", d.total(), d.events(subjectCreated))
		}
	})
	t.Run("names every fault at once", func(t *testing.T) {
		_, err := d.client.CreateCustomer(d.ctx(), &customerv1.CreateCustomerRequest{LastName: "a\x00", Email: "x", Mobile: "\a"})
		var got []string
		for _, f := range fault.From(err).Fields {
			got = append(got, f.Field+":"+f.Rule)
		}
		if want := "first_name:required last_name:characters email:email mobile:characters"; strings.Join(got, " ") != want {
			t.Errorf("got %v, want %s", got, want)
		}
	})
	t.Run("happens once per idempotency key", func(t *testing.T) {
		before := d.total()
		ctx := rpc.WithIdempotencyKey(d.ctx(), "k1")
		req := &customerv1.CreateCustomerRequest{FirstName: "A", LastName: "B", Email: "a@example.com"}
		one, err := d.client.CreateCustomer(ctx, req)
		if err != nil {
			t.Fatal(err)
		}
		two, err := d.client.CreateCustomer(ctx, req)
		if err != nil || !proto.Equal(one, two) || d.total() != before+1 {
			t.Errorf("got %v, %v, want %v again", two, err, one)
		}
		req.FirstName = "C"
		if _, err := d.client.CreateCustomer(ctx, req); fault.From(err).Reason != fault.ReasonIdempotencyKeyReused {
			t.Errorf("got %v", err)
		}
	})
}

func TestUpdate(t *testing.T) {
	d := open(t)
	t.Run("changes what is set, raises the version and announces", func(t *testing.T) { // invariant 1
		made := d.create("Zoë")
		res, err := d.client.UpdateCustomer(d.as(d.company, "profile:write"), &customerv1.UpdateCustomerRequest{Id: made.GetId(), Mobile: ptr(" 07700 900123 ")})
		if err != nil || res.GetCustomer().GetMobile() != "07700 900123" || res.GetCustomer().GetVersion() != 2 || res.GetCustomer().GetFirstName() != "Zoë" {
			t.Fatalf("got %v, %v", res, err)
		}
		events := d.events(subjectUpdated)
		res, err = d.client.UpdateCustomer(d.ctx(), &customerv1.UpdateCustomerRequest{Id: made.GetId(), Mobile: ptr("07700 900123")})
		if err != nil || res.GetCustomer().GetVersion() != 2 || d.events(subjectUpdated) != events {
			t.Errorf("what changed nothing made version %d and %d events", res.GetCustomer().GetVersion(), d.events(subjectUpdated)-events)
		}
	})
	t.Run("refuses a stale version and changes nothing", func(t *testing.T) { // invariant 2
		made := d.create("Zoë")
		req := &customerv1.UpdateCustomerRequest{Id: made.GetId(), FirstName: ptr("A"), ExpectedVersion: ptr(int64(1))}
		if _, err := d.client.UpdateCustomer(d.ctx(), req); err != nil {
			t.Fatal(err)
		}
		req.FirstName = ptr("B")
		if _, err := d.client.UpdateCustomer(d.ctx(), req); !fault.Is(err, fault.VersionMismatch) {
			t.Errorf("got %v", err)
		}
		got, err := d.client.GetCustomer(d.ctx(), &customerv1.GetCustomerRequest{Id: made.GetId()})
		if err != nil || got.GetCustomer().GetFirstName() != "A" {
			t.Errorf("got %v, %v", got, err)
		}
	})
	t.Run("concurrent updates are one after the other", func(t *testing.T) { // invariant 2
		made := d.create("Zoë")
		const writers = 40
		var wg sync.WaitGroup
		var mu sync.Mutex
		versions := map[int64]bool{}
		for i := range writers {
			wg.Go(func() {
				res, err := d.client.UpdateCustomer(d.ctx(), &customerv1.UpdateCustomerRequest{Id: made.GetId(), FirstName: ptr(fmt.Sprint("Z", i))})
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				defer mu.Unlock()
				if versions[res.GetCustomer().GetVersion()] {
					t.Errorf("two updates made version %d", res.GetCustomer().GetVersion())
				}
				versions[res.GetCustomer().GetVersion()] = true
			})
		}
		wg.Wait()
		if len(versions) != writers {
			t.Errorf("%d versions", len(versions))
		}
	})
	t.Run("of one among stale ones lets exactly one through", func(t *testing.T) {
		made := d.create("Zoë")
		var wg sync.WaitGroup
		results := make(chan error, 20)
		for i := range 20 {
			wg.Go(func() {
				_, err := d.client.UpdateCustomer(d.ctx(), &customerv1.UpdateCustomerRequest{Id: made.GetId(), FirstName: ptr(fmt.Sprint("Z", i)), ExpectedVersion: ptr(int64(1))})
				results <- err
			})
		}
		wg.Wait()
		close(results)
		passed := 0
		for err := range results {
			if err == nil {
				passed++
			} else if !fault.Is(err, fault.VersionMismatch) {
				t.Error(err)
			}
		}
		if passed != 1 {
			t.Errorf("%d passed", passed)
		}
	})
}

func TestArchiveAndDelete(t *testing.T) {
	d := open(t)
	made := d.create("Zoë")
	t.Run("archiving twice is one change, and the customer is still read and counted", func(t *testing.T) {
		for range 2 {
			res, err := d.client.ArchiveCustomer(d.ctx(), &customerv1.ArchiveCustomerRequest{Id: made.GetId(), Archived: true})
			if err != nil || !res.GetCustomer().GetArchived() || res.GetCustomer().GetVersion() != 2 {
				t.Errorf("got %v, %v", res, err)
			}
		}
		if d.total() != 1 || d.events(subjectUpdated) != 1 {
			t.Errorf("total %d, events %d", d.total(), d.events(subjectUpdated))
		}
	})
	t.Run("deleting with a stale version changes nothing", func(t *testing.T) { // invariant 2
		_, err := d.client.DeleteCustomer(d.ctx(), &customerv1.DeleteCustomerRequest{Id: made.GetId(), ExpectedVersion: ptr(int64(1))})
		if f := fault.From(err); f.Kind != fault.VersionMismatch || f.Reason != fault.ReasonVersionMismatch {
			t.Errorf("got %v", err)
		}
		if d.total() != 1 || d.events(subjectDeleted) != 0 {
			t.Errorf("total %d, events %d", d.total(), d.events(subjectDeleted))
		}
	})
	t.Run("deleting is for good, for every reader", func(t *testing.T) { // invariant 3
		if _, err := d.client.DeleteCustomer(d.ctx(), &customerv1.DeleteCustomerRequest{Id: made.GetId(), ExpectedVersion: ptr(int64(2))}); err != nil {
			t.Fatal(err)
		}
		if d.total() != 0 || d.events(subjectDeleted) != 1 {
			t.Errorf("total %d, events %d", d.total(), d.events(subjectDeleted))
		}
		for name, call := range d.calls(d.ctx(), made.GetId()) {
			if err := call(); !fault.Is(err, fault.NotFound) {
				t.Errorf("%s: got %v", name, err)
			}
		}
		res, err := d.client.BatchGetCustomers(d.ctx(), &customerv1.BatchGetCustomersRequest{Ids: []string{made.GetId()}})
		if err != nil || len(res.GetCustomers()) != 0 {
			t.Errorf("got %v, %v", res, err)
		}
		res, err = d.client.BatchGetCustomers(d.ctx(), &customerv1.BatchGetCustomersRequest{Ids: []string{made.GetId()}, IncludeDeleted: true})
		if err != nil || len(res.GetCustomers()) != 1 || res.GetCustomers()[0].GetDeletedAt() == nil {
			t.Errorf("got %v, %v", res, err)
		}
	})
}

// calls are the RPCs that name one customer.
func (d *desk) calls(ctx context.Context, customer string) map[string]func() error {
	return map[string]func() error{
		"GetCustomer": func() error {
			_, err := d.client.GetCustomer(ctx, &customerv1.GetCustomerRequest{Id: customer})
			return err
		},
		"UpdateCustomer": func() error {
			_, err := d.client.UpdateCustomer(ctx, &customerv1.UpdateCustomerRequest{Id: customer, FirstName: ptr("X")})
			return err
		},
		"UpdateCustomer with faults": func() error {
			_, err := d.client.UpdateCustomer(ctx, &customerv1.UpdateCustomerRequest{Id: customer, FirstName: ptr("")})
			return err
		},
		"ArchiveCustomer": func() error {
			_, err := d.client.ArchiveCustomer(ctx, &customerv1.ArchiveCustomerRequest{Id: customer, Archived: true})
			return err
		},
		"DeleteCustomer": func() error {
			_, err := d.client.DeleteCustomer(ctx, &customerv1.DeleteCustomerRequest{Id: customer})
			return err
		},
	}
}

func TestAnotherCompany(t *testing.T) { // invariant 6
	d := open(t)
	made := d.create("Zoë")
	stranger := d.as(id.New[id.Company]())
	for _, customer := range []string{made.GetId(), "", "cust_", "cust_'; drop table customers", strings.Repeat("x", 100), id.New[id.Event]().String()} {
		for name, call := range d.calls(stranger, customer) {
			if err := call(); !fault.Is(err, fault.NotFound) {
				t.Errorf("%s %.40q: got %v", name, customer, err)
			}
		}
	}
	batch, err := d.client.BatchGetCustomers(stranger, &customerv1.BatchGetCustomersRequest{Ids: []string{made.GetId(), "nonsense"}, References: []string{"a\x00", "r"}, IncludeDeleted: true})
	if err != nil || len(batch.GetCustomers()) != 0 {
		t.Errorf("batch: got %v, %v", batch, err)
	}
	list, err := d.client.ListCustomers(stranger, &customerv1.ListCustomersRequest{})
	if err != nil || len(list.GetCustomers()) != 0 || list.GetTotal() != 0 {
		t.Errorf("list: got %v, %v", list, err)
	}
	if text, err := d.export(stranger, nil); err != nil || text != "" {
		t.Errorf("export: got %s, %v", text, err)
	}
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

// export returns the whole export as text, and how it ended.
func (d *desk) export(ctx context.Context, since *timestamppb.Timestamp) (string, error) {
	d.t.Helper()
	stream, err := d.client.ExportCustomers(ctx, &customerv1.ExportCustomersRequest{Members: members(), UpdatedSince: since})
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

// importN imports n customers with references of a prefix.
func (d *desk) importN(prefix string, n int) []*customerv1.ImportCustomerResult {
	d.t.Helper()
	stream, err := d.client.ImportCustomers(d.ctx())
	if err != nil {
		d.t.Fatal(err)
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
			d.t.Fatal(err)
		}
		res, err := stream.Recv()
		if err != nil {
			d.t.Fatal(err)
		}
		results = append(results, res.GetResults()...)
	}
	if err := stream.CloseSend(); err != nil {
		d.t.Fatal(err)
	}
	return results
}

// widen makes the customers larger than all buffers between here and there.
func (d *desk) widen() {
	d.t.Helper()
	err := d.db.InTx(d.t.Context(), pg.For(d.company), func(ctx context.Context, tx *pg.Tx) error {
		if _, err := tx.Exec(ctx, `set local statement_timeout = 0`); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `update customers set first_name = repeat('🎪', 100), last_name = repeat('🎻', 100)`)
		return err
	})
	if err != nil {
		d.t.Fatal(err)
	}
}

func TestExport(t *testing.T) { // invariant 4
	d := open(t)
	const n = 12_000
	results := d.importN("r", n)
	t.Run("is every customer once, by id, in the caller's shape", func(t *testing.T) {
		text, err := d.export(d.ctx(), nil)
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
	t.Run("has everyone who is there throughout once, while others come and go", func(t *testing.T) {
		stop := make(chan struct{})
		var wg sync.WaitGroup
		wg.Go(func() {
			for i := n / 2; i < n; i++ {
				select {
				case <-stop:
					return
				default:
				}
				d.create("new")
				_, err := d.client.DeleteCustomer(d.ctx(), &customerv1.DeleteCustomerRequest{Id: results[i].GetId()})
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
		for range 5 {
			text, err := d.export(d.ctx(), nil)
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
					t.Errorf("%s is met twice, or out of order", c.ID)
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
	t.Run("holds no connection while its reader rests", func(t *testing.T) {
		d.widen()
		stream, err := d.client.ExportCustomers(d.ctx(), &customerv1.ExportCustomersRequest{Members: members()})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := stream.Recv(); err != nil {
			t.Fatal(err)
		}
		testkit.Eventually(t, 5*time.Second, func() error {
			if n := d.db.Pool().Stat().AcquiredConns(); n != 0 {
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
		d.widen()
		stream, err := d.client.ExportCustomers(d.ctx(), &customerv1.ExportCustomersRequest{Members: members()})
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
		admin.Database = d.db.Pool().Config().ConnConfig.Database
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
			t.Error("the stream ended as if it were whole")
		}
	})
	t.Run("refuses a shape that is none", func(t *testing.T) {
		for _, m := range [][]*customerv1.ExportMember{nil, {{Name: "x"}}, {{Name: "x", Value: &customerv1.ExportMember_Field{Field: 99}}}, slices.Repeat(members(), 3)} {
			stream, err := d.client.ExportCustomers(d.ctx(), &customerv1.ExportCustomersRequest{Members: m})
			if err == nil {
				_, err = stream.Recv()
			}
			if !fault.Is(err, fault.Invalid) {
				t.Errorf("%v: got %v", m, err)
			}
		}
	})
}

var update = flag.Bool("update", false, "write the golden events")

func TestGoldenEvents(t *testing.T) { // invariant 1
	d := open(t)
	at := time.Date(2026, 1, 31, 9, 30, 0, 0, time.UTC)
	d.server.now = func() time.Time { at = at.Add(time.Minute); return at }
	d.server.newID = func() id.UUID { return id.UUID{0x01, 0x9c, 15: 1} }
	made := d.create("Zoë")
	if _, err := d.client.UpdateCustomer(d.ctx(), &customerv1.UpdateCustomerRequest{Id: made.GetId(), Mobile: ptr("+44 7700 900123")}); err != nil {
		t.Fatal(err)
	}
	if _, err := d.client.DeleteCustomer(d.ctx(), &customerv1.DeleteCustomerRequest{Id: made.GetId()}); err != nil {
		t.Fatal(err)
	}
	erasures := Erasures{Server: d.server}
	if _, err := erasures.EraseCustomer(d.ctx(), &privacyv1.EraseCustomerRequest{CustomerId: made.GetId()}); err != nil {
		t.Fatal(err)
	}
	// The deletion that goes with the erasure says the same as its event.
	if err := d.db.InTx(t.Context(), pg.AllCompanies(), func(ctx context.Context, tx *pg.Tx) error {
		_, err := tx.Exec(ctx, `delete from outbox where subject = $1 and position(convert_to($2, 'UTF8') in payload) > 0`, subjectDeleted, erasedEmail)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	payloads := map[string]proto.Message{
		subjectErased: &customerv1.CustomerErased{}, subjectCreated: &customerv1.CustomerCreated{}, subjectUpdated: &customerv1.CustomerUpdated{}, subjectDeleted: &customerv1.CustomerDeleted{},
	}
	found := 0
	err := d.db.Read(t.Context(), pg.AllCompanies(), pg.Query{SQL: `select subject, payload from outbox`, Scan: func(rows pgx.Rows) error {
		for rows.Next() {
			var subject string
			var payload []byte
			if err := rows.Scan(&subject, &payload); err != nil {
				return err
			}
			if payloads[subject] == nil {
				return fmt.Errorf("an event %s that nobody expects", subject)
			}
			if err := proto.Unmarshal(payload, payloads[subject]); err != nil {
				return err
			}
			found++
		}
		return nil
	}})
	if err != nil || found != len(payloads) {
		t.Fatalf("found %d events, %v", found, err)
	}
	for subject, payload := range payloads {
		file := filepath.Join("testdata", strings.TrimPrefix(subject, "customer.v1.")+".json")
		if *update {
			if err := os.WriteFile(file, []byte(protojson.MarshalOptions{Multiline: true}.Format(payload)+"\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		want := payload.ProtoReflect().New().Interface()
		if err := protojson.Unmarshal(text, want); err != nil || !proto.Equal(payload, want) {
			t.Errorf("%s: got %v, the golden file has %v (%v)", subject, payload, want, err)
		}
	}
}
