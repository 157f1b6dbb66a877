package webhook

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/devkit/testkit"
	"reservation.dev/platform/bus"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/outbox"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/rpc"
	"reservation.dev/platform/seal"
	"reservation.dev/platform/webhookevent"
	webhookv1 "reservation.dev/proto/gen/reservation/webhook/v1"
	"reservation.dev/services/webhook/message"
	"reservation.dev/services/webhook/migrations"
)

const passPurchase = webhookv1.EventType_EVENT_TYPE_PASS_PURCHASED

func TestTenancy(t *testing.T) {
	t.Parallel()
	w := open(t, quick())
	r := newReceiver(t, nil)
	e := w.endpoint(r.URL).GetEndpoint().GetId()
	w.bookings(1)
	d := w.delivery(e, delivered).GetDelivery().GetId()
	stranger := w.as(id.New[id.Company]())
	since := timestamp(time.Now().Add(-time.Hour))
	on := true
	t.Run("another company's identifiers are treated like ones that do not exist (10)", func(t *testing.T) {
		for _, whole := range []string{e, d} {
			for _, ident := range []string{whole, "", "nonsense", whole[:len(whole)-1]} {
				for name, call := range map[string]func() error{
					"GetEndpoint": func() error {
						_, err := w.client.GetEndpoint(stranger, &webhookv1.GetEndpointRequest{Id: ident})
						return err
					},
					"UpdateEndpoint": func() error {
						_, err := w.client.UpdateEndpoint(stranger, &webhookv1.UpdateEndpointRequest{Id: ident, Enabled: &on})
						return err
					},
					"DeleteEndpoint": func() error {
						_, err := w.client.DeleteEndpoint(stranger, &webhookv1.DeleteEndpointRequest{Id: ident})
						return err
					},
					"GetSecret": func() error {
						_, err := w.client.GetSecret(stranger, &webhookv1.GetSecretRequest{EndpointId: ident})
						return err
					},
					"RotateSecret": func() error {
						_, err := w.client.RotateSecret(stranger, &webhookv1.RotateSecretRequest{EndpointId: ident})
						return err
					},
					"SendTest": func() error {
						_, err := w.client.SendTest(stranger, &webhookv1.SendTestRequest{EndpointId: ident, Event: passPurchase})
						return err
					},
					"GetDelivery": func() error {
						_, err := w.client.GetDelivery(stranger, &webhookv1.GetDeliveryRequest{Id: ident})
						return err
					},
					"ReplayDelivery": func() error {
						_, err := w.client.ReplayDelivery(stranger, &webhookv1.ReplayDeliveryRequest{Id: ident})
						return err
					},
				} {
					if err := call(); !fault.Is(err, fault.NotFound) {
						t.Errorf("%s of %q: %v", name, ident, err)
					}
				}
			}
		}
		for name, err := range map[string]error{
			"ReplayFailed":  second(w.client.ReplayFailed(stranger, &webhookv1.ReplayFailedRequest{EndpointId: e, Since: since})),
			"GetStatistics": second(w.client.GetStatistics(stranger, &webhookv1.GetStatisticsRequest{EndpointId: e})),
		} {
			if !fault.Is(err, fault.NotFound) {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
	t.Run("lists, replays and statistics show only the company's own", func(t *testing.T) {
		if res, err := w.client.ListEndpoints(stranger, &webhookv1.ListEndpointsRequest{}); err != nil || len(res.GetEndpoints()) != 0 {
			t.Errorf("%v %v", res, err)
		}
		for _, endpoint := range []string{"", e} {
			if res, err := w.client.ListDeliveries(stranger, &webhookv1.ListDeliveriesRequest{EndpointId: endpoint}); err != nil || len(res.GetDeliveries()) != 0 {
				t.Errorf("%v %v", res, err)
			}
		}
		if res, err := w.client.ReplayFailed(stranger, &webhookv1.ReplayFailedRequest{Since: since}); err != nil || res.GetReplayed() != 0 {
			t.Errorf("%v %v", res, err)
		}
		res, err := w.client.GetStatistics(stranger, &webhookv1.GetStatisticsRequest{})
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range res.GetBuckets() {
			if b.GetDelivered() != 0 {
				t.Errorf("%v", b)
			}
		}
	})
	t.Run("an event reaches only the endpoints of its own company", func(t *testing.T) {
		before := r.count()
		w.consume(classBooking(id.New[id.Company]()))
		w.settled()
		if r.count() != before {
			t.Error("it came")
		}
	})
	t.Run("each RPC needs its scope", func(t *testing.T) {
		raw := w.issuer.Client(w.company, "webhooks:read")
		claims, err := w.issuer.Verifier.Verify(t.Context(), raw)
		if err != nil {
			t.Fatal(err)
		}
		reader := rpc.WithClaims(t.Context(), claims)
		if _, err := w.client.GetEndpoint(reader, &webhookv1.GetEndpointRequest{Id: e}); err != nil {
			t.Error(err)
		}
		if _, err := w.client.GetSecret(reader, &webhookv1.GetSecretRequest{EndpointId: e}); !fault.Is(err, fault.Forbidden) {
			t.Error(err)
		}
	})
}

func second[T any](_ T, err error) error { return err }

func TestSchema(t *testing.T) {
	t.Parallel()
	ownerURL, appURL := testkit.DBURLs(t, pg.Migrations{Part: "webhook", FS: migrations.FS, AppRole: testkit.AppRole()})
	owner, err := pgx.Connect(t.Context(), ownerURL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { owner.Close(context.Background()) })
	db := openDB(t, appURL)
	sealer, err := seal.New(make([]byte, seal.KeySize))
	if err != nil {
		t.Fatal(err)
	}
	s := newStore(db, sealer)
	column := func(sql string) []string {
		rows, err := owner.Query(t.Context(), sql)
		if err != nil {
			t.Fatal(err)
		}
		out, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	const unguarded = `select c.relname from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'company_id'
		where c.relkind in ('r', 'p') and c.relnamespace = 'public'::regnamespace and not c.relrowsecurity and c.relname <> 'outbox'`
	t.Run("every table with companies' rows has row-level security, including partitions (10)", func(t *testing.T) {
		if got := column(unguarded); len(got) > 0 {
			t.Errorf("%v have none", got)
		}
	})
	t.Run("the service can maintain partitions without owning them, and drops those older than 30 days", func(t *testing.T) {
		if got := column(`select relname from pg_class where relowner = '` + testkit.AppRole() + `'::regrole`); len(got) > 0 {
			t.Errorf("it owns %v", got)
		}
		last := column(`select to_char((now() at time zone 'UTC')::date + 14, 'YYYYMMDD')`)[0]
		for _, sql := range []string{
			// They do not exist if the schema was made before midnight.
			`drop table if exists attempts_` + last, `drop table if exists messages_` + last,
			`create table attempts_20200101 partition of attempts for values from ('2020-01-01') to ('2020-01-02')`,
			`create table messages_20200101 partition of messages for values from (first_uuid_at('2020-01-01')) to (first_uuid_at('2020-01-02'))`,
		} {
			if _, err := owner.Exec(t.Context(), sql); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.keepPartitions(t.Context()); err != nil {
			t.Fatal(err)
		}
		names := strings.Join(column(`select relname from pg_class where relname ~ '^(attempts|messages)_\d{8}$'`), " ")
		if strings.Contains(names, "20200101") || !strings.Contains(names, "attempts_"+last) || !strings.Contains(names, "messages_"+last) {
			t.Errorf("there are %s", names)
		}
		if got := column(unguarded); len(got) > 0 {
			t.Errorf("%v have no row-level security", got)
		}
	})
	t.Run("no partition is dropped while a company is copied", func(t *testing.T) {
		execute := func(sql string) {
			t.Helper()
			if _, err := owner.Exec(t.Context(), sql); err != nil {
				t.Fatal(err)
			}
		}
		execute(`create table attempts_20200102 partition of attempts for values from ('2020-01-02') to ('2020-01-03')`)
		for _, during := range []struct {
			begin, end string
			kept       bool
		}{
			{`insert into company_moves values (gen_random_uuid(), 'arriving', now(), 'elsewhere')`, `delete from company_moves`, true},
			{`create publication move_webhook_x for table messages`, `drop publication move_webhook_x`, true},
			{`insert into company_moves values (gen_random_uuid(), 'left', now(), 'elsewhere')`, `delete from company_moves`, false},
		} {
			execute(during.begin)
			if err := s.keepPartitions(t.Context()); err != nil {
				t.Fatal(err)
			}
			if kept := len(column(`select relname from pg_class where relname = 'attempts_20200102'`)) == 1; kept != during.kept {
				t.Errorf("%s: the partition is kept: %v", during.begin, kept)
			}
			execute(during.end)
		}
	})
	t.Run("a backup keeps the partitions, and nothing waits behind the job that drops them", func(t *testing.T) {
		if _, err := owner.Exec(t.Context(), `create table attempts_20200103 partition of attempts for values from ('2020-01-03') to ('2020-01-04')`); err != nil {
			t.Fatal(err)
		}
		backup, err := owner.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := backup.Exec(t.Context(), `lock table messages, attempts in access share mode`); err != nil {
			t.Fatal(err)
		}
		var refused *pgconn.PgError
		if err := s.keepPartitions(t.Context()); !errors.As(err, &refused) || refused.Code != "55P03" {
			t.Errorf("during a backup: %v, want lock_not_available", err)
		}
		if err := errors.Join(backup.Rollback(t.Context()), s.keepPartitions(t.Context())); err != nil {
			t.Error(err)
		}
		if left := column(`select relname from pg_class where relname = 'attempts_20200103'`); len(left) > 0 {
			t.Error("the partition is not dropped after the backup")
		}
	})
	t.Run("a delivery's identifier has the time of its message, and depends only on message and endpoint (1)", func(t *testing.T) {
		message, endpoint := id.NewUUID(), id.NewUUID()
		var first, again, other id.UUID
		err := owner.QueryRow(t.Context(), `select delivery_id($1, $2), delivery_id($1, $2), delivery_id($2, $1)`, message, endpoint).Scan(&first, &again, &other)
		if err != nil || first != again || first == other || [6]byte(first[:6]) != [6]byte(message[:6]) || first[6]>>4 != 7 || first[8]>>6 != 2 {
			t.Errorf("%x %x %x %v", first, again, other, err)
		}
	})
}

func TestEndpoints(t *testing.T) {
	t.Parallel()
	w := open(t, quick())
	r := newReceiver(t, nil)
	t.Run("an endpoint is created, read, changed and deleted", func(t *testing.T) {
		made := w.endpoint(r.URL)
		e := made.GetEndpoint()
		if !e.GetEnabled() || !slices.Equal(e.GetEvents(), webhookevent.Types()) || e.GetVersion() != 1 || !strings.HasPrefix(e.GetId(), "whe_") || !strings.HasPrefix(made.GetSecret(), "whsec_") {
			t.Errorf("made %v", e)
		}
		about, off, stale := "the CRM", false, int64(1)
		changed, err := w.client.UpdateEndpoint(w.as(w.company), &webhookv1.UpdateEndpointRequest{Id: e.GetId(), Description: &about, Enabled: &off, ExpectedVersion: &stale})
		if err != nil || changed.GetEndpoint().GetDescription() != about || changed.GetEndpoint().GetDisabledReason() != webhookv1.DisabledReason_DISABLED_REASON_REQUESTED {
			t.Errorf("changed %v %v", changed, err)
		}
		if _, err := w.client.UpdateEndpoint(w.as(w.company), &webhookv1.UpdateEndpointRequest{Id: e.GetId(), ExpectedVersion: &stale}); !fault.Is(err, fault.VersionMismatch) {
			t.Errorf("a stale version: %v", err)
		}
		same, err := w.client.UpdateEndpoint(w.as(w.company), &webhookv1.UpdateEndpointRequest{
			Id: e.GetId(), Url: &e.Url, Description: &about, Enabled: &off, Events: &webhookv1.EventTypes{Types: e.GetEvents()},
		})
		if err != nil || !proto.Equal(same.GetEndpoint(), changed.GetEndpoint()) {
			t.Errorf("the same values: %v %v, want %v", same, err, changed)
		}
		if _, err := w.client.DeleteEndpoint(w.as(w.company), &webhookv1.DeleteEndpointRequest{Id: e.GetId(), ExpectedVersion: &stale}); !fault.Is(err, fault.VersionMismatch) {
			t.Errorf("a stale version of a deletion: %v", err)
		}
		if _, err := w.client.DeleteEndpoint(w.as(w.company), &webhookv1.DeleteEndpointRequest{Id: e.GetId()}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.client.DeleteEndpoint(w.as(w.company), &webhookv1.DeleteEndpointRequest{Id: e.GetId()}); !fault.Is(err, fault.NotFound) {
			t.Errorf("deleted again: %v", err)
		}
		if list, err := w.client.ListEndpoints(w.as(w.company), &webhookv1.ListEndpointsRequest{}); err != nil || len(list.GetEndpoints()) != 0 {
			t.Errorf("left are %v %v", list, err)
		}
	})
	t.Run("an endpoint that selects no events receives the default ones, also after a change", func(t *testing.T) {
		made, err := w.client.CreateEndpoint(w.as(w.company), &webhookv1.CreateEndpointRequest{Url: r.URL, Disabled: true})
		if err != nil || !slices.Equal(eventNames(made.GetEndpoint().GetEvents()), webhookevent.DefaultNames()) {
			t.Fatalf("%v %v", made, err)
		}
		update := func(events ...webhookv1.EventType) []string {
			res, err := w.client.UpdateEndpoint(w.as(w.company), &webhookv1.UpdateEndpointRequest{Id: made.GetEndpoint().GetId(), Events: &webhookv1.EventTypes{Types: events}})
			if err != nil {
				t.Fatal(err)
			}
			return eventNames(res.GetEndpoint().GetEvents())
		}
		if got := update(webhookv1.EventType_EVENT_TYPE_HOLD_EXPIRED); !slices.Equal(got, []string{"hold.expired"}) {
			t.Errorf("got %v", got)
		}
		if got := update(); !slices.Equal(got, webhookevent.DefaultNames()) {
			t.Errorf("got %v", got)
		}
		version := int64(3)
		if _, err := w.client.DeleteEndpoint(w.as(w.company), &webhookv1.DeleteEndpointRequest{Id: made.GetEndpoint().GetId(), ExpectedVersion: &version}); err != nil {
			t.Error(err)
		}
	})
	t.Run("one idempotency key creates one endpoint, and its secret is not stored in plain text", func(t *testing.T) {
		ctx := rpc.WithIdempotencyKey(w.as(w.company), "once")
		req := &webhookv1.CreateEndpointRequest{Url: r.URL, Events: []webhookv1.EventType{passPurchase}}
		first, err := w.client.CreateEndpoint(ctx, req)
		if err != nil {
			t.Fatal(err)
		}
		again, err := w.client.CreateEndpoint(ctx, req)
		if err != nil || again.GetEndpoint().GetId() != first.GetEndpoint().GetId() || again.GetSecret() != first.GetSecret() {
			t.Errorf("%v %v", again, err)
		}
		n, err := pg.One[int64](t.Context(), w.db, pg.AllCompanies(), `select count(*) from idempotency_keys where position($1::bytea in response) > 0`,
			[]byte(strings.TrimPrefix(first.GetSecret(), "whsec_")))
		if err != nil || n != 0 {
			t.Errorf("it is in %d stored responses, %v", n, err)
		}
	})
	t.Run("after a rotation two secrets are valid and requests carry both; only a forced one ends the oldest (8)", func(t *testing.T) {
		made := w.endpoint(r.URL)
		e := made.GetEndpoint().GetId()
		rotated, err := w.client.RotateSecret(w.as(w.company), &webhookv1.RotateSecretRequest{EndpointId: e})
		if err != nil || len(rotated.GetSecrets()) != 2 || rotated.GetSecrets()[1].GetSecret() != made.GetSecret() || rotated.GetSecrets()[0].GetExpiresAt() != nil {
			t.Fatalf("%v %v", rotated, err)
		}
		ends := rotated.GetSecrets()[1].GetExpiresAt().AsTime().Sub(rotated.GetSecrets()[0].GetCreatedAt().AsTime())
		if ends != message.RotationOverlap {
			t.Errorf("the old one ends after %s", ends)
		}
		res, err := w.client.SendTest(w.as(w.company), &webhookv1.SendTestRequest{EndpointId: e, Event: passPurchase})
		if err != nil || res.GetAttempt().GetStatus() != http.StatusNoContent {
			t.Fatalf("%v %v", res, err)
		}
		head := r.at(r.count() - 1).header
		if len(strings.Fields(head.Get("Webhook-Signature"))) != 2 || head.Get("X-Service-Signature-Previous") == "" {
			t.Errorf("headers %v", head)
		}
		if !strings.Contains(string(res.GetBody()), `"test":true`) {
			t.Errorf("body %s", res.GetBody())
		}
		again, err := w.client.RotateSecret(w.as(w.company), &webhookv1.RotateSecretRequest{EndpointId: e})
		if f := fault.From(err); f.Kind != fault.Refused || f.Reason != fault.ReasonSecretRotated || f.Meta["previous_expires_at"] == "" {
			t.Errorf("a second rotation: %v %v", again, err)
		}
		kept, err := w.client.GetSecret(w.as(w.company), &webhookv1.GetSecretRequest{EndpointId: e})
		if err != nil || !proto.Equal(kept.GetSecrets()[1], rotated.GetSecrets()[1]) {
			t.Errorf("the secret that receivers use has ended: %v %v", kept, err)
		}
		again, err = w.client.RotateSecret(w.as(w.company), &webhookv1.RotateSecretRequest{EndpointId: e, Force: true})
		if err != nil || len(again.GetSecrets()) != 2 || again.GetSecrets()[1].GetSecret() != rotated.GetSecrets()[0].GetSecret() {
			t.Fatalf("%v %v", again, err)
		}
		got, err := w.client.GetSecret(w.as(w.company), &webhookv1.GetSecretRequest{EndpointId: e})
		if err != nil || got.String() == "" || got.GetSecrets()[0].GetSecret() != again.GetSecrets()[0].GetSecret() {
			t.Errorf("%v %v", got, err)
		}
	})
	t.Run("a rotation checks the version of the endpoint", func(t *testing.T) {
		e := w.endpoint(r.URL).GetEndpoint()
		rotate := func(version int64) error {
			_, err := w.client.RotateSecret(w.as(w.company), &webhookv1.RotateSecretRequest{EndpointId: e.GetId(), ExpectedVersion: &version})
			return err
		}
		if err := rotate(e.GetVersion() + 1); !fault.Is(err, fault.VersionMismatch) {
			t.Errorf("got %v", err)
		}
		if err := rotate(e.GetVersion()); err != nil {
			t.Error(err)
		}
		if err := rotate(e.GetVersion()); !fault.Is(err, fault.VersionMismatch) {
			t.Errorf("a rotation changes the version: %v", err)
		}
	})
	t.Run("secrets are encrypted, and re-encrypted when the master key is replaced", func(t *testing.T) {
		e := w.endpoint(r.URL)
		fresh := make([]byte, seal.KeySize)
		fresh[0] = 1
		both, err := seal.New(fresh, make([]byte, seal.KeySize))
		if err != nil {
			t.Fatal(err)
		}
		if err := newStore(w.db, both).reseal(t.Context()); err != nil {
			t.Fatal(err)
		}
		only, err := seal.New(fresh)
		if err != nil {
			t.Fatal(err)
		}
		endpoint, err := id.Parse[id.WebhookEndpoint](e.GetEndpoint().GetId())
		if err != nil {
			t.Fatal(err)
		}
		got, err := newStore(w.db, only).secrets(t.Context(), w.company, endpoint)
		if err != nil || len(got) != 1 || got[0].Text() != e.GetSecret() {
			t.Errorf("%d secrets, %v", len(got), err)
		}
	})
	t.Run("a company can have at most 50", func(t *testing.T) {
		company := id.New[id.Company]()
		req := &webhookv1.CreateEndpointRequest{Url: r.URL, Events: []webhookv1.EventType{passPurchase}, Disabled: true}
		for range maxEndpoints {
			if _, err := w.client.CreateEndpoint(w.as(company), req); err != nil {
				t.Fatal(err)
			}
		}
		_, err := w.client.CreateEndpoint(w.as(company), req)
		wantReason(t, err, ReasonTooManyEndpoints)
	})
}

func TestLog(t *testing.T) {
	t.Parallel()
	w := openSteady(t, quick())
	good := newReceiver(t, nil)
	bad := newReceiver(t, func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusTeapot) })
	e := w.endpoint(good.URL).GetEndpoint().GetId()
	w.endpoint(bad.URL)
	w.bookings(25)
	w.consume(passEvent(w.company, nil))
	w.settled()
	pages := func(req *webhookv1.ListDeliveriesRequest) (n int) {
		seen := map[string]bool{}
		for {
			res, err := w.client.ListDeliveries(w.as(w.company), req)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range res.GetDeliveries() {
				seen[d.GetId()] = true
			}
			n += len(res.GetDeliveries())
			if req.PageToken = res.GetNextPageToken(); req.GetPageToken() == "" {
				if n != len(seen) {
					t.Errorf("%d deliveries, %d of them different", n, len(seen))
				}
				return n
			}
		}
	}
	t.Run("the log is filtered and paged", func(t *testing.T) {
		now := time.Now()
		for name, tc := range map[string]struct {
			req  *webhookv1.ListDeliveriesRequest
			want int
		}{
			"all":           {&webhookv1.ListDeliveriesRequest{PageSize: 7}, 52},
			"of one":        {&webhookv1.ListDeliveriesRequest{PageSize: 7, EndpointId: e}, 26},
			"of an event":   {&webhookv1.ListDeliveriesRequest{PageSize: 7, Event: passPurchase}, 2},
			"failed":        {&webhookv1.ListDeliveriesRequest{PageSize: 7, State: failed}, 26},
			"pending":       {&webhookv1.ListDeliveriesRequest{State: pending}, 0},
			"of an hour":    {&webhookv1.ListDeliveriesRequest{PageSize: 200, Since: timestamp(now.Add(-time.Hour)), Until: timestamp(now.Add(time.Hour))}, 52},
			"of the future": {&webhookv1.ListDeliveriesRequest{Since: timestamp(now.Add(time.Hour))}, 0},
			"of one before": {&webhookv1.ListDeliveriesRequest{EndpointId: e, Until: timestamp(now.Add(-time.Hour))}, 0},
		} {
			if got := pages(tc.req); got != tc.want {
				t.Errorf("%s: %d, want %d", name, got, tc.want)
			}
		}
	})
	t.Run("an invalid filter is refused", func(t *testing.T) {
		for _, req := range []*webhookv1.ListDeliveriesRequest{
			{PageSize: 201}, {PageSize: -1}, {PageToken: "x"}, {Event: 99}, {State: 99}, {Since: &timestamppb.Timestamp{Nanos: -1}},
		} {
			if _, err := w.client.ListDeliveries(w.as(w.company), req); !fault.Is(err, fault.Invalid) {
				t.Errorf("%v: %v", req, err)
			}
		}
	})
	t.Run("statistics count attempts by outcome", func(t *testing.T) {
		for endpoint, want := range map[string][3]int64{"": {26, 78, 26}, e: {26, 0, 0}} {
			res, err := w.client.GetStatistics(w.as(w.company), &webhookv1.GetStatisticsRequest{EndpointId: endpoint, BucketSeconds: 600})
			if err != nil {
				t.Fatal(err)
			}
			if len(res.GetBuckets()) != 144 {
				t.Errorf("%d buckets", len(res.GetBuckets()))
			}
			var got [3]int64
			var slowest int64
			for _, b := range res.GetBuckets() {
				got[0], got[1], got[2] = got[0]+b.GetDelivered(), got[1]+b.GetRetried(), got[2]+b.GetFailed()
				slowest = max(slowest, b.GetP99Microseconds())
				if b.GetP50Microseconds() > b.GetP95Microseconds() || b.GetP95Microseconds() > b.GetP99Microseconds() {
					t.Errorf("%v", b)
				}
			}
			if got != want || slowest == 0 {
				t.Errorf("%q: %v, want %v; slowest %d", endpoint, got, want, slowest)
			}
		}
		if _, err := w.client.GetStatistics(w.as(w.company), &webhookv1.GetStatisticsRequest{BucketSeconds: 60}); !fault.Is(err, fault.Invalid) {
			t.Errorf("1440 buckets: %v", err)
		}
	})
	t.Run("a delivery is deleted after 30 days", func(t *testing.T) {
		if err := w.engine.store.prune(t.Context(), time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		if got := pages(&webhookv1.ListDeliveriesRequest{}); got != 0 {
			t.Errorf("%d are left", got)
		}
	})
}

// TestBus covers the whole path: an outbox of a producer, JetStream, the intake.
func TestBus(t *testing.T) {
	t.Parallel()
	w := open(t, quick())
	r := newReceiver(t, nil)
	w.endpoint(r.URL)
	b := testkit.Bus(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error, 3)
	box := outbox.New(w.db, b, testkit.Log(t), time.Now)
	go func() { done <- box.Run(ctx) }()
	go func() { done <- w.intake.RunPurchases(ctx, b) }()
	go func() { done <- w.intake.RunChanges(ctx, b) }()
	var events []bus.Message
	for range 20 {
		events = append(events, classBooking(w.company), newCustomer(w.company))
	}
	if _, err := b.Publish(t.Context(), events); err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() error {
		if n := r.distinct(); n != len(events) {
			return fmt.Errorf("%d messages", n)
		}
		return nil
	})
	w.settled()
	cancel()
	for range cap(done) {
		<-done
	}
	if r.count() != len(events) {
		t.Errorf("%d requests, want %d", r.count(), len(events))
	}
}
