package auth

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/devkit/testkit"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/rpc"
	"reservation.dev/platform/scopes"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	privacyv1 "reservation.dev/proto/gen/reservation/privacy/v1"
)

const (
	open     = authv1.CompanyState_COMPANY_STATE_OPEN
	leaving  = authv1.CompanyState_COMPANY_STATE_LEAVING
	left     = authv1.CompanyState_COMPANY_STATE_LEFT
	arriving = authv1.CompanyState_COMPANY_STATE_ARRIVING
)

// streamedCompanies returns the states of the companies of a stream.
func (r *replica) streamedCompanies(ctx context.Context, req *authv1.StreamCompaniesRequest) (map[string]authv1.CompanyState, error) {
	states := map[string]authv1.CompanyState{}
	stream, err := authv1.NewDirectoryServiceClient(r.conn).StreamCompanies(ctx, req)
	for err == nil {
		var resp *authv1.StreamCompaniesResponse
		if resp, err = stream.Recv(); err == nil {
			for _, c := range resp.GetCompanies() {
				states[c.GetCompanyId()] = c.GetState()
			}
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return states, err
}

// streamedCredentials returns the companies of the credentials of a stream, and the number of messages.
func (r *replica) streamedCredentials(ctx context.Context, req *authv1.StreamCredentialsRequest) (companies map[string]string, messages int, err error) {
	companies = map[string]string{}
	stream, err := authv1.NewDirectoryServiceClient(r.conn).StreamCredentials(ctx, req)
	for err == nil {
		var resp *authv1.StreamCredentialsResponse
		if resp, err = stream.Recv(); err == nil {
			messages++
			for _, c := range resp.GetCredentials() {
				companies[c.GetId()] = c.GetCompanyId()
			}
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return companies, messages, err
}

// owner connects to the database as its superuser.
func (w *world) owner() *pgx.Conn {
	w.t.Helper()
	name, err := pg.One[string](w.t.Context(), w.db, pg.AllCompanies(), `select current_database()::text`)
	if err != nil {
		w.t.Fatal(err)
	}
	u, err := url.Parse(testkit.AdminURL(w.t))
	if err != nil {
		w.t.Fatal(err)
	}
	u.Path = "/" + name
	c, err := pgx.Connect(w.t.Context(), u.String())
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = c.Close(context.WithoutCancel(w.t.Context())) })
	return c
}

func TestStreamCompanies(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r, owner := w.start(), w.owner()
	first := r.company()
	r.testCompany(first)
	states := map[string]authv1.CompanyState{first: open}
	for state, mark := range map[authv1.CompanyState]pg.MoveState{leaving: pg.Leaving, left: pg.Left, arriving: pg.Arriving} {
		company := r.company()
		c, err := id.Parse[id.Company](company)
		if err != nil {
			t.Fatal(err)
		}
		for _, moves := range []id.Company{c, c.Test()} {
			m, err := pg.MarkMove(t.Context(), owner, moves, mark, "elsewhere")
			if err == nil {
				err = pg.AwaitMove(t.Context(), owner, m)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		states[company] = state
	}
	moves := maps.Clone(states)
	delete(moves, first)
	want := func(t *testing.T, req *authv1.StreamCompaniesRequest, want map[string]authv1.CompanyState) {
		t.Helper()
		got, err := r.streamedCompanies(r.as(""), req)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%v %s", err, diff)
		}
	}
	future := timestamppb.New(time.Now().Add(time.Minute))
	t.Run("has the companies in live mode with their states", func(t *testing.T) {
		want(t, &authv1.StreamCompaniesRequest{}, states)
	})
	t.Run("has the companies that move even if they are not new", func(t *testing.T) {
		want(t, &authv1.StreamCompaniesRequest{CreatedSince: future}, moves)
	})
	t.Run("has the companies of the request that exist here", func(t *testing.T) {
		want(t, &authv1.StreamCompaniesRequest{CreatedSince: future, CompanyIds: []string{first, id.New[id.Company]().String()}}, states)
	})
	t.Run("has new companies", func(t *testing.T) {
		since := time.Now().Truncate(time.Millisecond)
		moves[r.company()] = open
		want(t, &authv1.StreamCompaniesRequest{CreatedSince: timestamppb.New(since)}, moves)
	})
	t.Run("refuses malformed identifiers and times, and callers that are not the platform's", func(t *testing.T) {
		for name, req := range map[string]*authv1.StreamCompaniesRequest{
			"an identifier":   {CompanyIds: []string{"comp_x"}},
			"a test company":  {CompanyIds: []string{"comp_test_01jb4x9m3vg6ksn8w2d7pq5r0t"}},
			"too many":        {CompanyIds: make([]string, 1001)},
			"an invalid time": {CreatedSince: &timestamppb.Timestamp{Nanos: -1}},
		} {
			if _, err := r.streamedCompanies(r.as(""), req); !fault.Is(fault.From(err), fault.Invalid) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if _, err := r.streamedCompanies(r.as(first), &authv1.StreamCompaniesRequest{}); !fault.Is(fault.From(err), fault.Forbidden) {
			t.Errorf("got %v", err)
		}
	})
}

func TestStreamCredentials(t *testing.T) {
	t.Parallel()
	r := newWorld(t).start()
	company := r.company()
	client, _ := r.client(company)
	deleted, _ := r.client(company)
	if _, err := r.clients.DeleteApiClient(r.as(company), &authv1.DeleteApiClientRequest{Id: deleted}); err != nil {
		t.Fatal(err)
	}
	test := r.testCompany(company).GetId()
	want := map[string]string{client: company, r.publishable(company).GetId(): company}
	key, _ := r.key(company)
	testKey, _ := r.key(test)
	want[key], want[testKey] = company, test
	t.Run("has the credentials of every kind with their companies, without deleted ones and the platform's", func(t *testing.T) {
		got, _, err := r.streamedCredentials(r.as(""), &authv1.StreamCredentialsRequest{})
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%v %s", err, diff)
		}
	})
	t.Run("has only new credentials if it is asked for them", func(t *testing.T) {
		since := time.Now().Add(time.Millisecond).Truncate(time.Millisecond)
		testkit.Eventually(t, patience, func() error {
			if time.Now().Before(since) {
				return errors.New("the clock has not moved on")
			}
			return nil
		})
		client, _ := r.client(company)
		got, _, err := r.streamedCredentials(r.as(""), &authv1.StreamCredentialsRequest{CreatedSince: timestamppb.New(since)})
		if diff := cmp.Diff(map[string]string{client: company}, got); err != nil || diff != "" {
			t.Errorf("%v %s", err, diff)
		}
	})
	t.Run("has all credentials in several messages", func(t *testing.T) {
		c, err := id.Parse[id.Company](company)
		if err != nil {
			t.Fatal(err)
		}
		err = r.db.InTx(t.Context(), pg.For(c), func(ctx context.Context, tx *pg.Tx) error {
			_, err := tx.Exec(ctx, `insert into publishable_keys (company_id, id, name, origins, created_at, updated_at)
				select $1, overlay(overlay(gen_random_uuid()::text placing '7' from 15) placing '0' from 1)::uuid, 'Website', '{}', now(), now() from generate_series(1, $2)`,
				c, 2*directoryPage)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		got, messages, err := r.streamedCredentials(r.as(""), &authv1.StreamCredentialsRequest{})
		if err != nil || len(got) != 2*directoryPage+5 || messages != 3 {
			t.Errorf("got %d credentials in %d messages, %v", len(got), messages, err)
		}
	})
	t.Run("refuses callers that are not the platform's", func(t *testing.T) {
		if _, _, err := r.streamedCredentials(r.as(company), &authv1.StreamCredentialsRequest{}); !fault.Is(fault.From(err), fault.Forbidden) {
			t.Errorf("got %v", err)
		}
	})
}

func TestListMasterKeys(t *testing.T) {
	t.Parallel()
	r := newWorld(t).start()
	keys := authv1.NewDirectoryServiceClient(r.conn)
	t.Run("has the keys with which the service encrypts", func(t *testing.T) {
		got, err := keys.ListMasterKeys(r.as(""), &authv1.ListMasterKeysRequest{})
		if err != nil {
			t.Fatal(err)
		}
		sealed, err := pg.One[[]byte](t.Context(), r.db, pg.AllCompanies(), `select substr(private_key, 2, 4) from signing_keys limit 1`)
		if err != nil || len(got.GetKeyIds()) != 1 || !bytes.Equal(got.GetKeyIds()[0], sealed) {
			t.Errorf("got %x, and a signing key is encrypted with %x, %v", got.GetKeyIds(), sealed, err)
		}
	})
	t.Run("refuses callers that are not the platform's", func(t *testing.T) {
		if _, err := keys.ListMasterKeys(r.as(r.company()), &authv1.ListMasterKeysRequest{}); !fault.Is(fault.From(err), fault.Forbidden) {
			t.Errorf("got %v", err)
		}
	})
}

func TestDirectoryScope(t *testing.T) { // invariant 8
	t.Parallel()
	r := newWorld(t).start()
	company := r.company()
	request := &authv1.CreateServiceCredentialRequest{Name: "directory", Scopes: []string{scopes.DirectoryRead}, Platform: true}
	made, err := r.services.CreateServiceCredential(r.as(""), request)
	if err != nil {
		t.Fatal(err)
	}
	ctx := with(t.Context(), r.token(made.GetServiceCredential().GetId(), made.GetSecret()))
	t.Run("is enough to read companies and credentials", func(t *testing.T) {
		companies, err := r.streamedCompanies(ctx, &authv1.StreamCompaniesRequest{})
		if companies[company] != open || err != nil {
			t.Errorf("companies: %v, %v", companies, err)
		}
		key, _ := r.key(company)
		credentials, _, err := r.streamedCredentials(ctx, &authv1.StreamCredentialsRequest{})
		if credentials[key] != company || err != nil {
			t.Errorf("credentials: %v, %v", credentials, err)
		}
	})
	t.Run("allows no other method", func(t *testing.T) {
		policy := Policy()
		for method := range policy {
			if policy[method] == rpc.Public || strings.Contains(method, ".DirectoryService/Stream") || method == privacyv1.PersonalDataService_ExportPersonalData_FullMethodName {
				continue // this server does not serve ExportPersonalData
			}
			for what, ctx := range map[string]context.Context{"": ctx, ", for a company": metadata.AppendToOutgoingContext(ctx, "reservation-company", company)} {
				if err := r.conn.Invoke(ctx, method, &emptypb.Empty{}, &emptypb.Empty{}); !fault.Is(err, fault.Forbidden) {
					t.Errorf("%s%s: got %v", method, what, err)
				}
			}
		}
	})
	t.Run("reads nothing for a token that names a company", func(t *testing.T) {
		issued, err := r.tokens.IssueToken(t.Context(), &authv1.IssueTokenRequest{
			ClientId: made.GetServiceCredential().GetId(), ClientSecret: made.GetSecret(), CompanyId: company,
		})
		if err != nil {
			t.Fatal(err)
		}
		bound := with(t.Context(), issued.GetAccessToken())
		if _, err := r.streamedCompanies(bound, &authv1.StreamCompaniesRequest{}); !fault.Is(err, fault.Forbidden) {
			t.Errorf("got %v", err)
		}
		if _, err := r.companies.GetCompany(bound, &authv1.GetCompanyRequest{}); !fault.Is(err, fault.Forbidden) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("cannot be given to a credential of a company, or with other scopes", func(t *testing.T) {
		_, err := r.services.CreateServiceCredential(r.as(company), &authv1.CreateServiceCredentialRequest{Name: "x", Scopes: request.GetScopes()})
		if !fault.Is(err, fault.Invalid) {
			t.Errorf("of a company: %v", err)
		}
		request.Scopes = []string{scopes.DirectoryRead, scopes.EventsRead}
		if _, err := r.services.CreateServiceCredential(r.as(""), request); !fault.Is(err, fault.Invalid) {
			t.Errorf("with another: %v", err)
		}
	})
}

func TestDirectoryPlan(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	company := id.New[id.Company]()
	err := w.db.InTx(t.Context(), pg.For(company), func(ctx context.Context, tx *pg.Tx) error {
		for _, sql := range []string{
			`insert into credentials (company_id, id, kind, name, scopes, secret_hash, rotated_at, created_at)
				select $1, gen_random_uuid(), 'key', 'Website', '{*}', sha256('x'), now(), now() from generate_series(1, 20000)`,
			`insert into publishable_keys (company_id, id, name, origins, created_at, updated_at)
				select $1, gen_random_uuid(), 'Website', '{}', now(), now() from generate_series(1, 20000)`,
		} {
			if _, err := tx.Exec(ctx, sql, company); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.owner().Exec(t.Context(), `analyze`); err != nil {
		t.Fatal(err)
	}
	last := id.UUID{0xff, 0xf0}
	plan, err := pg.Rows[string](t.Context(), w.db, pg.Lookup(), `explain `+directoryCredentialsSQL, [16]byte(last), directoryPage)
	if err != nil {
		t.Fatal(err)
	}
	if text := strings.Join(plan, "\n"); strings.Contains(text, "Seq Scan") || strings.Count(text, "_id on ") != 2 {
		t.Errorf("new credentials are not found by the indexes of their identifiers:\n%s", text)
	}
}
