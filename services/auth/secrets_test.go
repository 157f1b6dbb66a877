package auth

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/rpc"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

func TestRotation(t *testing.T) { // invariants 4 and 19
	t.Parallel()
	begin := time.Date(2026, 3, 29, 9, 30, 0, 0, time.UTC)
	old, oldHash := newSecret()
	after := func(d time.Duration) time.Time { return begin.Add(d) }
	rotated := func(t *testing.T, r rotation) (Credential, string) {
		t.Helper()
		c := Credential{SecretHash: oldHash, Generation: 1, RotatedAt: after(-day)}
		secret, err := c.rotate(r, begin)
		if err != nil {
			t.Fatal(err)
		}
		return c, secret
	}
	t.Run("without an overlap ends the replaced secret and the tokens at once", func(t *testing.T) {
		c, secret := rotated(t, rotation{})
		if c.compare(hashOf(old), begin) != wrongSecret || c.compare(hashOf(secret), begin) != currentSecret || c.Generation != 2 {
			t.Errorf("got %+v", c)
		}
	})
	t.Run("with an overlap leaves the replaced secret valid until it ends, and the tokens", func(t *testing.T) {
		c, secret := rotated(t, rotation{overlap: 3 * day})
		for at, want := range map[time.Duration]secretUse{0: previousSecret, 3*day - 1: previousSecret, 3 * day: wrongSecret, 4 * day: wrongSecret} {
			if got := c.compare(hashOf(old), after(at)); got != want {
				t.Errorf("after %s the replaced secret is %v, want %v", at, got, want)
			}
			if got := c.compare(hashOf(secret), after(at)); got != currentSecret {
				t.Errorf("after %s the new secret is %v", at, got)
			}
		}
		if c.Generation != 1 {
			t.Errorf("the generation is %d", c.Generation)
		}
	})
	t.Run("again during an overlap is refused with its end, and changes nothing", func(t *testing.T) {
		c, secret := rotated(t, rotation{overlap: day})
		for _, r := range []rotation{{}, {overlap: day}} {
			_, err := c.rotate(r, after(day-1))
			if f := fault.From(err); f.Kind != fault.Refused || f.Reason != fault.ReasonSecretRotated || f.Meta["previous_expires_at"] != "2026-03-30T09:30:00Z" {
				t.Errorf("%+v: got %v", r, err)
			}
		}
		if c.compare(hashOf(old), begin) != previousSecret || c.compare(hashOf(secret), begin) != currentSecret {
			t.Errorf("got %+v", c)
		}
		if _, err := c.rotate(rotation{overlap: day}, after(day)); err != nil || c.compare(hashOf(secret), after(day)) != previousSecret {
			t.Errorf("after the overlap: %v", err)
		}
	})
	t.Run("by force ends the older secret with all tokens", func(t *testing.T) {
		c, secret := rotated(t, rotation{overlap: day})
		third, err := c.rotate(rotation{overlap: 7 * day, force: true}, begin)
		if err != nil || c.compare(hashOf(old), begin) != wrongSecret || c.compare(hashOf(secret), begin) != previousSecret ||
			c.compare(hashOf(third), begin) != currentSecret || c.Generation != 2 {
			t.Errorf("got %+v, %v", c, err)
		}
	})
	t.Run("by a process that does not know of overlaps ends every secret before", func(t *testing.T) {
		c, _ := rotated(t, rotation{overlap: day})
		_, c.SecretHash = newSecret()
		c.RotatedAt = after(time.Hour)
		if c.compare(hashOf(old), after(time.Hour)) != wrongSecret {
			t.Error("the oldest secret is valid")
		}
	})
	t.Run("limits tokens for the replaced secret to its end", func(t *testing.T) {
		c, _ := rotated(t, rotation{overlap: day})
		sooner, later := after(time.Hour), after(7*day)
		for _, tt := range []struct {
			expires *time.Time
			use     secretUse
			want    *time.Time
		}{
			{nil, currentSecret, nil}, {nil, previousSecret, new(after(day))},
			{&later, currentSecret, &later}, {&later, previousSecret, new(after(day))}, {&sooner, previousSecret, &sooner},
		} {
			c.ExpiresAt = tt.expires
			if got := c.expiry(tt.use); (got == nil) != (tt.want == nil) || got != nil && !got.Equal(*tt.want) {
				t.Errorf("%v with the expiry %v: got %v, want %v", tt.use, tt.expires, got, tt.want)
			}
		}
	})
	t.Run("a credential without secrets accepts none", func(t *testing.T) {
		var c Credential
		if c.compare(hashOf(old), begin) != wrongSecret || c.compare(hashOf(""), begin) != wrongSecret {
			t.Error("accepted")
		}
	})
}

