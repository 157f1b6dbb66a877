package outbox_test

import (
	"context"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"reservation.dev/platform/bus"
	"reservation.dev/platform/id"
	"reservation.dev/platform/outbox"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/rpc"
	"reservation.dev/platform/token"
	auditv1 "reservation.dev/proto/gen/reservation/audit/v1"
)

// call is a gRPC call of a method, as handlers see it.
type call string

func (c call) Method() string             { return string(c) }
func (call) SetHeader(metadata.MD) error  { return nil }
func (call) SendHeader(metadata.MD) error { return nil }
func (call) SetTrailer(metadata.MD) error { return nil }

const roomMethod = "/reservation.booking.v1.RoomService/CreateRoom"

// by returns the context of a call by a credential.
func by(t *testing.T, kind, subject string, company id.Company) context.Context {
	t.Helper()
	ctx := grpc.NewContextWithServerTransportStream(t.Context(), call(roomMethod))
	return rpc.WithClaims(ctx, &token.Claims{Subject: subject, Kind: kind, Company: company})
}

func TestActor(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	o := w.outbox(t)
	appendIn := func(ctx context.Context, events ...outbox.Event) {
		t.Helper()
		if err := w.db.InTx(ctx, pg.For(w.company), func(ctx context.Context, tx *pg.Tx) error { return o.Append(ctx, tx, events...) }); err != nil {
			t.Fatal(err)
		}
	}
	key := by(t, token.KindKey, "key_1", w.company)
	appendIn(key, w.event("key_1"))
	appendIn(by(t, token.KindClient, "m2m_1", w.company), w.event("m2m_1"))
	appendIn(by(t, token.KindService, "svc_1", w.company), w.event("svc_1"))
	// People have entries of the dashboard, and the services call each other with platform credentials.
	appendIn(by(t, token.KindAdministrator, "admin_1", w.company), w.event("person"))
	appendIn(by(t, token.KindService, "svc_2", id.Company{}), w.event("platform"))
	// A commit that several requests share has the context of one of them.
	own, shared := w.event("m2m_2"), w.event("shared with a person")
	own.Cause = outbox.CauseOf(by(t, token.KindClient, "m2m_2", w.company))
	shared.Cause = outbox.CauseOf(by(t, token.KindAdministrator, "admin_1", w.company))
	nobodys := w.event("of nobody")
	nobodys.Cause = outbox.CauseOf(t.Context())
	automatic := w.event("automatic")
	automatic.Cause = outbox.CauseWithoutActor(key)
	appendIn(key, own, shared, nobodys, automatic)

	background(t, o.Run)
	for _, m := range received(t, w.bus, 9, subject) {
		var text wrapperspb.StringValue
		if err := unmarshal(m.Payload, &text); err != nil {
			t.Fatal(err)
		}
		actor, method := text.GetValue(), roomMethod
		if len(actor) > 5 { // a person, the platform, or nobody
			actor, method = "", ""
		}
		if m.Actor != actor || m.Method != method || m.Trace[bus.Actor] != "" {
			t.Errorf("%q: the actor is %q with %q, in a trace %v", text.GetValue(), m.Actor, m.Method, m.Trace)
		}
	}
}

func TestAppendChange(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	o := w.outbox(t)
	room := id.New[id.Room]()
	change := func(ctx context.Context) {
		t.Helper()
		err := w.db.InTx(ctx, pg.For(w.company), func(ctx context.Context, tx *pg.Tx) error {
			return o.AppendChange(ctx, tx, w.company, room, outbox.Fact{Field: "name", Value: "Studio"}, outbox.Fact{Field: "empty"})
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	change(t.Context())
	change(by(t, token.KindAdministrator, "admin_1", w.company))
	change(by(t, token.KindService, "svc_1", id.Company{}))
	if n := w.count(t, `select count(*) from outbox`); n != 0 {
		t.Fatalf("%d events without a credential of the company", n)
	}
	change(by(t, token.KindKey, "key_1", w.company))
	background(t, o.Run)
	m := received(t, w.bus, 1, "booking"+outbox.ChangeRecorded)[0]
	var got auditv1.ChangeRecorded
	if err := unmarshal(m.Payload, &got); err != nil {
		t.Fatal(err)
	}
	if got.GetTarget() != room.String() || len(got.GetDetails()) != 1 || got.GetDetails()[0].GetAfter() != "Studio" || m.Actor != "key_1" || m.Method != roomMethod {
		t.Errorf("got %v by %q with %q", &got, m.Actor, m.Method)
	}
}
