package auth

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/rpc"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

func TestAuditLog(t *testing.T) { // invariant 7
	t.Parallel()
	w := newWorld(t)
	r := w.start()
	at := time.Now().UTC().Truncate(time.Microsecond)
	r.server.now = func() time.Time { at = at.Add(time.Millisecond); return at }
	company := r.company()
	boss := r.administrator(company, owner)

	t.Run("has every change with its actor and facts, and without secrets", func(t *testing.T) {
		began := at
		ctx := boss.ctx()
		client, err := r.clients.CreateApiClient(ctx, &authv1.CreateApiClientRequest{Name: "CRM", Scopes: []string{"profile:read", "customers:read"}, RateLimit: ptr(int32(5))})
		must(t, err)
		clientID := client.GetApiClient().GetId()
		_, err = r.clients.UpdateApiClient(ctx, &authv1.UpdateApiClientRequest{Id: clientID, Name: ptr("New CRM"), RateLimit: ptr(int32(0))})
		must(t, err)
		_, err = r.clients.RotateApiClientSecret(ctx, &authv1.RotateApiClientSecretRequest{Id: clientID})
		must(t, err)
		_, err = r.companies.UpdateCompany(ctx, &authv1.UpdateCompanyRequest{Currency: ptr("EUR")})
		must(t, err)
		invited, err := r.admins.InviteAdministrator(ctx, &authv1.InviteAdministratorRequest{Email: "bob@example.com", Role: manager})
		must(t, err)
		in, err := r.admins.AcceptInvitation(t.Context(), &authv1.AcceptInvitationRequest{Token: invited.GetToken(), Name: "Bob", Password: goodPassword, Address: "192.0.2.9", UserAgent: "Chrome"})
		must(t, err)
		bob := in.GetIdentity().GetAdministrator().GetId()
		_, err = r.admins.UpdateAdministrator(ctx, &authv1.UpdateAdministratorRequest{Id: bob, Role: owner.Enum(), Disabled: ptr(true)})
		must(t, err)
		entries := r.entries(company, &authv1.ListAuditEntriesRequest{Since: timestamppb.New(began)})
		slices.Reverse(entries)
		want := []string{
			"api_client.create name: CRM, scopes: customers:read profile:read, rate_limit: 5",
			"api_client.update name: CRM → New CRM, rate_limit: 5 →",
			"api_client.rotate name: New CRM",
			"company.update currency: GBP → EUR",
			"invitation.create email: bob@example.com, role: manager",
			"administrator.create name: Bob, email: bob@example.com, role: manager",
			"session.create by: invitation, address: 192.0.2.9, user_agent: Chrome",
			"invitation.accept email: bob@example.com, role: manager",
			"administrator.update role: manager → owner",
			"administrator.disable name: Bob, sessions_ended: 1",
		}
		if got := spelled(entries); !slices.Equal(slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))) {
			t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		for _, e := range entries {
			byBob := e.GetAction() == "administrator.create" || e.GetAction() == "session.create" || e.GetAction() == "invitation.accept"
			if byBob && (e.GetActor() != bob || e.GetActorName() != "Bob") || !byBob && (e.GetActor() != boss.id || e.GetActorName() != "Ada") {
				t.Errorf("%s is by %s, %q", e.GetAction(), e.GetActor(), e.GetActorName())
			}
		}
	})
	t.Run("the log can be filtered by actor, action, target and time, in pages", func(t *testing.T) {
		all := r.entries(company, &authv1.ListAuditEntriesRequest{})
		for name, tt := range map[string]struct {
			req  *authv1.ListAuditEntriesRequest
			want func(e *authv1.AuditEntry) bool
		}{
			"actor":  {&authv1.ListAuditEntriesRequest{Actor: boss.id}, func(e *authv1.AuditEntry) bool { return e.GetActor() == boss.id }},
			"action": {&authv1.ListAuditEntriesRequest{Action: "api_client.update"}, func(e *authv1.AuditEntry) bool { return e.GetAction() == "api_client.update" }},
			"thing":  {&authv1.ListAuditEntriesRequest{Action: "api_client."}, func(e *authv1.AuditEntry) bool { return strings.HasPrefix(e.GetAction(), "api_client.") }},
			"target": {&authv1.ListAuditEntriesRequest{Target: boss.id}, func(e *authv1.AuditEntry) bool { return e.GetTarget() == boss.id }},
			"until":  {&authv1.ListAuditEntriesRequest{Until: all[3].GetAt()}, func(e *authv1.AuditEntry) bool { return e.GetAt().AsTime().Before(all[3].GetAt().AsTime()) }},
			"since":  {&authv1.ListAuditEntriesRequest{Since: all[3].GetAt()}, func(e *authv1.AuditEntry) bool { return !e.GetAt().AsTime().Before(all[3].GetAt().AsTime()) }},
			"all of them": {&authv1.ListAuditEntriesRequest{Actor: boss.id, Action: "session.", Target: "x", Since: all[3].GetAt(), Until: all[0].GetAt()},
				func(*authv1.AuditEntry) bool { return false }},
		} {
			var want []string
			for _, e := range all {
				if tt.want(e) {
					want = append(want, e.GetId())
				}
			}
			var got []string
			for tt.req.PageSize = 2; ; {
				res, err := r.audit.ListAuditEntries(r.as(company), tt.req)
				must(t, err)
				for _, e := range res.GetEntries() {
					got = append(got, e.GetId())
				}
				if tt.req.PageToken = res.GetNextPageToken(); tt.req.PageToken == "" {
					break
				}
			}
			if !slices.Equal(got, want) || (name != "all of them" && len(got) == 0) {
				t.Errorf("%s: got %v, want %v", name, got, want)
			}
		}
		if _, err := r.audit.ListAuditEntries(r.as(company), &authv1.ListAuditEntriesRequest{Target: "a\x00"}); reason(err) != fault.ReasonInvalidParameter {
			t.Errorf("got %v", err)
		}
		for _, pageToken := range []string{"x", "zzzzzzzzzzzz.", "-1." + id.NewUUID().String()} {
			if _, err := r.audit.ListAuditEntries(r.as(company), &authv1.ListAuditEntriesRequest{PageToken: pageToken}); reason(err) != fault.ReasonInvalidParameter {
				t.Errorf("%q: got %v", pageToken, err)
			}
		}
	})
}