// rotating rotates and ends the secrets of credentials of one kind.
type rotating struct {
	create func() (id, secret string)
	rotate func(ctx context.Context, id string, days int32, force bool) (secret string, err error)
	end    func(id string) error
	get    func(id string) previous
}

// previous is what a credential shows of its previous secret.
type previous struct {
	ends, used time.Time // zero: unset
}

func previousOf(c interface {
	GetPreviousSecretExpiresAt() *timestamppb.Timestamp
	GetPreviousSecretLastUsedAt() *timestamppb.Timestamp
}) (p previous) {
	if at := c.GetPreviousSecretExpiresAt(); at != nil {
		p.ends = at.AsTime()
	}
	if at := c.GetPreviousSecretLastUsedAt(); at != nil {
		p.used = at.AsTime()
	}
	return p
}

func kind(subject string) string {
	_, kind, _ := parseSubject(subject)
	return kind
}

func (r *replica) rotating(company string) map[string]rotating {
	return map[string]rotating{
		"an API client": {
			create: func() (string, string) { return r.client(company) },
			rotate: func(ctx context.Context, id string, days int32, force bool) (string, error) {
				res, err := r.clients.RotateApiClientSecret(ctx, &authv1.RotateApiClientSecretRequest{Id: id, OverlapDays: days, Force: force})
				return res.GetClientSecret(), err
			},
			end: func(id string) error {
				_, err := r.clients.EndPreviousApiClientSecret(r.as(company), &authv1.EndPreviousApiClientSecretRequest{Id: id})
				return err
			},
			get: func(id string) previous {
				res, err := r.clients.GetApiClient(r.as(company), &authv1.GetApiClientRequest{Id: id})
				if err != nil {
					r.t.Fatal(err)
				}
				return previousOf(res.GetApiClient())
			},
		},
		"an API key": {
			create: func() (string, string) { return r.key(company) },
			rotate: func(ctx context.Context, id string, days int32, force bool) (string, error) {
				res, err := r.apiKeys.RotateApiKeySecret(ctx, &authv1.RotateApiKeySecretRequest{Id: id, OverlapDays: days, Force: force})
				return res.GetApiSecret(), err
			},
			end: func(id string) error {
				_, err := r.apiKeys.EndPreviousApiKeySecret(r.as(company), &authv1.EndPreviousApiKeySecretRequest{Id: id})
				return err
			},
			get: func(id string) previous {
				res, err := r.apiKeys.GetApiKey(r.as(company), &authv1.GetApiKeyRequest{Id: id})
				if err != nil {
					r.t.Fatal(err)
				}
				return previousOf(res.GetApiKey())
			},
		},
		"a service credential": {
			create: func() (string, string) {
				made, err := r.services.CreateServiceCredential(r.as(company), &authv1.CreateServiceCredentialRequest{Name: "Reports", Scopes: []string{"events:read"}})
				if err != nil {
					r.t.Fatal(err)
				}
				return made.GetServiceCredential().GetId(), made.GetSecret()
			},
			rotate: func(ctx context.Context, id string, days int32, force bool) (string, error) {
				res, err := r.services.RotateServiceCredential(ctx, &authv1.RotateServiceCredentialRequest{Id: id, OverlapDays: days, Force: force})
				return res.GetSecret(), err
			},
			end: func(id string) error {
				_, err := r.services.EndPreviousServiceCredentialSecret(r.as(company), &authv1.EndPreviousServiceCredentialSecretRequest{Id: id})
				return err
			},
			get: func(id string) previous {
				res, err := r.services.ListServiceCredentials(r.as(company), &authv1.ListServiceCredentialsRequest{PageSize: 1000})
				if err != nil {
					r.t.Fatal(err)
				}
				for _, c := range res.GetServiceCredentials() {
					if c.GetId() == id {
						return previousOf(c)
					}
				}
				r.t.Fatal("the credential is not listed")
				return previous{}
			},
		},
	}
}

