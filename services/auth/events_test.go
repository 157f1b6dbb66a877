package auth

import (
	"bytes"
	"flag"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/id"
	"reservation.dev/platform/outbox"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/rpc"
	"reservation.dev/platform/token"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

var update = flag.Bool("update", false, "write the golden events")

// The events stay in the outbox, because nothing publishes them here.
func TestGoldenEvents(t *testing.T) { // invariant 3
	t.Parallel()
	w := newWorld(t)
	at := time.Date(2026, 1, 31, 9, 30, 0, 0, time.UTC)
	box := outbox.New(w.db, nil, slog.New(slog.DiscardHandler), time.Now)
	keys := &keyring{store: newStore(w.db), outbox: box, sealer: w.sealer, issuer: "reservation", interval: time.Hour, now: func() time.Time { return at }, log: slog.New(slog.DiscardHandler)}
	must(t, keys.start(t.Context()))
	server := NewServer(w.db, box, keys, sessionTimes{idle: time.Hour, lifetime: time.Hour}, keys.log)
	server.now = func() time.Time { at = at.Add(time.Minute); return at }
	server.newID = func() id.UUID { return id.UUID{0x01, 0x9c, 15: 1} }
	ctx := rpc.WithClaims(t.Context(), &token.Claims{Subject: "svc_operator", Kind: token.KindService, Company: id.Company(server.newID()), Scopes: []string{token.Admin}})

	_, err := server.CreateCompany(ctx, &authv1.CreateCompanyRequest{Name: "Riverside Yoga", Timezone: "Europe/London", Currency: "GBP"})
	must(t, err)
	_, err = server.UpdateCompany(ctx, &authv1.UpdateCompanyRequest{Name: ptr("Riverside"), UniqueCustomerEmails: ptr(true), OptionalCustomerEmails: ptr(true)})
	must(t, err)
	client, err := server.CreateApiClient(ctx, &authv1.CreateApiClientRequest{Name: "CRM", Scopes: []string{"profile:read"}})
	must(t, err)
	_, err = server.RotateApiClientSecret(ctx, &authv1.RotateApiClientSecretRequest{Id: client.GetApiClient().GetId()})
	must(t, err)

	payloads := map[string]proto.Message{
		"company_created": &authv1.CompanyCreated{}, "company_updated": &authv1.CompanyUpdated{},
		"credential_revoked": &authv1.CredentialRevoked{}, "signing_keys_changed": &authv1.SigningKeysChanged{},
	}
	found := map[string]bool{}
	err = w.db.Read(t.Context(), pg.AllCompanies(), pg.Query{SQL: `select subject, payload from outbox`, Scan: func(rows pgx.Rows) error {
		for rows.Next() {
			var subject string
			var payload []byte
			if err := rows.Scan(&subject, &payload); err != nil {
				return err
			}
			name, _, _ := strings.Cut(strings.TrimPrefix(subject, "auth.v1."), ".")
			found[name] = true
			if payloads[name] == nil {
				t.Errorf("unexpected event %s", subject)
				continue
			}
			if err := proto.Unmarshal(payload, payloads[name]); err != nil {
				return err
			}
		}
		return nil
	}})
	if err != nil || len(found) != len(payloads) {
		t.Fatalf("found %v, %v", found, err)
	}
	// A key is random: only its form is compared.
	for _, k := range payloads["signing_keys_changed"].(*authv1.SigningKeysChanged).GetKeys() {
		if !strings.HasPrefix(k.GetKid(), "key_") || len(k.GetX()) != 43 {
			t.Errorf("got %v", k)
		}
		k.Kid, k.X = "key_01jb4x9m3vf6ksn8w2d7pq5r0t", "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"
	}
	for name, payload := range payloads {
		file := filepath.Join("testdata", name+".json")
		if *update {
			must(t, os.MkdirAll("testdata", 0o755))
			must(t, os.WriteFile(file, []byte(protojson.MarshalOptions{Multiline: true}.Format(payload)+"\n"), 0o644))
		}
		text, err := os.ReadFile(file)
		must(t, err)
		want := payload.ProtoReflect().New().Interface()
		if err := protojson.Unmarshal(bytes.TrimSpace(text), want); err != nil || !proto.Equal(payload, want) {
			t.Errorf("%s: got %v, the golden file has %v (%v)", name, payload, want, err)
		}
	}
}
