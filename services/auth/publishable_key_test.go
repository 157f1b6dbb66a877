package auth

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reservation.dev/devkit/testkit"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/rpc"
	"reservation.dev/platform/scopes"
	"reservation.dev/platform/token"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

func TestOrigins(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"https://studio.example":         "https://studio.example",
		"https://studio.example/":        "https://studio.example",
		" HTTPS://Studio.Example:443 ":   "https://studio.example",
		"https://studio.example:8443":    "https://studio.example:8443",
		"https://bücher.example":         "https://xn--bcher-kva.example",
		"https://[2001:DB8:0::1]:8443":   "https://[2001:db8::1]:8443",
		"https://192.0.2.7":              "https://192.0.2.7",
		"http://localhost:3000":          "http://localhost:3000",
		"http://localhost:80":            "http://localhost",
		"http://app.localhost:5173":      "http://app.localhost:5173",
		"http://127.0.0.1:3000":          "http://127.0.0.1:3000",
		"http://[::1]:3000":              "http://[::1]:3000",
		"https://localhost":              "https://localhost",
		"http://studio.example":          "",
		"http://localhost.example":       "",
		"ftp://studio.example":           "",
		"https://":                       "",
		"https://*.example":              "",
		"*":                              "",
		"null":                           "",
		"":                               "",
		"studio.example":                 "",
		"//studio.example":               "",
		"https:studio.example":           "",
		"https://studio.example/booking": "",
		"https://studio.example?":        "",
		"https://studio.example?a=b":     "",
		"https://studio.example#a":       "",
		"https://ada@studio.example":     "",
		"https://studio.example:0":       "",
		"https://studio.example:65536":   "",
		"https://studio.example:x":       "",
		"https://studio .example":        "",
		"https://studio\x00.example":     "",
		"https://a\nb.example":           "",
	} {
		got, err := normalOrigin(given)
		if err != nil {
			got = ""
		}
		if got != want {
			t.Errorf("%q became %q (%v), want %q", given, got, err, want)
		}
		if again, err := normalOrigin(got); got != "" && (err != nil || again != got) {
			t.Errorf("%q became %q again (%v)", got, again, err)
		}
	}
}

// publishable creates a publishable key.
func (r *replica) publishable(company string, origins ...string) *authv1.PublishableKey {
	r.t.Helper()
	res, err := r.publishables().CreatePublishableKey(r.as(company), &authv1.CreatePublishableKeyRequest{Name: "Website", Origins: origins})
	if err != nil {
		r.t.Fatal(err)
	}
	return res.GetPublishableKey()
}

func (r *replica) publishables() authv1.PublishableKeyServiceClient {
	return authv1.NewPublishableKeyServiceClient(r.conn)
}

// exchange exchanges a key as a gateway does, without a token.
func (r *replica) exchange(key string) (*authv1.ExchangePublishableKeyResponse, error) {
	return r.tokens.ExchangePublishableKey(r.t.Context(), &authv1.ExchangePublishableKeyRequest{Key: key})
}