func TestOverlap(t *testing.T) { // invariants 2, 3, 4, 7 and 19
	t.Parallel()
	r := newWorld(t).start()
	company := r.company()
	issue := func(id, secret string) (*authv1.IssueTokenResponse, error) {
		return r.tokens.IssueToken(t.Context(), &authv1.IssueTokenRequest{ClientId: id, ClientSecret: secret})
	}
	accepted := func(raw string) bool {
		_, err := r.verifier.Verify(t.Context(), raw)
		return err == nil
	}
	shift := func(d time.Duration) { r.server.now = func() time.Time { return time.Now().Add(d) } }
	for name, k := range r.rotating(company) {
		t.Run(name+" has two secrets until the overlap is over", func(t *testing.T) {
			defer shift(0)
			c, first := k.create()
			before := r.token(c, first)
			second, err := k.rotate(r.as(company), c, 1, false)
			if err != nil {
				t.Fatal(err)
			}
			shown := k.get(c)
			if d := time.Until(shown.ends); d > day || d < day-time.Minute || !shown.used.IsZero() {
				t.Errorf("shows %+v", shown)
			}
			for _, secret := range []string{first, second} {
				if _, err := issue(c, secret); err != nil {
					t.Error(err)
				}
			}
			if used := k.get(c).used; time.Since(used) > 2*time.Minute || used.Second() != 0 {
				t.Errorf("the previous secret was last used at %s", used)
			}
			if _, err := issue(c, first+"0"); fault.From(err).Reason != fault.ReasonInvalidCredentials {
				t.Errorf("a wrong secret got %v", err)
			}
			shift(day - 10*time.Minute)
			late, err := issue(c, first)
			if err != nil || late.GetExpiresIn() > 600 {
				t.Errorf("shortly before the end: %v, %v", late, err)
			}
			shift(day + time.Minute)
			if _, err := issue(c, first); fault.From(err).Reason != fault.ReasonInvalidCredentials {
				t.Errorf("after the end: %v", err)
			}
			if shown := k.get(c); !shown.ends.IsZero() || !shown.used.IsZero() {
				t.Errorf("after the end it shows %+v", shown)
			}
			if _, err := issue(c, second); err != nil || !accepted(before) {
				t.Errorf("the new secret: %v; the token from before: %t", err, accepted(before))
			}
		})
		t.Run("the previous secret of "+name+" can be ended, which revokes all tokens, once", func(t *testing.T) {
			c, first := k.create()
			second, err := k.rotate(r.as(company), c, 7, false)
			if err != nil {
				t.Fatal(err)
			}
			ends := k.get(c).ends.Format(time.RFC3339)
			raws := []string{r.token(c, first), r.token(c, second)}
			for range 2 {
				if err := k.end(c); err != nil {
					t.Fatal(err)
				}
			}
			for _, raw := range raws {
				soon(t, func() error {
					if accepted(raw) {
						return errors.New("the token is accepted")
					}
					return nil
				})
			}
			if _, err := issue(c, first); fault.From(err).Reason != fault.ReasonInvalidCredentials || !accepted(r.token(c, second)) {
				t.Errorf("got %v", err)
			}
			log := spelled(r.entries(company, &authv1.ListAuditEntriesRequest{Target: c, PageSize: 2}))
			thing, fact := kindOf(kind(c)).thing, "previous_secret_expires_at: "+ends
			if want := []string{thing + ".end_previous_secret " + fact + " →", thing + ".rotate " + fact}; !slices.Equal(log, want) {
				t.Errorf("the audit log has %q, want %q", log, want)
			}
		})
		t.Run("of many concurrent rotations of "+name+", one wins, and no valid secret ends", func(t *testing.T) {
			c, first := k.create()
			ctx := r.as(company)
			var mu sync.Mutex
			var secrets []string
			var all sync.WaitGroup
			for range 16 {
				all.Go(func() {
					secret, err := k.rotate(ctx, c, 2, false)
					if err != nil && fault.From(err).Reason != fault.ReasonSecretRotated {
						t.Error(err)
					}
					if err == nil {
						mu.Lock()
						defer mu.Unlock()
						secrets = append(secrets, secret)
					}
				})
			}
			all.Wait()
			if len(secrets) != 1 {
				t.Fatalf("%d rotations succeeded", len(secrets))
			}
			for _, secret := range []string{first, secrets[0]} {
				if _, err := issue(c, secret); err != nil {
					t.Error(err)
				}
			}
		})
		t.Run("a rotation of "+name+" is repeated with its idempotency key without another secret", func(t *testing.T) {
			c, first := k.create()
			ctx := rpc.WithIdempotencyKey(r.as(company), c)
			second, err := k.rotate(ctx, c, 1, false)
			if again, err := k.rotate(ctx, c, 1, false); err != nil || again != "" {
				t.Errorf("got %q, %v", again, err)
			}
			for _, secret := range []string{first, second} {
				if _, err := issue(c, secret); err != nil {
					t.Error(err)
				}
			}
			if err != nil {
				t.Error(err)
			}
		})
		t.Run("the overlap of "+name+" is 0 to 7 days", func(t *testing.T) {
			c, _ := k.create()
			for _, days := range []int32{-1, 8} {
				if _, err := k.rotate(r.as(company), c, days, true); fieldsOf(err) != "overlap_days" {
					t.Errorf("%d days: got %v", days, err)
				}
			}
		})
	}
}