func TestAuditEntriesOfOtherServices(t *testing.T) { // invariant 7
	t.Parallel()
	w := newWorld(t)
	r := w.start()
	at := time.Now().UTC().Truncate(time.Microsecond)
	r.server.now = func() time.Time { at = at.Add(time.Millisecond); return at }
	company := r.company()

	t.Run("accepts entries about other services once per idempotency key, and none about auth", func(t *testing.T) {
		ada := r.administrator(company, manager)
		ctx := rpc.WithIdempotencyKey(ada.ctx(), "k1")
		req := &authv1.RecordAuditEntryRequest{Action: "webhook.create", Target: "wh_1", Details: []*authv1.AuditDetail{{Field: "url", After: "https://example.com"}}}
		for range 2 {
			res, err := r.audit.RecordAuditEntry(ctx, req)
			must(t, err)
			if res.GetEntry().GetActor() != ada.id {
				t.Errorf("got %v", res)
			}
		}
		if got := spelled(r.entries(company, &authv1.ListAuditEntriesRequest{Action: "webhook."})); !slices.Equal(got, []string{"webhook.create url: https://example.com"}) {
			t.Errorf("got %v", got)
		}
		for name, req := range map[string]*authv1.RecordAuditEntryRequest{
			"auth's own":               {Action: "session.create", Target: "x"},
			"no action":                {Target: "x"},
			"no thing":                 {Action: "create", Target: "x"},
			"no target":                {Action: "webhook.create"},
			"a long detail":            {Action: "webhook.create", Target: "x", Details: []*authv1.AuditDetail{{Field: "x", After: strings.Repeat("x", 1001)}}},
			"a detail without a field": {Action: "webhook.create", Target: "x", Details: []*authv1.AuditDetail{{After: "x"}}},
			"a NUL in a detail":        {Action: "webhook.create", Target: "x", Details: []*authv1.AuditDetail{{Field: "x", After: "a\x00"}}},
			"too many details":         {Action: "webhook.create", Target: "x", Details: make([]*authv1.AuditDetail, 51)},
			"a very long action":       {Action: "webhook." + strings.Repeat("x", 64), Target: "x"},
		} {
			if _, err := r.audit.RecordAuditEntry(ada.ctx(), req); reason(err) != fault.ReasonValidation {
				t.Errorf("%s: got %v", name, err)
			}
		}
	})
	t.Run("an entry cannot be changed or deleted", func(t *testing.T) {
		for _, sql := range []string{`update audit_log set actor = 'x'`, `delete from audit_log`, `truncate audit_log`} {
			err := w.db.InTx(t.Context(), pg.AllCompanies(), func(ctx context.Context, tx *pg.Tx) error {
				_, err := tx.Exec(ctx, sql)
				return err
			})
			if err == nil {
				t.Errorf("%s is allowed", sql)
			}
		}
	})
}

func TestAuditLogOfTestModeNamesAdministrators(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.start()
	boss := r.administrator(r.company(), owner)
	in, err := r.admins.Authenticate(t.Context(), &authv1.AuthenticateRequest{SessionToken: boss.session, TestMode: true})
	must(t, err)
	ctx := with(t.Context(), in.GetIdentity().GetAccessToken())
	_, err = r.apiKeys.CreateApiKey(ctx, &authv1.CreateApiKeyRequest{Name: "Website"})
	must(t, err)
	_, err = r.audit.RecordAuditEntry(ctx, &authv1.RecordAuditEntryRequest{Action: "event.create", Target: "evt_1"})
	must(t, err)
	res, err := r.audit.ListAuditEntries(ctx, &authv1.ListAuditEntriesRequest{Actor: boss.id})
	must(t, err)
	var got []string
	for _, e := range res.GetEntries() {
		got = append(got, e.GetAction())
	}
	if want := []string{"event.create", "api_key.create", "company.create"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for _, e := range res.GetEntries() {
		if e.GetActorName() != "Ada" {
			t.Errorf("%s is by %q", e.GetAction(), e.GetActorName())
		}
	}
	_, err = r.audit.RecordAuditEntry(ctx, &authv1.RecordAuditEntryRequest{Action: "test_data.reset", Target: "x"})
	if reason(err) != fault.ReasonValidation {
		t.Errorf("an entry of auth's own is accepted: %v", err)
	}
}