func TestPublishableKeys(t *testing.T) {
	t.Parallel()
	r := newWorld(t).start()
	company := r.company()
	t.Run("are created with normal origins, each once, and read and listed in order", func(t *testing.T) {
		company := r.company()
		made := r.publishable(company, "https://Studio.example/", "http://localhost:3000", "https://studio.example:443")
		if want := []string{"https://studio.example", "http://localhost:3000"}; !strings.HasPrefix(made.GetId(), "pub_") || made.GetName() != "Website" ||
			!slices.Equal(made.GetOrigins(), want) || !made.GetEnabled() || made.GetVersion() != 1 || !made.GetCreatedAt().IsValid() || !made.GetUpdatedAt().IsValid() {
			t.Errorf("got %v", made)
		}
		second := r.publishable(company)
		got, err := r.publishables().GetPublishableKey(r.as(company), &authv1.GetPublishableKeyRequest{Id: made.GetId()})
		if err != nil || got.GetPublishableKey().String() != made.String() {
			t.Errorf("got %v, %v", got, err)
		}
		list, err := r.publishables().ListPublishableKeys(r.as(company), &authv1.ListPublishableKeysRequest{})
		if err != nil || len(list.GetPublishableKeys()) != 2 || list.GetPublishableKeys()[0].GetId() != made.GetId() || list.GetPublishableKeys()[1].GetId() != second.GetId() {
			t.Errorf("got %v, %v", list, err)
		}
	})
	t.Run("with invalid fields are refused, and each field is named", func(t *testing.T) {
		_, err := r.publishables().CreatePublishableKey(r.as(company), &authv1.CreatePublishableKeyRequest{Name: " ", Origins: []string{"https://a.example", "*", "http://a.example"}})
		if got := fieldsOf(err); got != "name origins[1] origins[2]" {
			t.Errorf("got %s (%v)", got, err)
		}
		_, err = r.publishables().UpdatePublishableKey(r.as(company), &authv1.UpdatePublishableKeyRequest{
			Id: r.publishable(company).GetId(), Name: ptr(""), Origins: &authv1.Origins{Values: []string{"x"}},
		})
		if got := fieldsOf(err); got != "name origins[0]" {
			t.Errorf("got %s (%v)", got, err)
		}
		_, err = r.publishables().CreatePublishableKey(r.as(company), &authv1.CreatePublishableKeyRequest{Name: "x", Origins: make([]string, 21)})
		if !fault.Is(err, fault.Invalid) {
			t.Errorf("21 origins: got %v", err)
		}
	})
	t.Run("change only what is given, and only from the expected version", func(t *testing.T) {
		made := r.publishable(company, "https://a.example")
		update := func(req *authv1.UpdatePublishableKeyRequest) (*authv1.PublishableKey, error) {
			req.Id = made.GetId()
			res, err := r.publishables().UpdatePublishableKey(r.as(company), req)
			return res.GetPublishableKey(), err
		}
		if k, err := update(&authv1.UpdatePublishableKeyRequest{Name: ptr(" Shop ")}); err != nil || k.GetName() != "Shop" || len(k.GetOrigins()) != 1 || k.GetVersion() != 2 {
			t.Errorf("got %v, %v", k, err)
		}
		if k, err := update(&authv1.UpdatePublishableKeyRequest{Origins: &authv1.Origins{}, Enabled: ptr(false)}); err != nil || k.GetName() != "Shop" || len(k.GetOrigins()) != 0 || k.GetEnabled() || k.GetVersion() != 3 {
			t.Errorf("got %v, %v", k, err)
		}
		if _, err := update(&authv1.UpdatePublishableKeyRequest{Name: ptr("x"), ExpectedVersion: ptr(int64(2))}); fault.From(err).Reason != fault.ReasonVersionMismatch {
			t.Errorf("got %v", err)
		}
		if k, err := update(&authv1.UpdatePublishableKeyRequest{Name: ptr("Shop"), Enabled: ptr(false), ExpectedVersion: ptr(int64(3))}); err != nil || k.GetVersion() != 3 {
			t.Errorf("an update without a change: got %v, %v", k, err)
		}
	})
	t.Run("are limited to 50 for a company, also when they are created at the same time", func(t *testing.T) {
		company := r.company()
		for range maxPublishableKeys - 2 {
			r.publishable(company)
		}
		var wg sync.WaitGroup
		errs := make([]error, 8)
		for i := range errs {
			wg.Go(func() {
				_, errs[i] = r.publishables().CreatePublishableKey(r.as(company), &authv1.CreatePublishableKeyRequest{Name: "x"})
			})
		}
		wg.Wait()
		made := 0
		for _, err := range errs {
			if err == nil {
				made++
			} else if fault.From(err).Reason != ReasonTooManyKeys {
				t.Errorf("got %v", err)
			}
		}
		list, err := r.publishables().ListPublishableKeys(r.as(company), &authv1.ListPublishableKeysRequest{})
		if made != 2 || len(list.GetPublishableKeys()) != maxPublishableKeys {
			t.Errorf("%d were created, and %d are listed (%v)", made, len(list.GetPublishableKeys()), err)
		}
		if _, err := r.publishables().DeletePublishableKey(r.as(company), &authv1.DeletePublishableKeyRequest{Id: list.GetPublishableKeys()[0].GetId()}); err != nil {
			t.Fatal(err)
		}
		r.publishable(company)
	})
	t.Run("of another company do not exist (invariant 8)", func(t *testing.T) {
		foreign, other := r.publishable(company).GetId(), r.company()
		_, get := r.publishables().GetPublishableKey(r.as(other), &authv1.GetPublishableKeyRequest{Id: foreign})
		_, update := r.publishables().UpdatePublishableKey(r.as(other), &authv1.UpdatePublishableKeyRequest{Id: foreign, Name: ptr("x")})
		_, remove := r.publishables().DeletePublishableKey(r.as(other), &authv1.DeletePublishableKeyRequest{Id: foreign})
		_, malformed := r.publishables().GetPublishableKey(r.as(company), &authv1.GetPublishableKeyRequest{Id: "key_" + foreign[4:]})
		for i, err := range []error{get, update, remove, malformed} {
			if f := fault.From(err); f == nil || f.Kind != fault.NotFound || f.Message != "publishable key not found" {
				t.Errorf("%d: got %v", i, err)
			}
		}
		list, err := r.publishables().ListPublishableKeys(r.as(other), &authv1.ListPublishableKeysRequest{})
		if err != nil || len(list.GetPublishableKeys()) != 0 {
			t.Errorf("got %v, %v", list, err)
		}
	})
	t.Run("need the scopes of API keys", func(t *testing.T) {
		keyID, secret := r.key(company)
		source := token.NewSource(func(context.Context) (string, time.Time, error) {
			return r.token(keyID, secret), time.Now().Add(time.Hour), nil
		})
		_, err := r.publishables().CreatePublishableKey(rpc.As(t.Context(), source, id.Company{}), &authv1.CreatePublishableKeyRequest{Name: "x"})
		if f := fault.From(err); f.Kind != fault.Forbidden || f.Meta["scope"] != scopes.APIKeysWrite {
			t.Errorf("got %v", err)
		}
	})
	t.Run("change once per idempotency key, and each change is in the audit log (invariant 7)", func(t *testing.T) {
		company := r.company()
		var made *authv1.PublishableKey
		for range 2 {
			res, err := r.publishables().CreatePublishableKey(rpc.WithIdempotencyKey(r.as(company), "create"), &authv1.CreatePublishableKeyRequest{Name: "x", Origins: []string{"https://a.example"}})
			if err != nil || (made != nil && made.GetId() != res.GetPublishableKey().GetId()) {
				t.Fatalf("got %v, %v", res, err)
			}
			made = res.GetPublishableKey()
		}
		for range 2 {
			ctx := rpc.WithIdempotencyKey(r.as(company), "update")
			if _, err := r.publishables().UpdatePublishableKey(ctx, &authv1.UpdatePublishableKeyRequest{Id: made.GetId(), Enabled: ptr(false)}); err != nil {
				t.Fatal(err)
			}
			ctx = rpc.WithIdempotencyKey(r.as(company), "delete")
			if _, err := r.publishables().DeletePublishableKey(ctx, &authv1.DeletePublishableKeyRequest{Id: made.GetId()}); err != nil {
				t.Fatal(err)
			}
		}
		res, err := r.audit.ListAuditEntries(r.as(company), &authv1.ListAuditEntriesRequest{Target: made.GetId()})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range res.GetEntries() {
			line := e.GetAction() + " by " + e.GetActor()[:4]
			for _, d := range e.GetDetails() {
				line += fmt.Sprintf(" %s:%s>%s", d.GetField(), d.GetBefore(), d.GetAfter())
			}
			got = append(got, line)
		}
		want := []string{
			"publishable_key.delete by svc_ name:>x", "publishable_key.update by svc_ enabled:true>false",
			"publishable_key.create by svc_ name:>x origins:>https://a.example enabled:>true",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		_, err = r.audit.RecordAuditEntry(r.as(company), &authv1.RecordAuditEntryRequest{Action: "publishable_key.update", Target: made.GetId()})
		if !fault.Is(err, fault.Invalid) {
			t.Errorf("another service can write such an entry: %v", err)
		}
	})
}

func TestPublishableTokens(t *testing.T) { // invariants 2 to 4
	t.Parallel()
	r := newWorld(t).start()
	company := r.company()
	t.Run("a key gets a short-lived token with the scope of the catalog, and its origins", func(t *testing.T) {
		key := r.publishable(company, "https://a.example")
		res, err := r.exchange(key.GetId())
		if err != nil || res.GetExpiresIn() != 600 || !slices.Equal(res.GetOrigins(), []string{"https://a.example"}) {
			t.Fatalf("got %v, %v", res, err)
		}
		c, err := r.verifier.Verify(t.Context(), res.GetAccessToken())
		if err != nil {
			t.Fatal(err)
		}
		if c.Subject != key.GetId() || c.Kind != token.KindPublishable || c.Company.String() != company || !slices.Equal(c.Scopes, []string{scopes.CatalogRead}) ||
			c.Zone != "Europe/London" || c.Currency != "GBP" || c.Generation != 1 || c.ExpiresAt.Sub(c.IssuedAt) != publishableLifetime {
			t.Errorf("got %+v", c)
		}
	})
	t.Run("a key that does not exist, is disabled or deleted gets none", func(t *testing.T) {
		disabled, deleted := r.publishable(company).GetId(), r.publishable(company).GetId()
		_, err := r.publishables().UpdatePublishableKey(r.as(company), &authv1.UpdatePublishableKeyRequest{Id: disabled, Enabled: ptr(false)})
		_, deleteErr := r.publishables().DeletePublishableKey(r.as(company), &authv1.DeletePublishableKeyRequest{Id: deleted})
		if err != nil || deleteErr != nil {
			t.Fatal(err, deleteErr)
		}
		keyID, _ := r.key(company)
		for _, key := range []string{disabled, deleted, id.New[id.PublishableKey]().String(), keyID, "pub_", "", "pub_x"} {
			if _, err := r.exchange(key); fault.From(err) == nil || fault.From(err).Kind != fault.Unauthenticated {
				t.Errorf("%q: got %v", key, err)
			}
		}
		if _, err := r.publishables().UpdatePublishableKey(r.as(company), &authv1.UpdatePublishableKeyRequest{Id: disabled, Enabled: ptr(true)}); err != nil {
			t.Fatal(err)
		}
		if _, err := r.exchange(disabled); err != nil {
			t.Errorf("enabled again: got %v", err)
		}
	})
	t.Run("a key is not a credential of IssueToken", func(t *testing.T) {
		_, err := r.tokens.IssueToken(t.Context(), &authv1.IssueTokenRequest{ClientId: r.publishable(company).GetId(), ClientSecret: "x"})
		if fault.From(err).Reason != fault.ReasonInvalidCredentials {
			t.Errorf("got %v", err)
		}
	})
	t.Run("a token gives no access to the auth service's own RPCs", func(t *testing.T) {
		key := r.publishable(company).GetId()
		source := token.NewSource(func(context.Context) (string, time.Time, error) {
			res, err := r.exchange(key)
			return res.GetAccessToken(), time.Now().Add(time.Hour), err
		})
		ctx := rpc.As(t.Context(), source, id.Company{})
		_, list := r.publishables().ListPublishableKeys(ctx, &authv1.ListPublishableKeysRequest{})
		_, profile := r.admins.UpdateProfile(ctx, &authv1.UpdateProfileRequest{Name: "x"})
		for i, err := range []error{list, profile} {
			if !fault.Is(err, fault.Forbidden) {
				t.Errorf("%d: got %v", i, err)
			}
		}
	})
}

func TestPublishableRevocation(t *testing.T) { // invariants 3 and 16
	t.Parallel()
	w := newWorld(t)
	one, two := w.start(), w.start()
	company := one.company()
	update := func(req *authv1.UpdatePublishableKeyRequest) func(key string) error {
		return func(key string) error {
			req.Id = key
			_, err := one.publishables().UpdatePublishableKey(one.as(company), req)
			return err
		}
	}
	for name, change := range map[string]func(key string) error{
		"disabling":            update(&authv1.UpdatePublishableKeyRequest{Enabled: ptr(false)}),
		"changing the origins": update(&authv1.UpdatePublishableKeyRequest{Origins: &authv1.Origins{Values: []string{"https://b.example"}}}),
		"deleting": func(key string) error {
			_, err := one.publishables().DeletePublishableKey(one.as(company), &authv1.DeletePublishableKeyRequest{Id: key})
			return err
		},
	} {
		t.Run("by "+name+" reaches every process, including later ones", func(t *testing.T) {
			key := one.publishable(company, "https://a.example").GetId()
			res, err := two.exchange(key)
			if err != nil {
				t.Fatal(err)
			}
			raw := res.GetAccessToken()
			soon(t, func() error { _, err := one.verifier.Verify(t.Context(), raw); return err })
			if err := change(key); err != nil {
				t.Fatal(err)
			}
			later := w.newVerifier(testkit.Bus(w.t))
			if err := later.WaitReady(t.Context()); err != nil {
				t.Fatal(err)
			}
			for i, v := range []*token.Verifier{one.verifier, two.verifier, later} {
				soon(t, func() error {
					if _, err := v.Verify(t.Context(), raw); !fault.Is(err, fault.Unauthenticated) {
						return fmt.Errorf("verifier %d: %w", i, errors.Join(errors.New("the token is still accepted"), err))
					}
					return nil
				})
			}
		})
	}
	t.Run("does not happen for another name", func(t *testing.T) {
		key := one.publishable(company).GetId()
		if err := update(&authv1.UpdatePublishableKeyRequest{Name: ptr("y")})(key); err != nil {
			t.Fatal(err)
		}
		res, err := one.exchange(key)
		if err != nil {
			t.Fatal(err)
		}
		if c, err := one.verifier.Verify(t.Context(), res.GetAccessToken()); err != nil || c.Generation != 1 {
			t.Errorf("got %v, %v", c, err)
		}
	})
	t.Run("is published again at a start, and raised in a restored database", func(t *testing.T) {
		key := one.publishable(company)
		u, _ := subjectUUID(key.GetId())
		one.revokeUnnoticed(t, u)
		feed := one.server.identityFeed()
		if err := feed.republish(t.Context()); err != nil {
			t.Fatal(err)
		}
		res, err := one.exchange(key.GetId())
		if err != nil {
			t.Fatal(err)
		}
		if raised, err := feed.raise(t.Context(), map[string]int64{key.GetId(): 9}); err != nil || raised != 1 {
			t.Fatalf("raised %d, %v", raised, err)
		}
		if err := feed.republish(t.Context()); err != nil {
			t.Fatal(err)
		}
		soon(t, func() error {
			if _, err := one.verifier.Verify(t.Context(), res.GetAccessToken()); !fault.Is(err, fault.Unauthenticated) {
				return errors.New("the token of an earlier generation is accepted")
			}
			return nil
		})
		if res, err = one.exchange(key.GetId()); err != nil {
			t.Fatal(err)
		}
		if c, err := one.verifier.Verify(t.Context(), res.GetAccessToken()); err != nil || c.Generation != 9 {
			t.Errorf("got %v, %v", c, err)
		}
	})
	t.Run("deleted keys are forgotten when their last token has expired", func(t *testing.T) {
		gone, kept := one.publishable(company).GetId(), one.publishable(company).GetId()
		if _, err := one.publishables().DeletePublishableKey(one.as(company), &authv1.DeletePublishableKeyRequest{Id: gone}); err != nil {
			t.Fatal(err)
		}
		rows := func() int64 {
			n, err := pg.One[int64](t.Context(), w.db, pg.AllCompanies(), `select count(*) from publishable_keys where id = any($1)`,
				[]id.PublishableKey{parsed(t, gone), parsed(t, kept)})
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		if err := one.server.sweepOnce(t.Context()); err != nil || rows() != 2 {
			t.Errorf("%d rows, %v", rows(), err)
		}
		one.server.now = func() time.Time { return time.Now().Add(longestToken + clockSkew + time.Minute) }
		defer func() { one.server.now = time.Now }()
		if err := one.server.sweepOnce(t.Context()); err != nil || rows() != 1 {
			t.Errorf("%d rows, %v", rows(), err)
		}
	})
}

// revokeUnnoticed raises the generation of a publishable key without its event.
func (r *replica) revokeUnnoticed(t *testing.T, key id.UUID) {
	t.Helper()
	err := r.db.InTx(t.Context(), pg.AllCompanies(), func(ctx context.Context, tx *pg.Tx) error {
		_, err := tx.Exec(ctx, `update publishable_keys set generation = 7, revoked_at = now() where id = $1`, key)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func parsed(t *testing.T, key string) id.PublishableKey {
	t.Helper()
	k, err := id.Parse[id.PublishableKey](key)
	if err != nil {
		t.Fatal(err)
	}
	return k
}