// The statement is the one that processes of release 1.0 rotate with.
func TestRotationByThePreviousRelease(t *testing.T) { // invariant 19
	t.Parallel()
	r := newWorld(t).start()
	company := r.company()
	c, first := r.client(company)
	rotated, err := r.clients.RotateApiClientSecret(r.as(company), &authv1.RotateApiClientSecretRequest{Id: c, OverlapDays: 7})
	if err != nil {
		t.Fatal(err)
	}
	third, hash := newSecret()
	u, _, _ := parseSubject(c)
	err = r.db.InTx(t.Context(), pg.AllCompanies(), func(ctx context.Context, tx *pg.Tx) error {
		_, err := tx.Exec(ctx, `update credentials set secret_hash = $2, generation = generation + 1, revoked_at = $3, rotated_at = $3, version = version + 1
			where id = $1`, u, hash, pg.Instant(time.Now()))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for secret, want := range map[string]bool{first: false, rotated.GetClientSecret(): false, third: true} {
		if _, err := r.tokens.IssueToken(t.Context(), &authv1.IssueTokenRequest{ClientId: c, ClientSecret: secret}); (err == nil) != want {
			t.Errorf("got %v, want %t", err, want)
		}
	}
	got, err := r.clients.RotateApiClientSecret(r.as(company), &authv1.RotateApiClientSecretRequest{Id: c, OverlapDays: 1})
	if err != nil || got.GetApiClient().GetPreviousSecretExpiresAt() == nil {
		t.Errorf("the next rotation: %v, %v", got, err)
	}
}
